# make run serves the directory, make check is what a change must pass; each is safe to repeat.
SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run dev web test lint check fuzz bench chaos fmt words lint-api tests-for screenshots lighthouse lock wheel sbom trial release audit servers clean

PYTHON ?= python3
# On two processors, of which two processes leave a quarter idle: tests wait for databases and servers.
WORKERS ?= 3
TESTS ?= not slow
# These start whole servers and browsers: half the time of the suite. A path in PYTEST_ARGS runs them all the same.
LEFT_OUT ?= tests/runtime tests/system tests/web $(wildcard tests/extras/*/test_console*.py tests/extras/*/test_browser.py)
PYTEST_ARGS ?=
# On which database a test runs that can run on both. Empty is on each of them: where PYTEST_ARGS asks for some tests.
DATABASES ?= $(if $(PYTEST_ARGS),,sqlite)
# The folders whose tests make check runs on each of them: those that ask what the database does, and those of processes.
# Of the others .ci/run has each test on PostgreSQL too.
ON_BOTH = tests/services tests/db tests/cli tests/cache tests/server tests/runtime tests/system
BENCH_ARGS ?=
CHAOS_ARGS ?=
LIGHTHOUSE_ARGS ?=
SCREENSHOTS_ARGS ?=
FUZZ_EXAMPLES ?= 2000
API_LINTERS = @stoplight/spectral-cli@6.16.3 @redocly/cli@2.77.0

BIN := .venv/bin
# pytest keeps what it compiled of the tests, also where the environment keeps Python from writing: 8 seconds of a start.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
# With REPEAT_FAILED, as in CI, a test that failed runs once more, alone: another could have kept the machine too busy.
REPEAT_FAILED ?=
AGAIN = $(if $(REPEAT_FAILED),|| $(PYTEST) -n 1 --last-failed --last-failed-no-failures=none $(1))
FUZZERS = tests/system/test_schemathesis.py tests/system/test_stateful.py tests/system/test_properties.py tests/http/test_budget.py tests/server/test_differential.py
SOURCES := $(wildcard *.py settings/*.py directory/*.py directory/*/*.py directory/*/*/*.py directory/*/*/*/*.py migrations/*.py migrations/*/*.py)
EXACT = directory/services/*,directory/extras/*,directory/http/access.py
PROGRESS = $(PYTHON) .ci/progress.py
WEB = $(BIN)/python .ci/web.py
WATCH = $(BIN)/watchfiles --verbosity warning --sigint-timeout 35 --target-type command
SERVED = directory settings migrations config.py serve.py wsgi.py gunicorn.conf.py $(wildcard .env)
PAGES = directory/web/dist/pages.json
PAGE_SOURCES := $(wildcard directory/web/*.* directory/web/src/*.* directory/web/src/*/*.* directory/web/src/*/*/*.*)
TOOLS = tests/web/node_modules/.installed
LIGHTHOUSE = bench/lighthouse/node_modules/.installed
# The "2>" makes it a shell's work; without it make 4.2 looks for a program called "command".
ifneq ($(shell command -v uv 2>/dev/null),)
NEW_VENV = uv venv -p $(PYTHON) .venv
INSTALL = uv pip install --compile-bytecode -p $(BIN)/python -c constraints.txt -r
else
NEW_VENV = $(PYTHON) -m venv .venv
INSTALL = $(BIN)/python -m pip install --no-color --disable-pip-version-check --root-user-action=ignore -c constraints.txt -r
endif

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.* ## /  make \1\t/p' Makefile
	@echo "  HOST and PORT say where run listens, as in HOST=0.0.0.0; test takes PYTEST_ARGS, as in PYTEST_ARGS='-k vote'"

run: export PREPARE_DATABASE = true
run: $(BIN)/python ## Serve on http://127.0.0.1:8000, with demo projects where the database is empty
	@[ "$${WEB_ENABLED:-true}" = false ] || $(MAKE) -s $(PAGES) & pages=$$!; $(MAKE) -s .venv/.compiled || exit; \
	  wait $$pages || true; exec $(BIN)/python serve.py

web: $(BIN)/python ## Build the pages and print their weights (needs a package index for JavaScript); make run builds missing ones
	@$(WEB) build --weights

