#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do paths in Triton's group files move, and nothing else?

    KBUNDLE_BIN=PROGRAM prop_relocate.py [--seed N] [--cases N] [--case I]

Makes caches from the project's own fixture whose group files are written in
random ways that mean the same to Python, with random spellings of old roots;
packs them, unpacks them under random names and packs them again. What must
come out is known from how the text was made, not from reading it again. Then
broken group files: Python says which of them still name the entry's files, and
the program must be of one mind with it.

A case has a random generator of its own: --case I makes that one alone, and
keeps its files. $KB_PROP_SEED is the seed where --seed is not given. Exit 0:
all held; 1: not, with the seed and the case.
"""

import argparse
import base64
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("KBUNDLE_SOURCE_DIR", os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import bundle_ref as ref  # noqa: E402

FIXTURE = os.path.join(SOURCE, "tests", "fixtures", "triton")
OLD_KEY = "6e1380bbb79e032d5d942237fcc22405"
KEY = "TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ"
TUNE_KEY = "FH7LBAJMWB62GWWZKIGDLXQTIXUE6LSNFRJPD6DZAEQWJKVMCPYA"
NAME = "add_kernel"
GROUP = f"__grp__{NAME}.json"
SLIM = (f"{NAME}.json", f"{NAME}.cubin")
DEPTH_MAX = 128  # of JSON; docs/format.md does not bound it, the scanner does
ROOT_BYTES_MAX = 3800  # leaves room for key and name below PATH_MAX


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def read_folder(folder):
    return {name: read(os.path.join(folder, name))
            for name in os.listdir(folder)}


class Program:
    def __init__(self, path):
        self.path = path
        self.runs = 0

    def run(self, *arguments, code=0):
        self.runs += 1
        done = subprocess.run(
            [self.path, *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=120, check=False)
        if code is not None:
            assert done.returncode == code, (
                f"exit {done.returncode}, not {code}: {arguments!r}: "
                f"{done.stderr.decode(errors='replace')}")
        return done

    def report(self, *arguments, code=0):
        return json.loads(self.run(*arguments, "--json", code=code).stdout)


# ---- texts ----------------------------------------------------------------


class Open:
    """The root in a path: the one part of a text that may change."""

    def __init__(self, literal):
        self.literal = literal


def render(parts, literal=None):
    """The text; with another literal in place of every root."""
    if isinstance(parts, bytes):
        return parts
    return b"".join(
        part if isinstance(part, bytes)
        else part.literal if literal is None else literal for part in parts)


def rewrites(parts, root, token):
    out, at = [], 0
    for part in parts:
        if isinstance(part, Open):
            out.append([at, len(token), root, "json"])
        at += len(part) if isinstance(part, bytes) else len(token)
    return out


def python_literal(path):
    """As docs/format.md says, section 4."""
    if path == b"/":
        return b""
    return json.dumps(os.fsdecode(path))[1:-1].encode("ascii")


def joined(items, between):
    out = []
    for i, item in enumerate(items):
        out += [between()] * (i > 0) + item
    return out


class Writer:
    """Writes JSON in one of the many ways that say the same."""

    SPACES = ((b"",), (b" ",), (b"", b" ", b"\n", b"\t"), (b"\r\n    ",))
    SHORT = {'"': b'\\"', "\\": b"\\\\", "/": b"\\/", "\b": b"\\b",
             "\f": b"\\f", "\n": b"\\n", "\r": b"\\r", "\t": b"\\t"}

    def __init__(self, rng):
        self.rng = rng
        self.spaces = rng.choice(self.SPACES)
        self.escapes = rng.choice((0, 0, 0.05, 0.3, 1))

    def space(self):
        return self.rng.choice(self.spaces)

    def unicode(self, code):
        if code > 0xFFFF:
            code -= 0x10000
            return (self.unicode(0xD800 + (code >> 10))
                    + self.unicode(0xDC00 + (code & 0x3FF)))
        text = f"\\u{code:04x}" if self.rng.random() < 0.5 else f"\\u{code:04X}"
        return text.encode()

    def char(self, c):
        """In the plainest way, or now and then in one that few would use."""
        is_plain = c >= " " and c not in '"\\' and not "\ud800" <= c <= "\udfff"
        if self.rng.random() < self.escapes:
            is_plain = False
            if c in self.SHORT and self.rng.random() < 0.3:
                return self.SHORT[c]
        elif not is_plain and c in self.SHORT:
            return self.SHORT[c]
        return c.encode() if is_plain else self.unicode(ord(c))

    def inside(self, data):
        return b"".join(map(self.char, os.fsdecode(data)))

    def string(self, text):
        return [b'"' + self.inside(os.fsencode(text)) + b'"']

    def path(self, root, key, name):
        """<root>/<key>/<name>, the root open."""
        between = b"/" * self.rng.choice((1,) * 9 + (2, 3))
        rest = b"/" + key.encode() + between + os.fsencode(name)
        return [b'"', Open(self.inside(root)), self.inside(rest) + b'"']

    def comma(self):
        return self.space() + b"," + self.space()

    def member(self, name, value):
        return [*name, self.space() + b":" + self.space(), *value]

    def object(self, members):
        inside = joined([self.member(*m) for m in members], self.comma)
        return [b"{" + self.space(), *inside, self.space() + b"}"]

    def array(self, items):
        inside = joined(items, self.comma)
        return [b"[" + self.space(), *inside, self.space() + b"]"]

    def document(self, value):
        return [self.space(), *value, self.space()]


# ---- random names and values ----------------------------------------------

CHARS = (
    [c.encode() for c in "abcXYZ019._-+ \"'\\$*?[]{}~#&;|<>=%,:@!`^"]
    + [bytes([c]) for c in (1, 7, 8, 9, 10, 11, 12, 13, 27, 31, 127)]
    + [c.encode() for c in "é€ß中\u0085\u2028\ufeff\uffff😀\U0010ffff"]
    + [bytes([c]) for c in (0x80, 0xC0, 0xC3, 0xED, 0xA0, 0xF0, 0xFE, 0xFF)])
KINDS = (CHARS[:14], CHARS[:14], CHARS, CHARS[14:])


def component(rng, size=12):
    chars = rng.choice(KINDS)
    out = b""
    while not out or len(out) < rng.randint(1, size):
        out += rng.choice(chars)
    out = out[:255]
    return b"x" + out[1:] if out in (b".", b"..") else out


def old_root(rng, key, token, place):
    def some():
        return b"/".join(component(rng) for _ in range(rng.randint(1, 4)))

    return rng.choice((
        lambda: b"/home/u/.triton/cache", lambda: place, lambda: place,
        lambda: b"", lambda: b"/", lambda: b"///", lambda: b".", lambda: b"..",
        lambda: b"./c", lambda: b"../../c", lambda: b"c", lambda: b"c//",
        lambda: b"/a//c2", lambda: b"/a/./b/../c/", lambda: token,
        lambda: token + b"/deeper", lambda: b"/x/" + key.encode(),
        lambda: b"/x/" + key.encode() + b"/..", lambda: b"C:\\cache",
        lambda: b"/" + some(), lambda: b"/" + some(), lambda: some(),
        lambda: b"//" + some() + b"//", lambda: b"/" + component(rng, 255) * 16,
    ))()


def new_root(rng, work):
    parts = [component(rng) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.1:
        parts = [component(rng, 255) for _ in range(40)]
    path = os.path.join(work, b"to", *parts)
    return path[:ROOT_BYTES_MAX].rstrip(b"/")


def nasty_value(w, rng, old, depth=0):
    """Of a member that is nobody's business."""
    texts = [b"NaN", b"Infinity", b"-Infinity", b"null", b"1e999", b"-0.0",
             b"9" * rng.choice((20, 400, 4300)), b'"\\ud800"', b'"\\udc00x"',
             b'"\\u0000"', b'"\\udcff\\udbff"', b'""', b"[]", b"{}",
             b"[" * 100 + b"]" * 100, '"caf\u00e9 \U0001f600\u2028"'.encode(),
             b'"child_paths"', b'"\\"child_paths\\": {\\"a\\": 1}"',
             b'"' + w.inside(old) + b'"', b'{"":{"":[{"":NaN}]}}',
             b'{"child_paths":{"a":"' + w.inside(old) + b'"}}',
             b'{"child_paths":null,"child_paths":[]}']
    if depth < 3 and rng.random() < 0.3:
        values = [nasty_value(w, rng, old, depth + 1) for _ in range(3)]
        if rng.random() < 0.5:
            return w.array(values)
        return w.object([(w.string(rng.choice("aab")), v) for v in values])
    return [rng.choice(texts)]


