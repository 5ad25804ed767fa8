#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A disk that is full: exit code 1, staging removed, target as before.
source "$(dirname "$0")/lib.sh"
begin
[ "$(id -u)" = 0 ] || skip "mounting a small disk needs root"
mkdir disk
mount -t tmpfs -o size=256k tmpfs disk 2>/dev/null || skip "may not mount"

copies cache 100
run 0 pack cache -o b.tar.zst
echo mine >disk/file
tree disk >before

full() { # ARGUMENT...
	run 1 "$@"
	has "$stderr" '^kbundle: .*No space left on device'
	tree disk | diff before - || fail "something was left behind"
}

full unpack b.tar.zst disk/cache
full unpack b.tar.zst disk
full unpack --sync=file b.tar.zst disk/cache

# what does not compress, for an output that does not fit
mkdir incompressible
for i in $(seq 8); do
	key=$(printf '%032x' "$i")
	cp -r "$cache/$old" "incompressible/$key"
	head -c 100000 /dev/urandom >"incompressible/$key/add_kernel.llir"
done
full pack incompressible -o disk/out.tar.zst
TMPDIR=$work/disk full pack incompressible -o -
is_empty "$stdout"
full pack incompressible -o - --spool=disk
is_empty "$stdout"

# an old bundle stays when the new one does not fit
cp b.tar.zst disk/out.tar.zst
tree disk >before
full pack incompressible -o disk/out.tar.zst
