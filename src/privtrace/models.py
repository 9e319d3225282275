"""Save and load models: one plain, checksummed file that holds what was released and executes nothing.

    bytes 0-7       b"PRIVTRAC"
    bytes 8-11      format version, little-endian
    bytes 12-19     length of the header, little-endian
    header          JSON, ASCII, keys sorted: the release's public facts, and name, type and shape of each array
    arrays          little-endian, in C order, one after the other in the order of the method's schema
    last 32 bytes   SHA-256 of all before

The same model is the same file, byte for byte. The header is an allow-list: what is not named here is not
written, and a file that names more is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace.calendar import DAY_S, Calendar, Period, Zone, is_known, seconds_in
from privtrace.errors import ModelFormatError, SettingsError
from privtrace.methods import registry
from privtrace.methods.model import Model
from privtrace.privacy.epsilon import decimal, exact
from privtrace.privacy.ledger import Charge
from privtrace.privacy.unit import Unit
from privtrace.release import Release
from privtrace.space.region import Region
from privtrace.timing.model import SAMPLING_SCHEMA, TIMES_SCHEMA, Timing

MAGIC = b"PRIVTRAC"
#: What a file has without points and times, and with them: the first is read as ever, and written as ever.
VERSIONS = (1, 2)

_PREFIX = struct.Struct("<8sIQ")
_CHECKSUM_BYTES = 32

#: Seconds since 1970 that no calendar here goes beyond: the year 10000.
_LATEST_S = 253_402_300_800

#: What the IANA calls zones: UTC, Europe/Lisbon, America/Argentina/Buenos_Aires, Etc/GMT+3.
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]{1,30}(/[A-Za-z0-9_+-]{1,30}){0,2}")


def save(model: Model, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a model file, whole or not at all."""
    from privtrace.storage.atomic import replacing

    content = to_bytes(model)
    with replacing(path, force=force) as temporary:
        temporary.write_bytes(content)


