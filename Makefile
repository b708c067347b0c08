# `make report` runs every notebook in the quick profile and builds the page that says what was
# measured; `make test` checks everything. Each sets up .venv by itself, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --no-compile --constraint constraints.txt --editable
# By itself, pip compiles one module after the other, also tests and packages that nothing here runs.
UNUSED := [/\\](tests|pip|setuptools|debugpy)[/\\]
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '$(UNUSED)' $(VENV)/lib
# Two processes with one BLAS thread each beat one process with two on these workloads.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

# What `make test` installs; "all,guides,test,torch" tests PyTorch's tensors as well.
TEST_EXTRAS ?= all,guides,test

# Where JupyterLab finds, in this environment alone, that a double click on text opens a notebook.
LAB_SETTINGS := $(VENV)/etc/jupyter/labconfig/default_setting_overrides.json

.PHONY: report site lite pdf sheets choose full test chaos lab check clean help

help:
	@echo "make report   run all notebooks (quick profile) and build build/report/index.html"
	@echo "make site     the same pages from published results alone; runs no notebook, a minute"
	@echo "make lite     the same as site, with notebooks that run in the reader's browser"
	@echo "make pdf      the same, printed as a paper: build/report.pdf (needs Chromium)"
	@echo "make sheets   the lessons without solutions, for students: build/sheets"
	@echo "make test     run the tests"
	@echo "make chaos    kill the runner and its processes at random moments (KILLS=10)"
	@echo "make full     run all notebooks at the papers' scale (hours; needs the data sets)"
	@echo "make choose   choose the settings that make full measures, without test data (hours)"
	@echo "make lab      open JupyterLab; the text notebooks open as notebooks"
	@echo "make check    style, types, ledger and notebooks: all consistent?"

report: $(VENV)/.core
	@status=0; $(BIN)/invariance run --profile quick --resume || status=$$?; \
	$(BIN)/invariance report --profile quick || status=$$?; exit $$status

site: $(VENV)/.core
	$(BIN)/invariance site

# Pyodide's files come from INVARIANCE_PYODIDE, from the cache, or are downloaded and checked.
lite: $(VENV)/.lite
	$(BIN)/invariance lite
	$(BIN)/invariance site

pdf: $(VENV)/.core
	$(BIN)/invariance pdf

sheets: $(VENV)/.core
	$(BIN)/invariance sheets course

choose: $(VENV)/.full
	$(BIN)/invariance choose

full: $(VENV)/.full
	@status=0; $(BIN)/invariance run --profile full --resume || status=$$?; \
	$(BIN)/invariance scoreboard || status=$$?; \
	$(BIN)/invariance report --profile full || status=$$?; exit $$status

# The array checks of scikit-learn's check_estimator run only where this is set. Hypothesis draws the
# same examples each time, so that no run fails by chance; plain pytest draws new ones.
test: export SCIPY_ARRAY_API ?= 1
test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal -q --hypothesis-profile=ci

# Kills at moments of a clock, hence apart from the tests; SEED is another sequence.
chaos: $(VENV)/.test
	INVARIANCE_KILLS=$(or $(KILLS),10) INVARIANCE_CHAOS_SEED=$(or $(SEED),0) \
	$(BIN)/python -m pytest -m chaos -rP tests/companion/runner

check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/invariance check $(if $(EDITION),--edition $(EDITION))

lab: $(VENV)/.lab
	$(BIN)/jupyter lab notebooks

clean:
	rm -rf build $(VENV)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "Python 3.11 or newer is needed; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) ".[all,companion,guides]"
	-@$(COMPILE)
	@touch $@

# The speed page compares with other packages.
$(VENV)/.full: $(VENV)/.core
	$(INSTALL) ".[all,companion,guides,speed]"
	-@$(COMPILE)
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(INSTALL) ".[$(TEST_EXTRAS)]"
	-@$(COMPILE)
	@touch $@

$(VENV)/.lite: $(VENV)/.core
	$(INSTALL) ".[lite]"
	-@$(COMPILE)
	@touch $@

$(VENV)/.lab: $(VENV)/.core
	$(INSTALL) ".[companion,lab]"
	-@$(COMPILE)
	$(BIN)/jupytext-config --settings-file $(LAB_SETTINGS) set-default-viewer python
	@touch $@
