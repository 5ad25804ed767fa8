# SPDX-License-Identifier: Apache-2.0
"""Hostile bundles: the file, its frames, tail and tar (sections 2, 5)."""

import gzip
import io
import random
import struct
import tarfile

import bundle_ref as ref
from hostile import AUTOTUNE, AUTOTUNE_KEY, base, other, tiny

MIB = 1 << 20


def add(cases):
    foreign(cases)
    lengths(cases)
    skippables(cases)
    tables(cases)
    frame_headers(cases)
    borders(cases)
    headers(cases)
    members(cases)
    bombs(cases)


# ---- not a bundle at all --------------------------------------------------


def plain_tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("hello.txt")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"hello"))
    return out.getvalue()


def foreign(cases):
    word = "bundle|frame|zstd|tar"
    cases.refuse_all("foreign-empty-file", b"", word)
    cases.refuse_all("foreign-one-byte", b"\x28", word)
    cases.refuse_all("foreign-text", b"not a bundle\n" * 99, word)
    cases.refuse_all("foreign-plain-tar", plain_tar(), word)
    cases.refuse_all("foreign-gzip", gzip.compress(plain_tar(), mtime=0), word)
    cases.refuse_all("foreign-tar-zst", ref.compress(plain_tar()), word)
    cases.refuse_all("foreign-json-zst", ref.compress(b'{"a":1}\n'), word)
    seekable = tiny()
    seekable.hooks["parts"] = lambda parts: [plain_tar()]
    cases.refuse_all("foreign-seekable-tar", seekable, word)
    one_block = tiny()
    one_block.hooks["parts"] = lambda parts: [b"x" * 100]
    cases.refuse_all("foreign-seekable-less-than-a-block", one_block, word)
    cases.refuse_all("foreign-table-alone", ref.seek_table([]), word)
    good = bytearray(base().write())
    good[0] ^= 1
    cases.refuse_all("wrong-magic", bytes(good), word)


# ---- cut short, and longer ------------------------------------------------


def lengths(cases):
    draft = base()
    good = draft.write()
    cases.accept("good", good)
    cases.accept("good-tiny", tiny())
    bundle = ref.read(good)
    ends = [f.offset + f.compressed for f in bundle.frames]
    rng = random.Random(1)
    cuts = {n for n in range(1, 20)}
    cuts |= {end + by for end in ends for by in (-1, 0, 1, 4, 8)}
    cuts |= {len(good) - n for n in range(1, 20)}
    cuts |= {rng.randrange(len(good)) for _ in range(24)}
    word = "bundle|frame|table|short|end|zstd"
    for n in sorted(cuts):
        border = "-at-border" if n in ends else ""
        cases.refuse_all(f"truncated-{n}{border}", good[:n], word)
    for name, tail in (("zero", b"\0"), ("newline", b"\n"),
                       ("zeros", bytes(1024)), ("frame", ref.compress(b"x")),
                       ("table-again", ref.seek_table([])),
                       ("another-bundle", good)):
        cases.refuse_all(f"trailing-{name}", good + tail, word)
    cases.refuse_all("leading-byte", b"\0" + good, word)


# ---- skippable frames -----------------------------------------------------


def inserted(place, frame):
    """A draft with a frame put in at a place, listed in the table."""
    draft = base()

    def frames(rows):
        at = len(rows) if place is None else place
        return rows[:at] + [(frame, 0)] + rows[at:]

    draft.hooks["frames"] = frames
    return draft


def unlisted(place, frame):
    """The same, but the table does not know of it."""
    draft = inserted(place, frame)
    draft.hooks["table"] = lambda rows: [
        row for row in rows if row != (len(frame), 0)]
    return draft