NASTY_NAMES = [b'"x"', b'"x"', b'""', b'"child_path"', b'"child_paths "',
               b'"Child_Paths"', b'"child_paths\\u0000"', b'"\\ud800"',
               b'"\\u0063hild_path"', b'"child_paths/"', b'"/opt/kbundle"',
               '"\u00e9"'.encode(), b'"child\\\\u005fpaths"', b'"hash"']
EXTRA_FILES = ["n\u00f6te 'x' \"q\".txt", "\U0001f600", " ", "-x", "a=b.json",
               f"{NAME}.note", "__grp__", "$HOME", ".hidden", "a" * 200]


def nasty_members(w, rng, old):
    return [([rng.choice(NASTY_NAMES)], nasty_value(w, rng, old))
            for _ in range(rng.choice((0, 0, 1, 2, 4)))]


# ---- caches ---------------------------------------------------------------


class Entry:
    def __init__(self, key, files, group=None):
        self.key = key
        self.files = files  # name -> bytes; but for the group
        self.group = group  # parts of its text; None: has none
        self.order = []  # of the children

    def contents(self, literal=None):
        out = dict(self.files)
        if self.group is not None:
            out[GROUP] = render(self.group, literal)
        return out

    def slim_contents(self, root):
        """As Python would write it; root in bytes."""
        if not self.order:
            return self.contents()
        top = "" if root == b"/" else os.fsdecode(root)
        kept = {name: f"{top}/{self.key}/{name}"
                for name in self.order if name in SLIM}
        out = {name: self.files[name] for name in SLIM}
        out[GROUP] = json.dumps({"child_paths": kept}).encode()
        return out

    def write(self, folder):
        folder = os.path.join(folder, self.key.encode())
        os.makedirs(folder)
        for name, data in self.contents().items():
            with open(os.path.join(folder, os.fsencode(name)), "wb") as out:
                out.write(data)


