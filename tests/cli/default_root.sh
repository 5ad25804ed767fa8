#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Without a directory unpack uses the format's own default root and says so.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst

unset TRITON_CACHE_DIR TRITON_HOME
export HOME=$work/home
mkdir home

HOME=$work/home run 0 unpack b.tar.zst
has "$stdout" "^triton: $work/home/.triton/cache .*default"
[ -e "home/.triton/cache/$new" ] || fail "not in the home directory"

TRITON_HOME=$work/other run 0 unpack b.tar.zst
has "$stdout" "^triton: $work/other/.triton/cache .*default"
[ -e "other/.triton/cache/$new" ] || fail "not in TRITON_HOME"

TRITON_HOME=$work/other TRITON_CACHE_DIR=$work/direct run 0 unpack b.tar.zst
has "$stdout" "^triton: $work/direct .*default"
[ -e "direct/$new" ] || fail "not in TRITON_CACHE_DIR"

TRITON_CACHE_DIR=$work/json run 0 unpack b.tar.zst --json
equal path "$(json "$stdout" '.roots[0].path')" "$work/json"

# a directory that is given is no default
TRITON_CACHE_DIR=$work/unused run 0 unpack b.tar.zst given
has "$stdout" "^triton: $work/given\$"
[ ! -e unused ] || fail "the default root was made"