def skippables(cases):
    word = "skippable|extension|table|frame"
    good = ref.skippable(ref.MAGIC_EXTENSION, struct.pack("<I", 7) + b"later")
    cases.accept("extension-before-table", inserted(None, good))
    two = base()
    two.extensions = [struct.pack("<I", 1), struct.pack("<I", 2) + b"x" * 1000]
    cases.accept("extension-two-before-table", two)
    for size in (0, 3):
        short = ref.skippable(ref.MAGIC_EXTENSION, b"x" * size)
        cases.refuse(f"extension-of-{size}-bytes", inserted(None, short), word)
    for name, place in (("first", 0), ("second", 1), ("middle", 3),
                        ("before-end", 4)):
        cases.refuse_all(f"extension-{name}", inserted(place, good), word)
        cases.refuse_all(f"extension-{name}-unlisted", unlisted(place, good),
                         word)
    cases.refuse_all("extension-last-unlisted", unlisted(None, good), word)
    for low in range(16):
        magic = 0x184D2A50 + low
        if magic != ref.MAGIC_EXTENSION:
            other_magic = ref.skippable(magic, b"\7\0\0\0later")
            cases.refuse(f"skippable-{magic:x}-before-table",
                         inserted(None, other_magic), word)
    plain = ref.skippable(0x184D2A50, b"")
    cases.refuse_all("skippable-first", inserted(0, plain), word)
    cases.refuse_all("skippable-middle", inserted(3, plain), word)
    draft = base()
    draft.hooks["file"] = lambda data: data + good
    cases.refuse_all("extension-after-table", draft, word)
    draft = base()
    draft.hooks["frames"] = lambda rows: rows + [
        (struct.pack("<II", ref.MAGIC_EXTENSION, 2**32 - 1) + b"\1\0\0\0", 0)]
    cases.refuse("extension-size-beyond-file", draft, word)


# ---- the seek table -------------------------------------------------------


def tables(cases):
    word = "table|frame|tail"

    def rows_case(name, change, refuse=cases.refuse):
        draft = base()
        draft.hooks["table"] = change
        refuse(f"table-{name}", draft, word)

    def moved(i, by_compressed, by_size):
        def change(rows):
            rows = list(rows)
            rows[i] = (rows[i][0] + by_compressed, rows[i][1] + by_size)
            return rows
        return change

    def shifted(rows):
        # The sum stays right; the border between two frames does not.
        rows = list(rows)
        rows[2] = (rows[2][0] + 1, rows[2][1])
        rows[3] = (rows[3][0] - 1, rows[3][1])
        return rows

    for i in range(5):
        rows_case(f"compressed-size-{i}-more", moved(i, 1, 0),
                  cases.refuse_all)
        rows_case(f"size-{i}-more", moved(i, 0, 1))
        rows_case(f"size-{i}-less", moved(i, 0, -1))
    rows_case("border-shifted", shifted)
    rows_case("sizes-swapped", lambda r: r[:1] + [
        (r[1][0], r[2][1]), (r[2][0], r[1][1])] + r[3:])
    rows_case("rows-swapped", lambda r: r[:2] + [r[3], r[2]] + r[4:])
    rows_case("row-missing-first", lambda r: r[1:], cases.refuse_all)
    rows_case("row-missing-middle", lambda r: r[:2] + r[3:], cases.refuse_all)
    rows_case("row-missing-last", lambda r: r[:-1], cases.refuse_all)
    rows_case("row-extra", lambda r: r + [(10, 0)], cases.refuse_all)
    rows_case("row-extra-empty", lambda r: r + [(0, 0)])
    rows_case("row-doubled", lambda r: r + r[-1:], cases.refuse_all)
    rows_case("no-rows", lambda r: [], cases.refuse_all)
    rows_case("size-huge", lambda r: r[:2] + [(r[2][0], 2**32 - 1)] + r[3:],
              cases.refuse_all)
    rows_case("compressed-size-huge",
              lambda r: r[:2] + [(2**32 - 1, r[2][1])] + r[3:],
              cases.refuse_all)
    rows_case("hides-two-in-one", lambda r: r[:2] + [
        (r[2][0] + r[3][0], r[2][1] + r[3][1])] + r[4:])

    def tail_case(name, change):
        draft = base()
        rows = []

        def remember(value):
            rows.extend(value)
            return value

        draft.hooks["table"] = remember
        draft.hooks["tail"] = lambda tail: change(rows, tail)
        cases.refuse_all(f"table-{name}", draft, word)

    tail_case("descriptor-unknown", lambda r, t: ref.seek_table(r, 1))
    tail_case("descriptor-reserved", lambda r, t: ref.seek_table(r, 4))
    tail_case("with-checksums", lambda r, t: ref.skippable(
        ref.MAGIC_TABLE,
        b"".join(struct.pack("<III", *row, 0) for row in r)
        + struct.pack("<IBI", len(r), 0x80, ref.MAGIC_FOOTER)))
    tail_case("footer-magic", lambda r, t: ref.seek_table(
        r, footer=ref.MAGIC_FOOTER ^ 1))
    tail_case("magic", lambda r, t: b"\x5d" + t[1:])
    tail_case("count-more", lambda r, t: ref.seek_table(r, count=len(r) + 1))
    tail_case("count-less", lambda r, t: ref.seek_table(r, count=len(r) - 1))
    tail_case("count-zero", lambda r, t: ref.seek_table(r, count=0))
    tail_case("count-huge", lambda r, t: ref.seek_table(r, count=2**32 - 1))
    tail_case("count-over-limit", lambda r, t: ref.seek_table(
        r, count=4_000_001))
    tail_case("size-more", lambda r, t: t[:4] + struct.pack(
        "<I", len(t) - 7) + t[8:])
    tail_case("size-less", lambda r, t: t[:4] + struct.pack(
        "<I", len(t) - 9) + t[8:])
    tail_case("absent", lambda r, t: b"")
    tail_case("twice", lambda r, t: t + t)
    tail_case("padded", lambda r, t: ref.skippable(
        ref.MAGIC_TABLE, b"\0" * 8 + t[8:]))


