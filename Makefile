# Everything here works on a fresh machine with Python 3.11 and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOGETHER := .venv-integrations

export TOKENIZERS_PARALLELISM = false
# bytecode is kept even where the environment says otherwise: each worker of the tests would compile
# all of them anew, and each command that they start the package
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-integrations lint format check bench docs pictures constraints clean

help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-18s %s\n", $$1, $$2}'

setup: $(READY) ## Make .venv with the package, its extras and the development tools

# Torch comes pinned from constraints.txt: unpinned, pip pulls gigabytes of CUDA.
$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[7z,demo,mcp,milvus,minilm,postgres,tensorboard,tune,dev]'
	touch $(READY)

demo: $(READY) ## Import InsuranceQA, serve it, train beside, swap the better ranker in (ONCE=1: one answer)
	@$(BIN)/askonce demo --insuranceqa --into build/demo.askonce $(if $(ONCE),--once)

# four workers on two cores, as they wait for browsers, servers and the disk; each takes tests that
# follow each other, which share servers, browsers and datasets
test: $(READY) ## Run the tests (what CI runs)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 4 --dist worksteal -m "not slow"

test-all: $(READY) ## Run the tests, the slow ones too
	OMP_NUM_THREADS=1 HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -q -n 2 --dist worksteal

test-integrations: $(TOGETHER)/.ready ## Test the adapters against the real packages, in an environment of its own
	OMP_NUM_THREADS=1 $(TOGETHER)/bin/python -m pytest -q tests/integrations tests/adapters

$(TOGETHER)/.ready: pyproject.toml constraints.txt constraints-integrations.txt
	test -x $(TOGETHER)/bin/python || $(PYTHON) -m venv $(TOGETHER)
	$(TOGETHER)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -c constraints-integrations.txt -e '.[haystack,langchain,mteb,pyterrier]' langchain-classic pytest
	touch $@

lint: $(READY) ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## Put the code in its usual form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint test ## Lint, types and tests

bench: $(READY) ## Measure speed ratios on this machine (JSON on stdout)
	$(BIN)/python benchmarks/speed.py

docs: $(READY) ## Write the generated reference pages anew, and build the site into build/site
	$(BIN)/python -m askonce.cli.reference docs/reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pictures: $(READY) ## Take the documentation's pictures of the page anew
	ASKONCE_SCREENSHOTS=docs/pictures OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m "not slow" tests/page

constraints: ## Update every pinned version but torch's, then look at the diff
	rm -rf $(VENV)-pin && $(PYTHON) -m venv $(VENV)-pin
	grep '^torch==' constraints.txt > $(VENV)-pin/torch.txt
	$(VENV)-pin/bin/pip install --quiet -c $(VENV)-pin/torch.txt -e '.[7z,demo,fuzz,mcp,milvus,minilm,postgres,ray,tensorboard,tune,dev]'
	(cat $(VENV)-pin/torch.txt; $(VENV)-pin/bin/pip freeze --exclude-editable | grep -v '^torch==' | sort) > constraints.txt
	rm -rf $(VENV)-pin

clean: ## Remove the environment and caches
	rm -rf $(VENV) $(TOGETHER) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
