#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage errors: exit code 2, the reason on standard error, nothing on standard
# output.
source "$(dirname "$0")/lib.sh"
begin

refused() { # REGEX ARGUMENT...
	local reason=$1
	shift
	run 2 "$@"
	is_empty "$stdout"
	has "$stderr" "^kbundle.*$reason"
	has "$stderr" '^Usage: kbundle '
	has "$stderr" '--help'
}

refused 'no verb'
refused "'shake' is no verb" shake
refused 'verb' --bogus
refused 'operand is missing' pack -o out
refused 'no output' pack "$cache"
refused 'option --output needs a value' pack "$cache" -o
refused 'unknown.*option --bogus' pack --bogus -o out "$cache"
refused 'unknown option -Z' pack -Z -o out "$cache"
refused 'unknown.*option --expect' pack --expect=x -o out "$cache"
refused 'option --json takes no value' pack --json=yes -o out "$cache"
refused "'0' is not a number from 1 to 19" pack -0 -o out "$cache"
refused "'20' is not a number from 1 to 19" pack -20 -o out "$cache"
refused "'20' is not a number" pack --level=20 -o out "$cache"
refused "'nine' is not a number" pack --level nine -o out "$cache"
refused "'-1' is not a number" pack --threads=-1 -o out "$cache"
refused 'not a size from 65536 to 8388608' pack --frame-size=1K -o out "$cache"
refused 'not a size from 65536 to 8388608' pack --frame-size=9M -o out "$cache"
refused "'0' is not a size" pack --limit-file=0 -o out "$cache"
refused 'names no directory' pack name= -o out
refused "'all' is none of partial, none" pack --accept=partial,all -o out x
refused 'operand is missing' unpack
refused "'slow' is none of default, file, none" unpack --sync=slow b
refused "'x' is none of structure, none" unpack --validate=x b
refused "'x' is none of all, entry" unpack --publish=x b
refused 'operand is missing' list
refused "surplus operand 'b'" list a b
refused 'operand is missing' cat
refused 'operand is missing' cat bundle
refused 'operand is missing' inspect
refused "surplus operand 'b'" inspect a b
refused 'operand is missing' verify
refused 'unknown.*option --sync' verify --sync=none b

[ ! -e out ] || fail "an output was made"

# --json does not change that
run 2 list --json
is_empty "$stdout"
