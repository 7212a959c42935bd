# `make help` lists the targets. Every target sets up its needs and works in a folder of any path.

PY := .venv/bin/python
# Compiled modules are kept, also where the environment says otherwise: tests start a thousand processes.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(PY) -m pytest -n auto --maxprocesses 8 --dist worksteal
SETS ?= data/samples
DOCUMENTS ?= 2000
DEVICE ?= auto
DATA ?= ../shared/data
SUITES ?= ../shared/suites
STEPS ?= 12000
LIMIT ?= 30
RUN ?= runs/reader
SEED ?= 1
COUNT ?= 120
# Installs an extra that only few targets need: the name of a module, then the extra of pyproject.toml.
need = $(PY) -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("$(1)"))' \
  || $(PY) -m pip install --quiet -c constraints.txt -e '.[$(2)]'

# Nothing is fetched, reported or kept outside of this folder.
export HF_HUB_OFFLINE = 1
export TRANSFORMERS_OFFLINE = 1
export HF_HUB_DISABLE_TELEMETRY = 1
export DO_NOT_TRACK = 1
export PREFECT_SERVER_ANALYTICS_ENABLED = false
export PREFECT_HOME = $(CURDIR)/.prefect
export PYTHONNOUSERSITE = 1
# Threads that wait by spinning keep each other from working on a machine that is busy (engine/__init__.py).
export OMP_WAIT_POLICY = PASSIVE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow wheel-check container lint docs site pictures samples eval bench bench-gpu kernels-check bench-engine train train-gpu diffusion-base train-diffusion train-diffusion-gpu improve-report calibrate house-report schema-report routing-report hostile-report mutation-report parsing-report routing-fit ablation-report class-fit ocr-report remote-report backfill-report ray-report long-report server-report client-check faults volume-report review-report readers results mutants names version constraints clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

setup:  ## make .venv, once and again when the dependencies change (PYTHON=… chooses the interpreter)
	@scripts/setup.sh

demo: setup  ## extract the samples of every kind into demo/ and show the tables
	@scripts/demo.sh

test: setup  ## the tests that a change must pass, on every core (ARGS="-k name" chooses some, ARGS="-n 0" takes one process)
	@CINNABAR_TEST_PROFILE=quick $(PYTEST) -m "not slow" $(ARGS)

test-slow: setup  ## the tests that take long: all draws of properties, killed processes, big lists, real servers
	@$(PYTEST) -m slow $(ARGS)

wheel-check:  ## install the wheel without extras, newest and lowest versions, and run the README's example (ARGS=newest)
	@scripts/check_wheel.sh $(ARGS)

container:  ## build the image of this checkout with podman, docker or buildah (ARGS="--build-arg TORCH=cuda" …)
	@scripts/container.sh $(ARGS)

lint: setup  ## ruff and mypy --strict
	@$(PY) -m ruff check .
	@$(PY) -m mypy

docs: setup  ## check the links, commands and snippets of the documentation
	@$(PY) -m pytest -q tests/test_docs.py

site: setup  ## build the documentation as a site in site/, warnings are errors (open site/index.html)
	@$(call need,material,docs)
	@DISABLE_MKDOCS_2_WARNING=true NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet --clean
	@echo "site: site/index.html; with its search: $(PY) -m http.server --directory site"

pictures: setup  ## draw the pictures of the documentation again: an automaton, a fill, the review page
	@OMP_NUM_THREADS=1 $(PY) scripts/pictures.py

samples: setup  ## make the documents of data/samples/ again
	@$(PY) data/samples/make_samples.py

eval: setup  ## score labelled sets (SETS=folder)
	@$(PY) -m cinnabar.apps.cli.main eval "$(SETS)"

bench: setup  ## measure documents/s by stage, the share of the constraint, one core (DOCUMENTS=2000)
	@$(PY) -m bench.benchmark --documents $(DOCUMENTS) --device $(DEVICE) $(ARGS)

bench-gpu: DEVICE = cuda
bench-gpu: setup  ## measure a CUDA device in ten minutes: kernels, passes of SDAR's shapes, documents under a schema, the reader
	@$(call need,xgrammar,bench)
	@$(PY) -m bench.engine.device --device $(DEVICE) $(ARGS)
	@$(PY) -m bench.benchmark --documents $(DOCUMENTS) --device $(DEVICE)

