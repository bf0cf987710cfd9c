#!/usr/bin/env bash
# Builds the conformance program: build.sh OUT.
exec "$(dirname "$0")/../build.sh" conformance/main.ts "$1"
