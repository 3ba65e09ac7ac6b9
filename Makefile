# Everything a fresh machine needs: Python 3.10+, pip, make and a Rust toolchain.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
NATIVE := l4strace/native
SIM    := fixtures/lab/sim
# The tests that `make test` leaves out; pyproject.toml says what each marker means.
SYSTEM := needs or root or slow or wheel
PYTEST := $(BIN)/pytest $(PYTEST_ARGS)
# It has jobs of its own: those of make are for recipes that call make.
CARGO  := MAKEFLAGS= cargo
# A file is run by one process: what its tests share is made once.
BESIDE := -n 2 --dist loadfile
SAMPLE := fixtures/misfire/misfire.pcap.xz
CORPUS ?= corpus
RUST   := $(shell find $(NATIVE)/src -name '*.rs') $(NATIVE)/Cargo.toml $(NATIVE)/Cargo.lock $(wildcard $(NATIVE)/build.rs)

.PHONY: help demo build test test-system test-vm test-all side-by-side check check-rust check-python format rust-test py-test docs docs-site bench instructions truth truth-studies fuzz audit dist lock sanitize clean

help: ## show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-13s %s\n", $$1, $$2}'

demo: build ## diagnose the sample run: a real fallback misfire
	mkdir -p build
	$(BIN)/l4strace diagnose $(SAMPLE) --fail-on never --output build/misfire.html

# Python keeps what it compiled of a checkout, but not where PYTHONDONTWRITEBYTECODE is set: there each
# run would compile two hundred files again, which takes longer than a small capture.
build: $(VENV)/.built ## virtual environment with l4strace in it
	@$(BIN)/python -m compileall -q -x native/ l4strace

