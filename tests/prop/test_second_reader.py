#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program and the second reader (tests/lib/bundle_ref.py) see one format.

1. Bundles that the program packs from real caches: the second reader finds
   them sound, under the same id, with frames cut as docs/format.md says; what
   the program unpacks is what the second reader expands.
2. Random sound bundles that the second writer makes (names, sizes, borders,
   x- members, mtimes, long paths, several roots, rewrites): Python's tarfile
   reads them, and the program verifies them under the same id and unpacks the
   same bytes.

    KBUNDLE_BIN=PROGRAM test_second_reader.py [--seed N] [--rounds N] [--self]

--self leaves the program out: the second writer against tarfile alone.
"""

import argparse
import io
import json
import os
import random
import string
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import bundle_ref as ref  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

KIB = 1024
LEVELS = (None, "-1", "-19")
FRAME_SIZES = (None, 65536, 300000, 8 * ref.MIB)
ROOT_PATHS = ("plain", "with space", 'quo"te', "back\\slash", "tab\there",
              "caf\u00e9-\U0001f600", os.fsdecode(b"not-utf8-\xff"))


# ---- the program ----------------------------------------------------------


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, *arguments, codes=(0,)):
        done = subprocess.run([self.path, *map(str, arguments)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=300, check=False)
        assert done.returncode in codes, (
            f"{' '.join(map(str, arguments))}: exit {done.returncode}: "
            f"{done.stderr.decode(errors='replace')}")
        return done.stdout

    def id(self, bundle, *options):
        return json.loads(self.run("verify", "--json", *options, bundle))["id"]


# ---- what both sides say --------------------------------------------------


def validators():
    if jsonschema is None:
        return None
    out = []
    for name in ("header", "entry"):
        path = os.path.join(SOURCE, "docs", "schema", name + ".schema.json")
        with open(path, encoding="utf-8") as stream:
            out.append(jsonschema.Draft202012Validator(json.load(stream)))
    return out


def check_schema(bundle, schemas):
    if schemas is None:
        return
    for i, line in enumerate(bundle.manifest.splitlines()):
        schemas[min(i, 1)].validate(json.loads(line))


def read_file(path):
    with open(path, "rb") as stream:
        return ref.read(stream.read())


def borders(bundle):
    """Ends of frames: in the manifest member, in the payload, of the end."""
    head = len(ref.member_header(ref.MANIFEST, len(bundle.manifest)))
    head += len(bundle.manifest) + (-len(bundle.manifest) % 512)
    ends, at = [], 0
    for frame in bundle.frames:
        at += frame.size
        ends.append(at)
    manifest = [end for end in ends if end <= head]
    payload = [end - head for end in ends if head < end <= at - 1024]
    return head, manifest, payload


def check_borders(bundle, frame_bytes):
    head, manifest, payload = borders(bundle)
    cap = min(2 * frame_bytes, ref.FRAME_MAX)
    expected = list(range(cap, head, cap)) + [head]
    assert manifest == expected, f"manifest cut at {manifest}"
    spans = list(bundle.spans())
    size = spans[-1][1] + spans[-1][2]
    expected = ref.cut_like_kbundle(spans, size, frame_bytes)
    assert payload == expected, f"payload cut at {payload}, not {expected}"


def tree(top):
    """Relative path -> (bytes, mtime in ns) of all files below a folder."""
    out = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as stream:
                out[os.path.relpath(path, top)] = (
                    stream.read(), os.stat(path).st_mtime_ns)
    return out


def check_unpacked(program, file, bundle, work, rng):
    """Unpacks with the program and compares with the second reader."""
    places = {}
    for root in bundle.header["roots"]:
        # No component may be used twice, so that roots do not nest.
        places[root["name"]] = os.path.join(
            work, "to-" + root["name"], rng.choice(ROOT_PATHS))
    program.run("unpack", "--host-code", "--sync=none", file,
                *(f"{name}={path}" for name, path in places.items()))
    paths = [os.fsencode(places[root["name"]])
             for root in bundle.header["roots"]]
    trees = {name: tree(path) for name, path in places.items()}
    count = 0
    for i, entry in enumerate(bundle.entries):
        root = bundle.header["roots"][entry["root"]]["name"]
        for j, record in enumerate(entry["files"]):
            path = ref.member_path("", entry, record["name"])[1:]
            data, mtime = trees[root].pop(path)
            assert data == bundle.expanded(i, j, paths), f"{root}/{path}"
            if "mtime" in record:
                assert mtime == int(record["mtime"].replace(".", "")), path
            count += 1
    for name, rest in trees.items():
        assert not rest, f"{name}: also unpacked {sorted(rest)}"
    return count


def check_with_tarfile(bundle):
    with tarfile.open(fileobj=io.BytesIO(bundle.tar)) as tar:
        infos = tar.getmembers()
        expected = [(ref.MANIFEST, bundle.manifest, None)]
        for i, entry in enumerate(bundle.entries):
            for j, file in enumerate(entry["files"]):
                expected.append((bundle.member(i, j), bundle.stored[i, j],
                                 file.get("mtime")))
        assert len(infos) == len(expected)
        for info, (path, data, mtime) in zip(infos, expected):
            assert info.name == path and info.isreg(), (info.name, path)
            assert tar.extractfile(info).read() == data, path
            assert (info.mode, info.uid, info.gid, info.uname) == (
                0o644, 0, 0, "")
            text = info.pax_headers.get("mtime")
            assert text == mtime, (path, text, mtime)
            assert mtime is not None or info.mtime == 0


# ---- 1. bundles of the program --------------------------------------------


def caches():
    """Triton caches: the project's own, then the fixtures."""
    shared = os.environ.get("KBUNDLE_FIXTURES",
                            os.path.join(SOURCE, "..", "shared", "fixtures"))
    for top in (os.path.join(SOURCE, "tests", "fixtures"), shared):
        if not os.path.isdir(top):
            print(f"second reader: {os.path.basename(top)}: skipped, missing")
            continue
        for name in sorted(os.listdir(top)):
            folder = os.path.join(top, name)
            if os.path.isdir(folder) and any(
                    ref.TRITON_KEY.match(key) for key in os.listdir(folder)):
                yield os.path.realpath(folder)


