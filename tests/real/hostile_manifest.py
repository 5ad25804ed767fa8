# SPDX-License-Identifier: Apache-2.0
"""Hostile bundles: manifest, names, rewrites, limits (sections 1, 3, 4, 6)."""

import json

import bundle_ref as ref
from hostile import (
    AUTOTUNE,
    AUTOTUNE_KEY,
    TOKEN,
    base,
    has_rewrites,
    other,
    triton_draft,
)


def add(cases):
    canonical_form(cases)
    lines(cases)
    required(cases)
    types(cases)
    unknown(cases)
    versions(cases)
    sums(cases)
    order(cases)
    paths(cases)
    names(cases)
    facts(cases)
    rewrites(cases)
    limits(cases)


class Raw(str):
    """Text that stands in the manifest as it is."""


def text_of(value):
    """Like ref.canonical(), for what is not canonical."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(
            f"{ref.quote(k)}:{text_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value) if value is None or value is False \
        else ref.canonical(value)


def edited(change, draft=None):
    """A draft whose manifest lines, as values, were changed; the tar of its
    entries stays."""
    draft = draft or base()

    def manifest(data):
        values = [json.loads(line) for line in data.splitlines()]
        change(values)
        return "".join(text_of(v) + "\n" for v in values).encode(
            "utf-8", "surrogatepass")

    draft.hooks["manifest"] = manifest
    return draft


def replaced(old, new, count=1):
    """A draft in whose manifest text the first old is new."""
    draft = base()

    def manifest(data):
        assert old in data, old
        return data.replace(old, new, count)

    draft.hooks["manifest"] = manifest
    return draft


def bytes_of(change):
    draft = base()
    draft.hooks["manifest"] = change
    return draft


WORD = "manifest|canonical|header|line|member|JSON|entry"

# ---- canonical form -------------------------------------------------------


def canonical_form(cases):
    def bad(name, old, new):
        cases.refuse_all(f"form-{name}", replaced(old, new), WORD)

    bad("space-after-colon", b'"kbundle":', b'"kbundle": ')
    bad("space-after-comma", b',"requires"', b', "requires"')
    bad("space-before-colon", b'"kbundle":', b'"kbundle" :')
    bad("space-first", b'{"kbundle"', b' {"kbundle"')
    bad("space-in-object", b'{"kbundle"', b'{ "kbundle"')
    bad("space-in-empty-array", b'"requires":[]', b'"requires":[ ]')
    bad("space-in-empty-object", b'"facts":{}', b'"facts":{ }')
    bad("space-last", b"}\n", b"} \n")
    bad("tab", b'"kbundle":', b'"kbundle":\t')
    bad("case-header", b'"requires":[]', b'"Requires":[]')
    bad("case-entry", b'"path":', b'"Path":')
    bad("case-file", b'"sha256":', b'"SHA256":')
    bad("escape-letter", b'"kind":"autotune"', b'"kind":"\\u0061utotune"')
    bad("escape-in-member", b'"path":', b'"p\\u0061th":')
    bad("escape-solidus", b'"token":"/opt', b'"token":"\\/opt')
    bad("escape-unknown", b'"kind":"a', b'"kind":"\\a')
    bad("single-quotes", b'"kind":"autotune"', b"\"kind\":'autotune'")
    bad("no-quotes", b'"kbundle":1', b"kbundle:1")
    number = b'"kbundle":1,'
    for name, text in (("float", b"1.0"), ("exponent", b"1e0"),
                       ("exponent-plus", b"1E+0"), ("plus", b"+1"),
                       ("leading-zero", b"01"), ("hex", b"0x1"),
                       ("negative", b"-1"), ("string", b'"1"'),
                       ("null", b"null"), ("true", b"true"),
                       ("nan", b"NaN"), ("infinity", b"Infinity"),
                       ("two-to-the-53", b"9007199254740992"),
                       ("two-to-the-64", b"18446744073709551616"),
                       ("two-to-the-64-and-one", b"18446744073709551617"),
                       ("huge", b"1" * 400)):
        cases.refuse_all(f"form-number-{name}", replaced(
            number, b'"kbundle":' + text + b","), WORD + "|version")
    bad("number-minus-zero", b'"root":0', b'"root":-0')
    bad("number-zero-point-zero", b'"root":0', b'"root":0.0')
    bad("number-double-zero", b'"root":0', b'"root":00')
    bad("trailing-comma", b'"facts":{}}', b'"facts":{},}')
    bad("trailing-comma-array", b'"requires":[]', b'"requires":["a",]')
    bad("no-comma-in-array", b'"requires":[]', b'"requires":["a" "b"]')
    bad("comma-first", b'{"kbundle"', b'{,"kbundle"')
    bad("no-comma", b',"requires"', b'"requires"')
    bad("comment", b'"facts":{}}', b'"facts":{}/**/}')
    bad("trailing-text", b'"facts":{}}\n', b'"facts":{}}x\n')
    bad("trailing-brace", b'"facts":{}}\n', b'"facts":{}}}\n')
    bad("two-values-in-a-line", b'"facts":{}}\n', b'"facts":{}}{}\n')
    bad("crlf", b"}\n", b"}\r\n")
    bad("cr", b"}\n{", b"}\r{")
    bad("byte-order-mark", b'{"kbundle"', b'\xef\xbb\xbf{"kbundle"')
    bad("nul-in-string", b'"kind":"auto', b'"kind":"\0auto')
    bad("nul-escaped", b'"kind":"auto', b'"kind":"\\u0000auto')
    bad("nul-between", b'"kbundle":1', b'"kbundle":1\0')
    bad("nul-after", b'"facts":{}}\n', b'"facts":{}}\0\n')
    bad("control-raw", b'"facts":{}', b'"facts":{"version":"\x01"}')
    for name, text in (
        ("lone-continuation", b"\x80"), ("ff", b"\xff"),
        ("overlong", b"\xc0\xaf"), ("surrogate", b"\xed\xa0\x80"),
        ("beyond", b"\xf4\x90\x80\x80"), ("cut", b"\xe2\x82"),
    ):
        bad(f"utf8-{name}", b'"facts":{}', b'"facts":{"version":"' + text
            + b'"}')
    for name, text in (("newline-short", b"\\n"), ("tab-short", b"\\t"),
                       ("upper-hex", b"\\u001F"), ("printable", b"\\u0041"),
                       ("delete", b"\\u007f"), ("non-ascii", b"\\u00e9"),
                       ("pair", b"\\ud83d\\ude00"), ("lone", b"\\ud800")):
        bad(f"escape-{name}", b'"facts":{}', b'"facts":{"version":"' + text
            + b'"}')
    cases.accept("form-escapes-right", replaced(
        b'"facts":{}',
        '"facts":{"version":"\\u001f\\"\\\\/é😀\x7f"}'.encode()))

    def swapped(index, one, two, where=lambda v: v):
        def change(values):
            target = where(values[index])
            items = list(target.items())
            names = [k for k, _ in items]
            i, j = names.index(one), names.index(two)
            items[i], items[j] = items[j], items[i]
            target.clear()
            target.update(items)
        return edited(change)

    for name, draft in (
        ("header", swapped(0, "kbundle", "requires")),
        ("header-sums", swapped(0, "files", "bytes")),
        ("root", swapped(0, "name", "format", lambda v: v["roots"][0])),
        ("entry", swapped(1, "root", "path")),
        ("entry-last", swapped(1, "files", "facts")),
        ("file", swapped(1, "size", "sha256", lambda v: v["files"][0])),
    ):
        cases.refuse_all(f"form-order-{name}", draft, WORD)

    bad("twice-header", b'"requires":[]', b'"requires":[],"requires":[]')
    bad("twice-entry", b'"kind":"autotune"',
        b'"kind":"autotune","kind":"autotune"')
    bad("twice-entry-apart", b'"facts":{}}', b'"facts":{},"root":0}')
    bad("twice-x", b'"facts":{}}', b'"facts":{},"x-a":"1","x-a":"2"}')
    bad("twice-file", b'"size":', b'"size":1,"size":')


# ---- lines ----------------------------------------------------------------


def lines(cases):
    word = WORD + "|tar|frame|newline"

    def bad(name, change):
        cases.refuse_all(f"lines-{name}", bytes_of(change), word)

    bad("no-last-newline", lambda d: d[:-1])
    bad("blank-after-header", lambda d: d.replace(b"\n", b"\n\n", 1))
    bad("blank-last", lambda d: d + b"\n")
    bad("one-missing", lambda d: b"".join(d.splitlines(True)[:-1]))
    bad("one-more", lambda d: d + d.splitlines(True)[-1])
    bad("header-alone", lambda d: d.splitlines(True)[0])
    bad("no-header", lambda d: b"".join(d.splitlines(True)[1:]))
    bad("header-twice", lambda d: d.splitlines(True)[0] + d)
    bad("no-newlines", lambda d: d.replace(b"\n", b""))
    bad("empty", lambda d: b"")
    bad("text-after", lambda d: d + b"x")
    bad("zeros-after", lambda d: d + bytes(512))
    bad("array-header", lambda d: b"[]\n" + d.split(b"\n", 1)[1])
    bad("string-header", lambda d: b'"kbundle"\n' + d.split(b"\n", 1)[1])
    bad("array-entry", lambda d: d.splitlines(True)[0] + b"[]\n" * 3)
    deep = b"[" * 100000 + b"]" * 100000
    bad("deep-header", lambda d: deep + b"\n" + d.split(b"\n", 1)[1])
    bad("deep-value", lambda d: d.replace(
        b'"requires":[]', b'"requires":' + deep, 1))
    bad("deep-objects", lambda d: d.replace(
        b'"facts":{}', b'"facts":' + b'{"x-a":' * 10000 + b'""'
        + b"}" * 10000, 1))


# ---- members --------------------------------------------------------------

WITH_FACTS = {
    "producer": "triton", "version": "3.4.0", "symbol": "add_kernel",
    "warps": 4, "warp_size": 32, "shared": 0, "whole": True,
    "binaries": [{
        "file": "add_kernel.cubin", "kind": "cubin", "target": "cuda:sm_75",
        "abi": 7, "tool": "12.8", "debug": True,
        "kernels": [{"name": "add_kernel", "registers": 16, "shared": 16}],
    }],
}


def entry_of(values):
    """The first kernel's line and the place of its facts."""
    return values[2]