# Two watchers: one rebuilds the pages when their sources change, the other restarts the server when Python, a template
# or a built page changes. The first one ends with the second; the pages with source maps go, so that `make` rebuilds them.
dev: export PREPARE_DATABASE = true
dev: .venv/.test $(PAGES) ## Serve as run does, and restart on a change of Python, templates or pages
	@WEB_SOURCE_MAPS=1 $(WATCH) '$(WEB) build' directory/web/src & pages=$$!; \
	  trap 'kill $$pages 2>/dev/null || true; rm -f $(PAGES)' EXIT; trap 'exit 130' INT TERM; \
	  $(WATCH) --ignore-paths directory/web/src,directory/web/node_modules '$(BIN)/python serve.py' $(SERVED)

test: .venv/.test .venv/.compiled $(PAGES) $(TOOLS) ## Run the tests of the parts, on SQLite; make check adds PostgreSQL, whole servers and the pages
	@export TEST_DATABASES="$(DATABASES)"; $(PYTEST) -m "$(TESTS)" $(LEFT_OUT:%=--ignore=%) $(PYTEST_ARGS) $(call AGAIN)

lint: .venv/.test $(PAGES) $(TOOLS) ## Check style, format, types and imports, of Python and of the pages
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python .ci/messages.py check
	@$(BIN)/python .ci/documents.py check
	@$(WEB) check

check: .venv/.compiled lint ## What lint checks, known faults, and the whole suite with its coverage: what a change must pass
	@$(BIN)/python .ci/audit.py
	@export TEST_DATABASES=sqlite TEST_ON_BOTH="$(ON_BOTH)"; \
	  $(BIN)/coverage erase; $(PYTEST) -p tests.support.probes --counted=yes $(call AGAIN,-p tests.support.probes); \
	  $(PYTEST) --counted=no $(call AGAIN)
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report --fail-under=95
	@$(BIN)/coverage report --fail-under=100 --include='$(EXACT)' --omit='directory/extras/observability/*'

fuzz: .venv/.test .venv/.compiled ## Try 2,000 of what the tests try 20 to 100 of, for hours; FUZZ_EXAMPLES=300 takes 5 to 12 minutes for each role
	@DIFFERENTIAL_EXAMPLES=20000 FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(PYTEST) -rP -o faulthandler_timeout=0 --durations=0 --durations-min=1 $(FUZZERS)

bench: .venv/.test .venv/.compiled ## Measure the service beside its ceilings (needs wrk); BENCH_ARGS as in 'python -m bench --help'
	@$(BIN)/python -m bench $(BENCH_ARGS)

chaos: .venv/.test .venv/.compiled ## Kill, freeze and cut off what the service stands on, and print which promises held; CHAOS_ARGS as in 'disk'
	@$(BIN)/python -m tests.system.chaos $(CHAOS_ARGS)

fmt: .venv/.test ## Format the code and mend what can be mended
	@$(BIN)/ruff check --fix --exit-zero
	@$(BIN)/ruff format

words: .venv/.test ## Collect the messages for translators, and record the words of all pages and mails again: read the difference
	@$(BIN)/python .ci/messages.py
	@RECORD_WORDS=1 $(BIN)/python -m pytest -q -n 0 tests/pages/test_words.py

lint-api: .venv/.run ## Lint docs/openapi.json with spectral and redocly (needs node; installs both into .venv/node)
	@npm install --prefix .venv/node --silent --no-audit --no-fund --ignore-scripts $(API_LINTERS)
	@echo 'extends: ["spectral:oas"]' >.venv/node/spectral.yaml
	@.venv/node/node_modules/.bin/spectral lint docs/openapi.json -r .venv/node/spectral.yaml --fail-severity=warn
	@# Without its rule that each operation has a 2XX: a redirect has none. Spectral's asks for a 2XX or a 3XX.
	@REDOCLY_TELEMETRY=off .venv/node/node_modules/.bin/redocly lint docs/openapi.json --extends recommended --format json \
	  --skip-rule operation-2xx-response \
	  2>/dev/null >.venv/node/redocly.json || true; $(PYTHON) -c 'import json; found = json.load(open(".venv/node/redocly.json")); \
	  print(*(one["ruleId"] + ": " + one["message"] for one in found["problems"]), sep="\n"); exit(bool(found["problems"]))'

tests-for: ## Print the test files that belong to what you changed, or to FILES, as in FILES=directory/services/votes/voting.py
	@$(PYTHON) .ci/tests_for.py $(FILES)

