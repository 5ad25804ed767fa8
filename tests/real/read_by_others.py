#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads bundles with nothing of kbundle: zstd, GNU tar, bsdtar, Python's
tarfile, the indexed_zstd package and a JSON Schema validator. All must see the
same members with the same bytes, and those that the manifest promises.

usage: read_by_others.py SCHEMA_FOLDER BUNDLE...
"""
import copy
import hashlib
import io
import json
import os
import random
import struct
import subprocess
import sys
import tarfile

import indexed_zstd
import jsonschema

MANIFEST = "kbundle.jsonl"
SEEK_TABLE_FRAME = 0x184D2A5E
SEEK_TABLE_END = 0x8F92EAB1

# docs/format.md: the members that may be absent; all others are required.
OPTIONAL = {"target", "requires", "rewrites", "mtime", "producer", "version",
            "symbol", "warps", "warp_size", "shared", "whole", "binaries",
            "abi", "tool", "debug", "registers"}
# "requires" is optional in an entry only, "target" of a binary as well.
REQUIRED_IN_HEADER = {"requires"}


class Wrong(Exception):
    pass


def must(condition, message):
    if not condition:
        raise Wrong(message)


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    must(done.returncode == 0 and not done.stderr,
         f"{' '.join(command)}: exit {done.returncode}, {done.stderr!r}")
    return done.stdout


def read_tarfile(stream):
    members = []
    with tarfile.open(fileobj=io.BytesIO(stream)) as tar:
        for member in tar:
            must(member.isreg() and member.mode == 0o644
                 and (member.uid, member.gid) == (0, 0)
                 and (member.uname, member.gname) == ("", ""),
                 f"tarfile: {member.name} is not as plain as it must be")
            members.append((member.name, tar.extractfile(member).read()))
    return members


def read_command(command, options, bundle):
    """Names and, one after the other, bytes of a bundle's members."""
    command = [command] + options
    listing = output(*command, "-tvf", bundle).decode().splitlines()
    names = output(*command, "-tf", bundle).decode().splitlines()
    must(len(listing) == len(names), f"{command[0]}: lists differ in length")
    return names, output(*command, "-xOf", bundle)


def seek_table(bundle):
    """The offsets, in the uncompressed bytes, at which frames begin."""
    with open(bundle, "rb") as file:
        data = file.read()
    frames, descriptor, magic = struct.unpack("<IBI", data[-9:])
    must(magic == SEEK_TABLE_END and descriptor == 0, "no seek table")
    size = 8 * frames + 9
    must(struct.unpack("<II", data[-size - 8:-size]) ==
         (SEEK_TABLE_FRAME, size), "the seek table's frame is wrong")
    rows = list(struct.iter_unpack("<II", data[-size:-9]))
    must(sum(row[0] for row in rows) == len(data) - size - 8,
         "the frames do not fill the file")
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + row[1])
    return offsets


def check_random_access(bundle, stream):
    offsets = seek_table(bundle)
    must(offsets[-1] == len(stream), "the seek table gives another size")
    file = indexed_zstd.IndexedZstdFile(bundle)
    must(file.is_multiframe() and file.size() == len(stream),
         "indexed_zstd sees another size")
    seen = sorted(set(file.block_offsets().values()))
    must(seen == sorted(set(offsets)), "indexed_zstd sees other frames")
    dice = random.Random(1)
    places = [max(0, o + d) for o in offsets for d in (-7, 0)]
    places += [dice.randrange(len(stream)) for _ in range(64)]
    dice.shuffle(places)
    for place in places:
        length = dice.choice((1, 512, 70000))
        file.seek(place)
        must(file.read(length) == stream[place:place + length],
             f"indexed_zstd reads other bytes at {place}")
    file.close()
    return len(offsets) - 1


def removals(value, top):
    """Each copy of a JSON value that lacks one member, and that member."""

    def walk(node, path):
        if isinstance(node, dict):
            for name in node:
                yield path, name
                yield from walk(node[name], path + [name])
        elif isinstance(node, list):
            for i, item in enumerate(node):
                yield from walk(item, path + [i])

    for path, name in list(walk(value, [])):
        less = copy.deepcopy(value)
        node = less
        for step in path:
            node = node[step]
        del node[name]
        optional = name in OPTIONAL and not (top == "header"
                                             and name in REQUIRED_IN_HEADER)
        yield less, "/".join(map(str, path + [name])), optional


def validators(folder):
    found = []
    for name in ("header", "entry"):
        with open(os.path.join(folder, name + ".schema.json")) as file:
            schema = json.load(file)
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        found.append(kind(schema))
    return found


def check_schema(manifest, header_schema, entry_schema):
    lines = manifest.decode().splitlines()
    for number, line in enumerate(lines):
        value = json.loads(line)
        # what the kernels of the tests need of the canonical form
        again = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        must(again == line, f"manifest line {number + 1} is not canonical")
        schema = header_schema if number == 0 else entry_schema
        for error in schema.iter_errors(value):
            raise Wrong(f"manifest line {number + 1}: {error.message}")
        # one of each shape is enough to be taken apart
        if number > 2:
            continue
        top = "entry" if number else "header"
        for less, where, optional in removals(value, top):
            must(schema.is_valid(less) == optional,
                 f"the schema of the {top} is wrong about {where}")
        must(not schema.is_valid(dict(value, other="")),
             f"the schema of the {top} allows unknown members")


def check_manifest(members):
    """The members must be those that the manifest lists, in its order."""
    must(members[0][0] == MANIFEST, "the manifest is not first")
    header, *entries = map(json.loads, members[0][1].splitlines())
    promised = []
    for entry in entries:
        place = header["roots"][entry["root"]]["name"] + "/" + entry["path"]
        for file in entry["files"]:
            name = place + "/" + file["name"] if file["name"] else place
            promised.append((name, file["size"], file["sha256"]))
    found = [(name, len(data), hashlib.sha256(data).hexdigest())
             for name, data in members[1:]]
    must(found == promised, "the members are not those of the manifest")
    sums = (header["entries"], header["files"], header["bytes"])
    must(sums == (len(entries), len(found), sum(row[1] for row in found)),
         "the header's sums are wrong")


def check(bundle, schemas):
    output("zstd", "-q", "-t", bundle)
    stream = output("zstd", "-q", "-d", "-c", bundle)
    members = read_tarfile(stream)
    names = [name for name, _ in members]
    contents = b"".join(data for _, data in members)
    for command, options in (("tar", ["--zstd"]), ("bsdtar", [])):
        must(read_command(command, options, bundle) == (names, contents),
             f"{command} reads something else than tarfile")
    check_manifest(members)
    check_schema(members[0][1], *schemas)
    return len(members), check_random_access(bundle, stream)


def main():
    folder, *bundles = sys.argv[1:]
    schemas = validators(folder)
    for bundle in bundles:
        try:
            members, frames = check(bundle, schemas)
        except Wrong as error:
            print(f"{bundle}: {error}", file=sys.stderr)
            return 1
        print(f"{bundle}: {members} members in {frames} frames read alike")
    return 0


if __name__ == "__main__":
    sys.exit(main())
