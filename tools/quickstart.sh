#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# From a fresh checkout to a first bundle: installs what the build needs,
# builds the program, and packs, checks and unpacks a small Triton cache.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh --build
cmake --preset release
cmake --build build/release --target kbundle

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r tests/fixtures/triton "$work/cache"
bundle=$work/kernels.kbundle.tar.zst

show() {
	printf '\n$ %s\n' "kbundle ${*//$work/\$WORK}"
	build/release/src/kbundle "$@"
}

show pack "$work/cache" -o "$bundle"
show list "$bundle"
show verify "$bundle"
show unpack "$bundle" "$work/elsewhere/cache"
show verify "$bundle" "$work/elsewhere/cache"

printf '\nThe paths in the cache now name the new place:\n'
grep -rho '"/[^"]*"' --include='__grp__*.json' "$work/elsewhere/cache" |
	sed "s|$work|\$WORK|" | head -n 3
printf '\nThe program: build/release/src/kbundle\n'
