#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A root that may not be read: exit code 1, nothing made. An entry that may not be
# read is named and left out: it does not cost the others.
source "$(dirname "$0")/lib.sh"
begin
become_user

copy_cache locked
chmod 755 locked
mkdir -m 777 out
chmod 000 "locked/$new"
run_as 5 "${as_user[@]}" "$kbundle" pack locked -o out/b.tar.zst
has "$stdout" '^packed 2 entries'
has "$stderr" "^kbundle: damaged: triton/$new: cannot be read"
rm -f out/b.tar.zst

chmod 755 "locked/$new"
chmod 000 locked
run_as 1 "${as_user[@]}" "$kbundle" pack locked -o out/b.tar.zst
is_empty "$stdout"
has "$stderr" '^kbundle: .*locked.*Permission denied'

run_as 1 "${as_user[@]}" "$kbundle" inspect locked
has "$stderr" '^kbundle: .*locked.*Permission denied'
equal 'files made' "$(find out -type f | wc -l)" 0
chmod 755 locked