def required(cases):
    def bad(name, where, member):
        def change(values):
            del where(values)[member]
        cases.refuse_all(f"required-{name}-{member}", edited(change),
                         f"{member}|{WORD}")

    for member in ("kbundle", "requires", "roots", "entries", "files",
                   "bytes"):
        bad("header", lambda v: v[0], member)
    for member in ("name", "format", "token"):
        bad("root", lambda v: v[0]["roots"][0], member)
    for member in ("root", "path", "format", "kind", "name", "files",
                   "facts"):
        bad("entry", entry_of, member)
    for member in ("name", "size", "sha256"):
        bad("file", lambda v: entry_of(v)["files"][0], member)

    def with_facts(values):
        entry_of(values)["facts"] = json.loads(json.dumps(WITH_FACTS))
        return entry_of(values)["facts"]

    for member in ("file", "kind", "kernels"):
        bad("binary", lambda v: with_facts(v)["binaries"][0], member)
    bad("kernel", lambda v: with_facts(v)["binaries"][0]["kernels"][0], "name")


def types(cases):
    wrong = {
        "null": Raw("null"), "false": Raw("false"), "number": 7,
        "string": "7", "array": [], "object": {},
    }
    right = {
        "header": {"requires": "array", "roots": None, "entries": "number",
                   "files": "number", "bytes": "number"},
        "root": {"name": "string", "format": "string", "token": None},
        "entry": {"root": "number", "path": None, "format": "string",
                  "kind": "string", "name": None, "target": None,
                  "requires": None, "files": None, "facts": "object"},
        "file": {"name": None, "size": "number", "sha256": None,
                 "rewrites": None, "mtime": None},
    }
    where = {
        "header": lambda v: v[0], "root": lambda v: v[0]["roots"][0],
        "entry": entry_of, "file": lambda v: entry_of(v)["files"][0],
    }
    # A member that is absent must be put in at its place to be canonical.
    orders = {"entry": [n for n, _, _ in ref.ENTRY],
              "file": [n for n, _, _ in ref.FILE]}
    for what, known in right.items():
        for member, kind in known.items():
            for name, value in wrong.items():
                if name == kind or (member == "name" and name == "string"):
                    continue

                def change(values, what=what, member=member, value=value):
                    target = where[what](values)
                    target[member] = value
                    if what in orders:
                        items = sorted(
                            target.items(),
                            key=lambda i: orders[what].index(i[0]))
                        target.clear()
                        target.update(items)

                cases.refuse_all(f"type-{what}-{member}-{name}",
                                 edited(change), f"{member}|{WORD}")