kernels-check: setup  ## compile the kernels for Hopper and Blackwell, compare each with its definition (on a GPU if there is one)
	@$(PY) -m bench.kernels_check $(ARGS)

bench-engine: setup  ## measure the engine over language models, beside xgrammar (SUITES=folder ARGS="--only pages --scale 0.2")
	@$(call need,xgrammar,bench)
	@$(PY) -m bench.engine --suites "$(SUITES)" $(ARGS)

train: setup  ## train the reader by its recipe, or go on with it (DATA=sets STEPS=12000 RUN=runs/reader ARGS="--start pretrained")
	@$(PY) -m training.reader prepare "$(DATA)" "$(RUN)"
	@$(PY) -m training.reader train "$(RUN)" --steps $(STEPS) --device $(DEVICE) $(ARGS)
	@$(PY) -m training.reader export "$(RUN)" "$(RUN)/model"

train-gpu: DEVICE = cuda
train-gpu: train  ## the same on a CUDA device

diffusion-base: RUN = runs/model
diffusion-base: setup  ## make the base of our own language model from a package of the index (RUN=runs/model)
	@scripts/diffusion_base.sh "$(RUN)"

train-diffusion: RUN = runs/model
train-diffusion: STEPS = 4000
train-diffusion: diffusion-base  ## train our own language model, or go on with it (DATA=sets STEPS=4000 RUN=runs/model ARGS="--batch 2560")
	@$(PY) -m training.own_model prepare "$(DATA)" "$(RUN)"
	@$(PY) -m training.own_model train "$(RUN)" --steps $(STEPS) --device $(DEVICE) $(ARGS)
	@$(PY) -m training.own_model export "$(RUN)" "$(RUN)/packed" --packed 1

train-diffusion-gpu: DEVICE = cuda
train-diffusion-gpu: ARGS = --minutes 25 --batch 24576 --rate 3e-4
train-diffusion-gpu: train-diffusion  ## the same on a CUDA device, in half an hour

improve-report: setup  ## measure cinnabar improve: corrected documents, then F1 of others (SETS=… ARGS="--documents 20 --others 30")
	@$(PY) -m bench.improve_report $(SETS) $(ARGS)

calibrate: setup  ## fit the shipped model's confidence on documents it was not trained on (DATA=sets LIMIT=30)
	@test -d runs/lists/calibration || $(PY) -m bench.list_layouts runs/lists/calibration --documents 96 \
	  --part tuning --seed 31 --rows 6 150
	@OMP_NUM_THREADS=1 $(PY) -m training.calibrate "$(DATA)" --limit $(LIMIT) --cache runs/calibration \
	  --lists runs/lists/calibration \
	  --diagram docs/model/reliability.svg --device $(DEVICE)

house-report: setup  ## count lines, statements, rooms, floors, circles, packages, and time a cold start (ARGS=--record)
	@PYTHONPATH=tests $(PY) -m bench.house_report $(ARGS)

schema-report: setup  ## measure the promises about any JSON Schema (SUITES=folder ARGS="--sample 40 --details")
	@PYTHONPATH=tests/engine:tests/engine/diffusion OMP_NUM_THREADS=1 $(PY) -m bench.schema_report "$(SUITES)" $(ARGS)

routing-report: setup  ## measure the choice among the five kinds of data/samples (DATA=folder of other sets ARGS="--errors --seed N")
	@OMP_NUM_THREADS=1 $(PY) -m bench.routing_report "$(DATA)" $(ARGS)

hostile-report: setup  ## compare hostile PDFs and mails with what is known of them (DATA=folder ARGS="--kind pdf")
	@$(PY) -m bench.hostile_report "$(DATA)/hostile" $(ARGS)

mutation-report: setup  ## read mutated files of every kind, count outcomes by code (ARGS="--kind pdf --count 20000")
	@PYTHONPATH=tests OMP_NUM_THREADS=1 $(PY) -m bench.mutation_report $(ARGS)