def packed(program, rng, schemas):
    found = list(caches())
    assert found, "no Triton cache to pack"
    rounds = [([folder], level, size) for folder in found
              for level, size in ((None, None), (rng.choice(LEVELS),
                                                 rng.choice(FRAME_SIZES)))]
    if len(found) > 1:
        several = rng.sample(found, min(3, len(found)))
        rounds += [(several, None, size) for size in FRAME_SIZES]
    for folders, level, size in rounds:
        with tempfile.TemporaryDirectory(prefix="kbundle-second-") as work:
            file = os.path.join(work, "bundle")
            options = ["-q", "--host-code", "-o", file]
            options += [level] if level else []
            options += [f"--frame-size={size}"] if size else []
            roots = folders if len(folders) == 1 else [
                f"r{i}={folder}" for i, folder in enumerate(folders)]
            # 5: a fixture may hold an entry that is damaged.
            program.run("pack", *options, *roots, codes=(0, 5))
            bundle = read_file(file)
            assert bundle.id == program.id(file)
            check_schema(bundle, schemas)
            check_borders(bundle, size or 4 * ref.MIB)
            check_with_tarfile(bundle)
            check_unpacked(program, file, bundle, work, rng)
    print(f"second reader: {len(rounds)} bundles of the program agree")


# ---- 2. bundles of the second writer --------------------------------------

LETTERS = (string.ascii_letters + string.digits + "._-+@ '\"$&;{}[]~#%*?<>|^=,"
           + "\u00e9\u00df\u0416\u4e2d\u0301\u200d\U0001f600\ufeff")


def component(rng, most=12):
    while True:
        length = rng.choice((1, 2, 3, rng.randint(1, most)))
        text = "".join(rng.choice(LETTERS) for _ in range(length))
        if ref.is_component(text):
            return text


def long_component(rng):
    text = component(rng, 60) * 255
    raw = text.encode()[:rng.randint(90, 255)]
    return raw.decode(errors="ignore")


def some_path(rng, most=4):
    parts = [component(rng) for _ in range(rng.randint(1, most))]
    if rng.random() < 0.25:
        parts[rng.randrange(len(parts))] = long_component(rng)
    return "/".join(parts)


def is_free(path, taken):
    """Is a path neither used, nor a prefix of one, nor below one?"""
    return not any(path == other or path.startswith(other + "/")
                   or other.startswith(path + "/") for other in taken)


def some_text(rng):
    letters = LETTERS + "\\/\n\t\x01\x1f\x7f\x80"
    return "".join(rng.choice(letters) for _ in range(rng.randint(0, 30)))


def x_members(rng):
    names = {"x-" + "".join(rng.choice(string.ascii_lowercase + "0-9")
                            for _ in range(rng.choice((1, 5, 62))))
             for _ in range(rng.choice((0, 0, 0, 1, 3)))}
    return {name: some_text(rng) for name in sorted(names)}


def some_bytes(rng):
    size = rng.choice((0, 1, 511, 512, 513, rng.randint(0, 3000),
                       rng.randint(0, 200 * KIB)))
    if rng.random() < 0.3:
        return rng.randbytes(1) * size
    return rng.randbytes(size)


def some_json(rng, roots):
    """A file of paths: some tokens that are rewritten, some that are not."""
    out, rewrites = b"[", []
    for _ in range(rng.randint(1, 20)):
        root = rng.randrange(len(roots))
        out += b', "'
        token = roots[root]["token"].encode()
        if rng.random() < 0.7:
            rewrites.append([len(out), len(token), root, "json"])
        out += token + b"/" + str(rng.random()).encode() + b'"'
    return out + b"]", rewrites


def some_file(rng, name, roots):
    options = {"extra": x_members(rng)}
    if rng.random() < 0.3:
        options["mtime"] = (f"{rng.choice((0, 1, rng.randrange(2**32)))}."
                            f"{rng.randrange(10**9):09}")
    if name.endswith(".json"):
        data, options["rewrites"] = some_json(rng, roots)
        return data, options
    return some_bytes(rng), options


