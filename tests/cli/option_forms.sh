#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --opt VALUE and --opt=VALUE, letters with their value beside or behind, -1 to
# -19, options after operands, and --.
source "$(dirname "$0")/lib.sh"
begin

run 0 pack --output=a.tar.zst --level=9 "$cache"
run 0 pack "$cache" --output b.tar.zst --level 9
same_bytes a.tar.zst b.tar.zst
run 0 pack -oc.tar.zst -9 "$cache"
same_bytes a.tar.zst c.tar.zst
run 0 pack -q9oc.tar.zst "$cache"
same_bytes a.tar.zst c.tar.zst
is_empty "$stdout"
run 0 pack -1 -o d.tar.zst -9 -- "$cache"
same_bytes a.tar.zst d.tar.zst

# the argument of an option may look like a level
run 0 pack -o -5 "$cache"
[ -s ./-5 ] || fail "-o -5 wrote no file of that name"

# every level, in both forms, is the level that zstd would have used
for level in $(seq 19); do
	run 0 pack "-$level" -o short "$cache"
	run 0 pack "--level=$level" -o long "$cache"
	same_bytes short long
done
# the word may stand anywhere
run 0 pack "$cache" -19 -o behind
same_bytes long behind
run 0 pack -o last "$cache" -19
same_bytes long last
run 2 pack "$cache" -25 -o none
run 0 pack -o default "$cache"
run 0 pack -2 -o two "$cache"
same_bytes default two
[ "$(stat -c %s short)" -lt "$(stat -c %s default)" ] ||
	fail "level 19 is not smaller than level 2"

# the id depends on none of this
run 0 inspect default --json
id=$(json "$stdout" .id)
run 0 inspect short --json
equal 'id at level 19' "$(json "$stdout" .id)" "$id"

# sizes take K and M
run 0 pack --frame-size=64K -o k "$cache"
run 0 pack --frame-size=65536 -o n "$cache"
same_bytes k n

# after -- everything is an operand
mkdir ./--json
cp -r "$cache"/. ./--json
run 0 pack -o e.tar.zst -- --json
run 0 inspect e.tar.zst --json
equal 'id of the copy' "$(json "$stdout" .id)" "$id"
