PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
FRAMEWORKS := .venv/.frameworks
SITE := .venv/.site
DOORS := .venv/.doors
PLUGINS := .venv/.plugins

.PHONY: help install format site
.PHONY: check house style types test-all test-changed
.PHONY: demo test tests evals test-kernel lint bench prove explore docs picture clean test-doors test-plugins

demo: $(STAMP)  ## install into .venv, and watch an agent work under the kernel
	$(BIN)/sb demo

install: $(STAMP)  ## install into .venv

help:  ## list the targets
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

format: $(STAMP)  ## format the code, and fix what ruff can fix
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format .

# With bytecode, whatever the environment says: tests start hundreds of processes, and pytest rewrites every test module.
test test-all tests test-kernel prove explore check test-changed: export PYTHONDONTWRITEBYTECODE =
test: style $(FRAMEWORKS)  ## lint, types, the tests that are quick or that a promise names, evals
	@$(MAKE) --no-print-directory -j 2 types tests RING=1
	@$(MAKE) --no-print-directory evals

test-all: style $(FRAMEWORKS)  ## the same with all tests
	@$(MAKE) --no-print-directory -j 2 types tests RING=all
	@$(MAKE) --no-print-directory evals

# Two processes more than cores, since many tests wait for others; each takes 400 MB, so at most eight by themselves.
WORKERS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN); echo $$((cores < 6 ? cores + 2 : 8)))

RING ?= all

tests: $(FRAMEWORKS) tests/__pycache__  ## the tests alone; RING=1 the quick ones, WORKERS=8 in eight processes
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --ring $(RING)

# pytest rewrites the modules of a fresh checkout in one process, beside the types: not in each worker. What fails
# here is said by the run itself.
tests/__pycache__: | $(FRAMEWORKS)
	-@$(BIN)/python -m pytest -q --collect-only > /dev/null

evals: $(STAMP)  ## grade the demo's agent by evals/suites, every case must hold
	$(BIN)/sb agent eval evals/suites --agent python:sb.operator.demo.agent:run --fail-under 1.0 --no-save --quiet

test-kernel: $(STAMP)  ## the kernel's tests alone
	$(BIN)/python -m pytest -q tests/kernel

test-doors: $(DOORS)/.installed  ## the MCP server with clients and checks that nobody here wrote
	SB_DOORS=$(CURDIR)/$(DOORS) $(BIN)/python -m pytest -q tests/doors

test-plugins: $(PLUGINS)/.installed  ## the plugins of examples/ in the frameworks that they are for; needs npm
	SB_TEST_PLUGINS=1 $(BIN)/python -m pytest -q tests/plugins

lint: style types  ## ruff and mypy

style: $(STAMP)  ## ruff alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy alone
	$(BIN)/mypy

check: style  ## lint, types, and the tests of what changed since main
	@$(MAKE) --no-print-directory -j 2 types test-changed

test-changed: $(FRAMEWORKS)  ## the tests of what changed since main
	$(BIN)/python -m pytest -q $$($(BIN)/python -m tests.changed)

bench: $(STAMP)  ## ratios to floors measured in the same run
	$(BIN)/python -m evals.bench

prove: $(STAMP)  ## the fault tests again, with hundreds of kills
	SB_PROVE_ROUNDS=300 $(BIN)/python -m pytest -q -o faulthandler_timeout=0 -m prove

explore: $(STAMP)  ## the property tests, on examples not tried before
	SB_EXPLORE=1 $(BIN)/python -m pytest -q -o faulthandler_timeout=0 $$(grep -rl --include='test_*.py' 'from hypothesis' tests)

docs: $(STAMP)  ## write the generated parts of docs/ and config.example.yaml
	$(BIN)/python -m evals.docs

site: $(SITE)  ## build the documentation site into build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

picture: $(STAMP)  ## draw the pictures of docs/ from runs
	$(BIN)/python -m evals.picture

house: $(STAMP)  ## lines of code by room, under their ceilings
	$(BIN)/python -m evals.house

clean:  ## remove .venv and what was built
	rm -rf .venv build *.egg-info

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

# Only for the tests: they would take half as long again to install, and 145 MB, for who wants to see the demo.
$(FRAMEWORKS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[langchain,openai-agents,pydantic-ai]'
	touch $(FRAMEWORKS)

# Only for the site: its builder is of no use to tests.
$(SITE): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $(SITE)

# Only for `make test-doors`: the package's lock would name the index that it was made with, so its versions are exact.
$(DOORS)/.installed: tests/doors/package.json $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[doors]'
	mkdir -p $(DOORS)
	cp tests/doors/package.json $(DOORS)
	PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix $(DOORS) install --silent --no-audit --no-fund --no-package-lock --ignore-scripts
	touch $@

# Each framework in an environment of its own, since they pin packages against each other. OpenClaw needs a newer Node than
# most people have; that one comes with a script, which nothing else here may run.
PIP := bin/python -m pip install --quiet --disable-pip-version-check
NPM := npm install --no-audit --no-fund --silent --save-exact
$(PLUGINS)/.installed: $(STAMP) $(wildcard tests/plugins/pins/*.txt)
	for one in hermes freqtrade jesse; do \
		$(BIN)/python -m venv $(PLUGINS)/$$one && $(PLUGINS)/$$one/$(PIP) -r tests/plugins/pins/$$one.txt || exit 1; \
	done
	$(PLUGINS)/freqtrade/$(PIP) -e .
	mkdir -p $(PLUGINS)/eliza $(PLUGINS)/openclaw
	$(NPM) --prefix $(PLUGINS)/openclaw node@24.21.0
	for one in eliza openclaw; do \
		$(NPM) --ignore-scripts --prefix $(PLUGINS)/$$one $$(cat tests/plugins/pins/$$one.txt) || exit 1; \
	done
	touch $@
