# capd: `make demo` and `make test` do all their own set-up; a second run is quick.

PYTHON ?= python3
VENV := .venv/bin

.PHONY: help demo test unit functional lint bench clean

help:
	@echo 'make demo        discover on a private libvirt, report to a private Placement, show it'
	@echo 'make test        style, types, unit and functional tests, coverage'
	@echo 'make unit        unit tests only (seconds)'
	@echo 'make functional  functional tests only'
	@echo 'make lint        ruff and mypy'
	@echo 'make bench       measure against the goals and against Nova'
	@echo 'make clean       remove what these made here (not the shared cache)'

demo:
	@PYTHON=$(PYTHON) tests/rig/setup demo
	@$(VENV)/python -m tests.rig.demo

test:
	@PYTHON=$(PYTHON) tests/rig/setup test
	@$(VENV)/python tests/rig/suite.py

unit:
	@PYTHON=$(PYTHON) tests/rig/setup lint
	@$(VENV)/python -m pytest -n 2 tests/unit

functional:
	@PYTHON=$(PYTHON) tests/rig/setup test
	@$(VENV)/python -m pytest tests/functional

lint:
	@PYTHON=$(PYTHON) tests/rig/setup lint
	@$(VENV)/ruff check . && $(VENV)/ruff format --check . && $(VENV)/mypy

bench:
	@PYTHON=$(PYTHON) tests/rig/setup test
	@$(VENV)/python -m bench

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
