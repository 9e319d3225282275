"""Run trials side by side in processes of their own, and hand on what they found as it comes.

They are started as programs, not forked, since a fork would take over locks that other threads hold; and not by
`multiprocessing`, which would run the user's script again where it lacks a guard. So a comparison can stand
anywhere: in a script, in a notebook, on any system.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence

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
        self._ended = threading.Event()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def run(self, trials: Sequence[Trial]) -> Iterator[tuple[Trial, Answer]]:
        """Yield answers as they come. After a failure, no other trial of its label begins."""
        waiting = _Waiting(trials)
        answers: queue.Queue[tuple[Trial, Answer] | Exception | None] = queue.Queue()
        threads = [
            threading.Thread(target=self._serve, args=(waiting, answers), daemon=True)
            for _ in range(min(self._n_workers, len(trials)))
        ]
        for thread in threads:
            thread.start()
        n_running = len(threads)
        while n_running:
            answer = answers.get()
            if answer is None:
                n_running -= 1
            elif isinstance(answer, Exception):
                raise answer
            else:
                yield answer

    def _serve(self, waiting: _Waiting, answers: queue.Queue[tuple[Trial, Answer] | Exception | None]) -> None:
        """Keep one process busy."""
        try:
            process = self._started()
            while (trial := waiting.next()) is not None:
                answer = _asked(process, packed(trial))
                if answer.fault is not None:
                    waiting.drop(trial.label)
                answers.put((trial, answer))
        except Exception as error:
            if not self._ended.is_set():
                answers.put(error)
        answers.put(None)

    def _started(self) -> subprocess.Popen[bytes]:
        """Start a process, and give it the task."""
        process = subprocess.Popen(
            [sys.executable, "-m", "privtrace.study.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_path())},
            start_new_session=True,  # Ctrl-C is for whoever asked, who then ends it
        )
        self._processes.append(process)
        answer = _asked(process, self._task)
        if answer.fault is not None:
            raise WorkerEnded(f"a process for the comparison could not begin: {answer.fault}")
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
            f"a process of the comparison ended before it answered (exit code {process.wait()}); often memory "
            "is too small: use fewer with --workers (workers=...). The results so far are kept"
        ) from None
    return answer


def _path() -> list[str]:
    """Let it find the same modules: a script's folder, a notebook's."""
    return [place or os.getcwd() for place in sys.path]