def load(path: str | Path) -> Model:
    """Read a model file, refusing whatever is not sound."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ModelFormatError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    try:
        return from_bytes(content)
    except ModelFormatError as error:
        raise ModelFormatError(f"{path}: {error}") from None


def to_bytes(model: Model) -> bytes:
    """Write a model as the bytes of its file."""
    schema = _schema(model.release, registry.find(model.release.method))
    given = model.arrays() | ({} if model.timing is None else model.timing.arrays())
    arrays = {name: np.ascontiguousarray(given[name], dtype) for name, (dtype, _) in schema.items()}
    facts = public_facts(model.release)
    facts["arrays"] = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    header = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode("ascii")
    body = b"".join(
        [
            _PREFIX.pack(MAGIC, VERSIONS[bool(model.release.timing)], len(header)),
            header,
            *(array.tobytes() for array in arrays.values()),
        ]
    )
    return body + hashlib.sha256(body).digest()


def from_bytes(content: bytes) -> Model:
    """Make a model from the bytes of its file."""
    header, body = _opened(content)
    try:
        release = _release(header)
        method = registry.find(release.method)
        # Settings as the method writes them, which checks them and the ledger.
        settings = method.settings.of_release(release)
        release = replace(release, settings=settings.own_settings(), timing=settings.timing_settings())
        arrays = _arrays(header["arrays"], _schema(release, method), body)
        model = method.model.from_arrays(release, {name: arrays[name] for name in method.schema})
        if release.timing.get("sampling"):
            every_s = seconds_in(release.timing["every"])  # type: ignore[arg-type]
            timing = Timing.from_arrays(release.region, release.times, every_s, arrays)
            model = replace(model, timing=timing)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # SettingsError is a ValueError: the constructors of the parts check what they are given.
        reason = f": {error}" if isinstance(error, SettingsError) else ""
        raise ModelFormatError(f"the header is not valid for this format{reason}") from None
    if to_bytes(model) != content:  # so nothing can stand in a file but what this version would write
        raise ModelFormatError("the file has fields that this format does not have; it is not valid")
    return model


def _opened(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """Check the envelope; return the header and the bytes of the arrays."""
    if len(content) < _PREFIX.size or content[: len(MAGIC)] != MAGIC:
        raise ModelFormatError("this is not a privtrace model file; make one with `privtrace fit`")
    _, version, header_bytes = _PREFIX.unpack_from(content)
    if version not in VERSIONS:
        raise ModelFormatError(
            f"the file has format {version}, but this version of privtrace reads formats up to "
            f"{VERSIONS[-1]}; upgrade privtrace"
        )
    if hashlib.sha256(content[:-_CHECKSUM_BYTES]).digest() != content[-_CHECKSUM_BYTES:]:
        raise ModelFormatError(
            "the file is damaged or incomplete: its checksum does not match; download it again"
        )
    end = _PREFIX.size + header_bytes
    try:
        header = json.loads(content[_PREFIX.size : end].decode("ascii"))
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or end > len(content) - _CHECKSUM_BYTES:
        raise ModelFormatError("the header cannot be read; the file is not valid")
    return header, memoryview(content)[end:-_CHECKSUM_BYTES]


def public_facts(release: Release) -> dict[str, Any]:
    """List a release's public facts as JSON values: the header of its file, but for the arrays."""
    region = release.region
    return {
        "method": release.method,
        "software": release.software,
        # Only where the method is not ours.
        **({} if release.package is None else {"package": release.package}),
        "epsilon": decimal(release.epsilon),
        "unit": _unit_facts(release.unit),
        "region": {
            "box": [region.west, region.south, region.east, region.north],
            "crs": region.crs,
            **({"polygon": region.shape.coordinates} if region.shape is not None else {}),
        },
        "public_count": release.public_count,
        "settings": dict(release.settings),
        "ledger": [
            {
                "stage": charge.stage,
                "statistic": charge.statistic,
                "unit": charge.unit,
                "sensitivity": charge.sensitivity,
                "epsilon": decimal(charge.epsilon),
                "scale": decimal(charge.scale),
                "mechanism": charge.mechanism,
            }
            for charge in release.charges
        ],
        **({} if not release.timing else {"timing": dict(release.timing)}),
        **({} if release.calendar is None else {"calendar": _calendar_facts(release.calendar)}),
        # Written only where it is true: what is missing reads as NOT PRIVATE.
        **({"private": True} if release.private else {}),
    }


def _unit_facts(unit: Unit) -> dict[str, Any]:
    # The gap is written only where logs were cut at one.
    gap = {} if unit.gap_minutes is None else {"gap_minutes": unit.gap_minutes}
    return {"kind": unit.kind, "contributions": unit.contributions, **gap}


def _calendar_facts(calendar: Calendar) -> dict[str, Any]:
    zone = calendar.zone
    return {
        "timezone": zone.name,
        "tzdata": calendar.tzdata,
        "breaks": zone.breaks.tolist(),
        "offsets": zone.offsets.tolist(),
    }


def _calendar(header: dict[str, Any]) -> Calendar | None:
    """Read the calendar of synthetic times, or of the period, as far as it can be right."""
    timing = header.get("timing", {})
    if not timing.get("times") and timing.get("period") is None:
        return None
    entry, period = header["calendar"], timing["period"]
    breaks, offsets = (np.array([int(one) for one in entry[name]], np.int64) for name in ("breaks", "offsets"))
    right = len(offsets) == len(breaks) + 1 and np.all(np.diff(breaks) > 0) and np.all(np.abs(offsets) < DAY_S)
    if not right or np.any(np.abs(breaks) > _LATEST_S):
        raise ModelFormatError("the offsets of the time zone are impossible; the file is not valid")
    zone = Zone(_zone_name(entry["timezone"], is_written=bool(timing.get("times"))), breaks, offsets)
    return Calendar(zone, _text(entry["tzdata"]), None if period is None else Period.of(period))


