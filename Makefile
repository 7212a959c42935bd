# `make help` lists the targets. Every target sets up its needs and works in a folder of any path.

PY := .venv/bin/python
PYTEST := OMP_NUM_THREADS=1 $(PY) -m pytest -n auto --maxprocesses 8 --dist worksteal
# `make lint` runs the first of these tests, `make test-slow` the others.
BESIDE := project bench training data/test_samples.py
DEVICE ?= auto
DATA ?= ../shared/data
LIMIT ?= 30
NAME ?= qwen2.5-coder-1.5b

# Nothing is fetched, reported or kept outside of this folder.
export HF_HUB_OFFLINE = 1
export TRANSFORMERS_OFFLINE = 1
export HF_HUB_DISABLE_TELEMETRY = 1
export DO_NOT_TRACK = 1
export PREFECT_SERVER_ANALYTICS_ENABLED = false
export PREFECT_HOME = $(CURDIR)/.prefect
export PYTHONNOUSERSITE = 1
# Compiled modules are kept, also where the environment says otherwise: setup compiles none, tests start a thousand processes.
export PYTHONDONTWRITEBYTECODE =
# Threads that wait by spinning keep each other from working on a machine that is busy (engine/__init__.py).
export OMP_WAIT_POLICY = PASSIVE

.DEFAULT_GOAL := help
.PHONY: help setup demo model test test-slow test-sets wheel-check lint calibrate results command-page release clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

setup:  ## make .venv, once and again when the dependencies change (PYTHON=… chooses the interpreter)
	@scripts/setup.sh

demo:  ## extract the samples of every kind into demo/ and show the tables (sets up what these need alone)
	@scripts/setup.sh demo
	@scripts/demo.sh

model: setup  ## fetch a released language model, which every command then finds (NAME=qwen2.5-coder-1.5b)
	@$(PY) -m cinnabar.apps.cli.main model fetch $(NAME)

test: setup  ## the tests that a change must pass, on every core (ARGS="-k name" chooses some, ARGS="-n 0" takes one process)
	@CINNABAR_TEST_PROFILE=quick $(PYTEST) -m "not slow" $(BESIDE:%=--ignore=tests/%) $(ARGS)

test-slow: setup  ## the tests that take long: all draws of properties, killed processes, big lists, real servers
	@$(PYTEST) -m slow $(ARGS)

test-sets: setup  ## fourteen labelled sets read no worse than before (DATA=sets, bench/drawn_sets.py)
	@OMP_NUM_THREADS=1 $(PY) -m bench.drawn_sets $(DATA) $(ARGS)

wheel-check:  ## install the wheel without extras, newest and lowest versions, and run the first example of docs/index.md (ARGS=newest)
	@scripts/check_wheel.sh $(ARGS)

lint: setup  ## ruff, mypy --strict, and what holds for the pages, the packaging and the structure
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@CINNABAR_TEST_PROFILE=quick $(PYTEST) -q -m "not slow" tests/project

calibrate: setup  ## fit the shipped model's confidence on documents it was not trained on (DATA=sets LIMIT=30)
	@test -d runs/lists/calibration || $(PY) -m bench.list_layouts runs/lists/calibration --documents 96 \
	  --part tuning --seed 31 --rows 6 150
	@OMP_NUM_THREADS=1 $(PY) -m training.calibrate "$(DATA)" --limit $(LIMIT) --cache runs/calibration \
	  --lists runs/lists/calibration \
	  --diagram docs/pictures/reliability.svg --device $(DEVICE)

results: setup  ## write docs/results.md from bench/results/, where benches record their figures (ARGS=--record)
	@$(PY) -m bench.results_page

command-page: setup  ## write docs/cli.md from the help of the commands
	@$(PY) scripts/command_page.py

release: setup  ## build wheel, source distribution, pages and the skill for agents into dist/
	@scripts/release.sh

clean:  ## remove results and caches; .venv and runs/ stay
	rm -rf demo build dist .prefect .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