def unknown(cases):
    places = {
        "header": lambda v: v[0],
        "root": lambda v: v[0]["roots"][0],
        "entry": entry_of,
        "file": lambda v: entry_of(v)["files"][0],
        "facts": lambda v: entry_of(v)["facts"],
    }
    bad = {
        "plain": {"zone": "x"},
        "upper": {"X-a": "x"},
        "x-alone": {"x-": "x"},
        "x-upper": {"x-A": "x"},
        "x-underscore": {"x-a_b": "x"},
        "x-empty-name": {"": "x"},
        "x-63": {"x-" + "a" * 63: "x"},
        "x-unsorted": {"x-b": "x", "x-a": "x"},
        "x-number": {"x-a": 1},
        "x-null": {"x-a": Raw("null")},
        "x-true": {"x-a": True},
        "x-array": {"x-a": ["x"]},
        "x-object": {"x-a": {"x-b": "x"}},
        "x-too-long": {"x-a": "x" * 16385},
    }
    good = {
        "one": {"x-a": "x"},
        "empty": {"x-a": ""},
        "62": {"x-" + "a" * 62: "x"},
        "sorted": {"x--": "1", "x-0": "2", "x-a": "3", "x-a-": "4",
                   "x-b": "5"},
        "long": {"x-a": "x" * 16384},
        "text": {"x-a": "\x01\"\\\n é😀"},
    }
    for place, where in places.items():
        for name, more in bad.items():
            cases.refuse_all(
                f"unknown-{place}-{name}",
                edited(lambda v, w=where, m=more: w(v).update(m)),
                f"unknown|x-|{WORD}")
        for name, more in good.items():
            cases.accept(f"x-{place}-{name}", edited(
                lambda v, w=where, m=more: w(v).update(m)))

        def first(values, where=where):
            target = where(values)
            items = list(target.items())
            target.clear()
            target.update([("x-a", "x")] + items)

        if place != "facts":
            cases.refuse_all(f"unknown-{place}-x-not-last", edited(first),
                             f"x-|{WORD}")

    def in_facts(values):
        entry_of(values)["facts"] = {"x-a": "x", "version": "3.4.0"}

    cases.refuse_all("unknown-facts-x-not-last", edited(in_facts), "x-|" + WORD)


def versions(cases):
    def header(**more):
        return edited(lambda v: v[0].update(more))

    cases.refuse_all("version-2", header(kbundle=2), "version 2|2")
    cases.refuse_all("version-4000000000", header(kbundle=4000000000),
                     "4000000000")
    # What is newer may look otherwise too; the version is what to name.
    cases.refuse_all("version-2-of-another-shape", edited(
        lambda v: (v[0].update(kbundle=2, lattice={"a": [1]}),
                   v[0].pop("roots"))), "version 2|2")
    cases.refuse_all("requires-lattice-of-another-shape", edited(
        lambda v: v[0].update(requires=["lattice"], lattice=1)), "lattice")
    cases.refuse_all("version-0", header(kbundle=0), WORD + "|version")
    cases.refuse_all("requires-lattice", header(requires=["lattice"]),
                     "lattice")
    cases.refuse_all("requires-two", header(requires=["lattice", "prism"]),
                     "lattice")
    for name, value in (("unsorted", ["b", "a"]), ("twice", ["a", "a"]),
                        ("upper", ["A"]), ("empty-name", [""]),
                        ("number", [1]), ("long", ["a" * 33]),
                        ("nested", [["a"]])):
        cases.refuse_all(f"requires-{name}", header(requires=value),
                         WORD + "|requires")

    def with_requires(value):
        def change(values):
            entry = entry_of(values)
            tail = {k: entry.pop(k) for k in ("files", "facts")}
            entry["requires"] = value
            entry.update(tail)
        return edited(change)

    cases.part("entry-requires-lattice", with_requires(["lattice"]), "lattice")
    cases.part("entry-requires-two", with_requires(["lattice", "prism"]),
               "lattice")
    for name, value in (("none", []), ("unsorted", ["b", "a"]),
                        ("twice", ["a", "a"]), ("upper", ["A"])):
        cases.refuse_all(f"entry-requires-{name}", with_requires(value),
                         WORD + "|requires")


