#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pack takes an archive of a cache, in any compression and under folders of its
# own; the bundle is the same.
source "$(dirname "$0")/lib.sh"
begin
export TMPDIR=$work/tmp
mkdir tmp

run 0 pack "$cache" -o b.tar.zst
mkdir -p home/.triton
cp -r "$cache" home/.triton/cache

tar -C "$cache" -cf plain.tar .
tar -C home -czf deep.tar.gz .triton
tar -C home -cf - .triton | zstd -q >deep.tar.zst
tar -C "$cache" -cJf plain.tar.xz . || skip "no xz"
bsdtar -C "$cache" --format zip -cf plain.zip . || skip "no bsdtar"

for archive in plain.tar deep.tar.gz deep.tar.zst plain.tar.xz plain.zip; do
	run 0 pack "$archive" -o out.tar.zst
	same_bytes b.tar.zst out.tar.zst
	run 0 pack "$archive" -o - --spool="$TMPDIR"
	same_bytes b.tar.zst "$stdout"
done

# a name for the root is taken off an archive too
run 0 pack mine=plain.tar -o out.tar.zst
run 0 list out.tar.zst
has "$stdout" " mine/$new\$"

equal 'temporary files left' "$(find tmp . -name '*kbundle-*' | wc -l)" 0
