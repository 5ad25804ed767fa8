#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --json on every verb: one document of the published schema, also where the
# verb fails; on standard error, alone, where standard output holds data.
source "$(dirname "$0")/lib.sh"
begin

python3 -c 'import jsonschema' 2>/dev/null || skip "no jsonschema for Python"
mkdir documents

# document SCHEMA FILE: looked at here, validated at the end.
document() {
	equal 'schema of the document' "$(json "$2" .schema)" "kbundle-$1-1"
	cp "$2" "documents/$(find documents -type f | wc -l).$1"
}

copy_cache mixed
truncate -s 100 "mixed/$old/add_kernel.cubin"
mkdir "mixed/$(printf '%032x' 1)"

run 0 pack --json "$cache" -o b.tar.zst
document report "$stdout"
is_empty "$stderr"
equal entries "$(json "$stdout" .counts.entries)" 3
equal 'bundle bytes' "$(json "$stdout" .counts.bundle_bytes)" \
	"$(stat -c %s b.tar.zst)"
run 5 pack --json mixed -o mixed.tar.zst
document report "$stdout"
equal status "$(json "$stdout" .status)" partial
equal 'the note' \
	"$(json "$stdout" '.notes[]|select(.class=="damaged").path')" "$old"
has "$stderr" "damaged: triton/$old/"

run 0 pack --json "$cache" -o -
same_bytes "$stdout" b.tar.zst
document report "$stderr"
run 5 pack --json mixed -o -
document report "$stderr"
run 1 pack --json no-such-root -o -
is_empty "$stdout"
document error "$stderr"

run 0 unpack --json b.tar.zst target
document report "$stdout"
equal path "$(json "$stdout" '.roots[0].path')" "$work/target"
run 0 unpack --json b.tar.zst target
equal present "$(json "$stdout" .counts.present)" 3
run 0 verify --json b.tar.zst target
document report "$stdout"
run 0 list --json b.tar.zst
document list "$stdout"
equal 'entries listed' "$(json "$stdout" '.entries|length')" 3
equal files "$(json "$stdout" '[.entries[].files|length]|add')" 16
run 0 inspect --json b.tar.zst
document inspect "$stdout"
equal 'entries of a target' \
	"$(json "$stdout" '.targets[]|select(.target=="cuda:sm_75").entries')" 2
run 5 inspect --json mixed
document inspect "$stdout"
equal leftovers "$(json "$stdout" .report.counts.leftover)" 1

member=triton/$new/add_kernel.json
run 0 cat --json b.tar.zst "$member"
same_bytes "$stdout" "$cache/$new/add_kernel.json"
document cat "$stderr"
equal hash "$(json "$stderr" '.members[0].sha256')" \
	"$(sha256sum <"$stdout" | cut -d' ' -f1)"

for verb in list inspect verify unpack; do
	run 1 "$verb" --json no-such-bundle
	document error "$stdout"
	equal errno "$(json "$stdout" .error.errno)" 2
	has "$stderr" 'no-such-bundle'
done
run 1 cat --json no-such-bundle x
is_empty "$stdout"
document error "$stderr"
run 3 list --json "$here/lib.sh"
document error "$stdout"

python3 - "$source_dir/docs/schema" documents <<'EOF' || fail "see above"
import json, pathlib, sys
import jsonschema

folder, documents = map(pathlib.Path, sys.argv[1:])
schemas = {path.name: json.loads(path.read_text())
           for path in folder.glob("*.schema.json")}

def resolve(node):
    """The schema with every $ref to another file in its place."""
    if isinstance(node, list):
        return [resolve(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("$ref") in schemas:
        return resolve(schemas[node["$ref"]])
    return {name: resolve(value) for name, value in node.items()}

kinds = set()
for path in sorted(documents.iterdir()):
    kind = path.suffix[1:]
    schema = resolve(schemas[f"{kind}.schema.json"])
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    validator(schema).validate(json.loads(path.read_bytes()))
    kinds.add(kind)
assert kinds == {"report", "error", "list", "cat", "inspect"}, kinds
EOF