def sums(cases):
    for member in ("entries", "files", "bytes"):
        for by in (-1, 1, 1000):
            cases.refuse_all(
                f"sum-{member}{by:+d}", edited(
                    lambda v, m=member, b=by: v[0].update({m: v[0][m] + b})),
                f"{member}|{WORD}|tar")
        cases.refuse_all(
            f"sum-{member}-zero",
            edited(lambda v, m=member: v[0].update({m: 0})),
            f"{member}|{WORD}")
        cases.refuse_all(
            f"sum-{member}-most", edited(
                lambda v, m=member: v[0].update({m: 2**53 - 1})),
            f"limit|{member}|{WORD}")
    nothing = triton_draft()
    cases.refuse_all("sum-no-entries-at-all", nothing, "entries|" + WORD)


# ---- order ----------------------------------------------------------------


def two_roots():
    draft = ref.Draft([
        {"name": "one", "format": "other", "token": "/opt/kbundle/one"},
        {"name": "two", "format": "other", "token": "/opt/kbundle/two"}])
    for i in (0, 1):
        draft.add("e", {"f": b"x"}, root=i, format="other", name="n")
    return draft


def several(*entries):
    """other entries of (path, name, target), in this order."""
    draft = other()
    draft.entries, draft.contents = [], {}
    for path, name, target in entries:
        draft.add(path, {"f": path.encode()}, format="other", name=name,
                  target=target)
    return draft


def order(cases):
    word = "order|sort|twice|duplicate|prefix|" + WORD
    right = two_roots()
    cases.accept("order-roots", right, unpack="-")
    wrong = two_roots()
    wrong.entries.reverse()
    wrong.add("z", {"f": b"x"}, root=0, format="other", name="n")
    # unpack may ask first where the second root goes, from the header alone.
    cases.add("order-root", wrong, word + "|roots", "3", "3", "2|3")
    good = [
        ("a-by-base", ("b", "n", None), ("a", "n", "cuda:sm_75")),
        ("a-target-suffix-is-not-compared", ("a", "n", "cuda:sm_90a"),
         ("b", "n", "cuda:sm_90")),
        ("a-name", ("b", "m", None), ("a", "n", None)),
        ("a-name-prefix", ("b", "n", None), ("a", "nn", None)),
        ("a-path", ("a", "n", None), ("b", "n", None)),
        ("a-path-unsigned", ("z", "n", None), ("é", "n", None)),
        ("a-hip", ("b", "n", "hip:gfx90a:xnack+"),
         ("a", "n", "hip:gfx942")),
        ("a-backends", ("b", "n", "cuda:sm_90"), ("a", "n", "xpu:bmg")),
    ]
    for name, one, two in good:
        cases.accept(f"order-{name}", several(one, two))
        cases.refuse_all(f"order-{name}-wrong", several(two, one), word)
    cases.refuse_all("order-entry-twice", several(
        ("a", "n", None), ("a", "n", None)), word)
    cases.refuse_all("order-path-twice-two-names", several(
        ("a", "m", None), ("a", "n", None)), word)
    cases.refuse_all("order-path-twice-two-targets", several(
        ("a", "n", "cuda:sm_80"), ("a", "n", "cuda:sm_90")), word)
    cases.refuse_all("order-path-twice-two-suffixes", several(
        ("a", "n", "cuda:sm_90"), ("a", "n", "cuda:sm_90a")), word)
    cases.refuse_all("order-prefix", several(
        ("a", "n", None), ("a/b", "n", None)), word)
    cases.refuse_all("order-prefix-apart", several(
        ("a", "n", None), ("a-b", "n", None), ("a/b", "n", None)), word)
    cases.refuse_all("order-prefix-deep-first", several(
        ("a/b/c", "m", None), ("a", "n", None)), word)
    cases.accept("order-no-prefix", several(
        ("a", "n", None), ("ab", "n", None)))
    file_entry = several(("a/b", "n", None))
    file_entry.add("a", {"": b"x"}, format="other", name="o")
    cases.refuse_all("order-prefix-file-entry", file_entry, word)

    def files(*names):
        draft = other(files={n: b"x" for n in set(names)})
        made = {f["name"]: f for f in draft.entries[0]["files"]}
        draft.entries[0]["files"] = [dict(made[n]) for n in names]
        return draft

    cases.refuse_all("order-files", files("b", "a"), word)
    cases.refuse_all("order-files-twice", files("a", "a"), word)
    cases.refuse_all("order-files-prefix", files("a", "a/b"), word)
    cases.refuse_all("order-files-prefix-apart", files("a", "a-b", "a/b"),
                     word)
    cases.refuse_all("order-files-empty-name-beside-another", files("", "a"),
                     word)
    cases.accept("order-files-nested", files("a/b", "a/c", "ab"))
    cases.accept("order-files-shape", files(""))


# ---- names ----------------------------------------------------------------


