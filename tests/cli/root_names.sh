#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NAME=DIR names a root, on pack and on unpack; what exists as it stands is a
# path; a second root of a format gets a number.
source "$(dirname "$0")/lib.sh"
begin

roots() { # BUNDLE: their names
	run 0 inspect "$1" --json
	json "$stdout" '[.roots[].name] | join(" ")'
}

copy_cache one
rm -r "one/$tune"
copies two 2

run 0 pack one -o b.tar.zst
equal roots "$(roots b.tar.zst)" triton
run 0 pack mine=one -o b.tar.zst
equal roots "$(roots b.tar.zst)" mine
run 0 pack one two -o b.tar.zst
equal roots "$(roots b.tar.zst)" 'triton triton-2'
run 0 pack a=one b=two -o b.tar.zst
equal roots "$(roots b.tar.zst)" 'a b'
has "$stdout" '/opt/kbundle/a'

# it exists: a path
mkdir 'c=one'
cp -r two/. 'c=one'
run 0 pack c=one -o c.tar.zst
equal roots "$(roots c.tar.zst)" triton
# a name that none can have: a path
run 1 pack Big=one -o c.tar.zst
has "$stderr" 'Big=one'
run 2 pack a=one a=two -o c.tar.zst
has "$stderr" '^kbundle: .*a'

run 0 unpack b.tar.zst b=second a=first
has "$stdout" "^a: $work/first\$"
has "$stdout" "^b: $work/second\$"
[ -e "first/$new" ] || fail "root a is not in its directory"
[ -e "second/$(printf '%032x' 2)" ] || fail "root b is not in its directory"
run 0 verify b.tar.zst a=first b=second
run 5 verify b.tar.zst a=second b=first
run 2 unpack b.tar.zst no-root=third
[ ! -e third ] || fail "a directory was made for a root that is not there"
# which of the two would it be?
run 2 unpack b.tar.zst third
[ ! -e third ] || fail "a directory was made"

# the prefix of the tokens
run 0 pack one -o t.tar.zst --token=/srv/kernels
run 0 inspect t.tar.zst
has "$stdout" '/srv/kernels/triton$'
run 2 pack one -o u.tar.zst --token=relative
run 2 pack one -o u.tar.zst --format=no-such-format
[ ! -e u.tar.zst ] || fail "an output was made"
run 0 pack one -o u.tar.zst --format=triton
run 0 pack one -o v.tar.zst
same_bytes u.tar.zst v.tar.zst
