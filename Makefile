# capd: `make demo` and `make test` do all their own set-up; a second run is quick.

PYTHON ?= python3
VENV := .venv/bin

.PHONY: help demo test unit functional test-pythons lint bench test-wide pages clean install deb rpm

help:
	@echo 'make demo        discover on a private libvirt, report to a private Placement, show it'
	@echo 'make test        style, types, unit and functional tests, coverage'
	@echo 'make unit        unit tests only (seconds)'
	@echo 'make functional  functional tests only'
	@echo 'make test-pythons unit tests under the oldest and the newest Python of Debian'
	@echo 'make test-wide   the long service tests: four Debian suites, virtqemud, 500 restarts, soak'
	@echo 'make lint        ruff and mypy'
	@echo 'make bench       measure against the goals and against Nova'
	@echo 'make deb         a Debian package in dist/'
	@echo 'make rpm         an RPM in dist/, on the distribution it is for'
	@echo 'make install     into DESTDIR, as a distribution lays it out'
	@echo 'make pages       make the sample configuration and its reference anew'
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

test-pythons:
	@PYTHON=$(PYTHON) tests/rig/setup lint
	@tests/rig/pythons

lint:
	@PYTHON=$(PYTHON) tests/rig/setup lint
	@$(VENV)/ruff check . && $(VENV)/ruff format --check . && $(VENV)/mypy

bench:
	@PYTHON=$(PYTHON) tests/rig/setup test
	@$(VENV)/python -m bench

test-wide:
	@PYTHON=$(PYTHON) tests/rig/setup test
	@for suite in bullseye bookworm trixie; do \
		tests/rig/virtqemud $$suite > /dev/null || echo "no virtqemud of $$suite"; \
	done
	@CAPD_WIDE=1 CAPD_SUITES='bullseye bookworm trixie sid' $(VENV)/python -m pytest -s \
		tests/functional/test_service_systemd.py tests/functional/test_service_faults.py \
		tests/functional/test_service_modular.py tests/functional/test_service_modular_systemd.py
	@$(VENV)/python -m bench.soak --hours 24

pages:
	@PYTHON=$(PYTHON) tests/rig/setup lint
	@$(VENV)/python packaging/pages.py sample > systemd/capd.conf
	@$(VENV)/python packaging/pages.py reference > docs/configuration.md

# as a distribution lays it out; PYTHON needs what capd imports
install:
	@DESTDIR=$(DESTDIR) PYTHON=$(PYTHON) packaging/install

deb:
	@PYTHON=$(PYTHON) tests/rig/setup lint
	@PYTHON=$(VENV)/python packaging/deb dist

rpm:
	@PYTHON=$(firstword $(wildcard $(VENV)/python) $(PYTHON)) packaging/rpm dist

clean:
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