# ---- one frame ------------------------------------------------------------


def raw_frame(content, window=None, dictionary=b"", checksum=True,
              size=True, reserved=0, block_type=0, claimed=None):
    """A zstd frame of uncompressed blocks, every field of its header free."""
    check = ref.compress(content)[-4:]
    single = window is None
    claimed = len(content) if claimed is None else claimed
    descriptor = {0: 0, 1: 1, 2: 2, 4: 3}[len(dictionary)]
    descriptor |= 0x20 if single else 0
    descriptor |= 0x04 if checksum else 0
    descriptor |= 0x80 if size else 0
    descriptor |= reserved
    out = struct.pack("<IB", ref.MAGIC_ZSTD, descriptor)
    if not single:
        out += bytes([window])
    out += dictionary
    if size:
        out += struct.pack("<I", claimed)
    blocks = [content[i:i + 65536] for i in range(0, len(content), 65536)]
    for i, block in enumerate(blocks or [b""]):
        last = i >= len(blocks) - 1
        out += struct.pack(
            "<I", last | block_type << 1 | len(block) << 3)[:3] + block
    return out + (check if checksum else b"")


def reframed(which, make):
    """A draft in which frame number which is made by make(content)."""
    draft = base()
    contents = []

    def remember(parts):
        contents.extend(parts)
        return parts

    def frames(rows):
        rows = list(rows)
        rows[which] = (make(contents[which]), rows[which][1])
        return rows

    draft.hooks["parts"] = remember
    draft.hooks["frames"] = frames
    return draft


def window_byte(log, eighths=0):
    return log - 10 << 3 | eighths