parsing-report: setup  ## measure pages/s of PDFs, beside an older commit (SETS="folders" ARGS="--before main")
	@OMP_NUM_THREADS=1 $(PY) -m bench.parsing_speed $(SETS) $(ARGS)

routing-fit: setup  ## fit the coefficients of that choice (SETS="folders" ARGS="--folds N --judge folders --write")
	@OMP_NUM_THREADS=1 $(PY) -m training.routing_fit $(SETS) $(ARGS)

ablation-report: setup  ## measure F1 without each rule beside the network (SETS="folders" ARGS="--limit 20")
	@$(PY) -m bench.ablation $(SETS) $(ARGS)

class-fit: setup  ## fit the weights of that comparison on sets that train (SETS="folders" ARGS="--write")
	@OMP_NUM_THREADS=1 $(PY) -m training.class_fit $(SETS) $(ARGS)

ocr-report: setup  ## measure OCR of drawn pages: words found, seconds, F1 from scans (ARGS="--pages 2 --documents 0")
	@OMP_NUM_THREADS=1 $(PY) -m bench.ocr_report $(ARGS)

remote-report: setup  ## check outcomes and cost of 1,000 documents on a misbehaving server (ARGS="--share 0.4")
	@PYTHONPATH=tests OMP_NUM_THREADS=1 $(PY) -m bench.remote_report $(ARGS)

backfill-report: setup  ## compare the model's work in a backfill of one field and in a full run (ARGS="--documents 8")
	@$(PY) -m bench.backfill_report $(ARGS)

ray-report: setup  ## compare Ray with 2 local engines and one process with 2 threads (ARGS="--documents 40")
	@$(PY) -m bench.ray_report $(ARGS)

long-report: setup  ## measure how far one long text harms others, and time by length (ARGS="--parts beside --rounds 1")
	@OMP_NUM_THREADS=1 $(PY) -m bench.long_documents $(ARGS)

server-report: setup  ## measure the server: a record alone, 32 clients at once, and whether they get the same (ARGS="--clients 8")
	@$(PY) -m bench.server_report $(ARGS)

client-check: setup  ## fetch the official client for Node (npm) and ask the server for the whole contract with it
	@npm install --prefix build/node_client --no-audit --no-fund --ignore-scripts --silent openai@7
	@$(PY) -m pytest -q -n 0 tests/apps/server/test_node_client.py

faults: setup  ## break a run at each of its disk operations, run it again, compare (ARGS="--every 9")
	@PYTHONPATH=tests OMP_NUM_THREADS=1 $(PY) -m bench.fault_loop $(ARGS)

volume-report: setup  ## measure time, memory and Prefect's cost on 10,000 documents (ARGS="--documents 1000 --flow"; ARGS="--stored 1000000": a folder of so many outcomes)
	@$(PY) -m bench.volume_report $(ARGS)

review-report: setup  ## measure the review page over 10,000 documents in Chromium (ARGS="--documents 10000")
	@OMP_NUM_THREADS=1 $(PY) -m bench.review_report $(ARGS)

readers: setup  ## 20 processes read a folder for a minute while another commits every second (ARGS="--readers 4")
	@$(PY) -m bench.readers $(ARGS)

results: setup  ## write docs/results.md from bench/results/, where benches record their figures (ARGS=--record)
	@$(PY) -m bench.results_page

mutants: setup  ## count the changes of operators in the constraint that tests catch (SEED=1 COUNT=120)
	@$(call need,cosmic_ray,mutants)
	@$(PY) scripts/mutants.py --seed $(SEED) --count $(COUNT) $(ARGS)

names: setup  ## make engine/readings/names/ again, after Babel has a new CLDR
	@$(PY) scripts/cldr_names.py

version: setup  ## raise the versions of those parts of the code that decide values and have changed (engine/version.py)
	@$(PY) scripts/raise_version.py $(ARGS)

constraints: setup  ## write the installed releases to constraints.txt, after the tests passed with them
	@$(call need,cosmic_ray,mutants)
	@$(call need,xgrammar,bench)
	@$(call need,material,docs)
	@$(PY) scripts/constraints.py >constraints.tmp && mv constraints.tmp constraints.txt

clean:  ## remove results and caches; .venv and runs/ stay
	rm -rf demo build dist .prefect .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +
