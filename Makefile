# Everything goes through this file: `make help` lists the targets.
# A machine needs Go, git and make; `make test` installs Postgres, emulators of other processors, npm, compilers of the guests'
# languages and, for the race detector, a C compiler from the distribution's packages when they are absent.

SHELL       := /bin/bash
export CGO_ENABLED := 0
# The version comes by -X; Go's own stamp would refuse a checkout that belongs to another user.
export GOFLAGS := $(shell go env GOFLAGS 2>/dev/null) -buildvcs=false
# Go keeps its caches under HOME, which a container or a service may lack.
ifeq ($(HOME),)
export HOME := $(shell unset HOME; echo ~)
endif
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS     := -s -w -X main.version=$(VERSION)
TIMEOUT     := 15m

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/reprise
	go build -ldflags '$(LDFLAGS)' -o bin/reprise ./cmd/host

.PHONY: engine
engine: deps ## make bin/engine-js.wasm, the JavaScript engine of `reprise build`, from a registry package (npm)
	scripts/engine bin/engine-js.wasm

.PHONY: guests
guests: build engine ## install the compilers of other languages, build the program of guest-sdk/conformance in each into .cache/guests
	@scripts/guests

.PHONY: run
run: build ## the main job: an order survives the death of its host, on the embedded store
	go build -o bin/shop ./examples/order-saga/shop
	go run ./examples/order-saga/demo -reprise bin/reprise -shop bin/shop

.PHONY: test
# The race detector looks at whatever shares memory. Left out of its pass are tests of whole processes that take minutes: what
# runs in those is raced by the tests of its own packages.
test: deps build engine guests ## install what is missing, then every test, with and without the race detector
	go vet ./...
	node .cache/engine/current/node_modules/typescript/bin/tsc -p guest-sdk/ts
	go test -count=1 -timeout $(TIMEOUT) ./...
	cd guest-sdk/go && go vet ./... && go test -count=1 -timeout $(TIMEOUT) ./...
	cd bench && go vet ./... && go test -count=1 -timeout $(TIMEOUT) ./...
	cd bench/harness && go vet ./... && go test -count=1 -timeout $(TIMEOUT) ./...
	CGO_ENABLED=1 go test -race -count=1 -timeout $(TIMEOUT) $$(go list ./... | grep -vE '/internal/(attack|soak|parked)$$')

.PHONY: soak
soak: deps build ## random programs on hosts that are killed and frozen, for SECONDS (60), from SEED
	bin/reprise soak --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

.PHONY: deps
deps: ## install Postgres, qemu-user, npm and a C compiler from the distribution's packages when absent (as root)
	@scripts/deps

.PHONY: verify
verify: ## generated files are what their sources yield; formatting
	@test -z "$$(gofmt -l .)" || { echo "gofmt:"; gofmt -l .; exit 1; }
	go test -count=1 ./abi/... ./guest-sdk/ ./host/api/ ./journal/ ./cmd/host/ -run 'Generated|OpenAPI|UpToDate|Golden|InTheTable|Codes'

.PHONY: generate
generate: ## rewrite generated and golden files
	UPDATE=1 go test -count=1 ./abi/... ./guest-sdk/ ./host/api/ ./journal/ ./host/internal/exec/ ./cmd/host/

.PHONY: fuzz
fuzz: ## fuzz the readers of hostile bytes, 30 s each
	go test -run '^$$' -fuzz FuzzDecode -fuzztime 30s ./modules/binary
	go test -run '^$$' -fuzz FuzzCode -fuzztime 30s ./modules/binary
	go test -run '^$$' -fuzz FuzzPrepare -fuzztime 30s ./modules
	go test -run '^$$' -fuzz FuzzInspect -fuzztime 30s ./modules
	go test -run '^$$' -fuzz FuzzSignatures -fuzztime 30s ./modules
	go test -run '^$$' -fuzz FuzzApply -fuzztime 30s ./modules/rewrite
	go test -run '^$$' -fuzz FuzzSame -fuzztime 30s ./modules/rewrite
	go test -run '^$$' -fuzz FuzzSuspend -fuzztime 30s ./modules/rewrite

