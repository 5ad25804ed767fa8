#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is src/base/json.c of one mind with Python's json module?

    prop_json_python.py DRIVER [--seed N] [--cases N]

Makes random documents, sound and broken, and asks both: is it JSON, which
bytes is each string as a file name, which numbers are integers; and for random
bytes, how Python would write them. DRIVER is json_driver. Exit 0: agreed on
all, 1: not, with the seed and the cases.
"""
import argparse
import json
import random
import re
import struct
import subprocess
import sys
import time

DEPTH_MAX = 128  # KB_JSON_DEPTH_MAX
EXACT_MAX = 2**53 - 1

PIECES = [  # of the inside of strings, whole and broken
    b"a", b" ", b"/", b"\x7f", b"\\/", b'\\"', b"\\\\", b"\\b", b"\\f", b"\\n",
    b"\\r", b"\\t", b"\\u0041", b"\\u00e9", b"\\u20AC", b"\\u007f", b"\\u0001",
    b"\\ud83d\\ude00", b"\\uD83D\\uDE00", b"\\ud83d", b"\\ude00", b"\\udc80",
    b"\\udcff", b"\\udc7f", b"\\udd00", b"\\ud800\\udc00", b"\\udbff\\udfff",
    b"\\ud83d\\n", b"\\ud83d\\u0041", b"\\ud83d\\udc80", b"\\udcc3\\udca9",
    b"\\u0000", b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80",
    b"\xef\xbf\xbf", b"\xef\xbb\xbf", b"\xf4\x8f\xbf\xbf", b"\xc2\x80",
]
BROKEN_PIECES = [
    b"\\", b"\\x", b"\\'", b"\\U0041", b"\\u", b"\\u12", b"\\u123g", b"\\u+123",
    b"\\u 123", b"\\u-123", b"\\u0x1", b"\\u1_23", b"\\ud83d\\u", b"\\ud83d\\",
    b"\\ud83d\\u12", b"\\ud83d\\ude0g", b"\t", b"\n", b"\r", b"\x00", b"\x1f",
    b"\x80", b"\xff", b"\xc0\x80", b"\xc3", b"\xed\xa0\x80", b"\xed\xb2\x80",
    b"\xe0\x9f\xbf", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80", b'"', b"\\u\xd9\xa1\xd9\xa1\xd9\xa1\xd9\xa1",
]
NUMBERS = [
    b"0", b"-0", b"1", b"-1", b"90", b"9007199254740991", b"9007199254740992",
    b"-9007199254740991", b"-9007199254740992", b"18446744073709551616",
    b"9223372036854775808", b"0.5", b"-0.0", b"1e5", b"1E+5", b"1e-5", b"0e0",
    b"1.5e300", b"1E400", b"-1E400", b"1.0", b"1e0", b"NaN", b"Infinity",
    b"-Infinity", b"9" * 4300, b"-" + b"9" * 4300, b"9" * 4301 + b".0",
    b"9" * 5000 + b"e1",
]
BROKEN_NUMBERS = [
    b"01", b"-01", b"00", b"-", b"--1", b"+1", b".5", b"-.5", b"1.", b"1.e5",
    b"1e", b"1e+", b"1E-", b"1.5e", b"1.5.5", b"0x10", b"1_0", b"1,5", b"-NaN",
    b"+Infinity", b"Inf", b"-Inf", b"-Infinit", b"nan", b"infinity",
    b"- 1", b"1 1", b"\xd9\xa1", b"1\xd9\xa1", b"9" * 4301,
    b"-" + b"9" * 4301,
]
WORDS = [b"true", b"false", b"null"]
BROKEN_WORDS = [
    b"True", b"tru", b"truex", b"nulll", b"None", b"undefined", b"'a'", b"a",
    b"{a:1}", b"//", b"/**/", b"#", b"\xc3\xa9", b"\xef\xbb\xbf", b"\x00",
]
SPACES = [b""] * 12 + [b" ", b"\n", b"\t", b"\r", b"\r\n  "]
BROKEN_SPACES = [
    b"\v", b"\f", b"\x00", b"\x1f", b"\xc2\xa0", b"\xe2\x80\xa8", b"\xef\xbb\xbf"
]
STRUCTURES = [
    b"{}", b"[]", b"[[],{}]", b'{"a":1,"a":2}', b'{"a":{"a":[]}}',
    b'{"a":1,}', b"{,}", b'{"a"}', b'{"a":}', b'{"a" 1}', b'{"a",1}', b"{1:1}",
    b'{"a":1 "b":2}', b'{"a":1,,"b":2}', b'{"a"::1}', b'{"a":1:2}', b"{[]}",
    b'{"a":1]', b"{]", b"[1,]", b"[,]", b"[,1]", b"[1,,2]", b"[1 2]", b"[1:2]",
    b"[1}", b"[}", b"[]]", b"{}}", b"[][]", b"[],", b",", b":", b"", b" ",
]
SOUP = (
    [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b'"a"', b'"a":', b" "] * 4
    + WORDS + PIECES + BROKEN_PIECES + BROKEN_WORDS + BROKEN_SPACES
    + [n for n in NUMBERS + BROKEN_NUMBERS if len(n) < 100]
)


class Maker:
    """Random documents. With fault > 0 now and then a part is broken."""

    def __init__(self, rng, fault=0.0):
        self.rng = rng
        self.fault = fault

    def one_of(self, good, broken):
        bad = self.fault > 0 and self.rng.random() < self.fault
        return self.rng.choice(broken if bad else good)

    def space(self):
        return self.one_of(SPACES, BROKEN_SPACES)

    def string(self):
        n = self.rng.choice([0, 1, 2, 3, 5, 9])
        inside = b"".join(self.one_of(PIECES, BROKEN_PIECES) for _ in range(n))
        return b'"' + inside + b'"'

    def scalar(self):
        kind = self.rng.random()
        if kind < 0.5:
            return self.string()
        if kind < 0.8:
            if self.rng.random() < 0.9:
                text = b"%d" % self.rng.randint(-1000, 1000)
                return text + self.one_of([b""] * 9 + [b".25", b"e3"], [b"."])
            return self.one_of(NUMBERS, BROKEN_NUMBERS)
        return self.one_of(WORDS, BROKEN_WORDS)

    def value(self, depth):
        kind = self.rng.random()
        if depth <= 0 or kind < 0.4:
            return self.scalar()
        n = self.rng.choice([0, 0, 1, 2, 3, 4])
        if kind < 0.7:
            items = [self.spaced(self.value(depth - 1)) for _ in range(n)]
            opened, closed = self.one_of([b"[]"], [b"[}", b"[", b"]]"]), b""
        else:
            items = []
            for _ in range(n):
                key = self.one_of([b'"k"', self.string()], BROKEN_WORDS)
                colon = self.one_of([b":"], [b"", b",", b"::"])
                items.append(self.spaced(key) + colon
                             + self.spaced(self.value(depth - 1)))
            opened, closed = self.one_of([b"{}"], [b"{]", b"{", b"{}}"]), b""
        opened, closed = opened[:1], opened[1:]
        comma = self.one_of([b","], [b"", b",,", b":"])
        tail = self.one_of([b""], [b","])
        return opened + (comma.join(items) or self.space()) + tail + closed

    def spaced(self, text):
        return self.space() + text + self.space()

    def document(self):
        tail = self.one_of([b""], [b" x", b"1", b",", b"]", b"\x00"])
        return self.spaced(self.value(self.rng.randint(0, 5))) + tail


def mutated(rng, text):
    """A few bytes of text changed, lost, doubled, or put in."""
    data = bytearray(text)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randint(0, len(data))
        end = min(len(data), at + rng.choice([0, 0, 1, 1, 2, 6]))
        what = rng.random()
        if what < 0.3:
            data[at:end] = rng.choice(SOUP)
        elif what < 0.6:
            data[at:end] = bytes([rng.randrange(256)])
        elif what < 0.8:
            del data[at:end]
        else:
            data[at:at] = data[at:end]
    return bytes(data)


def nested(rng, depth, is_whole):
    kinds = [rng.choice([(b"[", b"]"), (b'{"a":', b"}")]) for _ in range(depth)]
    closing = [k[1] for k in reversed(kinds)]
    if not is_whole and closing:
        closing[rng.randrange(depth)] = rng.choice([b"", b"]", b"}", b","])
    return b"".join(k[0] for k in kinds) + b"1" + b"".join(closing)


def random_name(rng):
    parts = [b"/", b"cache", b" ", b'"', b"\\", b"\n", b"\x01", b"\x7f", b"~",
             b"\xc3\xa9", b"\xe2\x82\xac", b"\xf0\x9f\x98\x80", b"\xff",
             b"\x80", b"\xe2\x82", b"\xf0\x9f", b"\xed\xa0\x80", b"\xc0\xaf",
             b"\xf4\x90\x80\x80", b"\xc2\x9f"]
    name = b"".join(rng.choice(parts) for _ in range(rng.randint(0, 12)))
    if rng.random() < 0.3:
        name += bytes(rng.randrange(256) for _ in range(rng.randint(0, 6)))
    return name


def documents(rng, cases):
    sound, faulty = Maker(rng), Maker(rng, 0.02)
    for _ in range(cases):
        kind = rng.random()
        if kind < 0.3:
            yield sound.document()
        elif kind < 0.5:
            yield faulty.document()
        elif kind < 0.8:
            yield mutated(rng, sound.document())
        elif kind < 0.9:
            yield b"".join(rng.choice(SOUP) for _ in range(rng.randint(0, 9)))
        elif kind < 0.95:
            name = random_name(rng).decode("utf-8", "surrogateescape")
            yield json.dumps(name).encode()
        else:
            yield nested(rng, rng.randint(DEPTH_MAX - 3, DEPTH_MAX + 3),
                         rng.random() < 0.7)
    for part in (PIECES + BROKEN_PIECES):
        for after in (b"", b"x", b"\\", b"\\u12", b"\\udc00"):
            yield b'["' + part + after + b'"]'
            yield b'"' + part + after
    yield from STRUCTURES
    for part in NUMBERS + BROKEN_NUMBERS + WORDS + BROKEN_WORDS:
        yield from (part, b"[" + part + b"]", b" " + part + b" ", part + b"\x00")
    for byte in range(256):
        one = bytes([byte])
        yield from (one, b'"' + one + b'"', b'"\\' + one + b'"',
                    one + b"1", b"1" + one, b"[1" + one + b"2]",
                    b'{"a"' + one + b"1}", b'"\\u004' + one + b'"')
    for _ in range(6):
        text = sound.document()[:300]
        yield from (text[:n] for n in range(len(text) + 1))


class Members(list):
    """An object as its (key, value) pairs: order and duplicates stay."""


def python_reads(text):
    """Whether json.loads() takes it, and what it makes of it."""
    try:
        return True, json.loads(text.decode("utf-8"), object_pairs_hook=Members)
    except ValueError:
        return False, None


def fs_bytes(text):
    """As os.fsencode() where the file system's encoding is UTF-8; None where no
    file name can be that."""
    try:
        name = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None
    return None if b"\0" in name else name


def leaves(value):
    """Strings and numbers in the order of the document, keys included."""
    if isinstance(value, Members):
        for key, member in value:
            yield key
            yield from leaves(member)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield value


def depth_of(text):
    """How deep brackets outside of strings nest."""
    outside = re.sub(rb'"(?:[^"\\]|\\.)*("|$)', b"", text, flags=re.S)
    depth = deepest = 0
    for byte in outside:
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def canonical(name):
    """docs/format.md, section 3."""
    text = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    text = re.sub(rb"[\x01-\x1f]", lambda m: b"\\u%04x" % m.group()[0], text)
    return b'"' + text + b'"'


class Answers:
    def __init__(self, data):
        self.data = data
        self.pos = 0

    def take(self, n):
        part = self.data[self.pos:self.pos + n]
        if len(part) != n:
            raise SystemExit("the driver's answer is cut short")
        self.pos += n
        return part

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def document(self):
        """Verdict, and the leaves as ('S', bytes, offsets), ('R',), ('N', text)."""
        verdict, found = self.take(1), []
        while verdict == b"V":
            kind = self.take(1)
            if kind == b"E":
                break
            if kind == b"S":
                name = self.take(self.u32())
                offsets = [self.u32() for _ in range(len(name) + 1)]
                found.append(("S", name, offsets))
            elif kind == b"R":
                found.append(("R",))
            else:
                found.append(("N", self.take(self.u32()).decode()))
        return verdict.decode(), found


def offsets_fault(text, name, offsets):
    """From each offset to the closing quote stands the rest of the name."""
    end = offsets[-1]
    if text[end:end + 1] != b'"' or offsets != sorted(offsets):
        return f"offsets {offsets}"
    for i, at in enumerate(offsets[:-1]):
        if i > 0 and at == offsets[i - 1]:
            continue
        rest = json.loads((b'"' + text[at:end] + b'"').decode("utf-8"))
        if fs_bytes(rest) != name[i:]:
            return f"offset {at} of byte {i} of {name!r}"
    return None


def leaf_fault(text, wanted, got):
    if isinstance(wanted, str):
        name = fs_bytes(wanted)
        if name is None:
            return None if got == ("R",) else f"{got} for {wanted!r}"
        if got[:2] != ("S", name):
            return f"{got} for {name!r}"
        return offsets_fault(text, name, got[2])
    is_exact = isinstance(wanted, int) and abs(wanted) <= EXACT_MAX
    exact = ("N", str(wanted) if is_exact else "")
    return None if got == exact else f"{got} for the number {wanted!r:.60}"


def document_fault(text, verdict, found):
    is_json, value = python_reads(text)
    if verdict == "L":
        return None if depth_of(text) > DEPTH_MAX else "not that deep"
    if (verdict == "V") != is_json:
        return f"Python says {'valid' if is_json else 'invalid'}, we {verdict}"
    if verdict == "I":
        return None
    if depth_of(text) > DEPTH_MAX:
        return "deeper than the limit, and read"
    wanted = list(leaves(value))
    if len(wanted) != len(found):
        return f"{len(found)} strings and numbers, Python has {len(wanted)}"
    for a, b in zip(wanted, found):
        fault = leaf_fault(text, a, b)
        if fault:
            return fault
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("driver")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--cases", type=int, default=6000)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    # Python's own default, which the environment may have changed.
    sys.set_int_max_str_digits(4300)

    texts = list(documents(rng, options.cases))
    names = [random_name(rng) for _ in range(options.cases // 3)]
    names += [bytes([byte]) for byte in range(256)]
    requests = [(b"J", t) for t in texts] + [(b"P", n) for n in names]
    requests += [(b"C", n) for n in names if b"\0" not in n]
    run = subprocess.run(
        [options.driver], check=False, stdout=subprocess.PIPE,
        input=b"".join(k + struct.pack("<I", len(t)) + t for k, t in requests))
    if run.returncode != 0:
        print(f"the driver ended with {run.returncode}")
        return 1

    answers = Answers(run.stdout)
    counts = dict.fromkeys("VILSRN", 0)
    faults = []
    for kind, text in requests:
        if kind == b"J":
            verdict, found = answers.document()
            for letter in [verdict] + [leaf[0] for leaf in found]:
                counts[letter] += 1
            fault = document_fault(text, verdict, found)
        else:
            wanted = canonical(text) if kind == b"C" else json.dumps(
                text.decode("utf-8", "surrogateescape"))[1:-1].encode()
            got = answers.take(answers.u32())
            fault = None if got == wanted else f"{got!r}, not {wanted!r}"
        if fault:
            faults.append((kind, text, fault))
    if answers.pos != len(run.stdout):
        faults.append((b"", b"", "the driver says more than it was asked"))

    print("documents: {V} valid, {I} invalid, {L} too deep; strings: {S} read, "
          "{R} refused; {N} numbers; ".format(**counts)
          + f"{len(requests) - len(texts)} strings written")
    for kind, text, fault in faults[:10]:
        print(f"{kind.decode()} {text!r:.600}: {fault}")
    if faults:
        print(f"{len(faults)} of {len(requests)} differ, seed {options.seed}")
        return 1
    if min(counts.values()) < options.cases // 200:
        print("the cases are too much of one kind to mean anything")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