def paths(cases):
    word = "path|name|component|entry|" + WORD
    long = "c" * 255
    bad = {
        "dot": ".", "dot-dot": "..", "dot-dot-first": "../x",
        "dot-dot-inside": "a/../b", "dot-dot-last": "a/..",
        "dot-inside": "a/./b", "absolute": "/etc", "slash-last": "a/",
        "slashes": "a//b", "empty": "", "slash": "/",
        "kbundle-mark": ".kbundle", "kbundle-mark-inside": "a/.kbundle/b",
        "temporary": "tmp.x", "temporary-inside": "a/tmp.1234/b",
        "temporary-bare": "tmp.", "backslash": "a\\b",
        "backslash-dots": "..\\x", "tab": "a\tb", "newline": "a\nb",
        "escape": "a\x1b[31mb", "delete": "a\x7fb", "c1": "a\x85b",
        "c1-last": "a\x9fb", "component-256": "c" * 256,
        "component-256-utf8": "é" * 128, "surrogate": "a\udc80b",
    }
    for name, path in bad.items():
        def change(values, path=path):
            values[1]["path"] = path
        # With the tar as the path implies, so that nothing else is wrong;
        # where the path cannot be written (a lone surrogate), text alone.
        draft = edited(change, other()) if "\udc80" in path else other(path)
        cases.refuse_all(f"path-{name}", draft, word)
        if name == "empty":
            continue
        draft = (edited(lambda v, p=path: v[1]["files"][0].update(name=p),
                        other()) if "\udc80" in path
                 else other(files={path: b"data"}))
        cases.refuse_all(f"file-{name}", draft, word)
    cases.accept("path-component-255", other(long))
    cases.accept("path-utf8", other("é/\u00a0/😀"))
    cases.accept("path-dots", other("...", files={"..a": b"x"}))
    cases.accept("path-tmp-not", other("tmp", files={"tmpx.": b"x"}))
    cases.accept("path-16", other("/".join("abcdefghijklmn")))
    cases.refuse_all("path-17", other("/".join("abcdefghijklmno")), word)
    cases.refuse_all("path-17-alone", other("/".join("abcdefghijklmnopq")),
                     word)
    cases.refuse_all("path-17-by-file", other(
        "/".join("abcdefgh"), files={"/".join("abcdefgh"): b"x"}), word)
    # "other/" + path + "/f"
    most = "/".join(["d" * 253] * 3 + ["e" * (1024 - 6 - 2 - 3 * 254)])
    assert len("other/" + most + "/f") == 1024
    cases.accept("path-1024", other(most), unpack="-")
    cases.refuse_all("path-1025", other(most + "e"), word)
    # 155 + 1 + 100 is the longest that ustar holds.
    folder = "d" * (155 - len("other/"))
    cases.accept("path-ustar-most", other(folder, files={"f" * 100: b"x"}))
    cases.accept("path-pax-name", other(folder, files={"f" * 101: b"x"}))
    cases.accept("path-pax-prefix", other(folder + "d", files={
        "f" * 10: b"x"}))
    cases.accept("path-100", other("d" * (100 - 8), files={"f": b"x"}))
    cases.accept("path-101", other("d" * (101 - 8), files={"f": b"x"}))
    cases.accept("path-pax-cut-in-character", other(
        "d" * 93 + "é" * 80, files={"f": b"x"}))

    keys = {
        "short": "5b" * 15, "upper-hex": "5B" * 32, "64-not-hex": "5g" * 32,
        "63": "5" * 63, "two-components": AUTOTUNE_KEY + "/x",
        "42": "A" * 42, "44": "A" * 44, "43-plus": "A" * 42 + "+",
        "52-digit-1": "A" * 51 + "1", "52-lower": "a" * 52, "53": "A" * 53,
        "dotted": "." + "A" * 42,
    }
    for name, key in keys.items():
        draft = triton_draft()
        draft.add(key, {"f.autotune.json": AUTOTUNE}, name="f",
                  kind="autotune")
        cases.refuse_all(f"triton-key-{name}", draft, word + "|triton|Triton")
    for name, key in (("32", "5b" * 16), ("64", "5b" * 32),
                      ("43", "-" + "A" * 40 + "_z"), ("52", "A7" * 26)):
        draft = triton_draft()
        draft.add(key, {"f.autotune.json": AUTOTUNE}, name="f",
                  kind="autotune")
        cases.accept(f"triton-key-{name}", draft)