def frame_headers(cases):
    word = "frame|zstd"
    kinds = {
        "no-checksum": lambda c: ref.compress(c, checksum=False),
        "no-content-size": lambda c: raw_frame(
            c, window=window_byte(20), size=False),
        "dictionary": lambda c: raw_frame(c, dictionary=b"\7"),
        "dictionary-4-bytes": lambda c: raw_frame(c, dictionary=b"\0\0\1\0"),
        "window-24": lambda c: raw_frame(c, window=window_byte(24)),
        "window-23-and-an-eighth": lambda c: raw_frame(
            c, window=window_byte(23, 1)),
        "window-41": lambda c: raw_frame(c, window=255),
        "reserved-bit": lambda c: raw_frame(c, reserved=8),
        "reserved-block": lambda c: raw_frame(c, block_type=3),
        "checksum-wrong": lambda c: raw_frame(c)[:-1] + bytes(
            [raw_frame(c)[-1] ^ 1]),
        "content-size-more": lambda c: raw_frame(c, claimed=len(c) + 1),
        "content-size-less": lambda c: raw_frame(c, claimed=len(c) - 1),
        "two-in-one-row": lambda c: ref.compress(c[:512])
        + ref.compress(c[512:]),
        "and-a-byte": lambda c: ref.compress(c) + b"\0",
        "and-a-skippable": lambda c: ref.compress(c)
        + ref.skippable(0x184D2A50, b""),
        "zeros-for-blocks": lambda c: raw_frame(c)[:9] + bytes(
            len(raw_frame(c)) - 9),
    }
    for name, make in kinds.items():
        # The manifest's frame is read by every verb, the payload's is not.
        cases.refuse_all(f"frame-manifest-{name}", reframed(0, make), word)
        cases.refuse(f"frame-payload-{name}", reframed(2, make), word)
        cases.refuse(f"frame-end-{name}", reframed(4, make), word)
    for by in (1, -1):
        # The same, and the table says so too.
        for which, place in ((0, "manifest"), (2, "payload"), (4, "end")):
            draft = reframed(which, lambda c, by=by: raw_frame(
                c, claimed=len(c) + by))
            draft.hooks["table"] = lambda rows, i=which, by=by: [
                (n, size + by * (i == j)) for j, (n, size) in enumerate(rows)]
            cases.refuse(f"frame-{place}-size-{by:+d}-and-table", draft, word)
    cases.accept("frame-raw", reframed(2, raw_frame))
    cases.accept("frame-window-23", reframed(
        2, lambda c: raw_frame(c, window=window_byte(23))))
    cases.accept("frame-level-19", reframed(
        2, lambda c: ref.compress(c, level=19)))
    empty = ref.compress(b"")
    for name, place in (("first", 0), ("middle", 2), ("before-end", 4),
                        ("last", None)):
        refuse = cases.refuse_all if place == 0 else cases.refuse
        refuse(f"frame-empty-{name}", inserted(place, empty), word)
    big = other(files={"f": bytes(9 * MIB)})
    big.hooks["parts"] = lambda parts: [
        parts[0], b"".join(parts[1:-1]), parts[-1]]
    cases.refuse("frame-over-8-MiB", big, word)
    big = other(files={"f": bytes(8 * MIB - 512)})
    cases.accept("frame-of-8-MiB", big)


# ---- borders --------------------------------------------------------------


def repieced(change):
    draft = base()
    draft.hooks["parts"] = change
    return draft


def every(data, n):
    return [data[i:i + n] for i in range(0, len(data), n)]


