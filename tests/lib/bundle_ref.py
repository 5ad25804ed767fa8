#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader and writer of bundles, from docs/format.md alone.

It shares no code with kbundle, so that where the two differ either one of them
or the page is wrong. It is written to be read beside the page and not to be
fast: a bundle is held in memory.

    bundle_ref.py verify FILE         check everything; print the bundle id
    bundle_ref.py id FILE             the same, the id alone
    bundle_ref.py manifest FILE       check everything; print the manifest
    bundle_ref.py frames FILE         one line per frame
    bundle_ref.py tar FILE            the uncompressed tar
    bundle_ref.py unpack FILE DIR     each root below DIR/<root name>, expanded

For tests: read() and Draft. A Draft is a bundle that is not written yet; its
hooks break one rule at a time. Needs libzstd.so.1.
"""

import copy
import ctypes
import ctypes.util
import hashlib
import json
import os
import re
import struct
import sys

MIB = 1 << 20
FRAME_MAX = 8 * MIB
SAFE_INT = 2**53 - 1
MANIFEST = "kbundle.jsonl"
END = bytes(1024)
MAGIC_ZSTD = 0xFD2FB528
MAGIC_EXTENSION = 0x184D2A5D
MAGIC_TABLE = 0x184D2A5E
MAGIC_FOOTER = 0x8F92EAB1

LIMITS = {
    "total": 1 << 40,
    "file": 8 * (1 << 30) - 1,
    "entries": 1_000_000,
    "files": 16_000_000,
    "manifest": 1 << 30,
    "line": 2 * MIB,
    "ratio": 4096,
    "ratio_from": 64 * MIB,
    "rewrites": 65536,
    "frames": 4_000_000,
}


class Refused(Exception):
    """The bundle is not sound; the text says where and why."""


def need(condition, text):
    if not condition:
        raise Refused(text)


# ---- zstd, by ctypes ------------------------------------------------------


class Zstd:
    """The few calls of libzstd that are needed, one frame at a time."""

    LEVEL, WINDOW_LOG, CONTENT_SIZE, CHECKSUM = 100, 101, 200, 201

    def __init__(self):
        name = ctypes.util.find_library("zstd") or "libzstd.so.1"
        lib = self.lib = ctypes.CDLL(name)
        size, ptr = ctypes.c_size_t, ctypes.c_void_p
        for call, result, arguments in (
            ("ZSTD_createCCtx", ptr, ()),
            ("ZSTD_freeCCtx", size, (ptr,)),
            ("ZSTD_CCtx_setParameter", size, (ptr, ctypes.c_int, ctypes.c_int)),
            ("ZSTD_compress2", size, (ptr, ptr, size, ptr, size)),
            ("ZSTD_compressBound", size, (size,)),
            ("ZSTD_decompress", size, (ptr, size, ctypes.c_char_p, size)),
            ("ZSTD_isError", ctypes.c_uint, (size,)),
            ("ZSTD_getErrorName", ctypes.c_char_p, (size,)),
        ):
            function = getattr(lib, call)
            function.restype, function.argtypes = result, arguments

    def _check(self, code):
        if self.lib.ZSTD_isError(code):
            raise Refused("zstd: " + self.lib.ZSTD_getErrorName(code).decode())
        return code

    def compress(self, data, level=2, checksum=True, content_size=True,
                 window_log=None):
        if window_log is None:
            window_log = min(23, max(10, (len(data) - 1).bit_length()))
        context = self.lib.ZSTD_createCCtx()
        try:
            for parameter, value in (
                (self.LEVEL, level),
                (self.WINDOW_LOG, window_log),
                (self.CONTENT_SIZE, int(content_size)),
                (self.CHECKSUM, int(checksum)),
            ):
                self._check(self.lib.ZSTD_CCtx_setParameter(
                    context, parameter, value))
            bound = self.lib.ZSTD_compressBound(len(data))
            out = ctypes.create_string_buffer(bound)
            source = ctypes.create_string_buffer(bytes(data), max(1, len(data)))
            n = self._check(self.lib.ZSTD_compress2(
                context, out, bound, source, len(data)))
            return out.raw[:n]
        finally:
            self.lib.ZSTD_freeCCtx(context)

    def decompress(self, frame, size):
        out = ctypes.create_string_buffer(max(1, size))
        n = self._check(self.lib.ZSTD_decompress(out, size, frame, len(frame)))
        need(n == size, f"frame holds {n} bytes, not the {size} it says")
        return out.raw[:n]


_zstd = None


def zstd():
    global _zstd
    if _zstd is None:
        _zstd = Zstd()
    return _zstd


def compress(data, **options):
    return zstd().compress(data, **options)


def skippable(magic, content):
    return struct.pack("<II", magic, len(content)) + content


# ---- section 1: names -----------------------------------------------------

ROOT_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}\Z")
TOKEN = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._+-]*)+\Z")
NAME = re.compile(r"[a-z][a-z0-9-]{0,31}\Z")
X_NAME = re.compile(r"x-[a-z0-9-]{1,62}\Z")
SHA256 = re.compile(r"[0-9a-f]{64}\Z")
MTIME = re.compile(r"(0|[1-9][0-9]{0,9})\.[0-9]{9}\Z")
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
TARGET = re.compile(
    r"(cuda:sm_[0-9]{2,3})[af]?\Z"
    r"|(hip:gfx[0-9a-f]+)(:sramecc[+-])?(:xnack[+-])?\Z"
    r"|(?!cuda:|hip:)[a-z][a-z0-9]*:[A-Za-z0-9][A-Za-z0-9._+-]*\Z"
)
TRITON_KEY = re.compile(
    r"([0-9a-f]{32}|[0-9a-f]{64}|[A-Za-z0-9_-]{43}|[A-Z2-7]{52})\Z"
)


def is_text(value):
    return isinstance(value, str) and len(value.encode()) <= 16384


def is_component(value):
    return (
        isinstance(value, str)
        and 1 <= len(value.encode()) <= 255
        and not CONTROL.search(value)
        and not set(value) & set("/\\")
        and value not in (".", "..", ".kbundle")
        and not value.startswith("tmp.")
    )


def is_path(value):
    if not isinstance(value, str) or len(value.encode()) > 1024:
        return False
    parts = value.split("/")
    return len(parts) <= 16 and all(map(is_component, parts))


def is_root_name(value):
    return (isinstance(value, str) and ROOT_NAME.match(value) is not None
            and not value.startswith("kbundle") and is_component(value))


def is_token(value):
    return (isinstance(value, str) and 8 <= len(value) <= 200
            and TOKEN.match(value) is not None)


def is_name(value):
    return isinstance(value, str) and NAME.match(value) is not None


def is_target(value):
    return (isinstance(value, str) and len(value.encode()) <= 95
            and TARGET.match(value) is not None)


def target_base(target):
    """The target without its suffix; "" for none, which sorts first."""
    if target is None:
        return ""
    match = TARGET.match(target)
    return match.group(1) or match.group(2) or target if match else target


def member_path(root_name, entry, name):
    path = f"{root_name}/{entry['path']}"
    return f"{path}/{name}" if name else path


# ---- section 3: canonical JSON --------------------------------------------


def quote(text):
    """The canonical string."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif "\x01" <= char <= "\x1f":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


