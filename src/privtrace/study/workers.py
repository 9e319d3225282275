"""Run trials side by side in processes of their own, and hand on what they found as it comes.

They are started as programs, not forked, since a fork would take over locks that other threads hold; and not by
`multiprocessing`, which would run the user's script again where it lacks a guard. So a comparison can stand
anywhere: in a script, in a notebook, on any system.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress

from privtrace.errors import PrivTraceError
from privtrace.study.messages import Closed, packed, receive, send
from privtrace.study.trials import Answer, Task, Trial


class WorkerEnded(PrivTraceError):
    """A process that compared ended before it answered."""


class Workers:
    """Run trials of a task on a number of processes; close them at the end of the block."""

    def __init__(self, task: Task, n_workers: int) -> None:
        self._task = packed(task)
        self._n_workers = n_workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._lock, self._has_ended = threading.Lock(), False

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # none is started from here on
            self._has_ended = True
        for process in self._processes:
            _kill(process)
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            _closed(process)

    def run(self, trials: Sequence[Trial]) -> Iterator[tuple[Trial, Answer]]:
        """Yield answers as they come. After a failure, no other trial of its label begins."""
        waiting = _Waiting(trials)
        answers: queue.Queue[tuple[Trial, Answer] | Exception | None] = queue.Queue()
        n_running = min(self._n_workers, len(trials))
        for _ in range(n_running):
            self._threads.append(threading.Thread(target=self._serve, args=(waiting, answers), daemon=True))
            self._threads[-1].start()
        while n_running:
            answer = answers.get()
            if answer is None:
                n_running -= 1
            elif isinstance(answer, Exception):
                raise answer
            else:
                yield answer

    def _serve(self, waiting: _Waiting, answers: queue.Queue[tuple[Trial, Answer] | Exception | None]) -> None:
        """Keep one process busy; where a trial ended it, another one."""
        process = None
        try:
            while not self._has_ended and (trial := waiting.next()) is not None:
                process = process or self._started()
                try:
                    answer = _asked(process, packed(trial))
                except WorkerEnded as ended:
                    process, answer = None, Answer({}, str(ended))
                if answer.fault is not None:
                    waiting.drop(trial.label)
                answers.put((trial, answer))
        except Exception as error:
            answers.put(error)
        answers.put(None)

    def _started(self) -> subprocess.Popen[bytes]:
        """Start a process, and give it the task."""
        with self._lock:
            if self._has_ended:
                raise WorkerEnded("the comparison has ended")
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "privtrace.study.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_path())},
                start_new_session=True,  # Ctrl-C is for whoever asked, who then ends it
            )
            self._processes.append(process)
        try:
            fault = _asked(process, self._task).fault
        except WorkerEnded as ended:
            fault = str(ended)
        if fault is not None:
            raise WorkerEnded(f"a process for the comparison could not begin: {fault}")
        return process


class _Waiting:
    """Hold the trials that nobody has begun."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials, self._lock = deque(trials), threading.Lock()
        self._dropped: set[str] = set()

    def next(self) -> Trial | None:
        """Take the next one."""
        with self._lock:
            while self._trials:
                trial = self._trials.popleft()
                if trial.label not in self._dropped:
                    return trial
        return None

    def drop(self, label: str) -> None:
        """Let no other trial of a label begin."""
        self._dropped.add(label)


def _asked(process: subprocess.Popen[bytes], message: bytes) -> Answer:
    """Send a packed message, and wait for the answer."""
    assert process.stdin is not None and process.stdout is not None
    try:
        send(process.stdin, message)
        answer: Answer = receive(process.stdout)
    except Closed:
        raise WorkerEnded(
            f"its process ended before it answered (exit code {process.wait()}); often memory is too small: "
            "use fewer with --workers (workers=...)"
        ) from None
    return answer


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process, and those that a method started in it, which would hold its pipes open."""
    if hasattr(os, "killpg") and process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _closed(process: subprocess.Popen[bytes]) -> None:
    """Let go of a process that was killed."""
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with suppress(OSError):  # of what it did not read any more
            stream.close()


def _path() -> list[str]:
    """Let it find the same modules: a script's folder, a notebook's."""
    return [place or os.getcwd() for place in sys.path]
