"""Write tables as a workbook of Excel, sheet by sheet and chunk by chunk: zipped XML, by no other package.

Numbers are numbers. Text stands in its cell as it is, so that none is taken for a formula. Dates in the archive
are fixed, so that the same tables make the same file.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import BinaryIO, NamedTuple, NoReturn, cast
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import OutputError
from privtrace.io.printing import chained, content

#: What Excel can hold: rows with the header, columns, characters of a cell, and of the name of a sheet.
MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS, MOST_NAME = 1_048_576, 16_384, 32_767, 31

#: Bytes of a sheet's XML: larger ones need an extension of archives that Excel reads only in part.
MOST_BYTES = zipfile.ZIP64_LIMIT

#: Cells that are text at once.
_CHUNK_CELLS = 1 << 20

#: Widths of columns in characters: the least, the largest, and what the button of a filter takes.
_NARROW, _WIDE, _BUTTON = 9, 80, 5

#: What XML cannot hold, and what looks as if it stood for such a character; Excel writes both as _x0001_.
_RARE = "[\x00-\x08\x0b-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_"

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org"
_MAIN = f'xmlns="{_OFFICE}/spreadsheetml/2006/main"'
_LINKS = f"{_OFFICE}/officeDocument/2006/relationships"
_TEXT, _TEXT_END = 't="inlineStr"><is><t xml:space="preserve">', "</t></is></c>"

#: The second format of cells is that of headers, and the third of numbers that are shown with two decimals.
_STYLES = (
    f"{_XML}<styleSheet {_MAIN}>"
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/>'
    '<xf xfId="0" numFmtId="4" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


class Sheet(NamedTuple):
    """Hold a sheet: a table that comes in chunks."""

    name: str
    schema: pa.Schema  # its names are the header
    tables: Iterable[pa.Table]
    n_fixed: int = 0  # columns on the left that stay in view
    shown_short: frozenset[str] = frozenset()  # columns of numbers shown with two decimals; cells hold all


def write_workbook(sink: BinaryIO, sheets: Iterable[Sheet], about: Mapping[str, str]) -> None:
    """Write sheets and, as the last one, the words about them; what Excel cannot hold is refused."""
    sheets = [*sheets, _about_sheet(about)]
    _check_sheets(sheets)
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        # First, since programs tell by it what kind of archive this is.
        _write(archive, "[Content_Types].xml", _content_types(len(sheets)))
        _write(archive, "_rels/.rels", _relations([("officeDocument", "xl/workbook.xml")]))
        _write(archive, "xl/styles.xml", _STYLES)
        areas = []
        for number, sheet in enumerate(sheets, start=1):
            with archive.open(_entry(f"xl/{_file_of(number)}"), "w") as file:
                areas.append(_write_sheet(cast(BinaryIO, file), sheet, number == 1))
        _write(archive, "xl/workbook.xml", _workbook(sheets, areas))
        parts = [
            *(("worksheet", _file_of(number + 1)) for number in range(len(sheets))),
            ("styles", "styles.xml"),
        ]
        _write(archive, "xl/_rels/workbook.xml.rels", _relations(parts))


def matrix_sheet(name: str, zones: Sequence[str], values: npt.NDArray[np.float64]) -> Sheet:
    """Lay a matrix out as a sheet: a row per origin, a column per destination."""
    fields = [("origin", pa.string()), *((zone, pa.float64()) for zone in zones)]
    schema, n_rows = pa.schema(fields), max(1, _CHUNK_CELLS // max(len(zones), 1))

    def tables() -> Iterator[pa.Table]:
        for first in range(0, len(zones), n_rows):
            rows = slice(first, first + n_rows)
            columns = np.ascontiguousarray(values[rows].T)
            origins = pa.array(zones[rows], pa.string())
            yield pa.Table.from_arrays([origins, *map(pa.array, columns)], schema=schema)

    return Sheet(name, schema, tables(), n_fixed=1, shown_short=frozenset(zones))


def _about_sheet(about: Mapping[str, str]) -> Sheet:
    """Lay words out, a row each; of an object of JSON, such as the meanings of columns, a row per member."""
    rows = [row for name, text in about.items() for row in _rows_of(name.removeprefix("privtrace."), text)]
    schema = pa.schema([("key", pa.string()), ("value", pa.string())])
    return Sheet("About", schema, [pa.Table.from_pylist(rows, schema)])


def _rows_of(key: str, text: str) -> list[dict[str, str]]:
    try:
        members = json.loads(text)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        return [{"key": key, "value": text}]
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in members.items()}
    return [{"key": f"{key}: {name}", "value": value} for name, value in texts.items()]


def _check_sheets(sheets: Sequence[Sheet]) -> None:
    """Refuse names and numbers of columns that Excel cannot hold."""
    seen: set[str] = set()
    for sheet in sheets:
        name = sheet.name
        if len(name) > MOST_NAME:
            _refuse(f"the sheet name {name!r} has {len(name)} characters", MOST_NAME, "shorten it")
        if re.search(r"[\[\]:*?/\\]|^'|'$", name) or not name or name.lower() in seen:
            raise OutputError(
                f"{name!r} cannot name a sheet; names must differ, and have none of []:*?/\\ and no "
                "apostrophe at either end"
            )
        seen.add(name.lower())
        if len(sheet.schema) > MOST_COLUMNS:
            _refuse(f"sheet {name!r} has {len(sheet.schema):,} columns", MOST_COLUMNS)


def _refuse(what: str, limit: int, instead: str = "write .csv or .parquet instead") -> NoReturn:
    raise OutputError(f"{what}, and Excel allows at most {limit:,}; {instead}")


def _entry(name: str) -> zipfile.ZipInfo:
    """Describe a file of the archive, on every day and system alike."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 0, 0o600 << 16
    return entry