def canonical(value):
    """The canonical text of a value; members in the order of the dict."""
    if value is True:
        return "true"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(
            quote(k) + ":" + canonical(v) for k, v in value.items()) + "}"
    return "[" + ",".join(map(canonical, value)) + "]"


STRING = re.compile(
    r'"((?:[^"\\\x00-\x1f]|\\["\\]|\\u00(?:0[1-9a-f]|1[0-9a-f]))*)"')
ESCAPE = re.compile(r"\\(u00..|.)")
INTEGER = re.compile(r"(?:0|[1-9][0-9]*)")


class Json:
    """A parser that knows canonical text only."""

    def __init__(self, line, where):
        self.where = where
        try:
            self.text = line.decode()
        except UnicodeDecodeError as error:
            raise Refused(f"{where}: not UTF-8 at byte {error.start}")
        self.at = 0

    def fail(self, why):
        raise Refused(f"{self.where}: {why} at character {self.at}")

    def eat(self, char):
        if self.text[self.at:self.at + 1] != char:
            return False
        self.at += 1
        return True

    def value(self, depth=0):
        if depth > 16:
            self.fail("nested too deep")
        char = self.text[self.at:self.at + 1]
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self.array(depth)
        if char == '"':
            return self.string()
        if self.text.startswith("true", self.at):
            self.at += 4
            return True
        match = INTEGER.match(self.text, self.at)
        if not match or len(match.group()) > 16 or \
           int(match.group()) > SAFE_INT:
            self.fail("not a canonical value")
        self.at = match.end()
        return int(match.group())

    def string(self):
        match = STRING.match(self.text, self.at)
        if not match:
            self.fail("not a canonical string")
        self.at = match.end()
        return ESCAPE.sub(
            lambda m: chr(int(m.group(1)[1:], 16))
            if m.group(1)[0] == "u" else m.group(1), match.group(1))

    def array(self, depth):
        self.eat("[")
        out = []
        if self.eat("]"):
            return out
        while True:
            out.append(self.value(depth + 1))
            if self.eat("]"):
                return out
            if not self.eat(","):
                self.fail("array: no ',' or ']'")

    def object(self, depth):
        self.eat("{")
        out = {}
        if self.eat("}"):
            return out
        while True:
            name = self.string()
            if name in out:
                self.fail(f"member {name} twice")
            if not self.eat(":"):
                self.fail("object: no ':'")
            out[name] = self.value(depth + 1)
            if self.eat("}"):
                return out
            if not self.eat(","):
                self.fail("object: no ',' or '}'")

    def whole(self):
        value = self.value()
        if self.at != len(self.text):
            self.fail("text after the value")
        return value