def names(cases):
    def root(**more):
        draft = base()
        draft.header["roots"][0].update(more)
        return draft

    word = "root|name|token|" + WORD
    for name, value in (
        ("empty", ""), ("upper", "Triton"), ("dash-first", "-x"),
        ("dot-first", ".x"), ("slash", "a/b"), ("dot-dot", ".."),
        ("kbundle", "kbundle"), ("kbundle-x", "kbundle-x"),
        ("temporary", "tmp.x"),
        ("kbundle.jsonl", "kbundle.jsonl"), ("33", "a" * 33),
        ("space", "a b"), ("utf8", "é"), ("plus", "a+b"),
    ):
        cases.refuse_all(f"root-name-{name}", _renamed(value), word)
    for name, value in (("32", "a" * 32), ("dots", "0.._-"),
                        ("digit", "9")):
        cases.accept(f"root-name-{name}", _renamed(value))
    for name, value in (
        ("empty", ""), ("relative", "opt/kbundle"), ("short", "/opt/ab"),
        ("long", "/" + "a" * 200), ("slash-last", "/opt/kbundle/"),
        ("slashes", "/opt//kbundle"), ("dot-dot", "/opt/../kbundle"),
        ("dash-first", "/opt/-kbundle"), ("quote", '/opt/"kbundle'),
        ("backslash", "/opt\\kbundle"), ("space", "/opt/k bundle"),
        ("utf8", "/opt/kbundlé"), ("newline", "/opt/kbundle\n"),
    ):
        draft = other()
        draft.header["roots"][0]["token"] = value
        cases.refuse_all(f"token-{name}", draft, word)
    for name, value in (("8", "/opt/abc"), ("200", "/" + "a" * 199),
                        ("signs", "/A9._+-/b")):
        draft = other()
        draft.header["roots"][0]["token"] = value
        cases.accept(f"token-{name}", draft)
    draft = two_roots()
    draft.header["roots"][1]["token"] = draft.header["roots"][0]["token"]
    cases.refuse_all("token-twice", draft, word, )
    # Text alone: with two roots of one name the tar would have one path twice.
    cases.refuse_all("root-name-twice", edited(
        lambda v: v[0]["roots"][1].update(name="one"), two_roots()), word)
    cases.refuse_all("roots-none", edited(
        lambda v: v[0].update(roots=[])), word)
    many = [{"name": f"r{i}", "format": "other", "token": f"/opt/kbundle/r{i}"}
            for i in range(65)]
    for n in (64, 65):
        draft = ref.Draft(many[:n])
        draft.add("e", {"f": b"x"}, format="other", name="n")
        if n == 64:
            cases.accept("roots-64", draft, unpack="-")
        else:
            cases.refuse_all("roots-65", draft, word)
    cases.refuse_all("root-index-beyond", edited(
        lambda v: v[3].update(root=1)), word)
    for what in ("format", "kind"):
        for name, value in (("empty", ""), ("upper", "A"), ("digit", "1a"),
                            ("33", "a" * 33), ("dot", "a.b"),
                            ("underscore", "a_b")):
            draft = other()
            draft.entries[0][what] = value
            cases.refuse_all(f"{what}-{name}", draft, f"{what}|{WORD}")
        draft = other()
        draft.entries[0][what] = "a" + "-" * 31
        cases.accept(f"{what}-32", draft)
    draft = other()
    draft.header["roots"][0]["format"] = "A"
    cases.refuse_all("root-format-upper", draft, word)
    for name, value in (
        ("empty", ""), ("slash", "a/b"), ("dot-dot", ".."), ("tab", "a\tb"),
        ("backslash", "a\\b"), ("256", "a" * 256), ("temporary", "tmp.a"),
    ):
        cases.refuse_all(f"name-{name}", other(name=value), "name|" + WORD)
    for name, value in (
        ("empty", ""), ("no-colon", "cuda"), ("no-arch", "cuda:"),
        ("no-backend", ":sm_90"), ("upper", "CUDA:sm_90"),
        ("sm-1", "cuda:sm_9"), ("sm-4", "cuda:sm_1000"),
        ("sm-suffix", "cuda:sm_90b"), ("sm-two", "cuda:sm_90af"),
        ("sm-none", "cuda:90"), ("sm-space", "cuda:sm_90 "),
        ("gfx-none", "hip:gfx"), ("gfx-upper", "hip:gfx90A"),
        ("gfx-letter", "hip:gfx90g"), ("hip-sm", "hip:sm_90"),
        ("order", "hip:gfx90a:xnack+:sramecc+"),
        ("sign", "hip:gfx90a:xnack"), ("twice", "hip:gfx90a:xnack+:xnack+"),
        ("unknown", "hip:gfx90a:tgsplit+"), ("other-suffix", "xpu:bmg:a"),
        ("other-dash-first", "xpu:-a"), ("96", "xpu:" + "a" * 92),
        ("control", "xpu:a\x01"),
    ):
        cases.refuse_all(f"target-{name}", other(target=value),
                         "target|" + WORD)
    for name, value in (
        ("sm-75", "cuda:sm_75"), ("sm-100a", "cuda:sm_100a"),
        ("sm-120f", "cuda:sm_120f"), ("gfx", "hip:gfx942"),
        ("gfx-both", "hip:gfx90a:sramecc+:xnack-"),
        ("gfx-xnack", "hip:gfx90a:xnack+"), ("xpu", "xpu:bmg-g21"),
        ("95", "xpu:" + "a" * 91),
    ):
        cases.accept(f"target-{name}", other(target=value))
    for name, value in (
        ("upper", "AB" * 32), ("empty", ""), ("63", "a" * 63),
        ("65", "a" * 65), ("prefixed", "sha256:" + "a" * 57),
        ("not-hex", "g" * 64), ("spaces", " " * 64),
    ):
        cases.refuse_all(f"sha256-{name}", edited(
            lambda v, x=value: v[2]["files"][0].update(sha256=x)),
            "sha256|hash|" + WORD)
    for name, value in (
        ("no-fraction", "1"), ("short", "1.5"), ("8", "1.00000000"),
        ("10", "1.0000000000"), ("leading-zero", "01.000000000"),
        ("double-zero", "00.000000000"), ("negative", "-1.000000000"),
        ("plus", "+1.000000000"), ("too-late", "8589934592.000000000"),
        ("far-too-late", "99999999999999999999.000000000"),
        ("empty", ""), ("comma", "1,000000000"), ("dot-first", ".000000000"),
        ("exponent", "1e0.000000000"), ("space", "1.000000000 "),
    ):
        draft = other()
        draft.hooks["manifest"] = lambda d, x=value: d.replace(
            b'"}],"facts"', b'","mtime":"' + x.encode() + b'"}],"facts"')
        cases.refuse_all(f"mtime-{name}", draft, "mtime|" + WORD)
    for name, value in (("zero", "0.000000000"), ("nano", "1.000000001"),
                        ("now", "1767323045.999999999")):
        cases.accept(f"mtime-{name}", other(
            files={"f": (b"x", {"mtime": value})}))
    cases.accept("mtime-most", other(files={"f": (
        b"x", {"mtime": "8589934591.999999999"})}), unpack="-")
    # A long path and an mtime: both records in one block.
    cases.accept("mtime-and-long-path", other("d" * 250, files={
        "f": (b"x", {"mtime": "1.000000001"})}))


def _renamed(value):
    """base() with another root name, in manifest and tar."""
    draft = base()
    old = draft.header["roots"][0]["name"]
    draft.header["roots"][0]["name"] = value
    draft.contents = {value + path[len(old):]: data
                      for path, data in draft.contents.items()}
    return draft


