#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one bundle per rule of docs/format.md that breaks just that rule.

    hostile.py make DIR       the bundles, and DIR/cases.tsv
    hostile.py check DIR      what the second reader (bundle_ref.py) says
    hostile.py sweep BIN      every prefix, and every byte changed, of a tiny
                              bundle, given to BIN verify

A row of cases.tsv: file, exit code of verify, of list and of unpack, a regular
expression for stderr ("-": none), options. An exit code of "-" means that the
verb is not run, "0|3" that both are right: list need not read the payload.
hostile_frames.py and hostile_manifest.py hold the rules; this file holds what
they share. Some cases are sound: they are what a reader must not refuse.
"""

import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import bundle_ref as ref  # noqa: E402

TOKEN = "/opt/kbundle/triton"
AUTOTUNE_KEY = "5b" * 32
AUTOTUNE = b'{"key": [1], "configs_timings": [[{"num_warps": 4}, Infinity]]}'


class Case:
    def __init__(self, name, data, word, verify, list_, unpack, options):
        self.name, self.data, self.word = name, data, word
        self.verify, self.list, self.unpack = verify, list_, unpack
        self.options = options


class Cases:
    def __init__(self):
        self.all, self.names = [], set()

    def add(self, name, data, word, verify, list_, unpack, options=""):
        assert name not in self.names, name
        self.names.add(name)
        if isinstance(data, ref.Draft):
            data = data.write()
        self.all.append(
            Case(name, data, word, verify, list_, unpack, options))

    def refuse(self, name, data, word, **more):
        """Refused; list may not have looked at what is wrong."""
        self.add(name, data, word, "3", "0|3", "3", **more)

    def refuse_all(self, name, data, word, **more):
        """Refused by list too."""
        self.add(name, data, word, "3", "3", "3", **more)

    def part(self, name, data, word, **more):
        """One entry is left out and named."""
        self.add(name, data, word, "5", "0|5", "5", **more)

    def damaged(self, name, data, word):
        """Sound, but one entry is broken; the second reader does not look."""
        self.add(name, data, word, "5", "0", "5")

    def accept(self, name, data, unpack="0", **more):
        self.add(name, data, "-", "0", "0", unpack, **more)


# ---- bundles to start from ------------------------------------------------


def cache_folders():
    """Folders that hold Triton caches, the project's own first."""
    source = os.path.join(HERE, "..", "..")
    shared = os.environ.get("KBUNDLE_FIXTURES",
                            os.path.join(source, "..", "shared", "fixtures"))
    for top in (os.path.join(source, "tests", "fixtures"), shared):
        for folder, names, _ in sorted(os.walk(top)):
            if any(ref.TRITON_KEY.match(name) for name in names):
                yield folder


def triton_draft():
    return ref.Draft(
        [{"name": "triton", "format": "triton", "token": TOKEN}])


def has_rewrites(entry):
    return any("rewrites" in file for file in entry["files"])


def find_kernels():
    """Two small real kernels, at least one with paths in its group."""
    for folder in cache_folders():
        draft = ref.triton_entries(triton_draft(), folder)
        # Not sm_90 and later: their binaries may have a suffix.
        kernels = sorted(
            (e for e in draft.entries
             if re.match(r"cuda:sm_[78].$", e.get("target", ""))),
            key=size_of)
        with_paths = [e for e in kernels if has_rewrites(e)]
        if len(kernels) >= 2 and with_paths:
            others = [e for e in kernels if e is not with_paths[0]]
            draft.entries = [with_paths[0], others[0]]
            return draft
    sys.exit("hostile.py: no Triton cache with two kernels in tests/fixtures "
             "or KBUNDLE_FIXTURES")


def size_of(entry):
    return sum(file["size"] for file in entry["files"])


def tiny():
    """One autotune entry: the smallest bundle that is worth unpacking."""
    draft = triton_draft()
    draft.add(AUTOTUNE_KEY, {"f.autotune.json": AUTOTUNE}, name="f",
              kind="autotune")
    return draft