def members(value, known, where):
    """Checks an object: known members in this order, then x- members.

    known is a list of (name, required, check); check says whether the value
    is right, or is None where the caller looks."""
    need(isinstance(value, dict), f"{where}: not an object")
    names = list(value)
    first_x = next((i for i, n in enumerate(names) if X_NAME.match(n)),
                   len(names))
    extra = names[first_x:]
    for name in extra:
        need(X_NAME.match(name), f"{where}: {name} after an x- member")
        need(is_text(value[name]), f"{where}: {name} is not a text")
    need(extra == sorted(extra), f"{where}: x- members are not sorted")
    order = [name for name, _, _ in known]
    place = -1
    for name in names[:first_x]:
        need(name in order, f"{where}: unknown member {name}")
        need(order.index(name) > place, f"{where}: {name} out of order")
        place = order.index(name)
    for name, required, check in known:
        if name not in value:
            need(not required, f"{where}: no member {name}")
        elif check is not None:
            need(check(value[name]), f"{where}: {name} is wrong")


def is_int(value, low=0, high=SAFE_INT):
    return type(value) is int and low <= value <= high


def is_positive(value):
    return is_int(value, 1)


def is_true(value):
    return value is True


def is_array(value, low=0, high=SAFE_INT):
    return isinstance(value, list) and low <= len(value) <= high


def is_name_set(value):
    return (isinstance(value, list) and all(map(is_name, value))
            and value == sorted(set(value)))


def is_mtime(value):
    return (isinstance(value, str) and MTIME.match(value) is not None
            and int(value.split(".")[0]) < 2**33)


HEADER = [
    ("kbundle", True, lambda v: is_int(v, 1)),
    ("requires", True, is_name_set),
    ("roots", True, lambda v: is_array(v, 1, 64)),
    ("entries", True, is_positive),
    ("files", True, is_int),
    ("bytes", True, is_int),
]
ROOT = [
    ("name", True, is_root_name),
    ("format", True, is_name),
    ("token", True, is_token),
]
ENTRY = [
    ("root", True, is_int),
    ("path", True, is_path),
    ("format", True, is_name),
    ("kind", True, is_name),
    ("name", True, is_component),
    ("target", False, is_target),
    ("requires", False, lambda v: is_name_set(v) and len(v) > 0),
    ("files", True, lambda v: is_array(v, 1, 4096)),
    ("facts", True, None),
]
FILE = [
    ("name", True, lambda v: v == "" or is_path(v)),
    ("size", True, is_int),
    ("sha256", True,
     lambda v: isinstance(v, str) and SHA256.match(v) is not None),
    ("rewrites", False, lambda v: is_array(v, 1)),
    ("mtime", False, is_mtime),
]
FACTS = [
    ("producer", False, is_text),
    ("version", False, is_text),
    ("symbol", False, is_text),
    ("warps", False, is_positive),
    ("warp_size", False, is_positive),
    ("shared", False, is_int),
    ("whole", False, is_true),
    ("binaries", False, lambda v: is_array(v, 1)),
]
BINARY = [
    ("file", True, is_text),
    ("kind", True, is_name),
    ("target", False, is_target),
    ("abi", False, is_positive),
    ("tool", False, is_text),
    ("debug", False, is_true),
    ("kernels", True, is_array),
]
KERNEL = [
    ("name", True, is_text),
    ("registers", False, is_positive),
    ("shared", False, is_positive),
]

KNOWN_REQUIRES = frozenset()


def parse_header(line, limits):
    where = "header"
    header = Json(line, where).whole()
    # A newer version may have another shape: look at it before all else.
    if isinstance(header, dict) and is_int(header.get("kbundle"), 2):
        raise Refused(f"bundle format version {header['kbundle']} is newer")
    if isinstance(header, dict) and is_name_set(header.get("requires")):
        for name in header["requires"]:
            need(name in KNOWN_REQUIRES,
                 f"bundle requires {name}, which is not known here")
    members(header, HEADER, where)
    for i, root in enumerate(header["roots"]):
        members(root, ROOT, f"header: root {i}")
    for what in ("name", "token"):
        values = [root[what] for root in header["roots"]]
        need(len(set(values)) == len(values), f"two roots with one {what}")
    for what, limit in (("entries", "entries"), ("files", "files"),
                        ("bytes", "total")):
        need(header[what] <= limits[limit], f"header: {what} over the limit")
    return header


def may_rewrite(format_name, name):
    if format_name == "triton":
        return (name.startswith("__grp__") and name.endswith(".json")
                and "/" not in name)
    return name.endswith(".json")


