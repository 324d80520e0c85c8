# Two commands need nothing but Python 3.11 or newer on the machine: `make demo` and `make test`.

VENV     := .venv
PY       := $(VENV)/bin/python
STAMP    := $(VENV)/.installed
PEER     := .peer-venv
PEER_PY  := $(PEER)/bin/python
FLINK    := apache-flink==2.3.0

ARGS        ?=
PYTEST_ARGS ?=
WORKERS     ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup java demo test check lint types fmt pytest bench peer compare examples-vs-pyflink docs
.PHONY: pictures clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: setup java ## Run the fraud detector on local Spark (ARGS="..." goes to `headrace demo`)
	@$(VENV)/bin/headrace demo $(ARGS)

test: lint types pytest ## Everything a change must pass: lint, types and every test

check: lint types setup java ## Before a commit, in minutes: style, types, what needs no Spark, a little on it
	@HEADRACE_EXAMPLES=20 $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -q \
		-m "(not spark or smoke) and not slow" $(PYTEST_ARGS)

# Whole files go to the processes: what is made once for a file is dear. tests/conftest.py has the
# order; WORKERS=0 runs everything in this one process.
pytest: setup java ## Only the tests (PYTEST_ARGS="-k state -m 'not slow'" selects)
	@$(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=40 \
		--durations-min=10 $(PYTEST_ARGS)

lint: setup ## Check style and formatting
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

types: setup ## Check types
	@$(PY) -m mypy

fmt: setup ## Format the code and fix what can be fixed
	@$(PY) -m ruff check --fix-only .
	@$(PY) -m ruff format .

bench: setup java ## Run every benchmark (ARGS="stateless memory" runs some)
	@$(PY) -m bench $(or $(ARGS),all)

peer: $(PEER)/.installed ## Install PyFlink in its own environment, for comparisons

compare: setup java peer ## Run the same cases on PyFlink and headrace (ARGS="joins" runs some)
	@$(PY) -m compare $(ARGS)

examples-vs-pyflink: setup java peer ## Run PyFlink scripts on both engines and compare
	@$(PY) scripts/compare_examples.py $(PEER_PY) $(VENV)/bin/headrace $(ARGS)

docs: setup ## Write the pages of docs/ that are generated
	@$(PY) -m headrace.parity --docs
	@$(PY) -m headrace.sql.functions.page docs/sql-functions.md

pictures: setup ## Draw the pictures of docs/
	@$(PY) docs/pictures/draw_windows.py
	@$(PY) docs/pictures/draw_patterns.py
	@$(PY) docs/pictures/draw_barriers.py

setup: $(STAMP) ## Make .venv and install headrace in it, when pyproject.toml changed

java: setup ## Make sure there is a Java that can run Spark, and that it starts fast
	@$(PY) -m headrace.java >/dev/null
	@$(PY) -m headrace.spark.class_archive

clean: ## Remove the environments and everything that was generated
	rm -rf $(VENV) $(PEER) .hypothesis .mypy_cache .pytest_cache .ruff_cache bench/.data
	rm -rf spark-warehouse metastore_db derby.log artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml | $(PY)
	@echo "Installing headrace in $(VENV) (a few minutes the first time)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(PY):
	@python="$$(sh scripts/find_python.sh 3.11 3.13)" && "$$python" scripts/make_venv.py $(VENV)

# Flink 2.3 has wheels up to Python 3.12, and its dependencies still import pkg_resources.
$(PEER)/.installed: | $(PEER_PY)
	@echo "Installing $(FLINK) in $(PEER) (several hundred megabytes)"
	@$(PEER_PY) -m pip install --quiet --disable-pip-version-check 'setuptools<81' '$(FLINK)'
	@touch $@

$(PEER_PY):
	@python="$$(sh scripts/find_python.sh 3.11 3.12)" && "$$python" scripts/make_venv.py $(PEER)
