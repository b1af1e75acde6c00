# Every target sets itself up: `make test` on a fresh checkout is enough. See `make help`.

PYTHON  ?= python3
# Two more than there are cores: many tests wait, for an agent, a terminal or the disk. With one
# more, two cores stood still for a third of the time.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')

BIN       := .venv/bin
MADE      := .venv/.made
INSTALLED := .venv/.installed
PIP       := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Snapshots are only compared here; to write them, call pytest with --inline-snapshot=fix.
PYTEST    := $(BIN)/pytest -n $(WORKERS) --dist worksteal --inline-snapshot=disable
# Where the time goes.
SLOWEST   := --durations=20 --durations-min=1
# Where `make quick` and `make test` write: in memory, if there is room. The long lane and the soak
# write to the disk.
IN_MEMORY  = PYTEST_DEBUG_TEMPROOT=$(shell sh scripts/room.sh)
SOURCES   := src tests scripts $(wildcard bench)
NATIVE    := $(wildcard src/takeback/native/*.c src/takeback/bin/* hatch_build.py scripts/native.py)
COG_FILES  = $(shell grep -rlF '[[[cog' --include='*.md' *.md docs tests/conformance 2>/dev/null)

# What was compiled once is not compiled again by each worker and each tool: lint takes a sixth of
# the time, and a worker is ready in a fifth of it.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo quick test test-long agents agents-latest lint types bench bench-peers soak docs constraints locks clean

help: ## say what each target does
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: $(INSTALLED) ## show takeback at work in a throw-away directory
	@$(BIN)/takeback demo

quick: $(INSTALLED) lint ## lint, and the tests to run at each save
	@$(IN_MEMORY) $(PYTEST) -m "not slow and not long and not soak" tests

test: $(INSTALLED) ## run the tests: every behaviour, every agent, every promise
	@$(IN_MEMORY) $(PYTEST) $(SLOWEST) tests

test-long: $(INSTALLED) ## run the rest of the long campaigns
	@$(PYTEST) $(SLOWEST) -m "long and not soak" tests

agents: $(INSTALLED) ## run every test of the real agents and write what held of each into docs/agents
	@$(BIN)/python -m scripts.real_agents --workers $(WORKERS) $(AGENTS)

agents-latest: $(INSTALLED) ## try the newest versions of the real agents, and report; fails nothing
	@$(BIN)/python -m scripts.real_agents --newest --workers $(WORKERS) $(AGENTS)

lint: $(INSTALLED) types ## check style, layers, types and the generated parts of the docs
	@$(BIN)/ruff check $(SOURCES) examples
	@$(BIN)/ruff format --check $(SOURCES) examples
	@$(BIN)/lint-imports --no-logo
	@$(if $(COG_FILES),$(BIN)/cog --check -P $(COG_FILES),:)
	@$(BIN)/python scripts/openapi.py --check

types: $(INSTALLED) ## check the types
	@$(BIN)/mypy $(SOURCES)

bench: $(INSTALLED) ## measure the speed
	@$(BIN)/python -m bench

bench-peers: $(INSTALLED) ## measure other tools beside takeback
	@$(BIN)/python -m bench --peers --json build/peers.json

soak: $(INSTALLED) ## run the long campaigns (hours)
	@TAKEBACK_SOAK=1 $(PYTEST) -m "" \
		$(wildcard tests/property tests/crash tests/conformance tests/soak tests/test_beside.py)
	@$(BIN)/python -m bench --disk --json build/disk.json

docs: $(INSTALLED) ## write the generated parts of the docs again
	@$(if $(COG_FILES),$(BIN)/cog -r -P $(COG_FILES),:)
	@$(BIN)/python scripts/openapi.py

# The environment. It is cleared when it was left half-made, and installed into again when
# pyproject.toml, constraints.txt, the command or what is written in C changed. Wheels only, each checked against
# its hash.
$(MADE):
	@echo "setting up .venv, once; it takes about half a minute ..."
	@sh scripts/prerequisites.sh $(PYTHON)
	@$(PYTHON) -m venv --clear .venv
	@touch $@

$(INSTALLED): $(MADE) pyproject.toml constraints.txt $(NATIVE)
	@echo "installing what constraints.txt pins into .venv ..."
	@$(PIP) install --no-compile --no-deps --only-binary :all: --require-hashes -r constraints.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

constraints: ## pin every dependency again, with hashes
	@sh scripts/prerequisites.sh $(PYTHON)
	@$(PYTHON) -m venv --clear build/pin
	@build/pin/bin/python -m pip --disable-pip-version-check --quiet install \
	  --no-deps --only-binary :all: --require-hashes -r scripts/uv.txt
	@{ sed -n '/^[^#]/q;p' constraints.txt; \
	   build/pin/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	     --generate-hashes --no-header --no-emit-index-url --group dev pyproject.toml; \
	 } > build/constraints.txt
	@mv build/constraints.txt constraints.txt
	@rm -rf build/pin

locks: ## pin what single tests install, with hashes (tests/locks/*.in)
	@$(PYTHON) -m venv --clear build/pin
	@build/pin/bin/python -m pip --disable-pip-version-check --quiet install \
	  --no-deps --only-binary :all: --require-hashes -r scripts/uv.txt
	@cd tests/locks && for name in *.in; do \
	   ../../build/pin/bin/uv pip compile --quiet --universal --python-version 3.11 --no-build \
	     --generate-hashes --no-header --no-annotate --no-emit-index-url "$$name" -o "$${name%.in}.txt" \
	     $$(test ! -e "$${name%.in}.without" || echo --excludes "$${name%.in}.without") || exit; done
	@rm -rf build/pin

clean: ## remove the environment, caches and builds
	@rm -rf .venv build dist src/takeback/native/built .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests $(wildcard bench) -name __pycache__ -type d -prune -exec rm -rf {} +
