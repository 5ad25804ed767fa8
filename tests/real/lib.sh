# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts of this folder: sourced, not run.

set -euo pipefail
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }
fail() { say "FAILED: $*" >&2; exit 1; }
skip() { say "SKIPPED: $*" >&2; exit 77; }

# The program under test, and a folder of this test's own.
# shellcheck disable=SC2034 # the scripts use $kbundle
begin() {
	: "${KBUNDLE_BIN:?the path of the kbundle program}"
	kbundle=$(realpath "$KBUNDLE_BIN")
	work=$(mktemp -d "${TMPDIR:-/tmp}/kbundle-real.XXXXXX")
	trap end EXIT
}

end() {
	jobs -p | xargs -r kill 2>/dev/null || true
	wait
	rm -rf "$work"
}

# use_triton VERSION: sets $python; the rest of the environment must not reach
# Triton, because some of it enters its keys.
use_triton() {
	local venv
	venv=$("$here/venv.sh" "$1") || exit $?
	python=$venv/bin/python
}

in_triton_environment() {
	env -i HOME="$work" PATH="$PATH" LC_ALL=C.UTF-8 \
		PYTHONDONTWRITEBYTECODE=1 "$@"
}

triton() {
	local script=$1
	shift
	in_triton_environment "$python" "$here/$script" "$@"
}

# run EXPECTED COMMAND...: the exit code must be the expected one.
run() {
	local expected=$1 code=0
	shift
	"$@" || code=$?
	[ "$code" = "$expected" ] ||
		fail "exit code $code, not $expected, of: $*"
}

entries_of() { find "$1" -mindepth 1 -maxdepth 1 -type d | wc -l; }
