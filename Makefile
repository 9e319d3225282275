# Each verb sets up what it needs in .venv and does one thing.
PYTHON ?= python3
VENV := .venv
BIN = $(VENV)/bin
# Bytecode is kept of what is imported, even where the machine is set up to keep none, and made of nothing else.
export PYTHONDONTWRITEBYTECODE =

PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# uv installs on all cores, in a quarter of the time. Where it cannot, for pip may be told of other registries, pip does.
define install
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $(BIN)/uv || $(PIP) uv || true
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '$(1)' || $(PIP) --editable '$(1)'
	touch $@ $(2)
endef

# Installs a Debian package for a command that is not there, if that may be.
define debian
	@command -v $(1) || { \
	    if [ "$$(id -u)" = 0 ]; then root=; else root="sudo -n"; fi; \
	    $$root apt-get -q update && $$root apt-get -q install --yes $(2); \
	} || echo "No $(2): apt-get is missing or not allowed here. The tests that need it will skip."
endef

.PHONY: demo paper test test-slow test-browser test-spark mutants screenshots chromium java check bench clean

demo: .venv/run
	$(BIN)/privtrace demo --output demo --force

# Tests start hundreds of commands. While one process waits for such a command, another tests.
test: .venv/dev
	$(BIN)/python -m pytest -q -m "not slow and not data and not browser and not spark" --numprocesses 3 --dist worksteal

test-slow: .venv/slow
	$(BIN)/python -m pytest -q -m "slow or data"

test-browser: .venv/browser chromium
	$(BIN)/python -m pytest -q -m browser tests/browser

test-spark: .venv/spark java
	$(BIN)/python -m pytest -q -m spark tests/spark

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

# The whole evaluation of the paper; needs the public data sets, and goes on where it was ended.
paper: .venv/run
	$(BIN)/python -m experiments.paper

# The stamp files are newer than pyproject.toml exactly when the environment matches it.
.venv/run: pyproject.toml
	$(call install,.)

.venv/dev: pyproject.toml
	$(call install,.[dev],.venv/run)

.venv/slow: .venv/dev
	$(call install,.[slow])

.venv/browser: .venv/dev
	$(call install,.[browser])

.venv/spark: pyproject.toml
	$(call install,.[spark-tests])

# Spark needs an older pandas than all else here, so it has an environment of its own.
test-spark .venv/spark: VENV := .venv/with-spark

# Debian's packages, where they may be installed; without them, the tests that need them skip.
chromium:
	$(call debian,chromium || command -v chromium-browser || command -v google-chrome,chromium)

java:
	$(call debian,java,openjdk-17-jre-headless)

# Compiled kernels go too: those of another version may name types that are no longer there.
clean:
	rm -rf .venv build dist demo screenshots
	find src tests examples -name '*.nb[ci]' -delete
