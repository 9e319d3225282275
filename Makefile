# Each verb sets up what it needs in .venv and does one thing.
PYTHON ?= python3
BIN := .venv/bin

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: demo test test-slow test-browser mutants screenshots chromium check bench clean

demo: .venv/run
	$(BIN)/privtrace demo --output demo --force

# Tests start hundreds of commands: bytecode is kept for them, even where the machine is set up to keep none.
test: export PYTHONDONTWRITEBYTECODE=
test: .venv/dev
	$(BIN)/python -m pytest -q -m "not slow and not data and not browser" --numprocesses 2 --dist worksteal

test-slow: .venv/slow
	$(BIN)/python -m pytest -q -m "slow or data"

test-browser: .venv/browser chromium
	$(BIN)/python -m pytest -q -m browser tests/browser

# Break the code on purpose, and see that tests fail.
mutants: .venv/dev
	$(BIN)/python -m mutants

# The pictures of README and docs.
screenshots: .venv/browser chromium
	SCREENSHOTS=docs/images $(BIN)/python -m pytest -q -m browser tests/browser -k readme

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/run
	$(BIN)/python -m benchmarks

# The stamp files are newer than pyproject.toml exactly when the environment matches it.
.venv/run: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) .
	touch $@

# Bytecode is kept of what tests import; pip would make it for thousands of files that nobody asks for.
.venv/dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) '.[dev]' --no-compile
	touch $@ .venv/run

.venv/slow: .venv/dev
	$(INSTALL) '.[slow]'
	touch $@

.venv/browser: .venv/dev
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 $(INSTALL) '.[dev,browser]'
	touch $@

# Debian's Chromium. Where it is not there and may not be installed, the browser's tests skip.
chromium:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	    if [ "$$(id -u)" = 0 ]; then root=; else root="sudo -n"; fi; \
	    $$root apt-get -q update && $$root apt-get -q install --yes chromium; \
	} || echo "No Chromium: apt-get is missing or not allowed here. The browser's tests will skip."

# Compiled kernels go too: those of another version may name types that are no longer there.
clean:
	rm -rf .venv build dist demo screenshots
	find src tests examples -name '*.nb[ci]' -delete
