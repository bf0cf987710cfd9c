#!/usr/bin/env bash
# Builds a program of this folder: build.sh SOURCE OUT. ASC names the compiler; else it is that of .cache/guests, where it is installed
# when it is not there, in the version that package.json names.
set -euo pipefail
out=$(realpath -m "$2")
cd "$(dirname "$0")"
cache=$(realpath -m ../../.cache/guests/assemblyscript)
if [ -z "${ASC:-}" ] && ! { [ -x "$cache/node_modules/.bin/asc" ] && cmp -s package.json "$cache/package.json"; }; then
	mkdir -p "$cache"
	cp package.json "$cache"
	(cd "$cache" && npm install --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error) >&2 || { rm "$cache/package.json"; exit 1; }
fi
# What aborts is named by its path from here.
"${ASC:-$cache/node_modules/.bin/asc}" "$1" -O --use abort=assembly/abort/abort -o "$out"
