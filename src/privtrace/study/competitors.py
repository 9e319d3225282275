"""Find out who takes part in a comparison: methods by name, classes from outside, finished files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from privtrace.errors import DataError, PrivTraceError, SettingsError
from privtrace.methods import registry
from privtrace.methods.registry import Method
from privtrace.methods.settings import Settings
from privtrace.privacy.epsilon import Epsilon, decimal, exact
from privtrace.space.region import Region
from privtrace.study.programs import digest_of_code
from privtrace.study.study import FINISHED, Entry
from privtrace.trajectories import Data, Source, Trajectories, is_source, opened

#: A method by its name, as "module:Class", a class, an object with settings, or what makes one.
Named: TypeAlias = "str | type | Callable[..., Any] | Settings"

#: Finished files: one, several as runs, or these by epsilon.
Files: TypeAlias = "Data | Sequence[Data] | Mapping[Epsilon, Data | Sequence[Data]]"

#: Colors of those that bring none, on light and on dark ground; others than those of our methods.
_COLORS = (
    ("#6b7a00", "#c3d24a"),
    ("#a3328f", "#f08fdf"),
    ("#8a5a00", "#e0b050"),
    ("#4a4a4a", "#bdbdbd"),
    ("#b02a37", "#ff8f99"),
    ("#3d5a98", "#9db8f2"),
)


@dataclass(frozen=True, eq=False)
class Competitor:
    """Hold one that takes part: what makes its synthesizers, or its finished files."""

    entry: Entry
    origin: str  # all that its results follow from, beside data, epsilon and run
    make: Callable[..., Any] | None = None  # takes epsilon and region
    files: Mapping[str, tuple[Data, ...]] | None = None  # by epsilon; by "" where they have none
    method: Method | None = None  # what another process has to register before it can fit

    @property
    def label(self) -> str:
        """Name it."""
        return self.entry.label

    def at(self, epsilon: str, region: Region) -> Any:
        """Make its synthesizer."""
        assert self.make is not None
        return self.make(epsilon=epsilon, region=region)


@dataclass(frozen=True)
class _Making:
    """Make synthesizers, ours with what all of them are told."""

    settings: Callable[..., Any]
    given: tuple[tuple[str, Any], ...]
    with_times: bool

    def __call__(self, *, epsilon: Epsilon, region: Region) -> Any:
        synthesizer = self.settings(epsilon=epsilon, region=region, **dict(self.given))
        # All with times or none, as each would pay for them.
        if isinstance(synthesizer, Settings) and synthesizer.times is None:
            times = self.with_times and not synthesizer.against_times
            synthesizer = replace(synthesizer, times=times)
        return synthesizer


@dataclass(frozen=True)
class Field:
    """Hold what all competitors share."""

    region: Region
    epsilons: tuple[str, ...]
    settings: Mapping[str, Any]
    with_times: bool


def competitors(
    methods: Iterable[Named] | Mapping[str, Named] | Named, files: Mapping[str, Files], field: Field
) -> dict[str, Competitor]:
    """Resolve all names; refuse, before any work, what could not be fitted or read."""
    found: dict[str, Competitor] = {}
    spare = cycle(_COLORS)
    for competitor in _all(methods, files, field, spare):
        if competitor.label in found:
            raise SettingsError(
                f"two competitors are called {competitor.label}; name them apart, for example with "
                'methods={"mine": ..., "theirs": ...}'
            )
        if competitor.label in ("real", "limit", "baseline"):
            raise SettingsError(f"a competitor cannot be called {competitor.label}: that is one of the marks")
        found[competitor.label] = competitor
    if not found:
        raise SettingsError("there is nothing to compare: name methods, or finished files")
    return found


def _all(
    methods: Iterable[Named] | Mapping[str, Named] | Named,
    files: Mapping[str, Files],
    field: Field,
    spare: Iterator[tuple[str, str]],
) -> Iterator[Competitor]:
    if isinstance(methods, Mapping):
        named: list[tuple[str | None, Named]] = [(str(label), one) for label, one in methods.items()]
    elif isinstance(methods, str | Settings) or callable(methods) or not isinstance(methods, Iterable):
        named = [(None, methods)]
    else:
        named = [(None, one) for one in methods]
    for label, one in named:
        yield _competitor(label, _loaded(one) if isinstance(one, str) else one, field, spare)
    if not isinstance(files, Mapping):
        raise SettingsError('finished files have labels: files={"theirs": "synthetic.csv"}')
    for name, given in files.items():
        yield _finished(name, given, field, spare)


def _loaded(name: str) -> Any:
    """Find a method by its name, or import what a text such as "module:Class" names."""
    module, colon, attribute = name.partition(":")
    if not colon and name not in registry.names():
        raise SettingsError(
            f"--methods (methods) must be of {', '.join(registry.names())}, or module:Class, not {name!r:.60}"
        )
    if not colon:
        return registry.find(name).settings
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # whatever a foreign module does when it is imported
        raise SettingsError(
            f"{name}: cannot be imported ({type(error).__name__}: {error}); write it as module:Class, and "
            "see that Python finds the module"
        ) from None


def _competitor(label: str | None, given: Any, field: Field, spare: Iterator[tuple[str, str]]) -> Competitor:
    """Take one of our methods, or any other class."""
    if isinstance(given, Settings):
        given = _again(given)
    base = _base(given)
    if isinstance(base, type) and issubclass(base, Settings):
        return _of_ours(label, given, base, field, spare)
    if not callable(given):
        raise SettingsError(
            f"{str(given)[:60]!r} is no method; give names such as {', '.join(registry.OURS)}, classes, or "
            "what makes a synthesizer of epsilon and region"
        )
    name = base.__name__
    for epsilon in field.epsilons:
        made = _made(name, given, epsilon, field.region)
        if not callable(getattr(made, "fit", None)):
            raise SettingsError(
                f"{name}: what it makes has no fit; a competitor is made with epsilon=... and region=..., its "
                "fit(trips) gives something with sample(), or the synthetic trips"
            )
    entry = Entry(label or name, next(spare), f"{base.__module__}.{base.__qualname__}")
    origin = f"{entry.what} {digest_of_code([base])} {_settings_of(given)}; privtrace {version('privtrace')}"
    return Competitor(entry, origin, make=_Making(given, (), field.with_times))


def _made(name: str, given: Callable[..., Any], epsilon: str, region: Region) -> Any:
    try:
        return given(epsilon=epsilon, region=region)
    except PrivTraceError:
        raise
    except Exception as error:  # whatever a foreign class does when it is made
        raise SettingsError(
            f"{name}: cannot be made with epsilon={epsilon} and region=... ({type(error).__name__}: {error}); "
            "if it takes other arguments, wrap it in a class or function that takes these two"
        ) from None


def _again(given: Settings) -> Callable[..., Settings]:
    """Make settings again with another epsilon; the region is that of the comparison."""
    kept = {one.name: getattr(given, one.name) for one in fields(given)}
    return partial(type(given), **{name: kept[name] for name in kept if name not in ("epsilon", "region")})


def _base(given: Any) -> Any:
    """Find the class that a partial, or a constructor such as PrivTrace.paper, makes; or that of an object."""
    inner = given.func if isinstance(given, partial) else given
    owner = getattr(inner, "__self__", None)
    base = owner if isinstance(owner, type) else inner
    return base if hasattr(base, "__qualname__") else type(base)


def _of_ours(
    label: str | None, given: Any, base: type[Settings], field: Field, spare: Iterator[tuple[str, str]]
) -> Competitor:
    common = tuple(sorted(field.settings.items()))
    declared = base.declared()
    for name, _ in common:
        if name not in declared:
            raise SettingsError(f"{base.method} has no setting {name}; it has {', '.join(declared)}")
    making = _Making(given, common, field.with_times)
    made = [_made(base.__name__, making, epsilon, field.region) for epsilon in field.epsilons]
    made[0].protected  # noqa: B018  # refuses a unit without its limit, before any pass
    entry = registry.method_of(made[0])
    what, fitted = (
        entry.label + (f" with {spelled}" if (spelled := _spelled(settings, base)) else "")
        for settings in (given(epsilon=1, region=field.region, **dict(common)), made[0])
    )
    colors = entry.colors if label in (None, base.method) else next(spare)
    shown = Entry(label or base.method, colors, what)
    foreign = None if base.method in registry.OURS else entry
    code = digest_of_code([base] if foreign is None else [base, foreign.recipe, foreign.model])
    origin = f"{fitted}; privtrace {version('privtrace')} {code}"
    return Competitor(shown, origin, make=making, method=foreign)


def _spelled(settings: Settings, base: type[Settings]) -> str:
    """Spell what differs from the defaults: "order=1, K=8"."""
    plain = {one.name: one.default for one in fields(base) if one.name not in ("region", "epsilon")}
    return ", ".join(
        f"{name}={getattr(settings, name)}"
        for name, default in plain.items()
        if getattr(settings, name) != default
    )


def _settings_of(given: Any) -> str:
    if isinstance(given, partial):
        return repr((given.args, sorted(given.keywords.items())))
    return "" if hasattr(given, "__qualname__") else repr(sorted(getattr(given, "__dict__", {}).items()))


def _finished(name: str, given: Files, field: Field, spare: Iterator[tuple[str, str]]) -> Competitor:
    """Take finished files."""
    by_epsilon: dict[str, tuple[Data, ...]] = {}
    items = given.items() if isinstance(given, Mapping) else [("", given)]
    for epsilon, several in items:
        text = "" if epsilon == "" else decimal(exact(epsilon))
        if text and text not in field.epsilons:
            raise SettingsError(
                f"{name}: its files are for epsilon {text}, which is not compared; the epsilons are "
                f"{', '.join(field.epsilons)}"
            )
        runs = several if isinstance(several, list | tuple) else (several,)
        by_epsilon[text] = (*by_epsilon.get(text, ()), *map(_at_hand, runs))
    if not by_epsilon or not all(by_epsilon.values()):
        raise SettingsError(f"{name}: it has no files; name at least one")
    if "" in by_epsilon and len(by_epsilon) > 1:
        raise SettingsError(
            f"{name}: some of its files have an epsilon and some have none; give all one, or none"
        )
    files = (f"{text}: {', '.join(map(_print_of, several))}" for text, several in by_epsilon.items())
    origin = "; ".join((*files, f"privtrace {version('privtrace')}"))
    entry = Entry(name, next(spare), FINISHED, has_epsilon="" not in by_epsilon)
    return Competitor(entry, origin, files=by_epsilon)


def _at_hand(data: Data) -> Data:
    """See that a file is there, and take a frame into memory: another process may not be able to read it."""
    if is_source(data):
        return data
    if not isinstance(data, str | os.PathLike):
        with opened(data) as source:
            return in_memory(source)
    if not os.path.exists(data):
        raise DataError(f"{data}: no such file; --file takes NAME=PATH, or NAME@EPSILON=PATH")
    return data


def in_memory(source: Source) -> Trajectories:
    """Hold all trajectories of a source."""
    if isinstance(source, Trajectories):
        return source
    whole = Trajectories.concatenate([*source.parts()], source.crs)
    return replace(whole, zone=getattr(source, "zone", "UTC"))


def _print_of(data: Data) -> str:
    """Tell one version of data from another: a file by its time and size, what is open by what is read."""
    if not isinstance(data, str | os.PathLike):
        return digest_of(data)
    path = Path(data)
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    return ", ".join(f"{one.name} {one.stat().st_size} {one.stat().st_mtime_ns}" for one in files)


def digest_of(source: Any) -> str:
    """Digest a source, in its order: what its trajectories are, and who made them."""
    digests = [hashlib.blake2b(digest_size=16) for _ in range(4)]
    for part in source.parts():
        users = "" if part.users is None else repr(part.users.tolist())
        times = b"" if part.times is None else part.times.tobytes()
        content = (part.points.tobytes(), np.diff(part.offsets).tobytes(), times, users.encode())
        for digest, some in zip(digests, content, strict=True):
            digest.update(some)
    texts = [source.crs, getattr(source, "zone", "UTC"), *(digest.hexdigest() for digest in digests)]
    return hashlib.blake2b(" ".join(texts).encode(), digest_size=16).hexdigest()


def of_files(texts: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Read what --file says: NAME=PATH, or NAME@EPSILON=PATH, several of a name being runs."""
    found: dict[str, dict[str, list[str]]] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        name, _, epsilon = name.partition("@")
        if not (name and equals and path):
            raise SettingsError(f"--file takes NAME=PATH, or NAME@EPSILON=PATH, not {text!r}")
        found.setdefault(name, {}).setdefault(epsilon, []).append(path)
    return found
