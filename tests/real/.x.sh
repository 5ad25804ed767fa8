#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One bundle per rule of docs/format.md that breaks it (hostile.py), given to
# verify, list, unpack from a file and unpack from a pipe. Each must end with
# the exit code of cases.tsv and, where it refuses, one sentence on stderr that
# has the expected word; unpack must leave no entry and no staging behind.
#
# usage: KBUNDLE_BIN=…/kbundle hostile.sh [DIR with bundles made before]

set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${KBUNDLE_BIN:?the kbundle program}"
python=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/kbundle-hostile.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

if [ $# -gt 0 ]; then
	cases=$1
else
	cases=$work/cases
	"$python" "$here/hostile.py" make "$cases" || exit 1
	"$python" "$here/hostile.py" check "$cases" || exit 1
fi

runs=0
wrong=0

fail()
{
	wrong=$((wrong + 1))
	printf '%s: %s: %s\n' "$name" "$what" "$*"
	sed 's/^/    /' <"$work/err" | head -n 4
}

# judge CODE EXPECTED: exit code and stderr of one run.
judge()
{
	local code=$1 expected=$2 text
	runs=$((runs + 1))
	case "|$expected|" in
	*"|$code|"*) ;;
	*) fail "exit $code, not $expected"; return ;;
	esac
	[ "$code" -eq 0 ] && return
	text=$(<"$work/err")
	if [ "$code" -eq 3 ]; then
		[ "$(wc -l <"$work/err")" -eq 1 ] || {
			fail "not one sentence on stderr"; return; }
		[ "${text#kbundle: }" != "$text" ] || {
			fail "stderr does not begin with kbundle:"; return; }
	fi
	# list prints what it left out as an entry, not on stderr.
	[ "$what" = list ] && [ "$code" -ne 3 ] && return
	[[ $text =~ $word ]] || fail "no $word on stderr"
}

# after CODE: the target directory must be as before unless entries went in.
after()
{
	local left
	left=$(ls -A "$work/to" 2>/dev/null)
	case $1 in
	0 | 5)
		[ -n "$left" ] || fail "nothing was unpacked"
		case "$left" in
		*tmp.*) fail "staging is left behind" ;;
		esac
		;;
	*)
		[ -z "$left" ] || fail "left behind: $left"
		;;
	esac
	rm -rf "$work/to"
}

run()
{
	timeout 120 "$KBUNDLE_BIN" "$@" >/dev/null 2>"$work/err"
}

while IFS=$'\t' read -r name verify list unpack word options; do
	bundle=$cases/$name
	[ "$options" = - ] && options=
	# shellcheck disable=SC2086 # options are words
	{
		what=verify
		run verify $options "$bundle"
		judge $? "$verify"
		if [ -z "$options" ] && [ "$list" != - ]; then
			what=list
			run list "$bundle"
			judge $? "$list"
		fi
		[ "$unpack" = - ] && continue
		what="unpack file"
		run unpack --sync=none $options "$bundle" "$work/to"
		code=$?
		judge $code "$unpack"
		after $code
		what="unpack pipe"
		# shellcheck disable=SC2002 # a pipe is the point
		cat "$bundle" 2>/dev/null |
			run unpack --sync=none $options - "$work/to"
		code=$?
		judge $code "$unpack"
		after $code
	}
done <"$cases/cases.tsv"

# What is no file at all is a failure of the system, not of the bundle.
for name in directory missing; do
	what=verify
	word='directory|No such file|not found'
	bundle=$work
	[ $name = missing ] && bundle=$work/none
	run verify "$bundle"
	judge $? 1
	what=unpack
	run unpack "$bundle" "$work/to"
	judge $? 1
	after 1
done

what=sweep
name=tiny
:

echo "hostile: $(wc -l <"$cases/cases.tsv") bundles, $runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
