"""Workbooks: every cell as it was given, in a file that others open, and a refusal where Excel ends."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from privtrace.errors import OutputError
from privtrace.export import xlsx
from privtrace.export.xlsx import Sheet, matrix_sheet, write_workbook

TABLE = pa.table(
    {
        "zone": pa.array(["=1+1", " <&>\"'\n", None, "ü😀", "a\x01b", "_x0041_"], pa.string()),
        "trips": pa.array([1, -2, None, 2**53, 0, 7], pa.int64()),
        "share": pa.array([0.1, np.nan, None, -np.inf, 1e-300, 1 / 3], pa.float64()),
        "is_known_to_all": pa.array([True, False, None, True, True, False]),
    }
)
ABOUT = {"privtrace.guarantee": "pure", "privtrace.columns": '{"zone": "its id", "n": 3}', "who": "{no json"}


def workbook(*sheets: Sheet) -> bytes:
    sink = io.BytesIO()
    write_workbook(sink, sheets, ABOUT)
    return sink.getvalue()


def read(content: bytes) -> Any:
    return openpyxl.load_workbook(io.BytesIO(content))


def rows(sheet: Any) -> list[list[Any]]:
    return [[cell.value for cell in row] for row in sheet.rows]


def sheet(name: str = "od", *tables: pa.Table) -> Sheet:
    return Sheet(name, TABLE.schema, tables)


def test_cells_are_what_the_table_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "_CHUNK_CELLS", 9)  # two rows
    (found, _) = read(workbook(sheet("od", TABLE.slice(0, 5), TABLE.slice(5)))).worksheets
    wanted = [list(row.values()) for row in TABLE.to_pylist()]
    wanted[1][2] = wanted[3][2] = None  # no number that Excel has
    wanted[4][0], wanted[5][0] = "a_x0001_b", "_x005F_x0041_"  # as Excel writes them, and reads them back
    assert rows(found) == [TABLE.column_names, *wanted]
    assert found["A2"].data_type != "f" and found["B2"].data_type == "n"
    assert found.freeze_panes == "A2" and found.auto_filter.ref == "A1:D7"
    assert found["D1"].font.b and not found["D2"].font.b
    assert found.column_dimensions["D"].width > len("is_known_to_all") + 3


def test_words_are_the_last_sheet() -> None:
    _, about = read(workbook(sheet())).worksheets
    assert about.title == "About"
    assert rows(about) == [
        ["key", "value"],
        ["guarantee", "pure"],
        ["columns: zone", "its id"],
        ["columns: n", "3"],
        ["who", "{no json"],
    ]


def test_a_matrix_has_a_row_per_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "_CHUNK_CELLS", 250)
    rng, n = np.random.default_rng(1), 40
    values, zones = rng.uniform(0, 9, (n, n)), [f"{number}" for number in range(n)]
    found, _ = read(workbook(matrix_sheet("trips", zones, values))).worksheets
    header, *lines = rows(found)
    assert header == ["origin", *zones]
    assert found.freeze_panes == "B2" and found.sheet_view.pane.xSplit == found.sheet_view.pane.ySplit == 1
    assert [line[0] for line in lines] == zones
    assert np.array_equal([line[1:] for line in lines], values)


def test_columns_are_named_as_excel_names_them() -> None:
    names = [f"{number}" for number in range(705)]  # to AAC
    fields = pa.schema([(name, pa.int64()) for name in names])
    row = pa.table([pa.array([number]) for number in range(len(names))], schema=fields)
    found, _ = read(workbook(Sheet("wide", fields, [row]))).worksheets
    assert [found.cell(1, number + 1).value for number in range(len(names))] == names
    assert rows(found)[1] == [*range(len(names))] and found.auto_filter.ref == "A1:AAC2"


def test_the_same_tables_make_the_same_file_and_a_pipe_will_do() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, more: Any) -> int:
            self.content += bytes(more)
            return len(more)

    assert workbook(sheet("od", TABLE)) == workbook(sheet("od", TABLE))
    pipe = Pipe()
    write_workbook(pipe, [sheet("o'd & <x>", TABLE)], ABOUT)  # type: ignore[arg-type]
    assert read(pipe.content).sheetnames == ["o'd & <x>", "About"]
    with zipfile.ZipFile(io.BytesIO(pipe.content)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist()[0] == "[Content_Types].xml"


def test_what_excel_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = pa.schema([("a", pa.string())])

    def of_text(n: int, one: str = "ü") -> Sheet:
        return Sheet("od", text, [pa.table({"a": [one * n]}, schema=text)])

    def long() -> Iterator[pa.Table]:
        yield from [pa.table({"a": pa.nulls(400_000, pa.string())}, schema=text)] * 3

    wide = pa.schema([(f"{number}", pa.int64()) for number in range(16_385)])
    refused = [
        (Sheet("od", text, long()), "^sheet 'od' has 1,200,000 rows .* at most 1,048,575; write .csv"),
        (Sheet("od", wide, []), "'od' has 16,385 columns, .* 16,384; write .csv or .parquet"),
        (of_text(32_768), "'od' has a cell of 32,768 characters, .* at most 32,767"),
        (of_text(16_384, "😀"), "a cell of 32,768 characters"),
        (sheet("o" * 32), "has 32 characters, .* at most 31; shorten it"),
        (sheet("od: all"), "'od: all' cannot name a sheet"),
        (sheet("about"), "'About' cannot name a sheet"),
    ]
    for given, message in refused:
        with pytest.raises(OutputError, match=message):
            workbook(given)
    assert len(rows(read(workbook(of_text(32_767)))["od"])[1][0]) == 32_767
    monkeypatch.setattr(xlsx, "MOST_ROWS", len(TABLE) + 1)  # with the header
    assert len(rows(read(workbook(sheet("od", TABLE)))["od"])) == len(TABLE) + 1
    monkeypatch.setattr(xlsx, "MOST_ROWS", len(TABLE))
    with pytest.raises(OutputError, match=r"'od' has 6 rows below its header, .* at most 5"):
        workbook(sheet("od", TABLE))
    monkeypatch.undo()
    monkeypatch.setattr(xlsx, "MOST_BYTES", 1000)
    with pytest.raises(OutputError, match=r"at least 1,\d{3} bytes of XML, .*; write .csv"):
        workbook(sheet("od", *[TABLE] * 2))


def test_numbers_are_shown_with_two_decimals_and_hold_all(tmp_path: Path) -> None:
    table = pa.table({"zone": ["a"], "trips": [111.748657], "lon": [8.123456], "hour": [7]})
    sheets = [
        Sheet("od", table.schema, [table], shown_short=frozenset(["zone", "trips", "hour"])),
        matrix_sheet("matrix", ["a"], np.array([[111.748657]])),
    ]
    with (tmp_path / "a.xlsx").open("wb") as sink:
        write_workbook(sink, sheets, {})
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    formats = [cell.number_format for cell in book["od"][2]]
    assert formats == ["General", "#,##0.00", "General", "General"]
    assert [cell.value for cell in book["od"][2]] == ["a", 111.748657, 8.123456, 7]
    assert [cell.number_format for cell in book["matrix"][2]] == ["General", "#,##0.00"]