def borders(cases):
    word = "frame|end|manifest|member|zero"
    cases.accept("borders-manifest-in-pieces", repieced(
        lambda p: every(p[0], 100) + p[1:]))
    cases.accept("borders-payload-in-pieces", repieced(
        lambda p: p[:1] + every(b"".join(p[1:-1]), 1000) + p[-1:]))
    cases.accept("borders-payload-in-one", repieced(
        lambda p: [p[0], b"".join(p[1:-1]), p[-1]]))
    cases.accept("borders-one-byte-frames", repieced(
        lambda p: [p[0], b"".join(p[1:-1])[:1], b"".join(p[1:-1])[1:],
                   p[-1]]))
    cases.refuse("borders-manifest-and-payload-share", repieced(
        lambda p: [p[0] + p[1]] + p[2:]), word)
    cases.refuse("borders-manifest-padding-in-payload", repieced(
        lambda p: [p[0][:-1], p[0][-1:] + p[1]] + p[2:]), word)
    cases.refuse("borders-payload-begins-in-manifest", repieced(
        lambda p: [p[0] + p[1][:512], p[1][512:]] + p[2:]), word)
    cases.refuse("borders-payload-and-end-share", repieced(
        lambda p: p[:-2] + [p[-2] + p[-1]]), word)
    cases.refuse("borders-end-begins-in-payload", repieced(
        lambda p: p[:-2] + [p[-2] + p[-1][:512], p[-1][512:]]), word)
    cases.refuse("borders-end-in-two", repieced(
        lambda p: p[:-1] + every(p[-1], 512)), word)
    cases.refuse("borders-all-in-one", repieced(
        lambda p: [b"".join(p)]), word)
    cases.refuse("end-missing", repieced(lambda p: p[:-1]), word)
    cases.refuse("end-doubled", repieced(lambda p: p + p[-1:]), word)
    cases.refuse("end-of-one-block", repieced(
        lambda p: p[:-1] + [bytes(512)]), word)
    cases.refuse("end-of-three-blocks", repieced(
        lambda p: p[:-1] + [bytes(1536)]), word)
    cases.refuse("end-not-zero", repieced(
        lambda p: p[:-1] + [bytes(1023) + b"\1"]), word)
    cases.refuse("payload-frame-missing", repieced(
        lambda p: p[:2] + p[3:]), word)
    cases.refuse("payload-frames-swapped", repieced(
        lambda p: [p[0], p[1], p[3], p[2], p[4]]), word)
    cases.refuse("payload-missing", repieced(lambda p: [p[0], p[-1]]), word)


# ---- tar headers ----------------------------------------------------------

FIELDS = {
    "name": (0, b"X"),
    "mode": (100, b"0000755\0"),
    "mode-with-type": (100, b"0100644\0"),
    "uid": (108, b"0000001\0"),
    "gid": (116, b"0000001\0"),
    "size": (124, b"00000000001\0"),
    "size-with-space": (134, b" \0"),
    "mtime": (136, b"00000000001\0"),
    "type-nul": (156, b"\0"),
    "type-link": (156, b"2"),
    "type-directory": (156, b"5"),
    "type-continuous": (156, b"7"),
    "link-name": (157, b"x"),
    "gnu-magic": (257, b"ustar  \0"),
    "version": (263, b"01"),
    "user": (265, b"root"),
    "group": (297, b"root"),
    "device": (329, b"0000000\0"),
    "prefix": (345, b"x"),
    "last-byte": (511, b"\1"),
}


def patched(block, offset, data, checksum=True):
    block = bytearray(block)
    block[offset:offset + len(data)] = data
    if checksum:
        block[148:156] = b"        "
        block[148:156] = b"%06o\0 " % sum(block[:512])
    return bytes(block)


def in_manifest(change):
    return repieced(lambda p: [change(p[0])] + p[1:])


def in_member(i, change):
    draft = base()
    draft.hooks["members"] = lambda m: m[:i] + [change(m[i])] + m[i + 1:]
    return draft


def headers(cases):
    word = "header|member|tar|bundle|kbundle.jsonl"
    for name, (offset, data) in FIELDS.items():
        def change(member, offset=offset, data=data):
            return patched(member[:512], offset, data) + member[512:]
        cases.refuse_all(f"header-manifest-{name}", in_manifest(change), word)
        cases.refuse(f"header-file-{name}", in_member(2, change), word)
    for name, data in (("wrong", b"000000\0 "), ("spaces", b"        "),
                       ("other-form", None)):
        def change(member, data=data):
            text = data or b"0" + member[148:154] + b"\0"
            return patched(member[:512], 148, text, False) + member[512:]
        cases.refuse_all(f"header-manifest-checksum-{name}",
                         in_manifest(change), word)
        cases.refuse(f"header-file-checksum-{name}", in_member(2, change),
                     word)

    def dirty(member):
        return member[:-1] + b"\1"

    assert base().members()[2][-1:] == b"\0"
    cases.refuse_all("padding-manifest", in_manifest(dirty), "padding|zero")
    cases.refuse("padding-file", in_member(2, dirty), "padding|zero")
    cases.refuse("padding-last-file", in_member(-1 % len(
        base().members()), dirty), "padding|zero")

    def with_pax(key, value, type_=b"x"):
        record = ref.pax_record(key, value)
        return lambda m: ref.header_block(
            b"././@PaxHeader", b"", len(record), 0, type_
        ) + record + ref.padding(len(record)) + m

    cases.refuse("pax-not-needed", in_member(
        2, with_pax(b"mtime", b"0.000000000")), word)
    cases.refuse("pax-path", in_member(2, with_pax(b"path", b"../x")), word)
    cases.refuse("pax-size", in_member(2, with_pax(b"size", b"1")), word)
    cases.refuse("pax-global", in_member(
        2, with_pax(b"path", b"../x", b"g")), word)
    cases.refuse("pax-link-gnu", in_member(
        2, lambda m: ref.header_block(b"././@LongLink", b"", 5, 0, b"L")
        + b"../x\0" + ref.padding(5) + m), word)
    cases.refuse_all("pax-global-first", in_manifest(
        with_pax(b"comment", b"x", b"g")), word)


