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
shopt -s nullglob dotglob
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

# judge CODE EXPECTED: exit code and stderr of one run. No process is started
# here: there are thousands of runs.
judge()
{
	local code=$1 expected=$2 lines text
	runs=$((runs + 1))
	case "|$expected|" in
	*"|$code|"*) ;;
	*) fail "exit $code, not $expected"; return ;;
	esac
	[ "$code" -eq 0 ] && return
	mapfile -t lines <"$work/err"
	text="${lines[*]}"
	if [ "$code" -eq 3 ]; then
		[ ${#lines[@]} -eq 1 ] || {
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
	local left=("$work/to"/*)
	case $1 in
	0 | 5)
		[ ${#left[@]} -gt 0 ] || fail "nothing was unpacked"
		case "${left[*]}" in
		*/tmp.*) fail "staging is left behind" ;;
		esac
		;;
	*)
		[ ${#left[@]} -eq 0 ] || fail "left behind: ${left[*]}"
		;;
	esac
	[ ! -e "$work/to" ] || rm -rf "$work/to"
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

# A directory is no bundle; what is not there is a failure of the system.
for name in directory missing; do
	word=directory
	bundle=$work
	expected=3
	if [ $name = missing ]; then
		word='No such file|not found'
		bundle=$work/none
		expected=1
	fi
	what=verify
	run verify "$bundle"
	judge $? $expected
	what=unpack
	run unpack "$bundle" "$work/to"
	judge $? $expected
	after $expected
done

what=sweep
name=tiny
"$python" "$here/hostile.py" sweep "$KBUNDLE_BIN" || wrong=$((wrong + 1))

echo "hostile: $(wc -l <"$cases/cases.tsv") bundles, $runs runs, $wrong wrong"
[ "$wrong" -eq 0 ]