def facts(cases):
    def with_facts(change=None):
        def edit(values):
            made = json.loads(json.dumps(WITH_FACTS))
            if change:
                change(made)
            entry_of(values)["facts"] = made
        return edited(edit)

    def put(member, value, where=lambda f: f):
        return lambda f: where(f).update({member: value})

    def binary(f):
        return f["binaries"][0]

    def kernel(f):
        return f["binaries"][0]["kernels"][0]

    word = "facts|" + WORD
    for name, change in {
        "warps-zero": put("warps", 0),
        "warp-size-zero": put("warp_size", 0),
        "shared-string": put("shared", "0"),
        "whole-false": put("whole", Raw("false")),
        "whole-number": put("whole", 1),
        "producer-number": put("producer", 1),
        "symbol-null": put("symbol", Raw("null")),
        "symbol-long": put("symbol", "x" * 16385),
        "binaries-none": put("binaries", []),
        "binaries-object": put("binaries", {}),
        "binary-kind": put("kind", "An exe", binary),
        "binary-abi-zero": put("abi", 0, binary),
        "binary-target": put("target", "cuda:90", binary),
        "binary-debug-false": put("debug", Raw("false"), binary),
        "binary-unknown": put("zone", "x", binary),
        "kernel-registers-zero": put("registers", 0, kernel),
        "kernel-shared-zero": put("shared", 0, kernel),
        "kernel-unknown": put("zone", "x", kernel),
        "kernel-x-number": put("x-a", 1, kernel),
        "array": lambda f: f.clear() or f.update({"warps": [4]}),
    }.items():
        cases.refuse_all(f"facts-{name}", with_facts(change), word)


# ---- rewrites -------------------------------------------------------------


def json_file(text, rewrites, name="a.json", **more):
    """other entry with one JSON file, token /opt/kbundle/other (18 bytes)."""
    return other(files={name: (text, {"rewrites": rewrites})}, **more)


def rewrites(cases):
    word = "rewrite|token|codec|" + WORD
    token = b"/opt/kbundle/other"
    n = len(token)
    text = b'["' + token + b'/x", "' + token + b'/y"]'
    one, two = text.index(token), text.rindex(token)
    good = [[one, n, 0, "json"], [two, n, 0, "json"]]
    cases.accept("rewrite-two", json_file(text, good))
    cases.accept("rewrite-whole-file", json_file(token, [[0, n, 0, "json"]]))
    cases.accept("rewrite-adjacent", json_file(
        token * 2, [[0, n, 0, "json"], [n, n, 0, "json"]]))
    cases.accept("rewrite-token-not-rewritten", json_file(text, good[:1]))
    for name, value in {
        "none": [],
        "descending": good[::-1],
        "twice": [good[0], good[0]],
        "overlapping": [good[0], [one + n - 1, n, 0, "json"]],
        "beyond": [[len(text) - n + 1, n, 0, "json"]],
        "far-beyond": [[2**53 - 1, n, 0, "json"]],
        "shorter": [[one, n - 1, 0, "json"]],
        "longer": [[one, n + 1, 0, "json"]],
        "empty": [[one, 0, 0, "json"]],
        "root-beyond": [[one, n, 1, "json"]],
        "root-huge": [[one, n, 2**32, "json"]],
        "three-values": [[one, n, 0]],
        "five-values": [[one, n, 0, "json", 0]],
        "flat": [one, n, 0, "json"],
        "strings": [[str(one), str(n), "0", "json"]],
        "object": [{"offset": one}],
        "codec-unknown": [[one, n, 0, "python"]],
        "codec-empty": [[one, n, 0, ""]],
        "codec-upper": [[one, n, 0, "JSON"]],
        "codec-number": [[one, n, 0, 1]],
    }.items():
        draft = json_file(text, good)
        draft.entries[0]["files"][0]["rewrites"] = value
        cases.refuse_all(f"rewrite-{name}", draft, word)
    for name, offset in (("not-token", one + 1), ("not-token-first", 0)):
        cases.refuse(f"rewrite-{name}", json_file(
            text, [[offset, n, 0, "json"]]), word)
    cases.refuse("rewrite-not-token-one-byte", json_file(
        text[:one] + b"/Opt" + text[one + 4:], good), word)
    draft = json_file(text, [[one, n, 0, "python"]],
                      requires=["codec-python"])
    draft.add("z", {"f": b"x"}, format="other", name="n")
    cases.part("rewrite-codec-in-requires", draft, "codec-python")
    cases.refuse_all("rewrite-codec-other-in-requires", json_file(
        text, [[one, n, 0, "python"]], requires=["codec-perl"]), word)
    for name in ("a.bin", "a.json.x", "json", "a.JSON"):
        cases.refuse_all(f"rewrite-in-{name}", json_file(
            text, good, name=name), word)

    cases.refuse_all("rewrite-in-entry-that-is-a-file", other("a.json", files={
        "": (text, {"rewrites": good})}), word)
    cases.accept("rewrite-in-a-folder", json_file(text, good, name="b/a.json"))

    def moved_to(suffix):
        draft = base()
        entry = next(e for e in draft.entries if has_rewrites(e))
        group = next(f for f in entry["files"] if "rewrites" in f)
        target = next(f for f in entry["files"]
                      if f["name"].endswith(suffix) and f is not group)
        path = f"triton/{entry['path']}/{target['name']}"
        data = TOKEN.encode() + draft.contents[path]
        draft.contents[path] = data
        target.update(ref.make_file(
            target["name"], data, [[0, len(TOKEN), 0, "json"]]))
        return draft

    cases.refuse_all("rewrite-in-triton-binary", moved_to(".cubin"), word)
    cases.refuse_all("rewrite-in-triton-metadata", moved_to(".json"), word)
    cases.refuse_all("rewrite-in-triton-ir", moved_to(".ttir"), word)
    deep = triton_draft()
    text = b'["' + TOKEN.encode() + b'"]'
    deep.add(AUTOTUNE_KEY, {"f.autotune.json": (
        text, {"rewrites": [[2, len(TOKEN), 0, "json"]]})}, name="f",
        kind="autotune")
    cases.refuse_all("rewrite-in-triton-autotune", deep, word)
    for name, path in (("folder", "__grp__a/b.json"),
                       ("file-in-folder", "a/__grp__b.json")):
        deep = triton_draft()
        deep.add(AUTOTUNE_KEY, {path: (
            text, {"rewrites": [[2, len(TOKEN), 0, "json"]]})}, name="b")
        cases.refuse_all(f"rewrite-in-triton-group-{name}", deep, word)

    triton_groups(cases)


