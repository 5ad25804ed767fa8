#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A target that may not be written: exit code 1, the target as before.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst
chmod 644 b.tar.zst
become_user

mkdir -m 755 target
echo mine >target/file
tree target >before
run_as 1 "${as_user[@]}" "$kbundle" unpack b.tar.zst target
is_empty "$stdout"
has "$stderr" '^kbundle: .*target.*Permission denied'
tree target | diff before - || fail "the target changed"

run_as 1 "${as_user[@]}" "$kbundle" unpack b.tar.zst target/below/it
has "$stderr" '^kbundle: .*Permission denied'
tree target | diff before - || fail "the target changed"

run_as 1 "${as_user[@]}" "$kbundle" pack "$cache" -o target/out.tar.zst
is_empty "$stdout"
has "$stderr" '^kbundle: .*target.*Permission denied'
tree target | diff before - || fail "the target changed"

# a file where a directory must be
echo file >plain
run 1 unpack b.tar.zst plain/cache
equal 'the file' "$(cat plain)" file