def _zone_name(value: Any, *, is_written: bool) -> str:
    """Take what looks like the name of a zone; where times are written in it, this machine has to know it."""
    name = _text(value)
    if _ZONE_NAME.fullmatch(name) is None:
        raise ModelFormatError("the time zone has no valid name; the file is not valid")
    if is_written and not is_known(name):
        raise ModelFormatError(
            f"the model uses the time zone {name}, which this machine does not know; install a newer tzdata"
        )
    return name


def _schema(release: Release, method: registry.Method) -> dict[str, tuple[str, int]]:
    """Name the arrays of a file: the method's own, and those of points and times."""
    sampling = SAMPLING_SCHEMA if release.timing.get("sampling") else {}
    return {**method.schema, **sampling, **(TIMES_SCHEMA if release.timing.get("times") else {})}


def _release(header: dict[str, Any]) -> Release:
    method, package = _method(header)
    unit = Unit(**header["unit"])
    charges = tuple(_charge(entry, unit) for entry in header["ledger"])
    release = Release(
        method=method.name,
        label=method.label,
        software=_text(header["software"]),
        epsilon=exact(_text(header["epsilon"])),
        unit=unit,
        region=_region(header["region"]),
        public_count=header["public_count"],
        settings=dict(header["settings"]),
        charges=charges,
        private=header.get("private") is True,
        package=package,
        timing=dict(header.get("timing", {})),
        calendar=_calendar(header),
    )
    if release.spent > release.epsilon:
        raise ModelFormatError("the ledger has spent more than epsilon; the file is not valid")
    return release


def _method(header: dict[str, Any]) -> tuple[registry.Method, str | None]:
    """Find the method of a file, and the package that brought it to the fit."""
    name, package = _text(header["method"]), header.get("package")
    if package is not None:
        package = _text(package)
    if name not in registry.names():
        known = f"this version knows {', '.join(registry.names())}"
        cure = known if package is None else f"{known}; install {package}, or register the method first"
        raise ModelFormatError(f"the model's method is {name!r}; {cure}")
    method = registry.find(name)
    if (method.package is None) != (package is None):
        raise ModelFormatError(f"the file's method {name!r} is not the {name} installed here")
    return method, package


def _region(entry: dict[str, Any]) -> Region:
    if entry["crs"] is None:
        raise ModelFormatError("the region has no coordinate system; the file is not valid")
    if "polygon" in entry:
        return Region.polygon(entry["polygon"], crs=entry["crs"])
    return Region.box(*entry["box"], crs=entry["crs"])


def _charge(entry: dict[str, Any], unit: Unit) -> Charge:
    charge = Charge(
        stage=_text(entry["stage"]),
        statistic=_text(entry["statistic"]),
        unit=_text(entry["unit"]),
        sensitivity=entry["sensitivity"],
        epsilon=exact(_text(entry["epsilon"])),
        mechanism=_text(entry["mechanism"]),
    )
    if charge.unit != unit.kind or charge.sensitivity != unit.sensitivity:
        raise ModelFormatError(f"the ledger's charge for {charge.stage!r} is not about the protected unit")
    return charge


def _text(value: Any) -> str:
    """Take text that is safe to show."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > 500:
        raise ModelFormatError("the header has no text where text is expected; the file is not valid")
    return value


def _arrays(
    listed: list[Any], schema: Mapping[str, tuple[str, int]], body: memoryview
) -> dict[str, npt.NDArray[Any]]:
    """Cut the body into arrays, exactly as the method's schema names them."""
    if [name for name, _, _ in listed] != list(schema):
        raise ModelFormatError("the arrays do not match the method")
    arrays = {}
    position = 0
    for name, dtype, shape in listed:
        if dtype != schema[name][0] or len(shape) != schema[name][1] or min(shape) < 0:
            raise ModelFormatError(f"the array {name} does not have the type and shape of its method")
        n_bytes = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
        if position + n_bytes > len(body):
            raise ModelFormatError("the arrays are longer than the file")
        # A copy can be written to: kernels are compiled for such arrays already.
        arrays[name] = np.frombuffer(body[position : position + n_bytes], dtype).reshape(shape).copy()
        position += n_bytes
    if position != len(body):
        raise ModelFormatError("the file continues after its arrays")
    return arrays