$(VENV)/.pip: pyproject.toml
	@command -v cargo >/dev/null || { echo "Rust is missing: install it from https://rustup.rs"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'pip>=25.1'
	@touch $@

$(VENV)/.built: $(VENV)/.pip $(RUST)
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m l4strace.page.prepare
	@touch $@

# Checks need the tools and what l4strace imports, not its newest build.
$(VENV)/.dev: $(VENV)/.pip
	test $(VENV)/.built -nt pyproject.toml || $(MAKE) $(VENV)/.built
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

test: side-by-side py-test ## checks, unit tests and recorded runs: no root, no other program, eight minutes

test-system: $(VENV)/.dev dist ## browser, namespaces, capture, hostile batches, wheels (what to install: .ci/run)
	$(CARGO) test --quiet --release --manifest-path $(SIM)/Cargo.toml
	$(PYTEST) $(BESIDE) -m "($(SYSTEM)) and not (root or vm)"
	# Live traffic has the machine for itself.
	$(PYTEST) -m "root and not vm"

test-vm: $(VENV)/.dev build ## what boots the virtual machine (root, QEMU, debootstrap)
	# Two machines at a time: their clock counts instructions, so that neither feels the other.
	$(PYTEST) $(BESIDE) -m vm

test-all: test test-system test-vm ## every check and every test, each once

# What one processor compiles while the other checks.
side-by-side:
	$(MAKE) --jobs=2 --output-sync=target check rust-test

check: check-python check-rust ## formatting, lint, types, layers

check-rust:
	cargo fmt --manifest-path $(NATIVE)/Cargo.toml --check
	cargo fmt --manifest-path $(SIM)/Cargo.toml --check
	# In the profile of `cargo test`, which compiles half of the same.
	$(CARGO) clippy --quiet --manifest-path $(NATIVE)/Cargo.toml --all-targets --all-features -- -D warnings
	$(CARGO) clippy --quiet --manifest-path $(SIM)/Cargo.toml --all-targets -- -D warnings

check-python: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

rust-test: ## tests of the native crate
	$(CARGO) test --quiet --manifest-path $(NATIVE)/Cargo.toml --no-default-features

py-test: $(VENV)/.dev build ## the other tests of `make test`
	$(PYTEST) $(BESIDE) -m "not ($(SYSTEM) or vm)"

format: $(VENV)/.dev ## rewrite sources in the project's format
	cargo fmt --manifest-path $(NATIVE)/Cargo.toml
	cargo fmt --manifest-path $(SIM)/Cargo.toml
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev $(VENV)/.built ## rewrite manual page, completions, table of rules, glossary
	$(BIN)/python docs/generate.py

docs-site: $(VENV)/.dev $(VENV)/.built ## the pages of docs/, the rules, the tables, the command line as a site in build/site
	$(BIN)/python docs/generate.py build/site-source
	$(BIN)/sphinx-build -W --keep-going --quiet -b html -d build/site-doctrees build/site-source build/site

bench: $(VENV)/.dev $(VENV)/.built ## costs on shapes of real traffic, beside other tools (docs/performance.md)
	$(BIN)/python -m tests.bench $(BENCH_ARGS)

instructions: $(VENV)/.dev ## instructions a packet on recorded shapes: fails at 3 % more (needs valgrind)
	$(BIN)/python -m tests.instructions $(INSTRUCTIONS_ARGS)

truth: $(VENV)/.built ## compare the diagnosis of a corpus (CORPUS=folder, fixtures/lab/vm/corpus.py) with its truth
	$(BIN)/python fixtures/lab/truth.py $(CORPUS) $(TRUTH_ARGS)

truth-studies: $(VENV)/.dev $(VENV)/.built ## level and coverage of the tests of `compare`, by simulation
	$(BIN)/python -m tests.support.studies $(STUDIES)

dist: build ## wheel (abi3, manylinux), sdist and SBOM (CycloneDX) in dist/
	$(BIN)/python -m pip install --quiet 'maturin>=1.12,<2'
	rm -f dist/*.whl dist/*.tar.gz
	$(BIN)/maturin sdist --out dist
	# maturin audits the libraries that the wheel needs, and names the oldest manylinux that has them.
	rm -rf l4strace/share && mkdir l4strace/share && cp -r build/prepared l4strace/share/
	rm -rf l4strace/share/prepared/*/__pycache__
	$(BIN)/maturin build --quiet --release --locked --out dist; built=$$?; rm -rf l4strace/share; exit $$built
	$(BIN)/python .ci/sbom.py > dist/l4strace.cdx.json

lock: $(VENV)/.dev ## rewrite .ci/requirements.txt from pyproject.toml (needs pip-tools)
	$(BIN)/python -c 'import tomllib; d = tomllib.load(open("pyproject.toml", "rb")); print("\n".join(d["project"]["dependencies"] + [n for g in ("dev", "docs") for n in d["dependency-groups"][g] if isinstance(n, str)] + d["build-system"]["requires"]))' \
		| pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-annotate --no-header \
			--no-emit-index-url --no-emit-trusted-host --no-emit-find-links --output-file .ci/requirements.txt -

fuzz: ## 20,000 hostile files, then every parser for five minutes (needs cargo-fuzz, nightly Rust, atheris)
	L4STRACE_HOSTILE_CASES=20000 $(BIN)/pytest -s tests/hostile/test_batches.py
	$(BIN)/python -m pip install --quiet 'atheris>=3,<4'
	$(BIN)/python -m tests.support.hostile.guided $(NATIVE)/fuzz/corpus/python -max_total_time=300 -max_len=4096
	cd $(NATIVE)/fuzz && for target in capture frame datagrams run redact text_logs records qlog dissected; do \
		mkdir -p corpus/$$target; \
		cargo +nightly fuzz run $$target corpus/$$target seeds -- -max_total_time=300 -max_len=65536 || exit 1; done

sanitize: ## tests of the native crate under AddressSanitizer (needs clang, nightly Rust)
	CC=clang CFLAGS=-fsanitize=address RUSTFLAGS='-Zsanitizer=address -Cdebug-assertions -Coverflow-checks' \
		cargo +nightly test --release --manifest-path $(NATIVE)/Cargo.toml --no-default-features \
			--target x86_64-unknown-linux-gnu

audit: ## known faults of crates and Python packages (needs cargo-audit and pip-audit; ADVISORIES=clone of advisory-db: offline)
	for lock in $(NATIVE)/Cargo.lock $(NATIVE)/fuzz/Cargo.lock; do \
		cargo audit --deny warnings $(if $(ADVISORIES),--db $(ADVISORIES) --no-fetch) --file $$lock || exit 1; done
	pip-audit --requirement .ci/requirements.txt --require-hashes --disable-pip

clean: ## remove what was built
	rm -rf $(VENV) $(NATIVE)/target build dist
