"""Read text in blocks of whole lines, packed with gzip or not, in little memory; and read ahead."""

from __future__ import annotations

import gzip
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar, cast

import numpy as np
import pyarrow as pa

from privtrace.io.files import CURE, reading
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


def n_ends(block: bytes) -> int:
    """Count the ends of lines."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n")))


@contextmanager
def abreast(streams: Sequence[Iterable[Item]]) -> Iterator[list[Iterator[Item]]]:
    """Let several streams be a few items ahead each, on as many threads as there may be.

    A thread makes the next item of the stream that has fewest. Where one thread is all, it is the caller's.
    """
    cores = pa.cpu_count()
    if cores == 1:
        yield [iter(stream) for stream in streams]
        return
    shared = threading.Condition()
    queues = [_Queue(iter(stream), shared) for stream in streams]
    with ThreadPoolExecutor(min(cores, len(queues))) as pool:
        workers = [pool.submit(_make_items, queues, shared) for _ in range(min(cores, len(queues)))]
        try:
            yield [queue.taken() for queue in queues]
        finally:  # at once, while what items are read from is open
            with shared:
                for queue in queues:
                    queue.is_done = True
                shared.notify_all()
    for worker in workers:
        worker.result()


class _Queue(Generic[Item]):
    """Hold the items of a stream that were made and not taken; `shared` guards all of it."""

    def __init__(self, items: Iterator[Item], shared: threading.Condition) -> None:
        self.items = items
        self.made: deque[Item] = deque()
        self.is_busy = self.is_done = False
        self.error: Exception | None = None
        self._shared = shared

    def taken(self) -> Iterator[Item]:
        """Yield the items in order, as soon as they are there."""
        while True:
            with self._shared:
                self._shared.wait_for(lambda: self.made or self.is_done)
                if not self.made:
                    break
                item = self.made.popleft()
                self._shared.notify_all()
            yield item
        if self.error is not None:
            raise self.error


def _make_items(queues: Sequence[_Queue[Item]], shared: threading.Condition) -> None:
    """Make items, as long as some are to be made, for the queue that has fewest."""

    def waiting() -> list[_Queue[Item]]:
        free = [queue for queue in queues if not queue.is_busy and not queue.is_done]
        return sorted((one for one in free if len(one.made) < _ITEMS_AHEAD), key=lambda one: len(one.made))

    while True:
        with shared:
            shared.wait_for(lambda: waiting() or all(queue.is_done for queue in queues))
            if not waiting():
                return
            queue = waiting()[0]
            queue.is_busy = True
        try:
            item, is_done, error = next(queue.items), False, None
        except StopIteration:
            is_done, error = True, None
        except Exception as failure:  # for whoever takes the items
            is_done, error = True, failure
        with shared:
            if not is_done:
                queue.made.append(item)
            queue.is_busy = False
            queue.is_done |= is_done
            queue.error = queue.error or error
            shared.notify_all()


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