_base = None


def base():
    """An autotune entry and two kernels: a frame each, and those of the
    manifest and the end."""
    global _base
    if _base is None:
        _base = find_kernels()
        _base.add(AUTOTUNE_KEY, {"f.autotune.json": AUTOTUNE}, name="f",
                  kind="autotune")
        _base.sort()
        spans = _base.spans(_base.members())
        _base.borders = [offset + length for _, offset, length in spans]
    return _base.copy()


def other(path="entry", files=None, **options):
    """One entry of a format that no reader knows: general rules only."""
    draft = ref.Draft([{"name": "other", "format": "other",
                        "token": "/opt/kbundle/other"}])
    options.setdefault("name", "n")
    draft.add(path, {"f": b"data"} if files is None else files,
              format="other", **options)
    return draft


# ---- the verbs of this program --------------------------------------------


def all_cases():
    import hostile_frames
    import hostile_manifest

    cases = Cases()
    hostile_frames.add(cases)
    hostile_manifest.add(cases)
    return cases.all


def make(directory):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "cases.tsv"), "w") as table:
        for case in all_cases():
            with open(os.path.join(directory, case.name), "wb") as out:
                out.write(case.data)
            table.write("\t".join(
                (case.name, case.verify, case.list, case.unpack, case.word,
                 case.options or "-")) + "\n")


def limits_of(options):
    """--limit-x=N as limits of the second reader."""
    return {name: int(value) for name, value in
            re.findall(r"--limit-([a-z]+)=([0-9]+)", options)}


def check(directory):
    """The second reader must agree with every row."""
    wrong = 0
    with open(os.path.join(directory, "cases.tsv")) as table:
        rows = [line.rstrip("\n").split("\t") for line in table]
    for name, verify, _, _, word, options in rows:
        with open(os.path.join(directory, name), "rb") as stream:
            data = stream.read()
        text = ""
        try:
            bundle = ref.read(data, limits_of(options))
            code = "5" if bundle.left_out else "0"
            for entry in bundle.left_out:
                text = f"requires {entry['requires']}"
        except ref.Refused as error:
            code, text = "3", str(error)
        # Inside entries only a format looks.
        damaged = verify == "5" and not name.startswith(("entry-", "rewrite-"))
        if code != ("0" if damaged else verify):
            print(f"{name}: {code}, not {verify}: {text}")
            wrong += 1
    print(f"second reader: {len(rows)} cases, {wrong} wrong")
    return 1 if wrong else 0


def run(program, data, stdin=False):
    """Exit code and stderr of verify."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with open(file.name, "rb") as stream:
            done = subprocess.run(
                [program, "verify", "-" if stdin else file.name],
                stdin=stream, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, timeout=60, check=False)
    return done.returncode, done.stderr.decode(errors="replace")


def sweep(program):
    good = tiny().write()
    tries = wrong = 0

    def expect(what, data, stdin):
        nonlocal tries, wrong
        tries += 1
        code, text = run(program, data, stdin)
        try:
            ref.read(data)
            right = code == 0
        except ref.Refused:
            right = code == 3 and text.count("\n") == 1
        if not right:
            wrong += 1
            print(f"{what}: exit {code}: {text.strip()}")

    for n in range(len(good) + 1):
        expect(f"prefix of {n} bytes", good[:n], n % 2 == 1)
    for n in range(len(good)):
        changed = bytearray(good)
        changed[n] ^= 1 << n % 8
        expect(f"byte {n} changed", bytes(changed), n % 2 == 0)
    print(f"sweep: {tries} bundles, {wrong} wrong")
    return 1 if wrong else 0


def main(arguments):
    verbs = {"make": make, "check": check, "sweep": sweep}
    if len(arguments) != 2 or arguments[0] not in verbs:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return verbs[arguments[0]](arguments[1]) or 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
