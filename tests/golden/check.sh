#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Gives the golden bundles to the program (README.md beside this file).
#
# usage: check.sh [PROGRAM]     or KBUNDLE_BIN=PROGRAM check.sh

set -u
here=$(cd "$(dirname "$0")" && pwd)
kbundle=${1:-${KBUNDLE_BIN:?the kbundle program}}
reference=$here/../lib/bundle_ref.py
python=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d "${TMPDIR:-/tmp}/kbundle-golden.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

checked=0
wrong=0

fail()
{
	wrong=$((wrong + 1))
	printf '%s: %s\n' "$(basename "$bundle")" "$*"
}

same()
{
	[ "$2" = "$3" ] || fail "$1 is $2, not $3"
}

for bundle in "$here"/v1/*.kbundle.tar.zst; do
	[ -e "$bundle" ] || continue
	checked=$((checked + 1))
	stem=${bundle%.kbundle.tar.zst}
	id=$(<"$stem.id") || exit 1
	"$kbundle" verify --json "$bundle" >"$work/report" 2>"$work/err" ||
		fail "verify: $(<"$work/err")"
	same "the id of verify" "$("$python" -c 'import json, sys
print(json.load(sys.stdin)["id"])' <"$work/report")" "$id"
	same "the id of the second reader" \
		"$("$python" "$reference" id "$bundle")" "$id"
	same "the hash of the tar" \
		"$(zstd -dcq "$bundle" | sha256sum | cut -d ' ' -f 1)" \
		"$(<"$stem.tar.sha256")"
done

for bundle in "$here"/future/*.kbundle.tar.zst; do
	checked=$((checked + 1))
	unknown=$(<"${bundle%.kbundle.tar.zst}.unknown") || exit 1
	for verb in verify list unpack; do
		set -- "$bundle"
		[ $verb = unpack ] && set -- "$bundle" "$work/to"
		"$kbundle" $verb "$@" >/dev/null 2>"$work/err"
		same "the exit code of $verb" $? 3
		grep -q -F -e "$unknown" "$work/err" ||
			fail "$verb does not name $unknown: $(<"$work/err")"
	done
	[ -z "$(ls -A "$work/to" 2>/dev/null)" ] || fail "unpack left something"
	"$python" "$reference" verify "$bundle" >"$work/out" 2>"$work/err"
	same "the exit code of the second reader" $? 3
	grep -q -F -e "$unknown" "$work/err" ||
		fail "the second reader does not name $unknown"
done

echo "golden: $checked bundles, $wrong wrong"
[ "$checked" -ge 2 ] && [ "$wrong" -eq 0 ]
