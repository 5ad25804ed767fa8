#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A cache comes back under another path: the same tree, but for the paths in
# its groups, which name the new place; and again the same bundle.
source "$(dirname "$0")/lib.sh"
begin

run 0 pack "$cache" -o b.tar.zst
is_empty "$stderr"
has "$stdout" '^packed 3 entries, 16 files'
id=$(grep -E '^sha256:[0-9a-f]{64}$' "$stdout") || fail "no id was printed"

place="$work/else where/ca'ch\"é"
run 0 unpack b.tar.zst "$place"
is_empty "$stderr"
has "$stdout" '^unpacked 3 entries, 16 files'
has "$stdout" "^$id\$"
equal 'entries' "$(find "$place" -mindepth 1 -maxdepth 1 | wc -l)" 3

diff -r "$cache" "$place" >differences || true
equal 'files that differ' "$(grep -c '^diff ' differences)" 1
python3 - "$place" "$new" <<'EOF'
import json, os, sys
place, key = sys.argv[1:]
group = json.load(open(os.path.join(place, key, "__grp__add_kernel.json")))
for name, path in group["child_paths"].items():
    assert path == os.path.join(place, key, name), path
    assert os.path.exists(path), path
EOF

run 0 verify b.tar.zst "$place"
is_empty "$stderr"
has "$stdout" '^verified 3 entries'

run 0 pack "$place" -o again.tar.zst
same_bytes b.tar.zst again.tar.zst

# a second unpack finds everything there and leaves it alone
tree "$place" >before
run 0 unpack b.tar.zst "$place"
has "$stdout" '^unpacked 0 entries'
has "$stdout" '3 there already'
tree "$place" | diff before - || fail "the second unpack changed something"

# without kbundle
mkdir plain
tar --zstd -xf b.tar.zst -C plain
equal 'entries of tar' "$(find plain/triton -mindepth 1 -maxdepth 1 | wc -l)" 3