def check_rewrites(entry, file, header, limits, where):
    rewrites = file.get("rewrites", [])
    need(len(rewrites) <= limits["rewrites"], f"{where}: too many rewrites")
    end = 0
    for rewrite in rewrites:
        need(isinstance(rewrite, list) and len(rewrite) == 4
             and all(map(is_int, rewrite[:3])) and is_name(rewrite[3]),
             f"{where}: a rewrite is not [offset, length, root, codec]")
        offset, length, root, codec = rewrite
        need(root < len(header["roots"]), f"{where}: rewrite of no root")
        need(length == len(header["roots"][root]["token"]),
             f"{where}: rewrite is not as long as its token")
        need(offset >= end, f"{where}: rewrites overlap or descend")
        end = offset + length
        need(end <= file["size"], f"{where}: rewrite beyond the file")
        need(codec == "json" or f"codec-{codec}" in entry.get("requires", []),
             f"{where}: codec {codec} not in requires")
    if rewrites:
        need(may_rewrite(entry["format"], file["name"]),
             f"{where}: rewrites in a file that its format does not name")


def parse_entry(line, number, header, limits):
    where = f"manifest line {number}"
    entry = Json(line, where).whole()
    members(entry, ENTRY, where)
    where = f"entry {entry['path']}"
    need(entry["root"] < len(header["roots"]), f"{where}: no such root")
    if entry["format"] == "triton":
        need(TRITON_KEY.match(entry["path"]), f"{where}: not a Triton key")
    root_name = header["roots"][entry["root"]]["name"]
    names = []
    for file in entry["files"]:
        members(file, FILE, f"{where}: file")
        name = file["name"]
        names.append(name.encode())
        need(name or len(entry["files"]) == 1,
             f"{where}: a file without a name beside others")
        path = member_path(root_name, entry, name)
        need(is_path(path), f"{where}: {name}: member path too long or deep")
        need(file["size"] <= limits["file"], f"{path}: size over the limit")
        check_rewrites(entry, file, header, limits, path)
    need(names == sorted(names), f"{where}: files are not sorted")
    need_no_prefix([n.decode() for n in names], where)
    check_facts(entry["facts"], where)
    return entry


def check_facts(facts, where):
    members(facts, FACTS, f"{where}: facts")
    for binary in facts.get("binaries", []):
        members(binary, BINARY, f"{where}: binary")
        for kernel in binary["kernels"]:
            members(kernel, KERNEL, f"{where}: kernel")


def need_no_prefix(paths, where):
    seen = set()
    for path in paths:
        need(path not in seen, f"{where}: {path} twice")
        seen.add(path)
    for path in paths:
        for i, char in enumerate(path):
            need(char != "/" or path[:i] not in seen,
                 f"{where}: {path[:i]} is a prefix of {path}")


def order_key(entry):
    return (entry["root"], target_base(entry.get("target")).encode(),
            entry["name"].encode(), entry["path"].encode())


# ---- section 2: tar -------------------------------------------------------


def header_block(name, prefix, size, mtime, typeflag=b"0"):
    need(size < 2**33, "size does not fit a header")
    block = bytearray(512)

    def put(offset, data):
        block[offset:offset + len(data)] = data

    put(0, name)
    put(100, b"0000644\0")
    put(108, b"0000000\0")
    put(116, b"0000000\0")
    put(124, b"%011o\0" % size)
    put(136, b"%011o\0" % mtime)
    put(148, b"        ")
    put(156, typeflag)
    put(257, b"ustar\0")
    put(263, b"00")
    put(345, prefix)
    put(148, b"%06o\0 " % sum(block))
    return bytes(block)


def padding(size):
    return bytes(-size % 512)


def pax_record(key, value):
    body = b" " + key + b"=" + value + b"\n"
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body


def member_header(path, size, mtime=None):
    """All that stands before a member's content."""
    raw = path.encode()
    name, prefix, records = raw, b"", b""
    if len(raw) > 100:
        head, _, tail = raw.rpartition(b"/")
        if len(head) <= 155 and len(tail) <= 100:
            name, prefix = tail, head
        else:
            name = raw[:100]
            records += pax_record(b"path", raw)
    if mtime is not None:
        records += pax_record(b"mtime", mtime.encode())
    seconds = int(mtime.split(".")[0]) if mtime is not None else 0
    out = b""
    if records:
        out = (header_block(b"././@PaxHeader", b"", len(records), 0, b"x")
               + records + padding(len(records)))
    return out + header_block(name, prefix, size, seconds)


# ---- section 5: frames ----------------------------------------------------


class Frame:
    def __init__(self, offset, compressed, size):
        self.offset, self.compressed, self.size = offset, compressed, size


def u32(data, at, what):
    need(at + 4 <= len(data), f"{what} is cut short at offset {len(data)}")
    return struct.unpack_from("<I", data, at)[0]