def _write(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(_entry(name), text)


def _write_sheet(file: BinaryIO, sheet: Sheet, is_first: bool) -> str:
    """Write the XML of a sheet from top to bottom; return the area that its filter is for."""
    where = f"sheet {sheet.name!r}"
    names = [_letters(number) for number in range(len(sheet.schema))]
    are_short = [one.name in sheet.shown_short and pa.types.is_floating(one.type) for one in sheet.schema]
    tables = iter(sheet.tables)
    first = next(tables, sheet.schema.empty_table())
    file.write(_head(sheet, first, is_first).encode())
    file.write(_header(names, sheet.schema.names, where).encode())
    n_rows = n_bytes = 0
    for table in chain([first], tables):
        if n_rows + table.num_rows >= MOST_ROWS:
            n_rows += table.num_rows + sum(rest.num_rows for rest in tables)
            _refuse(f"{where} has {n_rows:,} rows below its header", MOST_ROWS - 1)
        for text in _row_texts(table, names, are_short, n_rows + 2, where):
            n_bytes += len(text)
            if n_bytes > MOST_BYTES:
                _refuse(f"{where} takes at least {n_bytes:,} bytes of XML", MOST_BYTES)
            file.write(text)
        n_rows += table.num_rows
    file.write(f'</sheetData><autoFilter ref="A1:{names[-1]}{n_rows + 1}"/></worksheet>'.encode())
    return f"$A$1:${names[-1]}${n_rows + 1}"


def _letters(number: int) -> str:
    """Name a column, counted from 0: A to Z, AA to ZZ, AAA and so on."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _head(sheet: Sheet, first: pa.Table, is_first: bool) -> str:
    """Begin a sheet: what stays in view, and the widths of columns, which come before their cells."""
    fixed, corner = sheet.n_fixed, f"{_letters(sheet.n_fixed)}2"
    pane = f'xSplit="{fixed}" ySplit="1"' if fixed else 'ySplit="1"'
    active = "bottomRight" if fixed else "bottomLeft"
    widths = (
        f'<col min="{number}" max="{number}" width="{_width(name, column)}" customWidth="1"/>'
        for number, (name, column) in enumerate(zip(sheet.schema.names, first.columns, strict=True), start=1)
    )
    return (
        f'{_XML}<worksheet {_MAIN}><sheetViews><sheetView workbookViewId="0" tabSelected="{int(is_first)}">'
        f'<pane {pane} topLeftCell="{corner}" activePane="{active}" state="frozen"/></sheetView></sheetViews>'
        f"<cols>{''.join(widths)}</cols><sheetData>"
    )


def _width(name: str, column: pa.ChunkedArray) -> int:
    """Choose a width that fits the header, and the text of the first rows."""
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    longest = pc.max(pc.utf8_length(column)).as_py() if is_text else None
    return min(max(_NARROW, len(name) + _BUTTON, (longest or 0) + 1), _WIDE)


def _header(names: Sequence[str], texts: Sequence[str], where: str) -> str:
    printed = _printed(pa.array(texts, pa.large_string()), where).to_pylist()
    cells = (
        f'<c r="{name}1" s="1" {_TEXT}{text}{_TEXT_END}' for name, text in zip(names, printed, strict=True)
    )
    return f'<row r="1">{"".join(cells)}</row>'


def _row_texts(
    table: pa.Table, names: Sequence[str], are_short: Sequence[bool], number: int, where: str
) -> Iterator[memoryview]:
    """Print some rows at a time; the first of all has a number in the sheet."""
    n_rows = max(1, _CHUNK_CELLS // len(names))
    for first in range(0, table.num_rows, n_rows):
        rows = table.slice(first, n_rows)
        numbers = pa.array(np.arange(rows.num_rows) + number + first).cast(pa.large_string())
        columns = (column.combine_chunks() for column in rows.columns)
        cells = [
            _cells(name, one, numbers, where, is_short)
            for name, one, is_short in zip(names, columns, are_short, strict=True)
        ]
        yield content(chained('<row r="', numbers, '">', *cells, "</row>"))


def _cells(name: str, column: pa.Array, numbers: pa.Array, where: str, is_short: bool) -> pa.Array:
    """Print the cells of a column; those without a value, or with one that is no number, are left out."""
    style = '" s="2' if is_short else ""
    kind, begin = column.type, (f'<c r="{name}', numbers)
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        cells = chained(*begin, f'{style}"><v>', column.cast(pa.large_string()), "</v></c>")
    elif pa.types.is_boolean(kind):
        cells = chained(*begin, '" t="b"><v>', column.cast(pa.int8()).cast(pa.large_string()), "</v></c>")
    else:
        cells = chained(*begin, f'" {_TEXT}', _printed(column.cast(pa.large_string()), where), _TEXT_END)
    return cells.fill_null("")


def _printed(texts: pa.Array, where: str) -> pa.Array:
    """Print text as XML; what is too long for a cell is refused."""
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > MOST_CHARACTERS:
        # Excel counts in UTF-16.
        longest = max(len(text.encode("utf-16-le")) // 2 for text in texts.drop_null().to_pylist())
        if longest > MOST_CHARACTERS:
            _refuse(f"{where} has a cell of {longest:,} characters", MOST_CHARACTERS)
    if pc.any(pc.match_substring_regex(texts, _RARE)).as_py():
        coded = (text if text is None else re.sub(_RARE, _code, text) for text in texts.to_pylist())
        texts = pa.array(coded, pa.large_string())
    for mark, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        texts = pc.replace_substring(texts, mark, entity)
    return texts


def _code(found: re.Match[str]) -> str:
    """Write the first of some characters as its number, and keep the others."""
    return f"_x{ord(found[0][0]):04X}_{found[0][1:]}"


def _workbook(sheets: Sequence[Sheet], areas: Sequence[str]) -> str:
    """List the sheets, and the areas of their filters, which some programs look up here."""
    listed = "".join(
        f'<sheet name={quoteattr(sheet.name)} sheetId="{number}" r:id="rId{number}"/>'
        for number, sheet in enumerate(sheets, start=1)
    )
    filters = "".join(
        f'<definedName name="_xlnm._FilterDatabase" localSheetId="{number}" hidden="1">'
        f"{escape(_quoted(sheet.name))}!{area}</definedName>"
        for number, (sheet, area) in enumerate(zip(sheets, areas, strict=True))
    )
    return (
        f'{_XML}<workbook {_MAIN} xmlns:r="{_LINKS}"><sheets>{listed}</sheets>'
        f"<definedNames>{filters}</definedNames></workbook>"
    )


def _quoted(name: str) -> str:
    """Quote the name of a sheet as formulas do."""
    doubled = name.replace("'", "''")
    return f"'{doubled}'"


def _relations(parts: Sequence[tuple[str, str]]) -> str:
    """Say of what kind the files are that belong to another; their numbers begin with 1."""
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_LINKS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(parts, start=1)
    )
    return f'{_XML}<Relationships xmlns="{_OFFICE}/package/2006/relationships">{links}</Relationships>'


def _content_types(n_sheets: int) -> str:
    """Say of what type each file of the archive is."""
    kinds = {"workbook.xml": "sheet.main", "styles.xml": "styles"}
    kinds |= {_file_of(number + 1): "worksheet" for number in range(n_sheets)}
    of_files = "".join(
        f'<Override PartName="/xl/{name}" '
        f'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    return (
        f'{_XML}<Types xmlns="{_OFFICE}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{of_files}</Types>'
    )


def _file_of(number: int) -> str:
    return f"worksheets/sheet{number}.xml"