def new_key(rng):
    """A key, in one of the forms of Triton 3, and its hash."""
    digest = rng.randbytes(32)
    form = rng.randrange(3)
    if form == 0:
        return digest.hex(), digest.hex()
    if form == 1:
        text = base64.urlsafe_b64encode(digest)
    else:
        text = base64.b32encode(digest)
    return text.decode().rstrip("="), digest.hex()


def kernel_files(key, digest):
    files = read_folder(os.path.join(FIXTURE, KEY))
    del files[GROUP]
    meta = f"{NAME}.json"
    if key != KEY:
        old = json.loads(files[meta])["hash"].encode()
        files[meta] = files[meta].replace(old, digest.encode())
    return files


def make_kernel(rng, token, place, key=None):
    key, digest = (key, None) if key else new_key(rng)
    w = Writer(rng)
    entry = Entry(key, kernel_files(key, digest))
    files = entry.files
    children = list(files)
    old = old_root(rng, key, token, place)
    # Bytes of files that are not the group stay, whatever they look like.
    decoy = token + b"/" + key.encode() + b"/" + NAME.encode() + b".ptx"
    files[f"{NAME}.ttir"] = rng.randbytes(rng.randint(1, 99)) + decoy
    files[f"{NAME}.json"] = (files[f"{NAME}.json"].rstrip()[:-1]
                             + b', "x": "' + w.inside(decoy) + b'"}')
    for name in rng.sample(EXTRA_FILES, rng.choice((0, 0, 1, 3))):
        files[name] = decoy + w.inside(old)
        if rng.random() < 0.5:
            children.append(name)
    rng.shuffle(children)
    roots = [old if rng.random() < 0.7 else old_root(rng, key, token, place)
             for _ in children]
    paths = w.object([(w.string(name), w.path(root, key, name))
                      for name, root in zip(children, roots)])
    entry.order = children
    entry.group = w.document(w.object(
        nasty_members(w, rng, decoy) + [(w.string("child_paths"), paths)]
        + nasty_members(w, rng, old)))
    return entry


def make_old_kernel(rng, token):
    """Of Triton 2.1: the group lists names, so nothing in it moves."""
    w = Writer(rng)
    files = read_folder(os.path.join(FIXTURE, OLD_KEY))
    del files[GROUP]
    names = w.array([w.string(name) for name in rng.sample(
        list(files), len(files))])
    old = token + b"/" + OLD_KEY.encode() + b"/x"
    return Entry(OLD_KEY, files, w.document(w.object(
        nasty_members(w, rng, old) + [(w.string("child_paths"), names)]
        + nasty_members(w, rng, old))))