def parse_frame(data, at):
    """Measures the zstd frame at an offset and checks its header."""
    where = f"frame at {at}"
    start = at
    need(u32(data, at, where) == MAGIC_ZSTD, f"{where}: not a zstd frame")

    def number(n):
        nonlocal at
        need(at + n <= len(data), f"{where} is cut short")
        at += n
        return int.from_bytes(data[at - n:at], "little")

    at += 4
    descriptor = number(1)
    single = descriptor & 0x20
    need(not descriptor & 0x08, f"{where}: reserved bit")
    window = None
    if not single:
        byte = number(1)
        base = 1 << (10 + (byte >> 3))
        window = base + base // 8 * (byte & 7)
    dictionary = number((0, 1, 2, 4)[descriptor & 3])
    need(dictionary == 0, f"{where}: uses dictionary {dictionary}")
    code = descriptor >> 6
    need(code or single, f"{where}: no content size")
    size = number((1, 2, 4, 8)[code]) + (256 if code == 1 else 0)
    need(descriptor & 0x04, f"{where}: no checksum")
    need(1 <= size <= FRAME_MAX, f"{where}: content of {size} bytes")
    need(window is None or window <= FRAME_MAX,
         f"{where}: window of {window} bytes")
    last = False
    while not last:
        block = number(3)
        last = block & 1
        kind, length = block >> 1 & 3, block >> 3
        need(kind != 3, f"{where}: reserved block")
        number(1 if kind == 1 else length)
    number(4)
    return Frame(start, at - start, size)


def parse_frames(data, limits):
    """The frames of a file, all of its tail checked."""
    frames, rows, at = [], [], 0
    need(data, "empty file")
    while True:
        magic = u32(data, at, "bundle")
        if magic & 0xFFFFFFF0 != 0x184D2A50:
            need(len(rows) == len(frames),
                 f"offset {at}: zstd frame after an extension frame")
            frame = parse_frame(data, at)
            frames.append(frame)
            rows.append((frame.compressed, frame.size))
            at += frame.compressed
            need(len(rows) <= limits["frames"], "too many frames")
            continue
        size = u32(data, at + 4, "skippable frame")
        need(at + 8 + size <= len(data),
             f"skippable frame at {at} is cut short")
        need(frames, "skippable frame before the first frame")
        if magic == MAGIC_TABLE:
            break
        need(magic == MAGIC_EXTENSION and size >= 4,
             f"skippable frame at {at} where none belongs")
        rows.append((8 + size, 0))
        at += 8 + size
    need(at + 8 + size == len(data), "bytes after the seek table")
    need(size == 8 * len(rows) + 9, "seek table does not list these frames")
    table = data[at + 8:]
    for i, row in enumerate(rows):
        need(struct.unpack_from("<II", table, 8 * i) == row,
             f"seek table: frame {i} is not as listed")
    count, descriptor, footer = struct.unpack_from("<IBI", table, 8 * len(rows))
    need(count == len(rows) and descriptor == 0 and footer == MAGIC_FOOTER,
         "seek table: footer")
    total = compressed = 0
    for frame in frames:
        total += frame.size
        compressed += frame.compressed
        need(total <= limits["ratio_from"] or
             total // limits["ratio"] < compressed,
             "decompressed by compressed bytes: ratio over the limit")
    return frames


class Tar:
    """The uncompressed bytes as a stream that knows the frame borders."""

    def __init__(self, data, frames):
        self.data, self.frames = data, frames
        self.next = self.at = self.offset = 0
        self.content = b""

    def fill(self):
        need(self.next < len(self.frames), f"tar ends at offset {self.offset}")
        frame = self.frames[self.next]
        raw = self.data[frame.offset:frame.offset + frame.compressed]
        try:
            self.content = zstd().decompress(raw, frame.size)
        except Refused as error:
            raise Refused(f"frame {self.next} at {frame.offset}: {error}")
        self.next, self.at = self.next + 1, 0

    def take(self, n):
        out = []
        while n:
            if self.at == len(self.content):
                self.fill()
            piece = self.content[self.at:self.at + n]
            out.append(piece)
            n -= len(piece)
            self.at += len(piece)
            self.offset += len(piece)
        return b"".join(out)

    def line(self, limit):
        out = b""
        while not out.endswith(b"\n"):
            if self.at == len(self.content):
                self.fill()
            end = self.content.find(b"\n", self.at) + 1 or len(self.content)
            piece = self.content[self.at:end]
            self.at = end
            self.offset += len(piece)
            out += piece
            need(len(out) <= limit, "manifest line over the limit")
        return out

    def at_border(self):
        return self.at == len(self.content)


# ---- section 7: reading ---------------------------------------------------


class Bundle:
    """A bundle that was read and found sound."""

    def __init__(self):
        self.header, self.entries, self.left_out = None, [], []
        self.manifest, self.tar, self.frames = b"", b"", []
        self.stored = {}  # (entry index, file index) -> stored bytes

    @property
    def id(self):
        return "sha256:" + hashlib.sha256(self.manifest).hexdigest()

    def member(self, i, j):
        entry = self.entries[i]
        root = self.header["roots"][entry["root"]]["name"]
        return member_path(root, entry, entry["files"][j]["name"])

    def expanded(self, i, j, root_paths):
        return expand(self.stored[i, j], self.entries[i]["files"][j],
                      root_paths)

    def spans(self):
        """Per entry, its bytes of tar (offset and length in the payload)."""
        at = 0
        for i, entry in enumerate(self.entries):
            length = 0
            for j, file in enumerate(entry["files"]):
                before = member_header(self.member(i, j), file["size"],
                                       file.get("mtime"))
                length += len(before) + file["size"] + (-file["size"] % 512)
            yield entry, at, length
            at += length


