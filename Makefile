# Every target makes its own environment, so a fresh machine needs only Python and make.

PYTHON ?= python3
VENV ?= .venv
VENV_SPARK ?= .venv-spark
VENV_BROWSER ?= .venv-browser
VENV_LIBRARIES ?= .venv-libraries

# Spark has an environment of its own: it is large, and needs an older pandas. It only runs tests.
EXTRAS := dev,plot
EXTRAS_SPARK := test,spark,connect
EXTRAS_BROWSER := browser
# Libraries that ours is compared with want older packages; nothing of ours is installed beside them.
LIBRARIES := opendp tmlt.core

# An environment belongs to its pins, this configuration, its extras, this Python and this folder (an editable
# install points at it). When one of them changes, the stamp has another name and the environment is made anew.
stamp = $(1)/.stamp-$(shell { cat $(2) pyproject.toml 2>/dev/null; \
	echo '$(3)' '$(PYTHON)' '$(CURDIR)'; } | cksum | tr -d ' ')
STAMP := $(call stamp,$(VENV),constraints.txt,$(EXTRAS))
STAMP_SPARK := $(call stamp,$(VENV_SPARK),constraints-spark.txt,$(EXTRAS_SPARK))
STAMP_BROWSER := $(call stamp,$(VENV_BROWSER),constraints-browser.txt,$(EXTRAS_BROWSER))
STAMP_LIBRARIES := $(call stamp,$(VENV_LIBRARIES),constraints-libraries.txt,$(LIBRARIES))
BIN := $(VENV)/bin
BIN_SPARK := $(VENV_SPARK)/bin
BIN_BROWSER := $(VENV_BROWSER)/bin

# What Python compiled is kept, whatever the caller's own setting is: hundreds of processes that tests start would
# compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

# All tests take one process a core; a few that are selected start sooner without. A core takes whole files while
# it can, so that what the tests of a file share is made once.
PROCESSES := $(if $(ARGS),,-n auto --dist worksteal)

# They have a folder of their own, so that the others need not be imported to find them. Two processes: while one
# waits for Java, the other works; each has a session for its files.
SPARK_TESTS := $(BIN_SPARK)/python -m pytest -q -o testpaths=tests/spark $(if $(ARGS),,-n 2 --dist loadfile)

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

# The stamp comes last: an interrupted install leaves none, and the next call starts over. The pins are given
# by PIP_CONSTRAINT and not by -c, so that they hold for the build backend too. Most of what is installed is never
# imported: Python compiles the rest when it is. pyspark comes as a source archive, of which pip makes a wheel, only
# to unpack it: that is stored, since packing its 400 MB of jars takes a quarter of a minute and saves nothing.
define make_environment
$(require_python)
@echo "Making $(1) (first call, or the pins changed) ..."
@$(call make_venv,$(1))
@printf '[bdist_wheel]\ncompression = stored\n' > $(1)/stored.cfg
@DIST_EXTRA_CONFIG='$(abspath $(1)/stored.cfg)' PIP_CONSTRAINT=$(2) $(1)/bin/python -m pip install -qq --disable-pip-version-check --no-compile $(3) || { \
	echo "The install failed; the lines above say why. Mend that and give the same command again." >&2; exit 1; }
@touch $@
endef

# Every package of an environment, as name==version. hatchling and build are named because a package is built in a
# place of its own, and pip would not list them.
define pin
@echo "Installing $(2) into a scratch environment ..."
@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && trap 'exit 130' INT TERM && \
$(call make_venv,"$$scratch") && \
"$$scratch/bin/python" -m pip install -qq --disable-pip-version-check $(2) && \
"$$scratch/bin/python" -m pip freeze -qq --exclude hushtable > "$$scratch/freeze" && \
if grep -v '^[A-Za-z0-9._-]*==[^ ]*$$' "$$scratch/freeze"; then \
	echo "These are not plain 'name==version' pins; $(1) stays as it was." >&2; exit 1; fi && \