class Root:
    def __init__(self, name, token, place, entries):
        self.name, self.token, self.place = name, token, place
        self.entries = entries
        for entry in entries:
            entry.write(place)

    def expected(self, literal, slim_root=None):
        return {os.path.join(e.key, name).encode(): data for e in self.entries
                for name, data in (e.contents(literal) if slim_root is None
                                   else e.slim_contents(slim_root)).items()}


def make_root(rng, work, name, prefix):
    token = f"{prefix}/{name}".encode()
    place = os.path.join(work, b"from-" + name.encode(), component(rng))
    entries = [make_kernel(rng, token, place, KEY)]
    entries += [make_kernel(rng, token, place)
                for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.4:
        entries.append(make_old_kernel(rng, token))
    if rng.random() < 0.3:
        entries.append(Entry(
            TUNE_KEY, read_folder(os.path.join(FIXTURE, TUNE_KEY))))
    return Root(name, token, place, entries)


# ---- what must hold -------------------------------------------------------


def tree(top):
    """Relative path -> bytes of all files below a folder; in bytes."""
    out = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            out[os.path.relpath(path, top)] = read(path)
    return out


def same_files(what, got, expected):
    assert sorted(got) == sorted(expected), (
        f"{what}: files {sorted(got)}, not {sorted(expected)}")
    for path, data in expected.items():
        assert got[path] == data, (
            f"{what}: {path!r} holds\n{got[path]!r}\nnot\n{data!r}")


def children_of(group):
    paths = json.loads(group)["child_paths"]
    return {name: os.fsencode(path) for name, path in paths.items()}


def check_paths(root, place):
    """What Python makes of the paths: the files themselves."""
    for entry in root.entries:
        if not entry.order:
            continue
        group = read(os.path.join(place, entry.key.encode(), GROUP.encode()))
        prefix = place + b"/" + entry.key.encode()
        for name, path in children_of(group).items():
            assert path.startswith(prefix), (path, prefix)
            assert path[len(prefix):].lstrip(b"/") == os.fsencode(name), path
            assert os.path.exists(path), path


def pack(program, output, places, *options):
    """places: (name or None, folder). Returns the id."""
    operands = [os.fsencode(name) + b"=" + place if name else place
                for name, place in places]
    report = program.report("pack", *options, "-o", output, *operands)
    assert not report["notes"], report["notes"]
    return report["id"]


def check_stored(program, bundle, roots):
    """In the bundle only the roots of the paths have changed."""
    groups = [(f"{root.name}/{entry.key}/{GROUP}", render(
        entry.group, root.token)) for root in roots for entry in root.entries
              if entry.group is not None]
    got = program.run("cat", bundle, *(path for path, _ in groups)).stdout
    assert got == b"".join(data for _, data in groups), (
        f"stored groups are\n{got!r}\nnot\n{groups!r}")
    seen = ref.read(read(bundle))
    stored = {seen.member(i, j): (seen.stored[i, j], file.get("rewrites", []))
              for i, entry in enumerate(seen.entries)
              for j, file in enumerate(entry["files"])}
    for index, root in enumerate(roots):
        for entry in root.entries:
            for name, data in entry.contents(root.token).items():
                expected = []
                if name == GROUP and entry.group is not None:
                    expected = rewrites(entry.group, index, root.token)
                path = f"{root.name}/{entry.key}/{name}"
                assert stored.pop(path) == (data, expected), path
    assert not stored, stored
    return seen.id


class Case:
    def __init__(self, program, rng, work):
        self.program, self.rng, self.work = program, rng, work
        self.prefix = rng.choice(("/opt/kbundle",) * 3 + (
            "/o", "/srv/k-1/a.b+c_d", "/" + "x" * 190))
        self.options = [] if self.prefix == "/opt/kbundle" else [
            "--token", self.prefix]
        names = rng.choice((["triton"],) * 4 + (["triton", "triton-2"],
                                                ["zzzz9", "a.b-c_0"]))
        self.roots = [make_root(rng, work, name, self.prefix)
                      for name in names]
        self.named = names[0] != "triton"
        self.bundle = self.file("x.tar.zst")

    def file(self, name):
        return os.path.join(self.work, name.encode())

    def pack(self, output, places, *options):
        names = [root.name if self.named else None for root in self.roots]
        return pack(self.program, self.file(output), list(zip(names, places)),
                    *self.options, *options)

    def unpack(self, bundle, places, *options, count="entries"):
        operands = places
        if len(self.roots) > 1:
            operands = [root.name.encode() + b"=" + place
                        for root, place in zip(self.roots, places)]
        report = self.program.report("unpack", "--sync=none", *options,
                                     bundle, *operands)
        entries = sum(len(root.entries) for root in self.roots)
        assert report["counts"][count] == entries, report
        assert not report["notes"], report["notes"]

    def check(self):
        where = [root.place for root in self.roots]
        identity = self.pack("x.tar.zst", where)
        assert identity == check_stored(self.program, self.bundle, self.roots)
        self.check_moved(identity)
        self.check_cat()
        if self.rng.random() < 0.5:
            self.check_slim()
        if len(self.roots) == 1 and self.rng.random() < 0.5:
            self.check_as(identity)

    def check_moved(self, identity):
        places = []
        for i, _ in enumerate(self.roots):
            places.append(new_root(self.rng, self.file(f"moved-{i}")))
        self.unpack(self.bundle, places)
        for root, place in zip(self.roots, places):
            same_files("unpacked", tree(place),
                       root.expected(python_literal(place)))
            check_paths(root, place)
        assert self.pack("y.tar.zst", places) == identity, "another id"
        assert read(self.bundle) == read(self.file("y.tar.zst"))
        if self.rng.random() < 0.3:
            self.unpack(self.bundle, places, count="present")
            self.program.run("verify", self.bundle, *(
                r.name.encode() + b"=" + p for r, p in zip(self.roots, places)))

    def check_cat(self):
        root = self.rng.choice(self.roots)
        entry = root.entries[0]
        path = self.rng.choice((b"/", b"/" + component(self.rng, 255), b"/" +
                                b"/".join(component(self.rng) for _ in "abc")))
        got = self.program.run("cat", b"--root=" + path, self.bundle,
                               f"{root.name}/{entry.key}/{GROUP}").stdout
        expected = render(entry.group, python_literal(path))
        assert got == expected, f"cat --root={path!r}: {got!r}"

    def check_as(self, identity):
        """A path that nothing is at; and one through a symlink."""
        root = self.roots[0]
        link = self.file("link")
        os.makedirs(self.file("real"))
        os.symlink(b"real", link)
        other = self.rng.choice((b"/", b"/srv/" + component(self.rng, 255),
                                 b"/" + component(self.rng)))
        for written, options, place, operand in (
                (other, [b"--as", other], self.file("as"), self.file("as")),
                (link + b"/a", [], link + b"/a", link + b"//./b/../a/")):
            self.unpack(self.bundle, [operand], *options)
            same_files("unpacked --as", tree(place),
                       root.expected(python_literal(written)))
            self.unpack(self.bundle, [operand], *options, count="present")
            assert self.pack("as.tar.zst", [place]) == identity, "another id"
        check_paths(root, link + b"/a")

    def check_slim(self):
        at_pack = self.file("slim-pack")
        places = [new_root(self.rng, self.file(f"slim-{i}"))
                  for i, _ in enumerate(self.roots)]
        others = [os.path.join(at_pack, b"%d" % i)
                  for i, _ in enumerate(self.roots)]
        identity = self.pack("slim.tar.zst", [r.place for r in self.roots],
                             "--slim")
        self.unpack(self.bundle, places, "--slim")
        self.unpack(self.bundle, places, "--slim", count="present")
        self.unpack(self.file("slim.tar.zst"), others, *self.rng.choice(
            ([], ["--slim"])))
        for root, place, other in zip(self.roots, places, others):
            same_files("slim at unpack", tree(place),
                       root.expected(python_literal(place), place))
            same_files("slim at pack", tree(other),
                       root.expected(python_literal(other), other))
            check_paths(root, place)
        options = self.rng.choice(([], ["--slim"]))
        assert self.pack("slim-y.tar.zst", places, *options) == identity
        assert read(self.file("slim-y.tar.zst")) == read(
            self.file("slim.tar.zst"))


# ---- broken group files ---------------------------------------------------


class Pairs(list):
    """An object of JSON with its members as they stand."""


def depth_of(value):
    if isinstance(value, Pairs):
        return 1 + max((depth_of(v) for _, v in value), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


def parse(data):
    return json.loads(data.decode("utf-8"), object_pairs_hook=Pairs)


def roots_of(data, key, files):
    """(name, root, rest of the path) of each child as Python sees the group;
    None where it is broken."""
    try:
        document = parse(data)
        found = [v for k, v in document if k == "child_paths"]
        if not isinstance(document, Pairs) or len(found) != 1:
            return None
        paths = found[0]
        if not isinstance(paths, Pairs) or depth_of(document) > DEPTH_MAX:
            return None
        out = []
        for name, path in paths:
            name, path = os.fsencode(name), os.fsencode(path)
            match = re.fullmatch(b"(.*)(/%s/+%s)" % (
                re.escape(key.encode()), re.escape(name)), path, re.S)
            if not match or b"\0" in path or os.fsdecode(name) not in files:
                return None
            out.append((os.fsdecode(name), *match.groups()))
    except (ValueError, TypeError, RecursionError):
        return None
    names = [name for name, _, _ in out]
    if len(set(names)) < len(names) or not set(SLIM) <= set(names):
        return None
    return out


def exchanged(data, key, files, root):
    """The document with the root exchanged, for comparison."""
    document = parse(data)
    rests = {name: rest for name, _, rest in roots_of(data, key, files)}
    for i, (k, v) in enumerate(document):
        if k == "child_paths":
            document[i] = (k, Pairs((name, os.fsdecode(root + rests[name]))
                                    for name, _ in v))
    return repr(document)


def broken_groups(rng, key):
    """(what is wrong, text of the group) of an entry that has SLIM."""
    w = Writer(rng)
    root = b"/" + component(rng)
    k = key.encode()
    meta, binary = SLIM
    good = (w.string(meta), w.path(root, key, meta))
    cubin = w.string(binary)

    def group(*children, before=(), after=()):
        return render(w.document(w.object(
            [*before, (w.string("child_paths"), w.object(children)), *after])))

    def with_path(path):
        return group(good, (cubin, [b'"' + w.inside(path) + b'"']))

    def with_literal(literal):
        return group(good, (cubin, [literal]))

    def with_root(literal):
        return with_literal(b'"/a' + literal + b"/" + k + b"/"
                            + binary.encode() + b'"')

    name = binary.encode()
    whole = group(good, (cubin, w.path(root, key, binary)))
    other = new_key(rng)[0].encode()
    for label, path in (
            ("another key", root + b"/" + other + b"/" + name),
            ("key in lower case", root + b"/" + k.swapcase() + b"/" + name),
            ("key cut", root + b"/" + k[:-1] + b"/" + name),
            ("key cut in front", root + b"/" + k[1:] + b"/" + name),
            ("key longer in front", root + b"/x" + k + b"/" + name),
            ("key longer", root + b"/" + k + b"x/" + name),
            ("no slash before the key", k + b"/" + name),
            ("no slash before the name", root + b"/" + k + name),
            ("no slash at all", name),
            ("no name", root + b"/" + k + b"/"),
            ("key alone", root + b"/" + k),
            ("a folder between", root + b"/" + k + b"/sub/" + name),
            ("a dot between", root + b"/" + k + b"/./" + name),
            ("a slash behind", root + b"/" + k + b"/" + name + b"/"),
            ("a blank behind", root + b"/" + k + b"/" + name + b" "),
            ("another name", root + b"/" + k + b"/" + meta.encode()),
            ("name cut", root + b"/" + k + b"/" + name[:-1]),
            ("name cut in front", root + b"/" + k + b"/" + name[1:]),
            ("name longer", root + b"/" + k + b"/x" + name),
            ("backslashes", root + b"\\" + k + b"\\" + name),
            ("empty", b""), ("slashes alone", b"///")):
        yield label, with_path(path)
    for code in (0xD800, 0xDBFF, 0xDC00, 0xDC7F, 0xDD00, 0xDFFF):
        yield f"surrogate {code:x}", with_root(w.unicode(code))
    yield "two high surrogates", with_root(b"\\ud83d\\ud83d")
    yield "NUL", with_root(b"\\u0000")
    yield "control byte", with_root(b"\n")
    yield "not UTF-8", with_root(b"\xff")
    yield "surrogate in UTF-8", with_root(b"\xed\xb2\x80")
    yield "unknown escape", with_root(b"\\x41")
    yield "cut escape", with_root(b"\\u12")
    for value in (b"null", b"1", b"true", b"NaN", b"[]", b"{}", b'["a"]'):
        yield f"path {value.decode()}", with_literal(value)
        yield f"child_paths {value.decode()}", b'{"child_paths": %s}' % value
    yield "path a list", group(good, (cubin, w.array([good[1]])))
    yield "child_paths a text", b'{"child_paths": "%s"}' % name
    yield "child_paths a list of names", render(w.document(w.object(
        [(w.string("child_paths"), w.array([w.string(n) for n in SLIM]))])))
    yield "child_paths missing", b'{"child_path": {}}'
    yield "child_paths in a list", b"[" + whole + b"]"
    yield "child_paths below", b'{"x": ' + whole + b"}"
    paths = w.object([good, (cubin, w.path(root, key, binary))])
    for first in (paths, [b"null"], [b"{}"], [b"[]"]):
        again = (w.string("child_paths"), first)
        yield "child_paths twice", group(good, (
            cubin, w.path(root, key, binary)), before=[again])
        yield "child_paths twice", group(good, (
            cubin, w.path(root, key, binary)), after=[again])
    for twice in (w.string(meta), [b'"add\\u005fkernel.json"']):
        yield "listed twice", group(good, (twice, good[1]), (
            cubin, w.path(root, key, binary)))
    yield "metadata not listed", group((cubin, w.path(root, key, binary)))
    yield "binary not listed", group(good)
    for gone in ("gone", "", ".", "..", "a/b", "\udcff", "\x01", "\\"):
        yield f"lists {gone!r}", group(good, (
            cubin, w.path(root, key, binary)),
            (w.string(gone), w.path(root, key, gone)))
    yield "nested too deep", group(good, (
        cubin, w.path(root, key, binary)),
        after=[(w.string("x"), [b"[" * DEPTH_MAX + b"]" * DEPTH_MAX])])
    yield "a number too long", group(good, (
        cubin, w.path(root, key, binary)), after=[(w.string("x"),
                                                   [b"9" * 4301])])
    for label, text in (("a comma too many", whole.rstrip()[:-1] + b",}"),
                        ("cut", whole[:rng.randrange(len(whole.rstrip()))]),
                        ("text behind", whole + b"x"),
                        ("two documents", whole + whole),
                        ("BOM", b"\xef\xbb\xbf" + whole),
                        ("UTF-16", whole.decode("latin-1").encode("utf-16")),
                        ("zero bytes", b""), ("blank", b" \n"),
                        ("no JSON", b"child_paths"), ("a NUL", whole + b"\0")):
        yield label, text


def mutated(rng, text, key):
    """The text with a few bytes changed, half the time in its first path."""
    soup = [b'"', b"\\", b"/", b"//", b"{", b"}", b"[", b"]", b",", b":", b" ",
            b"\\u002f", b"\\/", b"\\ud800", b"\\udc80", b"\\udcff", b"\\u0000",
            b"\\u00e9", b"\xc3", b"\xc3\xa9", b"\xff", b"null", b"NaN", b"1",
            b"/" + key.encode(), b"/" + key.encode() + b"/", b".json"]
    data = bytearray(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(data) + 1)
        if rng.random() < 0.5 and key.encode() in data:
            at = max(0, data.index(key.encode()) - rng.randrange(12))
        end = min(len(data), at + rng.choice((0, 0, 1, 1, 2, 6)))
        what = rng.random()
        if what < 0.5:
            data[at:end] = rng.choice(soup)
        elif what < 0.65:
            data[at:end] = bytes([rng.randrange(256)])
        elif what < 0.85:
            del data[at:end]
        else:
            data[at:at] = data[at:end]
    return bytes(data)


class BrokenCase:
    """A cache of many entries whose groups may be broken, beside a good one."""

    KINDS = 12  # of broken groups; the next case takes the next ones

    def __init__(self, program, rng, work, number, counts):
        self.program, self.rng, self.work = program, rng, work
        self.first, self.counts = number * self.KINDS, counts
        self.place = os.path.join(work, b"from", component(rng))
        self.token = b"/opt/kbundle/triton"
        self.good = make_kernel(rng, self.token, self.place, KEY)
        self.good.write(self.place)
        self.entries = {}  # key -> (label, entry)

    def add(self, label, key, digest, group):
        files = kernel_files(key, digest)
        files = {name: files[name] for name in SLIM}
        entry = Entry(key, files, [group])
        entry.write(self.place)
        self.entries[key] = (label, entry)

    def fill(self):
        n = sum(1 for _ in broken_groups(self.rng, KEY))
        for number in range(self.first, self.first + self.KINDS):
            key, digest = new_key(self.rng)
            label, group = next(itertools.islice(
                broken_groups(self.rng, key), number % n, None))
            assert roots_of(group, key, SLIM) is None, (label, group)
            self.add(label, key, digest, group)
        for _ in range(12):
            key, digest = new_key(self.rng)
            w = Writer(self.rng)
            root = old_root(self.rng, key, self.token, self.place)
            text = render(w.object([(w.string("child_paths"), w.object(
                [(w.string(n), w.path(root, key, n)) for n in SLIM]))]))
            self.add("mutant", key, digest, mutated(self.rng, text, key))

    def check(self):
        self.fill()
        bundle = os.path.join(self.work, b"b.tar.zst")
        options = self.rng.choice(([], [], ["--threads=1"], ["--slim"]))
        bad = {key for key, (_, entry) in self.entries.items()
               if roots_of(render(entry.group), key, SLIM) is None}
        done = self.program.run("pack", "--json", *options, "-o", bundle,
                                self.place, code=5)
        report = json.loads(done.stdout)
        notes = {note["path"]: note for note in report["notes"]}
        for key, (label, entry) in self.entries.items():
            assert (key in notes) == (key in bad), (
                f"{label}: {'not ' * (key in bad)}damaged, "
                f"{notes.get(key)}: {render(entry.group)!r}")
            self.counts[key in bad] += 1
        assert len(notes) == len(report["notes"]) == len(bad)
        named = re.findall(rb"^kbundle: damaged: triton/([^/:]+)[/:].*: .",
                           done.stderr, re.M)
        assert sorted(map(bytes.decode, named)) == sorted(bad), done.stderr
        assert len(done.stderr.splitlines()) == len(bad), done.stderr
        if not options or options[0] != "--slim":
            self.check_rest(bundle, set(self.entries) - bad)

    def check_rest(self, bundle, sound):
        place = new_root(self.rng, os.path.join(self.work, b"moved"))
        self.program.run("unpack", "--sync=none", bundle, place)
        got = tree(place)
        expected = {os.path.join(KEY, name).encode(): data for name, data in
                    self.good.contents(python_literal(place)).items()}
        for key in sound:
            entry = self.entries[key][1]
            path = os.path.join(key, GROUP).encode()
            assert repr(parse(got[path])) == exchanged(
                render(entry.group), key, SLIM, place), got[path]
            for _, child in parse_paths(got[path]):
                assert os.path.exists(child), child
            for name, data in entry.files.items():
                expected[os.path.join(key, name).encode()] = data
            expected[path] = got[path]
        same_files("beside damaged ones", got, expected)


def parse_paths(group):
    return next(v for k, v in parse(group) if k == "child_paths")


# ---- all of it ------------------------------------------------------------


def run_case(program, seed, number, counts, keep=False):
    rng = random.Random(f"{seed}/{number}")
    work = os.fsencode(tempfile.mkdtemp(prefix="kbundle-relocate."))
    try:
        if number % 3 == 2:
            BrokenCase(program, rng, work, number // 3, counts).check()
        else:
            Case(program, rng, work).check()
    except (AssertionError, KeyError, OSError, ValueError, ref.Refused,
            subprocess.TimeoutExpired):
        traceback.print_exc()
        print(f"prop_relocate: FAILED: --seed {seed} --case {number}",
              file=sys.stderr)
        return False
    finally:
        if keep:
            print(f"files of case {number}: {os.fsdecode(work)}")
        else:
            shutil.rmtree(work)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", default=os.environ.get("KB_PROP_SEED"))
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--case", type=int, help="this one alone")
    options = parser.parse_args()
    if "KBUNDLE_BIN" not in os.environ:
        parser.error("KBUNDLE_BIN is not set")
    assert sys.getfilesystemencoding() == "utf-8", "not a UTF-8 locale"
    sys.stdout.reconfigure(errors="backslashreplace")
    seed = options.seed or str(random.SystemRandom().randrange(1 << 32))
    print(f"seed {seed}", flush=True)
    program = Program(os.path.realpath(os.environ["KBUNDLE_BIN"]))
    counts = {False: 0, True: 0}
    begin = time.monotonic()
    if options.case is not None:
        return 0 if run_case(program, seed, options.case, counts, True) else 1
    failed = sum(not run_case(program, seed, number, counts)
                 for number in range(options.cases))
    print(f"{options.cases} cases, {program.runs} runs, "
          f"{counts[True]} broken groups and {counts[False]} changed ones "
          f"that are sound, {time.monotonic() - begin:.0f} s")
    if failed:
        print(f"{failed} cases failed, seed {seed}")
        return 1
    if options.cases >= 100 and min(counts.values()) < options.cases // 4:
        print("the changed groups are too much of one kind to mean anything")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
