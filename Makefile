PYTHON ?= python3.11
ifeq (, $(shell command -v $(PYTHON) 2>/dev/null))
PYTHON := python3
endif
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --disable-pip-version-check --quiet

.PHONY: run test check bench setup peers lock clean

run: $(VENV)/.installed
	$(BIN)/m2a run

# A file in one process: its tests share what is dear to set up. Tests wait for a browser, a disk or a service now and then, so
# four processes of one thread keep two cores busy. The bytecode is written, because the tests start about a hundred programs.
test: setup
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

bench: setup
	$(BIN)/python -m tests.bench

# Also installs what only development needs.
setup: $(VENV)/.installed-dev

$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "M2A needs Python 3.11 or newer; name one: make run PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-deps -r requirements.lock -e .
	touch $@

# torch first: the machine decides between its CPU and its CUDA build, and the lock leaves it alone afterwards.
$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	$(PIP) torch==2.13.0 -c requirements.lock -c requirements-dev.lock
	$(PIP) --no-deps -r requirements-dev.lock
	touch $@

# The packages of the memory systems `mem0` and `a-mem`, each apart: nothing but their evaluation needs them.
PEERS := .venv-peers
peers: $(PEERS)/mem0/.installed $(PEERS)/a-mem/.installed

$(PEERS)/%/.installed: m2a/systems/peers/requirements-%.lock
	$(PYTHON) -m venv --clear $(PEERS)/$*
	$(PEERS)/$*/bin/pip install --disable-pip-version-check --quiet torch==2.13.0 -c $<
	$(PEERS)/$*/bin/pip install --disable-pip-version-check --quiet --no-deps -r $<
	touch $@

# Needs uv. Run it after changing a dependency. The second lock holds what the first does not.
COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --strip-extras --no-annotate --upgrade
lock:
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra dev -c requirements.lock | grep -vxFf requirements.lock > requirements-dev.lock

clean:
	rm -rf $(VENV)
