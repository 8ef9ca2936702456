# Every target makes its own environment, so a fresh machine needs only Python and make.

PYTHON ?= python3
VENV ?= .venv

# The environment belongs to these pins, this configuration, these extras, this Python and this folder (an
# editable install points at it). When one of them changes, the stamp has another name and the environment is made anew.
EXTRAS := dev,plot
HASH := $(shell { cat constraints.txt pyproject.toml 2>/dev/null; \
	echo '$(EXTRAS)' '$(PYTHON)' '$(CURDIR)'; } | cksum | tr -d ' ')
STAMP := $(VENV)/.stamp-$(HASH)
BIN := $(VENV)/bin

# All tests take one process a core; a few that are selected start sooner without.
PROCESSES := $(if $(ARGS),,-n auto)

# Written once, used by every target that makes an environment.
define require_python
@$(PYTHON) -c '' 2>/dev/null || { \
	echo "hushtable needs Python 3.11 or newer, but '$(PYTHON)' does not start." >&2; \
	echo "Install one (Debian, Ubuntu: apt-get install python3 python3-venv)," >&2; \
	echo "or name one: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "hushtable needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1)." >&2; \
	echo "Install a newer one (Debian, Ubuntu: apt-get install python3.11 python3.11-venv)" >&2; \
	echo "and name it: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
endef

# Debian and Ubuntu ship `venv` without the part that makes it work, so only a real try tells.
define make_venv
out=$$($(PYTHON) -m venv --clear $(1) 2>&1) || { \
	echo "$$out" >&2; \
	echo "'$(PYTHON)' cannot make a virtual environment. If the lines above speak of venv or ensurepip, they are" >&2; \
	echo "not installed: apt-get install python3-venv (Debian, Ubuntu; for a Python beside the system's own," >&2; \
	echo "its version: apt-get install python3.12-venv). Then give the same command again." >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-laws test test-long bench paper lint format constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(STAMP) ## publish a million invented commuters, and ask the file three questions
	@$(BIN)/python demo/commute.py

demo-laws: $(STAMP) ## show the exact laws against the requested ones
	@$(BIN)/python demo/laws.py

test: lint ## lint, types, rooms and all tests but the long ones (ARGS='-k name' selects)
	@unset HUSHTABLE_TEST_SEED; $(BIN)/python -m pytest -q $(PROCESSES) $(ARGS)

test-long: $(STAMP) ## all tests, with a fresh seed that is printed first
	@seed=$${HUSHTABLE_TEST_SEED:-$$($(BIN)/python -c 'import secrets; print(secrets.randbelow(2**32))')}; \
	case $$seed in *[!0-9]*) echo "HUSHTABLE_TEST_SEED='$$seed' is not a whole number." >&2; exit 1;; esac; \
	echo "seed $$seed; the same run again: make test-long HUSHTABLE_TEST_SEED=$$seed"; \
	HUSHTABLE_TEST_SEED=$$seed $(BIN)/python -m pytest -q -m 'long or not long' --hypothesis-seed=$$seed $(PROCESSES) $(ARGS)

bench: $(STAMP) ## measure against the bars of the design and print the table (ARGS=noise selects)
	@$(BIN)/python -m benchmarks $(ARGS)

paper: $(STAMP) ## run the paper's experiments again (QUICK=1: minutes, into paper/quick; ARGS=ranges selects)
	@$(BIN)/python -m paper $(if $(QUICK),--quick) $(ARGS)

lint: $(STAMP) ## style, formatting, types, rooms
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check || { echo "Not formatted; give: make format" >&2; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@out=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$out" >&2; exit 1; }

format: $(STAMP) ## put the code into the house format
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet

# hatchling is named because pip builds in a place of its own and would not list it.
constraints: ## pin the newest version of everything all extras need
	$(require_python)
	@echo "Installing every extra into a scratch environment (pyspark takes some minutes) ..."
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && trap 'exit 130' INT TERM && \
	$(call make_venv,"$$scratch") && \
	"$$scratch/bin/python" -m pip install -qq --disable-pip-version-check '.[plot,spark,dev]' hatchling && \
	"$$scratch/bin/python" -m pip freeze -qq --exclude hushtable > "$$scratch/freeze" && \
	if grep -v '^[A-Za-z0-9._-]*==[^ ]*$$' "$$scratch/freeze"; then \
		echo "These are not plain 'name==version' pins; constraints.txt stays as it was." >&2; exit 1; fi && \
	awk -F == '{ name = tolower($$1); gsub(/[-_.]+/, "-", name); print name "==" $$2 }' "$$scratch/freeze" \
		| LC_ALL=C sort -t = -k 1,1 > "$$scratch/pins" && \
	cp "$$scratch/pins" constraints.txt && \
	echo "constraints.txt pins $$(wc -l < constraints.txt) packages."

clean: ## remove the environment and all caches
	@rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks demo paper -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The stamp comes last: an interrupted install leaves none, and the next call starts over. The pins are given
# by PIP_CONSTRAINT and not by -c, so that they hold for the build backend too.
$(STAMP):
	$(require_python)
	@echo "Making $(VENV) (first call, or the pins changed) ..."
	@$(call make_venv,$(VENV))
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install -qq --disable-pip-version-check -e '.[$(EXTRAS)]' || { \
		echo "The install failed; the lines above say why. Mend that and give the same command again." >&2; exit 1; }
	@touch $@