def read_manifest(tar, bundle, limits):
    block = tar.take(512)
    # The name tells a foreign archive from a bundle whose header is wrong.
    need(block.startswith(MANIFEST.encode() + b"\0"),
         f"first member is not {MANIFEST}: not a bundle")
    lines = [tar.line(limits["line"])]
    header = bundle.header = parse_header(lines[0][:-1], limits)
    size, files, total = len(lines[0]), 0, 0
    last = None
    for number in range(2, header["entries"] + 2):
        line = tar.line(limits["line"])
        size += len(line)
        need(size <= limits["manifest"], "manifest over the limit")
        entry = parse_entry(line[:-1], number, header, limits)
        need(canonical(entry).encode() + b"\n" == line,
             f"manifest line {number} is not canonical")
        key = order_key(entry)
        need(last is None or last < key, f"entry {entry['path']} out of order")
        last = key
        files += len(entry["files"])
        total += sum(file["size"] for file in entry["files"])
        need(total <= limits["total"], "bytes over the limit")
        bundle.entries.append(entry)
        if entry.get("requires"):
            bundle.left_out.append(entry)
        lines.append(line)
    need(files == header["files"], "header: files is not the number of files")
    need(total == header["bytes"], "header: bytes is not the sum of sizes")
    need_no_prefix(
        [f"{header['roots'][e['root']]['name']}/{e['path']}"
         for e in bundle.entries], "manifest")
    bundle.manifest = b"".join(lines)
    need(block == member_header(MANIFEST, size), "manifest: wrong tar header")
    need(tar.take(-size % 512) == padding(size),
         "manifest: padding is not zero")
    need(tar.at_border(), "manifest and payload share a frame")
    return block


def check_tokens(header, file, stored, path):
    for offset, length, root, _ in file.get("rewrites", []):
        token = header["roots"][root]["token"].encode()
        need(stored[offset:offset + length] == token,
             f"{path}: no token at offset {offset}")


def read(data, limits=None):
    """Checks all of a bundle given as bytes; raises Refused."""
    limits = {**LIMITS, **(limits or {})}
    bundle = Bundle()
    bundle.frames = parse_frames(data, limits)
    tar = Tar(data, bundle.frames)
    pieces = [read_manifest(tar, bundle, limits), bundle.manifest,
              padding(len(bundle.manifest))]
    for i, entry in enumerate(bundle.entries):
        for j, file in enumerate(entry["files"]):
            path = bundle.member(i, j)
            size = file["size"]
            expected = member_header(path, size, file.get("mtime"))
            need(tar.take(len(expected)) == expected,
                 f"{path}: tar header is not what the manifest implies")
            stored = tar.take(size)
            need(hashlib.sha256(stored).hexdigest() == file["sha256"],
                 f"{path}: hash is not that of the manifest")
            check_tokens(bundle.header, file, stored, path)
            need(tar.take(-size % 512) == padding(size),
                 f"{path}: padding is not zero")
            bundle.stored[i, j] = stored
            pieces += [expected, stored, padding(size)]
    need(tar.at_border(), "payload and end share a frame")
    need(tar.next == len(bundle.frames) - 1, "the end is not one frame")
    need(bundle.frames[-1].size == 1024 and tar.take(1024) == END,
         "the end is not 1024 zero bytes")
    bundle.tar = b"".join(pieces + [END])
    return bundle


# ---- section 4: tokens ----------------------------------------------------


def expand(stored, file, root_paths):
    """The stored bytes with the path of each root (bytes) for its token."""
    out, at = [], 0
    for offset, length, root, codec in file.get("rewrites", []):
        need(codec == "json", f"codec {codec} is not known")
        path = root_paths[root]
        text = "" if path == b"/" else json.dumps(os.fsdecode(path))[1:-1]
        out += [stored[at:offset], text.encode("ascii")]
        at = offset + length
    return b"".join(out + [stored[at:]])


# ---- writing --------------------------------------------------------------


def cut_like_kbundle(spans, payload_size, frame_bytes=4 * MIB):
    """Ends of the payload's frames as section 5 says that kbundle cuts them.

    spans: (entry, offset, length) in bundle order."""
    cap = min(2 * frame_bytes, FRAME_MAX)
    ends, start, last = [], 0, None
    for entry, offset, length in spans:
        group = (entry["root"], target_base(entry.get("target")))
        if last is not None and group != last and offset > start:
            ends.append(offset)
            start = offset
        last = group
        while offset + length - start >= cap:
            start += cap
            ends.append(start)
        low = hashlib.sha256(entry["path"].encode()).digest()[0] & 15
        if offset + length - start >= frame_bytes and low == 0:
            start = offset + length
            ends.append(start)
    if start < payload_size:
        ends.append(payload_size)
    return ends