awk -F == '{ name = tolower($$1); gsub(/[-_.]+/, "-", name); print name "==" $$2 }' "$$scratch/freeze" \
	| LC_ALL=C sort -t = -k 1,1 > "$$scratch/pins" && \
cp "$$scratch/pins" $(1) && \
echo "$(1) pins $$(wc -l < $(1)) packages."
endef

# Both files are built from what lies here, and each is tried where nothing else is installed.
define build_and_try
scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && trap 'exit 130' INT TERM && \
export PIP_CONSTRAINT='$(CURDIR)/constraints.txt' PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1 && \
$(call make_venv,"$$scratch/build") && "$$scratch/build/bin/python" -m pip install -qq build && rm -rf dist && \
{ "$$scratch/build/bin/python" -m build --outdir dist . > "$$scratch/said" 2>&1 || { cat "$$scratch/said" >&2; exit 1; }; } && \
for made in "$(CURDIR)"/dist/*; do \
	$(call make_venv,"$$scratch/trial") && mkdir "$$scratch/here" && cd "$$scratch/here" && \
	"$$scratch/trial/bin/python" -m pip install -qq "$$made" && \
	"$$scratch/trial/bin/python" "$(CURDIR)/tests/packaging/trial.py" && cd "$(CURDIR)" && rm -rf "$$scratch/here" && \
	ls -sh "$$made" || exit 1; done
endef

# Spark starts the Java of JAVA_HOME when that is set, and the one on PATH otherwise. Java 8 says "1.8.0_402".
JAVA := $${JAVA_HOME:+$$JAVA_HOME/bin/}java
have_java = [ "$$("$(JAVA)" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')" -ge 17 ] 2>/dev/null

define say_no_java
echo "*** Spark needs Java 17 or newer, but '$(JAVA)' is older or does not start. Install one (Debian, Ubuntu:"; \
echo "*** apt-get install openjdk-17-jre-headless, or a newer one), or set JAVA_HOME to the folder of one."
endef

# Runs target $(1) after the other tests. It may be left out, but never quietly, and never with SPARK=required.
define spark_too
if $(if $(ARGS),false,$(have_java)); then $(MAKE) --no-print-directory $(1); else { \
	echo "*** The tests of Spark were SKIPPED."; \
	$(if $(ARGS),echo "*** ARGS selects among the others; make test-spark ARGS=... selects among these.",$(say_no_java)); \
	} >&2; [ '$(SPARK)' != required ]; fi
endef

# Tests in a browser take Debian's chromium, the one without windows first, or what HUSHTABLE_CHROMIUM names.
have_chromium = { [ -n "$$HUSHTABLE_CHROMIUM" ] || command -v chromium-headless-shell || command -v chromium || command -v google-chrome; } > /dev/null 2>&1

define say_no_chromium
echo "*** Tests in a browser need Chromium: apt-get install chromium-headless-shell (Debian; make test-browser does it for root)," >&2; \
echo "*** or set HUSHTABLE_CHROMIUM to the program of one." >&2
endef

# Runs the tests in a browser after the others. They may be left out, but never quietly, and never with
# BROWSER=required.
define browser_too
if $(if $(ARGS),false,$(have_chromium)); then $(MAKE) --no-print-directory test-browser; else \
	echo "*** The tests in a browser were SKIPPED." >&2; \
	$(if $(ARGS),echo "*** ARGS selects among the others; make test-browser ARGS=... selects among these." >&2,$(say_no_chromium)); \
	[ '$(BROWSER)' != required ]; fi
endef

# Tests on a PostgreSQL server start one of Debian's, or one of the folder that HUSHTABLE_POSTGRES names.
have_postgres = ls "$${HUSHTABLE_POSTGRES:-/nowhere}"/initdb /usr/lib/postgresql/*/bin/initdb 2> /dev/null | grep -q .

define say_no_postgres
echo "*** Tests on PostgreSQL need the programs of its server: apt-get install postgresql (Debian, Ubuntu; make test-postgres" >&2; \
echo "*** does it for root), or set HUSHTABLE_POSTGRES to the folder that has initdb." >&2
endef

