"""Run trials in a process of its own: a task comes first, then trials, each answered by what was found.

What a method prints goes to standard error, and what it reads comes from nowhere, so that it cannot get between
questions and answers.
"""

from __future__ import annotations

import os
import traceback
import warnings
from typing import BinaryIO

from privtrace.backends.cores import limit_threads
from privtrace.errors import PrivTraceError
from privtrace.methods.registry import register
from privtrace.study.messages import Closed, packed, receive, send
from privtrace.study.trials import Answer, Bench, Task


def main() -> None:
    """Answer trials until there are no more."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")  # the same in hundreds of fits; what matters is in the results
    try:
        bench = _begun(questions)
    except Exception as error:
        _answer(answers, Answer({}, _fault(error)))
        return
    _answer(answers, Answer({}))
    while True:
        try:
            trial = receive(questions)
        except Closed:
            return
        try:
            _answer(answers, Answer(bench.run(trial)))
        except (Exception, SystemExit) as error:
            _answer(answers, Answer({}, _fault(error)))


def _begun(questions: BinaryIO) -> Bench:
    task: Task = receive(questions)
    if task.threads is not None:
        limit_threads(task.threads)
    for competitor in task.competitors.values():
        if competitor.method is not None:
            register(competitor.method)
    return Bench(task)


def _answer(answers: BinaryIO, answer: Answer) -> None:
    send(answers, packed(answer))


def _fault(error: BaseException) -> str:
    """Say what went wrong: in our own words as they are, else with the place where it happened."""
    if isinstance(error, PrivTraceError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(last.filename)}, line {last.lineno})"


if __name__ == "__main__":
    main()
