#!/usr/bin/env bash
# Builds the conformance program: build.sh OUT. It needs no cargo and no registry, a rustc from 1.63 on with the standard library
# for wasm32-wasi, and wasm-ld; RUSTC names another than /usr/bin/rustc, Debian's.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")"
lib=$(mktemp -d)
trap 'rm -rf "$lib"' EXIT
flags=(--edition 2021 --target wasm32-wasi -C opt-level=2 -C panic=abort -C strip=symbols)
"${RUSTC:-/usr/bin/rustc}" "${flags[@]}" --crate-type rlib --crate-name reprise --cfg 'feature="std"' -o "$lib/libreprise.rlib" ../src/lib.rs
"${RUSTC:-/usr/bin/rustc}" "${flags[@]}" --crate-type cdylib --crate-name conformance --extern "reprise=$lib/libreprise.rlib" -o "$out" src/lib.rs