def make_file(name, data, rewrites=None, mtime=None, extra=None):
    out = {"name": name, "size": len(data),
           "sha256": hashlib.sha256(data).hexdigest()}
    if rewrites:
        out["rewrites"] = [list(r) for r in rewrites]
    if mtime is not None:
        out["mtime"] = mtime
    out.update(extra or {})
    return out


def make_entry(path, files, name, kind="kernel", root=0, format="triton",
               target=None, requires=None, facts=None, extra=None):
    """An entry line; files are made by make_file()."""
    out = {"root": root, "path": path, "format": format, "kind": kind,
           "name": name}
    if target is not None:
        out["target"] = target
    if requires:
        out["requires"] = list(requires)
    out["files"] = sorted(files, key=lambda f: f["name"].encode())
    out["facts"] = facts or {}
    out.update(extra or {})
    return out


class Draft:
    """A bundle to be written. Everything may be changed before write().

    header, entries   the manifest as Python values; counts and sums of the
                      header are filled in unless counted is False
    contents          member path -> stored bytes
    hooks             functions that change what a station made, by name:
                      manifest(bytes) members([bytes]) parts([bytes])
                      frames([(bytes, size)]) table([(csize, dsize)])
                      tail(bytes) file(bytes)
                      parts are the contents of frames; frames have their
                      decompressed size beside them"""

    def __init__(self, roots):
        self.header = {"kbundle": 1, "requires": [], "roots": roots}
        self.entries, self.contents = [], {}
        self.counted, self.hooks = True, {}
        self.extra = {}
        self.borders = None
        self.manifest_borders = None
        self.extensions = []
        self.options = {}

    def copy(self):
        return copy.deepcopy(self)

    def add(self, path, files, **options):
        """files: {name: bytes or (bytes, options of make_file)}"""
        made = []
        root = options.get("root", 0)
        root_name = self.header["roots"][root]["name"]
        for name, value in files.items():
            data, more = value if isinstance(value, tuple) else (value, {})
            made.append(make_file(name, data, **more))
            self.contents[member_path(root_name, {"path": path}, name)] = data
        entry = make_entry(path, made, **options)
        self.entries.append(entry)
        return entry

    def sort(self):
        self.entries.sort(key=order_key)

    def hook(self, name, value):
        return self.hooks[name](value) if name in self.hooks else value

    def manifest(self):
        header = dict(self.header)
        if self.counted:
            files = [f for e in self.entries for f in e.get("files", [])]
            header["entries"] = len(self.entries)
            header["files"] = len(files)
            header["bytes"] = sum(f.get("size", 0) for f in files)
        header.update(self.extra)
        lines = [header] + self.entries
        text = "".join(canonical(line) + "\n" for line in lines)
        return self.hook("manifest", text.encode("utf-8", "surrogatepass"))

    def members(self):
        """Bytes of tar per member."""
        out = []
        for entry in self.entries:
            root = self.header["roots"][entry["root"]]["name"]
            for file in entry["files"]:
                path = member_path(root, entry, file["name"])
                data = self.contents[path]
                out.append(member_header(path, len(data), file.get("mtime"))
                           + data + padding(len(data)))
        return self.hook("members", out)

    def spans(self, members):
        at, i = 0, 0
        for entry in self.entries:
            n = len(entry["files"])
            length = sum(map(len, members[i:i + n]))
            yield entry, at, length
            at, i = at + length, i + n

    def parts(self):
        manifest = self.manifest()
        head = (member_header(MANIFEST, len(manifest)) + manifest
                + padding(len(manifest)))
        members = self.members()
        payload = b"".join(members)
        borders = self.borders
        if borders is None:
            borders = cut_like_kbundle(self.spans(members), len(payload))
        parts = cut(head, self.manifest_borders)
        return self.hook("parts", parts + cut(payload, borders) + [END])

    def tar(self):
        return b"".join(self.parts())

    def write(self):
        """The bytes of the bundle."""
        frames = [(compress(part, **self.options), len(part))
                  for part in self.parts()]
        frames += [(skippable(MAGIC_EXTENSION, content), 0)
                   for content in self.extensions]
        frames = self.hook("frames", frames)
        rows = self.hook("table", [(len(data), size) for data, size in frames])
        tail = self.hook("tail", seek_table(rows))
        return self.hook("file", b"".join(d for d, _ in frames) + tail)


def cut(data, ends=None):
    """Pieces that end at these offsets, none over the size of a frame."""
    if ends is None:
        ends = list(range(FRAME_MAX, len(data), FRAME_MAX))
    ends = sorted({e for e in ends if 0 < e < len(data)} | {len(data)})
    return [data[a:b] for a, b in zip([0] + ends, ends) if b > a]


