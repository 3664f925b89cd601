# make demo   set up, then show the main job on bundled data
# make test   set up, then the whole suite
# make fuzz   mutated inputs for every reader, plan, target, archive, function and command: MINUTES=10, or CASES of each
#             surface; SEED (default: new cases each time), SURFACE=run-csv,gold-json; exits 1 where anything was found
# make golden write the golden outputs of tests/golden again and list what changed; review it as a git diff
# make docs   build the documentation site into site/; broken links fail
# make dist   build the packages into dist/, check them, and try the wheel in a bare environment
# make check  lint, format, types, dead code, import directions
# make bench  rankjury beside its peers, as ratios (their own environment, several minutes)

PYTHON ?= python3
BIN := .venv/bin
BENCH := .venv-bench/bin
# One worker more than cores: some tests wait for a server, a browser or another process.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')

.PHONY: demo test fuzz golden docs dist check bench format reference clean

demo: .venv/.core
	$(BIN)/rankjury demo movies

# Bytecode is kept, also where the environment says otherwise: tests start rankjury again and again.
test: .venv/.dev
	@$(BIN)/python scripts/install_browser.py
	@$(BIN)/python scripts/install_java.py
	@$(BIN)/python scripts/install_zsh.py
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

fuzz: .venv/.dev
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),10) $(if $(CASES),--cases $(CASES)) $(if $(SEED),--seed $(SEED)) \
		$(if $(SURFACE),--surface $(SURFACE))

golden: .venv/.dev
	$(BIN)/python -m tests.golden $(CASE)

docs: .venv/.docs
	$(BIN)/zensical build --clean --strict
	$(BIN)/python scripts/make_overview.py --full site/llms-full.txt

dist: .venv/.dist
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python scripts/check_dist.py

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vulture
	$(BIN)/python -m pytest tests/test_architecture.py

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pages of docs/reference, from the code.
reference: .venv/.dev
	$(BIN)/python scripts/make_reference.py

bench: .venv/.core .venv-bench/.done .venv-rectools/.done .venv-lenskit/.done .venv-replay/.done
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/runs.py --part all
	$(BIN)/python benchmarks/statistics.py --rounds 5
	$(BIN)/python benchmarks/neighbours.py --part all --rounds 5
	$(BIN)/python benchmarks/reference.py --part all --rounds 5
	$(BIN)/python benchmarks/lab.py --part all --rounds 5
	$(BIN)/python benchmarks/predicates.py --part all --rounds 3
	$(BIN)/python benchmarks/recommend.py --part all --rounds 3
	$(BIN)/python benchmarks/splitting.py
	$(BIN)/python benchmarks/scale.py --part all --rounds 3
	@$(BIN)/python scripts/install_browser.py
	$(BIN)/python benchmarks/report.py --part all --rounds 5
	$(BIN)/python benchmarks/view.py --part all

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.core: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.docs: .venv/.core
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

.venv/.dist: .venv/.core
	$(BIN)/python -m pip install --quiet --group dist
	@touch $@

.venv/.dev: .venv/.core
	$(BIN)/python -m pip install --quiet --group dev
	$(BIN)/python scripts/install_extras.py
	@touch $@

.venv-bench/.done: benchmarks/requirements.txt
	$(PYTHON) -m venv .venv-bench
	$(BENCH)/python -m pip install --quiet --upgrade pip
	$(BENCH)/python -m pip install --quiet -r benchmarks/requirements.txt
	@touch $@

# RecTools wants another NumPy, and LensKit wants torch, of which only this one is a CPU build.
.venv-rectools/.done: benchmarks/requirements-rectools.txt
	$(PYTHON) -m venv .venv-rectools
	.venv-rectools/bin/python -m pip install --quiet -r benchmarks/requirements-rectools.txt
	@touch $@

.venv-lenskit/.done: benchmarks/requirements-lenskit.txt
	$(PYTHON) -m venv .venv-lenskit
	.venv-lenskit/bin/python -m pip install --quiet torch==2.13.0
	.venv-lenskit/bin/python -m pip install --quiet -r benchmarks/requirements-lenskit.txt
	@touch $@

# RePlay wants Polars before 2.
.venv-replay/.done: benchmarks/requirements-replay.txt
	$(PYTHON) -m venv .venv-replay
	.venv-replay/bin/python -m pip install --quiet -r benchmarks/requirements-replay.txt
	@touch $@

clean:
	rm -rf .venv .venv-bench .venv-rectools .venv-lenskit .venv-replay .pytest_cache .mypy_cache .ruff_cache .hypothesis
