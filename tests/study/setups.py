"""Run trials in this process, where a test is not about processes: to start one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import privtrace as pt
from privtrace.study import comparing
from privtrace.study.study import Study
from privtrace.study.trials import Answer, Bench, Task, Trial
from privtrace.study.worker import _fault


class Here:
    """Run trials as `Workers` does, one after the other."""

    ran: list[Trial]  # by all of them

    def __init__(self, task: Task, n_workers: int) -> None:
        self._bench = Bench(task)

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, trials: Sequence[Trial]) -> Iterator[tuple[Trial, Answer]]:
        dropped = set()
        for trial in trials:
            if trial.label in dropped:
                continue
            Here.ran.append(trial)
            try:
                answer = Answer(self._bench.run(trial))
            except Exception as error:
                answer = Answer({}, _fault(error))
                dropped.add(trial.label)
            yield trial, answer


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> type[Here]:
    """Let comparisons run here, and list what they ran."""
    monkeypatch.setattr(comparing, "Workers", Here)
    Here.ran = []
    return Here


def compare(trips: Any, region: Any, *methods: Any, **settings: Any) -> Study:
    """Compare in little time."""
    given = {"epsilons": [1], "runs": 2, "maps": False, "costs": False, "workers": 1}
    return pt.compare(trips, region=region, **{**given, "methods": list(methods), **settings})


def fits(log: Path) -> list[str]:
    """List the epsilons and seeds of all fits."""
    return log.read_text().splitlines() if log.exists() else []
