"""Read text in blocks of whole lines, packed with gzip or not, in little memory; and read ahead."""

from __future__ import annotations

import gzip
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import numpy as np
import pyarrow as pa

from privtrace.io.files import CURE, reading
from privtrace.parsing.slices import n_ends
from privtrace.trajectories import Integers

#: A line longer than a block and than this is left out, so that memory stays small.
LINE_BYTES = 1 << 20
#: The same for texts with a whole trajectory in a line: three million points.
TRAJECTORY_BYTES = 1 << 26

Item = TypeVar("Item")
Made = TypeVar("Made")

#: Items of a stream that wait to be taken.
_ITEMS_AHEAD = 3

#: Why a line was left out.
TOO_LONG = "the line is too long"


@dataclass(frozen=True)
class Block:
    """Hold whole lines of a text."""

    first_line: int  # counted from 1
    lines: bytes
    n_lines: int  # those in `lines`, and one more where the last was left out
    last_too_long: bool

    @property
    def left_out(self) -> Integers:
        """Number the lines that were left out, as lines of the block: the last one or none."""
        return np.flatnonzero([self.last_too_long]) + (self.n_lines - 1)


@contextmanager
def opened(path: Path, *, packed: bool) -> Iterator[BinaryIO]:
    """Open a file for a pass over it, unpacked; failures become a `DataError` with a cure."""
    with reading(path, CURE), path.open("rb") as file:
        yield unpacked(file, packed=packed)


def unpacked(file: BinaryIO, *, packed: bool) -> BinaryIO:
    """Unpack a file that is packed with gzip, from where it stands."""
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file


def blocks(
    file: BinaryIO, block_bytes: int, first_line: int = 1, *, line_bytes: int | None = None
) -> Iterator[Block]:
    """Yield whole lines of about so many bytes, from where the file stands, which is at the start of a line.

    A line longer than a block and than `line_bytes` (if None, LINE_BYTES) is left out.
    """
    limit = max(block_bytes, line_bytes or LINE_BYTES)
    while block := file.read(block_bytes):
        end = block.rfind(b"\n") + 1
        rest = file.readline(limit + 1)  # one more, to tell a full line from a longer one
        too_long = len(block) - end + len(rest) > limit
        while too_long and not rest.endswith(b"\n") and (rest := file.readline(limit)):
            pass
        lines = block[:end] if too_long else block + rest
        n_lines = n_ends(lines) + (not lines.endswith(b"\n") and lines != b"") + too_long
        yield Block(first_line, lines, n_lines, too_long)
        first_line += n_lines


@contextmanager
def abreast(streams: Sequence[Iterable[Item]]) -> Iterator[list[Iterator[Item]]]:
    """Let several streams be a few items ahead each, on as many threads at a time as there may be.

    Where one thread is all, it is the caller's.
    """
    cores = pa.cpu_count()
    if cores == 1:
        yield [iter(stream) for stream in streams]
        return
    turn = threading.Semaphore(cores)
    pools = [ThreadPoolExecutor(1) for _ in streams]
    try:
        yield [_ahead(iter(stream), pool, turn) for stream, pool in zip(streams, pools, strict=True)]
    finally:  # at once, while what items are read from is open
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for pool in pools:
            pool.shutdown()


def _ahead(items: Iterator[Item], pool: ThreadPoolExecutor, turn: threading.Semaphore) -> Iterator[Item]:
    """Make the items of a stream, a few before they are taken, whenever it has its turn among others."""

    def one() -> list[Item]:
        with turn:
            return [*islice(items, 1)]  # none at the end

    made = deque(pool.submit(one) for _ in range(_ITEMS_AHEAD))

    def taken() -> Iterator[Item]:
        while item := made.popleft().result():
            made.append(pool.submit(one))
            yield item[0]

    return taken()


def side_by_side(
    task: Callable[[Item], Made], items: Iterable[Item], n_threads: int | None = None
) -> Generator[Made, None, None]:
    """Yield task(item) for each, in order, made on threads of their own; few are held at a time."""
    cores = pa.cpu_count()  # as many as this process may use, as `limit_threads` says it to arrow
    if cores == 1:
        yield from map(task, items)
        return
    n_threads = cores if n_threads is None else n_threads
    with ThreadPoolExecutor(n_threads) as pool:
        running: deque[Future[Made]] = deque()
        try:
            for item in items:
                running.append(pool.submit(task, item))
                if len(running) > n_threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()