# Runs the tests on a PostgreSQL server. They may be left out, but never quietly, and never with POSTGRES=required.
define postgres_too
if $(if $(ARGS),false,$(have_postgres)); then $(MAKE) --no-print-directory $(1); else \
	echo "*** The tests on PostgreSQL were SKIPPED." >&2; \
	$(if $(ARGS),echo "*** ARGS selects among the others; make test-postgres ARGS=... selects among these." >&2,$(say_no_postgres)); \
	[ '$(POSTGRES)' != required ]; fi
endef

# What `make test SPARK=required BROWSER=required POSTGRES=required` needs beyond its own environment.
REQUIRED := $(if $(filter required,$(SPARK)),java $(STAMP_SPARK)) $(if $(filter required,$(BROWSER)),chromium $(STAMP_BROWSER)) $(if $(filter required,$(POSTGRES)),postgres)

# The seed is printed first, so that a red run can be repeated.
define fresh_seed
seed=$${HUSHTABLE_TEST_SEED:-$$($(PYTHON) -c 'import secrets; print(secrets.randbelow(2**32))')}; \
case $$seed in *[!0-9]*) echo "HUSHTABLE_TEST_SEED='$$seed' is not a whole number." >&2; exit 1;; esac; \
echo "seed $$seed; the same run again: make $@ HUSHTABLE_TEST_SEED=$$seed"; \
export HUSHTABLE_TEST_SEED=$$seed
endef

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-laws package docs test test-core test-spark-too test-spark test-browser-too test-browser test-postgres-too test-postgres test-postgres-long postgres chromium pictures test-long test-spark-long java audit mutants bench bench-spark bench-libraries paper lint format constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(STAMP) ## publish a million invented commuters, ask the file three questions, and make a page of it
	@$(BIN)/python demo/commute.py

demo-laws: $(STAMP) ## show the exact laws against the requested ones
	@$(BIN)/python demo/laws.py

test: $(REQUIRED) lint test-core test-spark-too test-browser-too test-postgres-too ## lint, types, rooms and all tests but the long ones (ARGS='-k name' selects)

# Five jobs that need nothing of each other: `make -j 2 test` lets one work while another waits.
test-core: $(STAMP)
	@unset HUSHTABLE_TEST_SEED; $(BIN)/python -m pytest -q $(PROCESSES) $(ARGS)

test-spark-too: $(REQUIRED)
	+@$(call spark_too,test-spark)

test-spark: java $(STAMP_SPARK) ## the tests of Spark alone; needs Java
	@unset HUSHTABLE_TEST_SEED; $(SPARK_TESTS) -m 'spark and not long' $(ARGS)

test-browser-too: $(REQUIRED)
	+@$(browser_too)

test-browser: chromium $(STAMP_BROWSER) ## the tests in a browser alone; root gets Chromium where it is missing
	@unset HUSHTABLE_TEST_SEED; $(BIN_BROWSER)/python -m pytest -q -o testpaths=tests/browser -m browser $(ARGS)

test-postgres-too: $(REQUIRED)
	+@$(call postgres_too,test-postgres)

# One process: all tests share one server.
test-postgres: postgres $(STAMP) ## the tests on PostgreSQL alone; root gets its server where it is missing
	@unset HUSHTABLE_TEST_SEED; $(BIN)/python -m pytest -q -o testpaths=tests/postgres -m 'postgres and not long' $(ARGS)

test-postgres-long: postgres $(STAMP)
	@$(fresh_seed); $(BIN)/python -m pytest -q -o testpaths=tests/postgres -m postgres --hypothesis-seed=$$seed $(ARGS)

pictures: chromium $(STAMP_BROWSER) ## draw the pictures of the page that README and docs show
	@$(BIN_BROWSER)/python -m tests.browser.pictures