.PHONY: fixtures
fixtures: ## rebuild the fixtures' *.wasm from their text (needs wat2wasm of the package wabt)
	@for f in testdata/wasm/*.wat modules/testdata/freeze/*.wat host/internal/sandbox/testdata/*.wat host/testkit/testdata/*.wat internal/attack/testdata/*.wat internal/soak/*.wat; do wat2wasm $$f -o $${f%.wat}.wasm || exit 1; done

# clang 14, lld, wasi-libc, libclang-rt-dev-wasm32, rustc 1.63 and libstd-rust-dev-wasm32 of Debian 12.
GUEST_CC := clang --target=wasm32-wasi -mexec-model=reactor -O2 -isystem /usr/include/wasm32-wasi -L/usr/lib/wasm32-wasi -Iabi -Wl,--strip-all
GUEST_RS := /usr/bin/rustc --edition 2021 --target wasm32-wasi --crate-type cdylib -O -C panic=abort -C strip=symbols

.PHONY: fixtures-guests
fixtures-guests: ## rebuild testdata/guests/*/*.wasm from their C and Rust (needs clang, lld, wasi-libc and rustc of Debian)
	@for f in testdata/guests/c/*.c; do $(GUEST_CC) -o $${f%.c}.wasm $$f || exit 1; done
	@for f in testdata/guests/rust/*.rs; do $(GUEST_RS) -o $${f%.rs}.wasm $$f || exit 1; done
	@for o in 0 1 2 3 s; do $(GUEST_CC) -O$$o -o testdata/guests/suspend/torture-c-O$$o.wasm testdata/guests/suspend/torture.c || exit 1; done
	@$(GUEST_CC) -mexec-model=command -o testdata/guests/suspend/plain-c.wasm testdata/guests/suspend/plain.c
	@for o in 0 2 s; do $(GUEST_RS) -C opt-level=$$o -o testdata/guests/suspend/torture-rust-O$$o.wasm testdata/guests/suspend/torture.rs || exit 1; done
	@chmod 644 testdata/guests/*/*.wasm

.PHONY: bench-quick
bench-quick: ## Reprise beside the bare database and other systems, in about a minute, as JSON lines
	cd bench && go build -o .cache/bench . && .cache/bench quick

.PHONY: bench
bench: build engine ## everything that is measured beside other systems; rewrites figures and plots of docs/BENCHMARKS.md (25 minutes)
	cd bench && go build -o .cache/bench . && .cache/bench all $(BENCH)

.PHONY: bench-recovery
bench-recovery: ## kill Reprise and a peer in the middle of a workflow, see how long until the next step, as JSON lines (5 minutes)
	cd bench && go build -o .cache/bench . && .cache/bench recovery

.PHONY: bench-engine
bench-engine: ## measure guests and instances on this machine, rewrite the figures of docs/PERFORMANCE.md (3 minutes, 6 GB)
	REPRISE_BENCH_ENGINE_DOC=$(CURDIR)/docs/PERFORMANCE.md go test ./host/internal/sandbox -run '^$$' -bench Engine -benchtime 1x -timeout 20m

.PHONY: bench-snapshot
bench-snapshot: ## measure the throughput of Postgres while somebody keeps a snapshot for HOLD (10m), beside a database without
	REPRISE_BENCH_HOLD=$(or $(HOLD),10m) go test ./journal/postgres -run '^$$' -bench LongSnapshot -benchtime 1x -timeout 60m -v

.PHONY: bench-guests
bench-guests: guests ## measure the program of guest-sdk/conformance in each language, rewrite the figures of docs/GUESTS.md (1 minute)
	REPRISE_BENCH_GUESTS_DOC=$(CURDIR)/docs/GUESTS.md go test ./host/internal/exec -run '^$$' -bench 'Guests$$' -benchtime 1x -timeout 10m

.PHONY: bench-resume
bench-resume: ## measure how runs with long journals go on, rewrite the figures and the plot of docs/PERFORMANCE.md (2 minutes)
	REPRISE_BENCH_RESUME_DOCS=$(CURDIR)/docs go test ./host/internal/exec -run '^$$' -bench 'Resume$$' -benchtime 1x -timeout 20m

.PHONY: bench-suspended
bench-suspended: ## measure what a million runs that wait take of Postgres and the host, rewrite the figures of docs/PERFORMANCE.md (6 minutes, 8 GB of disk)
	REPRISE_BENCH_SUSPENDED_DOCS=$(CURDIR)/docs go test ./internal/parked -run '^$$' -bench Suspended -benchtime 1x -timeout 20m

.PHONY: bench-timers
bench-timers: ## measure how late 10,000 timers fire that are due within a minute, on both journals (4 minutes)
	go test ./internal/parked -run '^$$' -bench Timers -benchtime 1x -timeout 20m

.PHONY: fmt
fmt: ## format the sources
	gofmt -w abi cmd examples guest-sdk host internal journal modules tenant

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
