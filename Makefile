# `make demo` and `make test` set up by themselves. PYTHON=python3.12 make setup picks a Python.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= 2
RUNS ?= 20000
SEED ?= 0
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup fmt lint types test cover docs glossary build check demo bench soak kill lower \
	pythons clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup: ## make .venv and install everything (PYTHON=python3.12 picks another Python)
	@.ci/venv "$(VENV)" $(if $(filter file default,$(origin PYTHON)),,"$(PYTHON)")
	@touch $(READY)

$(READY): pyproject.toml
	@.ci/venv "$(VENV)" $(if $(filter file default,$(origin PYTHON)),,"$(PYTHON)")
	@touch $(READY)

fmt: $(READY) ## format, and mend what ruff can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lint: $(READY) ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY) ## mypy strict, then pyright strict
	$(BIN)/mypy
	$(BIN)/pyright

test: $(READY) ## all tests (ARGS="-k name" narrows)
	$(PYTEST) -n $(JOBS) $(ARGS)

cover: $(READY) ## all tests under branch coverage; wire/ and actors/ must reach 100 %
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered
	$(BIN)/coverage report --include="wire/*,actors/*" --fail-under=100 --skip-covered --show-missing

docs: $(READY) ## run what README, docs/ and docstrings show, and compare
	$(PYTEST) tests/test_docs.py tests/test_surface.py

glossary: $(READY) ## write the table of public names in docs/glossary.md
	$(BIN)/python -m tests.surface

build: $(READY) ## sdist and wheel, and a try of the installed wheel outside the repository
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m tests.wheel dist

check: ## what CI runs
	$(MAKE) lint
	$(MAKE) types
	$(MAKE) cover
	$(MAKE) docs
	$(MAKE) build

demo: $(READY) ## drain a deployment and open it again: wrong code strands keys over a wire, right code none
	@$(BIN)/python .ci/demo.py

bench: $(READY) ## measures against their yardsticks (design of each: docs/benchmarks.md)
	$(BIN)/durasim bench

soak: $(READY) ## every story RUNS times in all, designs compared, examples, mutants (RUNS, SEED, RECORD=1)
	RECORD=$(RECORD) .ci/soak $(RUNS) $(SEED) mutants

kill: $(READY) ## kill -9 the embedded host at random moments, 200 times
	$(PYTEST) -m "slow or not slow" tests/hosts -k kill

lower: $(READY) ## the fast tests on exactly the lower bounds of the dependencies
	.ci/lower

pythons: $(READY) ## the fast tests on each Python of this machine, 3.11 to 3.13 (PYTHONS="…" names them)
	.ci/pythons $(PYTHONS)

clean: ## remove what the other targets made, .venv too
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .hypothesis .mypy_cache \
		.pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