test-long: $(STAMP) ## all tests, with a fresh seed that is printed first
	+@$(fresh_seed); $(BIN)/python -m pytest -q -m 'not spark and not browser and not postgres' --hypothesis-seed=$$seed $(PROCESSES) $(ARGS) && \
	$(call spark_too,test-spark-long) && $(call postgres_too,test-postgres-long)

test-spark-long: java $(STAMP_SPARK)
	@$(fresh_seed); $(SPARK_TESTS) -m spark --hypothesis-seed=$$seed $(ARGS)

java:
	@$(have_java) || { { $(say_no_java); } >&2; exit 1; }

postgres:
	@$(have_postgres) || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && { \
	echo "Installing PostgreSQL (some 60 MB) ..."; apt-get update -qq; \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql > /dev/null \
	|| { echo "*** apt-get could not install postgresql; the lines above say why." >&2; false; }; }; } \
	|| { $(say_no_postgres); exit 1; }

chromium:
	@$(have_chromium) || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && { \
	echo "Installing Chromium (some 60 MB) ..."; apt-get update -qq; \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core > /dev/null \
	|| { echo "*** apt-get could not install chromium-headless-shell; the lines above say why." >&2; false; }; }; } \
	|| { $(say_no_chromium); exit 1; }

audit: $(STAMP) ## try to prove ourselves wrong, and write docs/guarantees/audit.md (ARGS=faults runs one part)
	@$(BIN)/python -m tests.audit $(ARGS)

mutants: $(STAMP) ## make mistakes at random, one at a time; the tests must notice (ARGS=50: so many; ARGS=noise selects)
	@$(fresh_seed); $(BIN)/python -m tests.audit drawn $(ARGS)

bench: $(STAMP) ## measure against the bars of the design and print the table (ARGS=noise selects)
	@$(BIN)/python -m benchmarks $(ARGS)

bench-spark: $(STAMP_SPARK) ## measure publishing on Spark against Spark's own GROUP BY
	@$(BIN_SPARK)/python -m benchmarks spark

bench-libraries: java $(STAMP) $(STAMP_LIBRARIES) ## threshold releases beside those of other libraries; needs Java
	@$(BIN)/python -m benchmarks libraries

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

docs: $(STAMP) ## build the documentation as a site in build/site; a link that leads nowhere fails
	@rm -rf build/site && $(BIN)/python docs/site/assemble.py build/docs && { \
	out=$$($(BIN)/zensical build --clean --strict 2>&1) || { echo "$$out" >&2; exit 1; }; }
	@echo "Open build/site/index.html. To search it too: python3 -m http.server -d build/site"

package: ## build the wheel and the sdist into dist/, and try each in an environment of its own
	$(require_python)
	@$(call build_and_try)

constraints: ## pin the newest version of everything that the environments need
	$(require_python)
	$(call pin,constraints.txt,'.[$(EXTRAS)]' hatchling build)
	$(call pin,constraints-spark.txt,'.[$(EXTRAS_SPARK)]' hatchling build)
	$(call pin,constraints-browser.txt,'.[$(EXTRAS_BROWSER)]' hatchling build)
	$(call pin,constraints-libraries.txt,$(LIBRARIES))
	@echo "The bill of materials, anew: make lint && $(BIN)/python -m tests.packaging.bill"

clean: ## remove the environments and all caches
	@rm -rf $(VENV) $(VENV_SPARK) $(VENV_BROWSER) $(VENV_LIBRARIES) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks demo paper -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(STAMP):
	$(call make_environment,$(VENV),constraints.txt,-e '.[$(EXTRAS)]')

$(STAMP_SPARK):
	$(call make_environment,$(VENV_SPARK),constraints-spark.txt,-e '.[$(EXTRAS_SPARK)]')

$(STAMP_BROWSER):
	$(call make_environment,$(VENV_BROWSER),constraints-browser.txt,-e '.[$(EXTRAS_BROWSER)]')

$(STAMP_LIBRARIES):
	$(call make_environment,$(VENV_LIBRARIES),constraints-libraries.txt,$(LIBRARIES))
