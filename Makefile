PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
FRAMEWORKS := .venv/.frameworks

.PHONY: demo test test-kernel lint bench prove docs picture clean

demo: $(STAMP)  ## install, and watch an agent work under the kernel
	$(BIN)/sb demo

# With bytecode, whatever the environment says: tests start hundreds of processes, and pytest rewrites every test module.
test test-kernel prove: export PYTHONDONTWRITEBYTECODE =
test: lint $(FRAMEWORKS)  ## lint, types, tests; three processes, since many tests wait for others
	$(BIN)/python -m pytest -q -n 3

test-kernel: $(STAMP)  ## the kernel's tests alone
	$(BIN)/python -m pytest -q tests/kernel

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)  ## ratios to floors measured in the same run
	$(BIN)/python -m evals.bench

prove: $(STAMP)  ## the fault tests again, with hundreds of kills
	SB_PROVE_ROUNDS=300 $(BIN)/python -m pytest -q -m prove

docs: $(STAMP)  ## write the generated parts of docs/ and config.example.yaml
	$(BIN)/python -m evals.docs

picture: $(STAMP)  ## draw docs/demo.svg and docs/console.svg from a run of the demo
	$(BIN)/python -m evals.picture

clean:
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