def triton_groups(cases):
    """Sound as bundles, but one entry is not what Triton takes it for: that
    one is left out and named."""
    def with_file(suffix, change):
        draft = base()
        entry = next(e for e in draft.entries if has_rewrites(e))
        file = next(f for f in entry["files"]
                    if f["name"] == entry["name"] + suffix
                    or f["name"] == suffix + entry["name"] + ".json")
        path = f"triton/{entry['path']}/{file['name']}"
        data, rewrites_ = change(draft.contents[path],
                                 file.get("rewrites", []))
        draft.contents[path] = data
        made = ref.make_file(file["name"], data, rewrites_)
        file.clear()
        file.update(made)
        return draft, entry["path"]

    def bad(name, suffix, change):
        draft, key = with_file(suffix, change)
        cases.damaged(f"triton-{name}", draft, key)

    group = "__grp__"
    bad("child-not-rewritten", group, lambda d, r: (d, []))
    bad("one-child-not-rewritten", group, lambda d, r: (d, r[1:]))
    bad("child-outside", group, lambda d, r: (
        d.replace(TOKEN.encode(), b"/tmp/aaaaaaaaaaaaaa"), []))
    bad("group-cut", group, lambda d, r: (d[:-2], r))
    bad("group-empty", group, lambda d, r: (b"", []))
    bad("metadata-cut", ".json", lambda d, r: (d[:-2], r))
    bad("binary-cut", ".cubin", lambda d, r: (d[:100], r))
    bad("binary-empty", ".cubin", lambda d, r: (b"", r))
    bad("binary-other-target", ".cubin", lambda d, r: (
        d[:48] + bytes([d[48] ^ 1]) + d[49:], r))


# ---- limits ---------------------------------------------------------------


def limits(cases):
    header = json.loads(base().manifest().splitlines()[0])
    size = len(base().manifest())
    largest = max(f["size"] for e in base().entries for f in e["files"])
    for name, most in (("entries", header["entries"]),
                       ("files", header["files"]),
                       ("total", header["bytes"]), ("file", largest),
                       ("manifest", size)):
        cases.refuse(f"limit-{name}-under", base(), "limit",
                     options=f"--limit-{name}={most - 1}")
        # unpack counts expanded bytes, which depend on where it unpacks.
        cases.accept(f"limit-{name}-exact", base(),
                     unpack="-" if name in ("total", "file") else "0",
                     options=f"--limit-{name}={most}")

    def huge(size, copies=1):
        """Entries with files that are not there."""
        draft = other()
        made = draft.entries[0]["files"][0]
        draft.entries[0]["files"] = [
            dict(made, name=f"f{i:03}", size=size) for i in range(copies)]
        draft.hooks["members"] = lambda m: [b"\0" * 512]
        draft.contents = {f"other/entry/f{i:03}": b""
                          for i in range(copies)}
        return draft

    word = "limit|size|" + WORD
    cases.refuse_all("limit-file-8-GiB", huge(2**33), word)
    cases.refuse_all("limit-file-2-to-the-53-less-1", huge(2**53 - 1), word)
    cases.refuse_all("limit-file-2-to-the-60", huge(2**60), word)
    cases.refuse_all("limit-file-2-to-the-64", huge(2**64), word)
    cases.refuse_all("limit-total-1-TiB", huge(2**33 - 1, 200), word)
    cases.refuse_all("limit-total-header-lies", edited(
        lambda v: v[0].update(bytes=1), huge(2**33 - 1, 200)), word)
    cases.refuse("size-without-payload", huge(2**33 - 1), "tar|payload|"
                 + WORD)
    for member, most in (("entries", 1_000_001), ("files", 16_000_001),
                         ("bytes", 2**40 + 1)):
        cases.refuse_all(f"limit-header-{member}", edited(
            lambda v, m=member, n=most: v[0].update({m: n})),
            f"limit|{member}")
    cases.refuse_all("limit-text", edited(
        lambda v: entry_of(v)["facts"].update(version="v" * 16385)), WORD)
    cases.refuse_all("limit-line", edited(lambda v: entry_of(v).update(
        {f"x-{i:04}": "x" * 16000 for i in range(140)})), "line|limit|2")
    cases.accept("limit-line-below", edited(lambda v: entry_of(v).update(
        {f"x-{i:04}": "x" * 16000 for i in range(120)})))
    cases.refuse_all("limit-header-line", edited(lambda v: v[0].update(
        {f"x-{i:04}": "x" * 16000 for i in range(140)})), "line|limit|2")
    files = {f"f{i:05}": b"" for i in range(4097)}
    cases.refuse_all("limit-files-of-an-entry", other(files=files),
                     "files|limit|4096")
    files.popitem()
    cases.accept("limit-files-of-an-entry-below", other(files=files))
    for n in (65536, 65537):
        draft = ref.Draft([{"name": "other", "format": "other",
                            "token": "/opt/abc"}])
        rows = [[8 * i, 8, 0, "json"] for i in range(n)]
        draft.add("entry", {"a.json": (
            b"/opt/abc" * n, {"rewrites": rows})}, format="other", name="n")
        if n == 65536:
            cases.accept("limit-rewrites-below", draft)
        else:
            cases.refuse_all("limit-rewrites", draft, "rewrite|limit")