screenshots: .venv/.test .venv/.compiled $(PAGES) ## Take pictures of every page into .venv/screenshots; SCREENSHOTS_ARGS as in '--empty'
	@$(BIN)/python -m tests.support.screenshots $(SCREENSHOTS_ARGS)

lighthouse: .venv/.test .venv/.compiled $(PAGES) $(TOOLS) $(LIGHTHOUSE) ## Measure every page by Lighthouse and axe against its bars (needs Chromium); LIGHTHOUSE_ARGS as in '--only ^/admin'
	@$(BIN)/python -m bench.lighthouse $(LIGHTHOUSE_ARGS)

# Packages of Debian, each named as its program.
SERVERS = nginx pgbouncer chromium-headless-shell caddy buildah mmdebstrap docker-compose
servers: ## Install what some tests need and no wheel carries, such as nginx, Prometheus and Chromium: by apt-get, as root
	@missing=; for each in $(SERVERS); do \
	    PATH="$$PATH:/usr/sbin" command -v "$$each" >/dev/null || missing="$$missing $$each"; done; \
	  [ -z "$$missing" ] || { apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }
	@# Of Prometheus the two programs: what its package depends on, for its pages, takes 220 MB more.
	@command -v promtool >/dev/null || { folder=$$(mktemp -d); cd "$$folder"; apt-get update -qq; \
	  apt-get download -qq -o APT::Sandbox::User=root prometheus; dpkg-deb --fsys-tarfile prometheus_*.deb | \
	  tar -x -C /usr/local/bin --strip-components=3 ./usr/bin/prometheus ./usr/bin/promtool; rm -r "$$folder"; }

lock: ## Pin what production installs, with hashes (needs uv)
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-package tzdata --no-annotate \
	  --custom-compile-command 'make lock' -c constraints.txt requirements.txt -o requirements.lock

wheel: .venv/.test $(PAGES) ## Build the package into dist, pages included; pip installs it as the command project-directory
	@$(BIN)/python .ci/wheel.py dist

sbom: .venv/.test $(PAGES) ## Write into dist what the wheel installs and bundles: a CycloneDX document, the licences, and the lock
	@$(BIN)/python .ci/sbom.py dist

trial: .venv/.test .venv/.compiled $(PAGES) ## Install what is pinned, and the package, into an empty environment, and serve from there (CI does it in make check)
	@$(BIN)/python -m pytest -q tests/system/test_wheel.py

release: $(BIN)/python ## Test, date the changelog, build the package with the list of what is in it, and tag, on this machine alone; DRY_RUN=1 shows it
	@$(BIN)/python .ci/release.py

audit: .venv/.test ## As check does, look what is pinned up among known vulnerabilities, and fail where that cannot be done
	@$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements.lock

clean: ## Remove what the tools leave behind; .venv and instance stay
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .schemathesis htmlcov
	@rm -f .coverage .coverage.* .venv/.compiled
	@find . -path ./.venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: newer than all that says what to install, or it is installed again.
.venv/.run: $(BIN)/python requirements.txt constraints.txt
	@$(PROGRESS) "Installing what runs" $(INSTALL) requirements.txt
	@touch $@

# Here and not when it is first imported, for some environments keep Python from writing what it compiles: half of
# a start would be spent on compiling the same again. Where nothing may be written here either, it is.
.venv/.compiled: .venv/.run $(SOURCES)
	@{ $(PROGRESS) "Compiling" $(BIN)/python -m compileall -qq $(SOURCES) && touch $@ 2>/dev/null; } || true

.venv/.test: $(BIN)/python requirements.txt requirements-extras.txt tests/requirements.txt constraints.txt
	@$(PROGRESS) "Installing what runs and what tests" $(INSTALL) tests/requirements.txt
	@touch $@ .venv/.run

# Of these two a failure is one line and no more: the API works without its pages, and their tests say what is missing.
$(PAGES): $(BIN)/python $(PAGE_SOURCES)
	@$(WEB) build || true

$(TOOLS): $(BIN)/python tests/web/package.json tests/web/deno.lock
	@$(WEB) tools && touch $@ || true

$(LIGHTHOUSE): $(BIN)/python bench/lighthouse/package.json bench/lighthouse/deno.lock
	@$(WEB) lighthouse
	@touch $@

# Missing also where it points at a Python that is gone; such a .venv, and half of a new one, is of no use.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer, please: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@rm -rf .venv
	@$(PROGRESS) "Making .venv" $(NEW_VENV) || { rm -rf .venv; exit 1; }
