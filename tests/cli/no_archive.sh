#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A file given to pack that is no archive: exit code 1, nothing made.
source "$(dirname "$0")/lib.sh"
begin

printf 'this is a letter and not a cache\n' >letter.txt
: >empty
head -c 65536 /dev/urandom >noise
mkfifo fifo
for name in letter.txt empty noise fifo /dev/null; do
	run 1 pack "$name" -o out.tar.zst
	is_empty "$stdout"
	has "$stderr" "^kbundle: .*$(basename "$name")"
	[ ! -e out.tar.zst ] || fail "$name: an output was made"
done
# an archive that was cut
tar -czf cut.tar.gz -C "$cache" .
truncate -s 2000 cut.tar.gz
run 1 pack cut.tar.gz -o out.tar.zst
has "$stderr" 'cut.tar.gz'
equal 'what is left' "$(find . -name '*kbundle-*' | wc -l)" 0
