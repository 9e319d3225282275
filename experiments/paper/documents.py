"""Write what was found into the documents: into marked blocks, and as figures.

A block begins with a line `<!-- results: NAME -->` and ends with `<!-- end of results -->`; what stands between
is replaced. Nothing in it is written by hand, and a test holds the documents to the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from experiments.paper import page, tables
from experiments.paper.pictures import density_maps, pictures
from experiments.paper.results import Results
from privtrace.report.plots import Plot, write_plots
from privtrace.storage.atomic import replacing

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images" / "paper"
DOCUMENTS = ("README.md", "docs/results.md", "docs/comparison.md", "docs/choosing.md")

_BLOCK = re.compile(r"(<!-- results: ([a-z-]+) -->\n)(.*?)(\n<!-- end of results -->)", re.DOTALL)
_IMAGE = re.compile(r"images/paper/([a-z0-9-]+)\.(svg|png)")

#: What stands in the blocks of documents, by name.
BLOCKS: dict[str, Callable[[Results], str]] = {
    one.__name__: one
    for one in (
        page.verdicts,
        page.data,
        page.maps,
        page.ablations,
        page.subgroups,
        page.costs,
        page.growth,
        page.grids,
        page.thresholds,
        page.divisions,
        tables.readme,
        tables.errors,
        tables.totals,
        tables.peers,
        tables.learning,
        tables.choose,
    )
}


def write(folder: Path) -> None:
    """Write documents and their figures; all figures, as PNG and CSV too, go beside the results."""
    results = Results(folder)
    for path, text in texts(results).items():
        with replacing(path, force=True) as temporary:
            temporary.write_text(text)
    drawn = [*pictures(results)]
    drawn += [density_maps(results.maps(data), data, not_private=data != "city") for data in results.mapped()]
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, content in images(drawn).items():
        with replacing(IMAGES / name, force=True) as temporary:
            temporary.write_bytes(content)
    write_plots(drawn, folder / "figures-NOT-PRIVATE", force=True)


def texts(results: Results) -> dict[Path, str]:
    """Give the new text of each document."""
    return {ROOT / name: filled((ROOT / name).read_text(), results) for name in DOCUMENTS}


def filled(text: str, results: Results) -> str:
    """Fill the blocks of a text."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{BLOCKS[found[2]](results)}\n{found[4]}", text)


def images(drawn: list[Plot]) -> dict[str, bytes]:
    """Give the content of each image that documents show."""
    by_name = {plot.name: plot for plot in drawn}
    found = {match.groups() for name in DOCUMENTS for match in _IMAGE.finditer((ROOT / name).read_text())}
    return {
        f"{name}.{kind}": by_name[name].png() if kind == "png" else by_name[name].svg_file().encode()
        for name, kind in sorted(found)
    }