def seek_table(rows, descriptor=0, footer=MAGIC_FOOTER, count=None):
    body = b"".join(struct.pack("<II", *row) for row in rows)
    count = len(rows) if count is None else count
    return skippable(
        MAGIC_TABLE, body + struct.pack("<IBI", count, descriptor, footer))


# ---- drafts for tests -----------------------------------------------------

EXAMPLE_KEY = "K5UXG3DFEBSXQYLNOBWGKIDPMYQGCIDUOVXGKZBAMNXW4ZTJM4WA"
EXAMPLE_FILE = b'{"key": [1024], "configs_timings": [[{"num_warps": 4}, 0.5]]}'


def example():
    """The bundle of section 8 of the page."""
    draft = Draft([{"name": "triton", "format": "triton",
                    "token": "/opt/kbundle/triton"}])
    draft.add(EXAMPLE_KEY, {"add.autotune.json": EXAMPLE_FILE}, name="add",
              kind="autotune", facts={"producer": "triton"})
    return draft


def token_group(data, key, token):
    """A Triton group file with the token for the root of each child.

    For group files as Triton writes them (no escapes in the paths).
    Returns the stored bytes and the rewrites."""
    out, rewrites, at = b"", [], 0
    tail = b"/" + key.encode() + b"/"
    for match in re.finditer(rb'"(/[^"\\]*)' + re.escape(tail) + rb'[^"/\\]+"',
                             data):
        out += data[at:match.start(1)]
        rewrites.append([len(out), len(token), 0, "json"])
        out += token.encode()
        at = match.end(1)
    return out + data[at:], rewrites


def triton_entries(draft, directory, root=0):
    """Adds the entries of a Triton cache directory to a draft."""
    token = draft.header["roots"][root]["token"]
    for key in sorted(os.listdir(directory)):
        folder = os.path.join(directory, key)
        if not TRITON_KEY.match(key) or not os.path.isdir(folder):
            continue
        names = sorted(os.listdir(folder))
        group = [n for n in names if n.startswith("__grp__")]
        files, options = {}, {"kind": "kernel"}
        for name in names:
            with open(os.path.join(folder, name), "rb") as stream:
                data = stream.read()
            if name in group:
                data, rewrites = token_group(data, key, token)
                for rewrite in rewrites:
                    rewrite[2] = root
                files[name] = (data, {"rewrites": rewrites})
            else:
                files[name] = data
        if group:
            options["name"] = group[0][len("__grp__"):-len(".json")]
            options["target"] = triton_target(
                json.loads(files[options["name"] + ".json"]))
        elif len(names) == 1 and names[0].endswith(".autotune.json"):
            options["name"] = names[0][:-len(".autotune.json")]
            options["kind"] = "autotune"
        else:
            continue
        draft.add(key, files, root=root, **options)
    draft.sort()
    return draft


def triton_target(metadata):
    target = metadata.get("target")
    if isinstance(target, dict):
        backend, arch = target["backend"], target["arch"]
    elif isinstance(target, list):
        backend, arch = target[:2]
    else:
        backend, arch = metadata["device_type"], metadata["arch"]
    return f"{backend}:sm_{arch}" if backend == "cuda" else f"{backend}:{arch}"


# ---- command line ---------------------------------------------------------


def unpack(bundle, directory):
    """Writes each root below directory/<root name>, tokens expanded."""
    roots = [os.path.join(os.path.abspath(directory), root["name"])
             for root in bundle.header["roots"]]
    paths = [os.fsencode(root) for root in roots]
    for i, entry in enumerate(bundle.entries):
        if entry.get("requires"):
            continue
        for j, file in enumerate(entry["files"]):
            name = member_path(roots[entry["root"]], entry, file["name"])
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "xb") as out:
                out.write(bundle.expanded(i, j, paths))


def main(arguments):
    verbs = {"verify": 2, "id": 2, "manifest": 2, "frames": 2, "tar": 2,
             "unpack": 3}
    if not arguments or len(arguments) != verbs.get(arguments[0]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    verb, name = arguments[:2]
    try:
        with open(name, "rb") as stream:
            bundle = read(stream.read())
    except Refused as error:
        print(f"bundle_ref: {name}: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"bundle_ref: {error}", file=sys.stderr)
        return 1
    if verb == "verify":
        print(f"{bundle.id} {len(bundle.entries)} entries, "
              f"{len(bundle.stored)} files, {len(bundle.frames)} frames")
    elif verb == "id":
        print(bundle.id)
    elif verb == "frames":
        for frame in bundle.frames:
            print(frame.offset, frame.compressed, frame.size)
    elif verb in ("manifest", "tar"):
        sys.stdout.buffer.write(getattr(bundle, verb))
    else:
        unpack(bundle, arguments[2])
    for entry in bundle.left_out:
        print(f"bundle_ref: {entry['path']} left out: requires "
              + ", ".join(entry["requires"]), file=sys.stderr)
    return 5 if bundle.left_out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