# ---- members against the manifest -----------------------------------------


def members(cases):
    word = "header|member|tar|hash|sha256|size|end|frame|digest"

    def listed(name, change):
        draft = base()
        draft.hooks["members"] = change
        cases.refuse(f"member-{name}", draft, word)

    extra = ref.member_header("triton/extra", 4) + b"data" + ref.padding(4)
    listed("missing-first", lambda m: m[1:])
    listed("missing-middle", lambda m: m[:3] + m[4:])
    listed("missing-last", lambda m: m[:-1])
    listed("extra-first", lambda m: [extra] + m)
    listed("extra-middle", lambda m: m[:3] + [extra] + m[3:])
    listed("extra-last", lambda m: m + [extra])
    listed("extra-empty-block", lambda m: m + [bytes(512)])
    listed("doubled", lambda m: m[:3] + m[2:])
    listed("reordered", lambda m: m[:2] + [m[3], m[2]] + m[4:])
    listed("renamed", lambda m: m[:2] + [
        patched(m[2][:512], 0, b"other") + m[2][512:]] + m[3:])
    listed("directory-first", lambda m: [
        ref.header_block(b"triton/", b"", 0, 0, b"5")] + m)
    listed("symlink-first", lambda m: [patched(
        ref.header_block(b"triton/x", b"", 0, 0, b"2"), 157, b"/etc")] + m)

    def longer(m, by):
        return m + bytes(by)

    listed("content-a-block-longer",
           lambda m: m[:2] + [longer(m[2], 512)] + m[3:])
    listed("content-a-block-shorter", lambda m: m[:2] + [m[2][:-512]] + m[3:])

    def flipped(member):
        member = bytearray(member)
        member[700] ^= 1
        return bytes(member)

    for i, what in ((0, "first"), (2, "middle")):
        draft = in_member(i, flipped if i else lambda m: (
            m[:520] + bytes([m[520] ^ 1]) + m[521:]))
        cases.refuse(f"content-flipped-{what}", draft, "hash|sha256|digest")
    draft = base()
    draft.entries[1]["files"][1]["sha256"] = "0" * 64
    cases.refuse("hash-wrong-in-manifest", draft, "hash|sha256|digest")
    draft = base()
    first, second = draft.entries[1]["files"][1:3]
    first["sha256"], second["sha256"] = second["sha256"], first["sha256"]
    cases.refuse("hashes-swapped", draft, "hash|sha256|digest")
    for by in (1, -1, 512):
        draft = base()
        draft.entries[1]["files"][1]["size"] += by
        cases.refuse(f"size-in-manifest-{by:+d}", draft, word)


# ---- bombs ----------------------------------------------------------------


def bombs(cases):
    zeros = other(files={"f": bytes(100 * MIB)})
    cases.refuse("bomb-ratio", zeros, "ratio|limit")
    cases.accept("bomb-ratio-allowed", zeros, options="--limit-ratio=1000000")
    small = other(files={"f": bytes(32 * MIB)})
    cases.accept("ratio-below-64-MiB", small)
    name = f"triton/{AUTOTUNE_KEY}/f.autotune.json"
    assert tiny().contents[name] == AUTOTUNE
