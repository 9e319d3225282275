# Each verb sets up what it needs in .venv and does one thing.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow check bench clean

demo: .venv/run
	$(BIN)/privtrace demo --output demo --force

test: .venv/dev
	$(BIN)/python -m pytest -q -m "not slow" --numprocesses 2 --dist worksteal

test-slow: .venv/dev
	$(BIN)/python -m pytest -q -m slow

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/run
	$(BIN)/python -m benchmarks

# The stamp files are newer than pyproject.toml exactly when the environment matches it.
.venv/run: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ .venv/run

clean:
	rm -rf .venv build dist demo
