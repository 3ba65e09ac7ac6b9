# Everything a fresh machine needs: Python 3.10+, pip, make and a Rust toolchain.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := l4strace/native
SAMPLE := fixtures/misfire/misfire.pcap.xz
RUST   := $(shell find $(NATIVE)/src -name '*.rs') $(NATIVE)/Cargo.toml $(NATIVE)/Cargo.lock $(wildcard $(NATIVE)/build.rs)

.PHONY: help demo build test check format rust-test py-test bench fuzz clean

help: ## show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

demo: build ## diagnose the sample run: a real fallback misfire
	$(BIN)/l4strace diagnose $(SAMPLE) --fail-on never --output misfire.html

build: $(VENV)/.built ## virtual environment with l4strace in it

$(VENV)/.pip: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.built: $(VENV)/.pip $(RUST)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.built
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

test: check rust-test py-test ## every check and every test

check: $(VENV)/.dev ## formatting, lint, types, layers
	cargo fmt --manifest-path $(NATIVE)/Cargo.toml --check
	cargo clippy --quiet --manifest-path $(NATIVE)/Cargo.toml --all-targets --all-features -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

rust-test: ## tests of the native crate
	cargo test --quiet --manifest-path $(NATIVE)/Cargo.toml --no-default-features

py-test: $(VENV)/.dev ## tests of everything else
	$(BIN)/pytest $(PYTEST_ARGS)

format: $(VENV)/.dev ## rewrite sources in the project's format
	cargo fmt --manifest-path $(NATIVE)/Cargo.toml
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev ## cost as ratios to a plain walk over the record headers
	$(BIN)/python tests/bench.py

fuzz: ## feed damaged captures and logs for five minutes each way (needs cargo-fuzz, nightly Rust)
	cd $(NATIVE)/fuzz && for target in capture frame run ktext; do \
		cargo +nightly fuzz run $$target -- -max_total_time=300 -max_len=65536 || exit 1; done

clean: ## remove what was built
	rm -rf $(VENV) $(NATIVE)/target dist