def some_target(rng):
    return rng.choice((
        None, None, "cuda:sm_75", "cuda:sm_90", "cuda:sm_90a", "cuda:sm_100f",
        "hip:gfx942", "hip:gfx90a:sramecc+:xnack-", "hip:gfx90a:xnack+",
        "xpu:bmg-g21", "cpu:x86_64"))


def add_autotune(draft, rng, root, taken):
    key = rng.randbytes(32).hex() if rng.random() < 0.5 else "".join(
        rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") for _ in range(52))
    taken.append(key)
    stem = "k" + "".join(rng.choice(string.ascii_lowercase + "_0123456789")
                         for _ in range(rng.randint(0, 40)))
    data = json.dumps({
        "key": [rng.randrange(1 << 20), "torch.float32"],
        "configs_timings": [[{"kwargs": {"BLOCK": 1 << i}, "num_warps": 4},
                             [rng.random(), float("inf")]]
                            for i in range(rng.randint(1, 5))],
    }).encode()
    draft.add(key, {stem + ".autotune.json": (data, {
        "extra": x_members(rng)})}, root=root, name=stem, kind="autotune",
        extra=x_members(rng))


def add_other(draft, rng, root, taken):
    path = some_path(rng)
    if not is_free(path, taken):
        return
    taken.append(path)
    roots = draft.header["roots"]
    files, names = {}, []
    if rng.random() < 0.2:
        files[""] = some_file(rng, "", roots)
    else:
        for _ in range(rng.randint(1, 6)):
            name = some_path(rng, 3) + rng.choice(("", "", ".json"))
            if is_free(name, names) and ref.is_path(name):
                names.append(name)
                files[name] = some_file(rng, name, roots)
    root_name = roots[root]["name"]
    if not files or not all(
            ref.is_path(ref.member_path(root_name, {"path": path}, name))
            for name in files):
        taken.pop()
        return
    draft.add(path, files, root=root, format="other",
              kind=rng.choice(("kernel", "thing")), name=component(rng),
              target=some_target(rng), extra=x_members(rng))


def some_draft(rng):
    formats = [rng.choice(("triton", "other"))
               for _ in range(rng.choice((1, 1, 2, 4)))]
    tokens = ["/opt/kbundle", "/t/k-" + "x" * 190, "/A.b_c+d/e", "/opt/kb/t"]
    rng.shuffle(tokens)
    draft = ref.Draft([
        {"name": f"{name[:rng.randint(1, 6)]}{i}{'.-_'[i % 3] * i}",
         "format": name, "token": f"{tokens[i]}{i}", **x_members(rng)}
        for i, name in enumerate(formats)])
    for i, name in enumerate(formats):
        taken = []
        for _ in range(rng.choice((1, 3, 20))):
            add = add_autotune if name == "triton" else add_other
            add(draft, rng, i, taken)
    if not draft.entries:
        return None
    draft.sort()
    draft.extra = x_members(rng)
    size = sum(map(len, draft.members()))
    head = len(draft.manifest()) + 1023
    if rng.random() < 0.7:
        draft.borders = [rng.randrange(1, size)
                         for _ in range(rng.choice((0, 1, 5, 100)))]
        draft.manifest_borders = [rng.randrange(1, head)
                                  for _ in range(rng.choice((0, 1, 20)))]
    draft.extensions = [rng.randbytes(rng.randint(4, 100))
                        for _ in range(rng.choice((0, 0, 1, 3)))]
    draft.options = {"level": rng.choice((1, 2, 9))}
    if rng.random() < 0.2:
        draft.options["window_log"] = 23
    return draft


def written(program, rng, rounds, schemas):
    entries = files = 0
    for number in range(rounds):
        draft = some_draft(rng)
        if draft is None:
            continue
        bundle = ref.read(draft.write())
        assert bundle.tar == draft.tar() and bundle.manifest == \
            draft.manifest(), number
        check_schema(bundle, schemas)
        check_with_tarfile(bundle)
        entries += len(bundle.entries)
        files += len(bundle.stored)
        if program is None:
            continue
        with tempfile.TemporaryDirectory(prefix="kbundle-second-") as work:
            file = os.path.join(work, "bundle")
            with open(file, "wb") as out:
                out.write(draft.write())
            try:
                assert program.id(file) == bundle.id, "the ids differ"
                check_unpacked(program, file, bundle, work, rng)
            except AssertionError:
                kept = os.path.join(tempfile.gettempdir(),
                                    f"kbundle-second-{number}.kbundle.tar.zst")
                os.replace(file, kept)
                print(f"second reader: round {number}: see {kept}")
                raise
    print(f"second reader: {rounds} bundles of the second writer agree: "
          f"{entries} entries, {files} files")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--self", action="store_true")
    options = parser.parse_args()
    print(f"second reader: seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    schemas = validators()
    if schemas is None:
        print("second reader: schemas: skipped, no module jsonschema")
    program = None
    if not options.self:
        program = Program(os.environ["KBUNDLE_BIN"])
        packed(program, rng, schemas)
    written(program, rng, options.rounds, schemas)
    return 0


if __name__ == "__main__":
    sys.exit(main())
