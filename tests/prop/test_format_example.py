#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The worked example of docs/format.md is right, byte for byte.

Makes the example's bundle anew and compares its manifest, its tar and its tail
with what the page shows; reads the bundle that the page shows; and expands the
page's table of paths. The compressed bytes of frames depend on the release of
libzstd, so those are read and not compared.

    test_format_example.py            the test
    test_format_example.py --print    the blocks as they should stand
"""

import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import bundle_ref as ref  # noqa: E402

PAGE = os.path.join(HERE, "..", "..", "docs", "format.md")


def dump(data, start=0):
    """Like hexdump -C: lines that repeat the one before are a star."""
    lines, before, starred = [], None, False
    for at in range(0, len(data), 16):
        row = data[at:at + 16]
        if row == before:
            if not starred:
                lines.append("*")
            starred = True
            continue
        before, starred = row, False
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        lines.append(f"{start + at:06x}  {row.hex(' '):<47}  |{text}|")
    return "\n".join(lines + [f"{start + len(data):06x}"])


def undump(text):
    out, row = b"", b""
    star = False
    for line in text.splitlines():
        if line == "*":
            star = True
            continue
        place = int(line[:6], 16)
        while star and len(out) < place:
            out += row
        star = False
        assert len(out) == place, f"the page has a gap before {line}"
        row = bytes.fromhex(line[8:55])
        out += row
    return out


def blocks(page):
    """Fenced blocks by the name in the comment before each."""
    return dict(re.findall(
        r"<!-- example: ([a-z]+) -->\n+```[a-z]*\n(.*?)\n```", page, re.S))


def expansions(page):
    """Rows of the table of paths: bytes of the path, text of it."""
    table = re.search(r"<!-- example: expansions -->\n\n(.*?)\n\n", page, re.S)
    for row in table.group(1).splitlines()[2:]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        path = cells[0].strip("`").encode().decode("unicode_escape")
        yield path.encode("latin-1"), cells[1].strip("`")


def main(arguments):
    draft = ref.example()
    tar, bundle = draft.tar(), draft.write()
    if arguments == ["--print"]:
        print(draft.manifest().decode(), dump(tar), dump(bundle), sep="\n")
        return 0
    with open(PAGE, encoding="utf-8") as stream:
        page = stream.read()
    shown = blocks(page)
    assert sorted(shown) == ["bundle", "manifest", "tar"], sorted(shown)
    assert shown["manifest"] + "\n" == draft.manifest().decode(), \
        "manifest differs from the page"
    assert undump(shown["tar"]) == tar, "tar differs from the page"
    assert shown["tar"] == dump(tar), "tar is not dumped as it should be"
    shown_bundle = undump(shown["bundle"])
    read = ref.read(shown_bundle)
    assert read.tar == tar, "the page's bundle holds another tar"
    assert [f.size for f in read.frames] == [1024, 1024, 1024]
    rows = [(f.compressed, f.size) for f in read.frames]
    assert shown_bundle.endswith(ref.seek_table(rows))
    assert f"`{read.id}`" in page, f"the page lacks the id {read.id}"
    assert ref.read(bundle).id == read.id
    paths = list(expansions(page))
    assert len(paths) >= 4, "the table of paths is gone"
    for path, text in paths:
        file = {"rewrites": [[1, 2, 0, "json"]]}
        out = ref.expand(b"<@@>", file, [path])
        assert out == b"<" + text.encode() + b">", (path, out)
    print(f"format example: {len(tar)} bytes of tar, {len(paths)} paths, "
          f"as in the page; {read.id}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
