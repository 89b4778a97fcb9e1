# The commands of the README. Each installs what it needs first; nothing is downloaded twice.
PYTHON ?= python3
BIN ?= /usr/local/bin

.PHONY: install rehearse test test-long test-offline docs lock
install: .venv/installed
	@sh scripts/link "$(CURDIR)/.venv/bin/apuhost" "$(BIN)"

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("apuhost needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --require-hashes --no-deps -r requirements.lock
	.venv/bin/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

rehearse: install
	.venv/bin/apuhost rehearse

test: .venv/installed
	.venv/bin/pytest

test-long: .venv/installed
	.venv/bin/pytest -m long

test-offline: .venv/installed
	.venv/bin/pytest tests/offline

# docs/settings.md and the roles' READMEs, from the roles' own words; examples/, from the tests' hosts.
docs: .venv/installed
	.venv/bin/python -m apuhost.reference > docs/settings.md.new
	mv docs/settings.md.new docs/settings.md
	for role in roles/*; do \
	  .venv/bin/python -m apuhost.reference "$${role#roles/}" > "$$role/README.md"; done
	.venv/bin/python -m scripts.write_examples

# Needs uv on the PATH; only for who changes the dependencies.
lock:
	uv pip compile --all-extras --generate-hashes --no-emit-index-url --no-header \
	  --python-version 3.11 --output-file requirements.lock pyproject.toml
