#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures kbundle beside tar and zstd on one cache: size, time and memory.

Contenders run in turns, every round in another order, on files that are in
the page cache, into fresh directories; what is printed is the median. Ratios
are between medians of the same run.
"""
import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TIME = "/usr/bin/time"
TUNED_TAR = "tar -b 2048 --no-same-owner --touch --zstd"


class Contender:

    def __init__(self, name, script, output):
        """script: shell text; output: what it makes, new each time"""
        self.name = name
        self.script = script
        self.output = output
        self.seconds = []
        self.peak_kib = None

    def prepare(self):
        if os.path.isdir(self.output):
            shutil.rmtree(self.output)
        elif os.path.exists(self.output):
            os.remove(self.output)
        if self.output.endswith("/"):
            os.mkdir(self.output)

    def run(self, prefix=()):
        self.prepare()
        command = [*prefix, "bash", "-o", "pipefail", "-c", self.script]
        begin = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            sys.exit(f"{self.name}: exit {done.returncode}\n{done.stderr}")
        return seconds

    def measure_memory(self, work):
        """Of the largest process: a pipe has several."""
        if not os.path.exists(TIME):
            return
        result = os.path.join(work, "time")
        self.run((TIME, "-f", "%M", "-o", result))
        with open(result) as file:
            self.peak_kib = int(file.read())

    def median(self):
        return statistics.median(self.seconds)


def measure(contenders, rounds, work):
    for contender in contenders:
        contender.measure_memory(work)
    for turn in range(rounds):
        shift = turn % len(contenders)
        order = contenders[shift:] + contenders[:shift]
        if turn % 2:
            order.reverse()
        for contender in order:
            contender.seconds.append(contender.run())


def tree_size(path):
    """Number and bytes of the regular files below a directory."""
    files = size = 0
    for folder, _, names in os.walk(path):
        for name in names:
            files += 1
            size += os.path.getsize(os.path.join(folder, name))
    return files, size


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |",
             "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def seconds_row(contender, peers, extra=()):
    peak = contender.peak_kib
    spread = f"{min(contender.seconds):.3f}–{max(contender.seconds):.3f}"
    return [contender.name, *extra, f"{contender.median():.3f} s", spread,
            *(f"{contender.median() / peer.median():.2f}" for peer in peers),
            f"{peak / 1024:.0f} MiB" if peak else "–"]


def bench_pack(kbundle, cache, work, rounds):
    def bundle(name):
        return os.path.join(work, name)

    parent, name = os.path.split(cache)
    tar = f"tar -cf - -C '{parent}' '{name}'"
    contenders = [
        Contender("`kbundle pack`",
                  f"'{kbundle}' pack -q '{cache}' -o '{bundle('k2')}'",
                  bundle("k2")),
        Contender("`tar --zstd`",
                  f"tar --zstd -cf '{bundle('t3')}' -C '{parent}' '{name}'",
                  bundle("t3")),
        Contender("`kbundle pack -9`",
                  f"'{kbundle}' pack -q -9 '{cache}' -o '{bundle('k9')}'",
                  bundle("k9")),
        Contender("`tar \\| zstd -9`",
                  f"{tar} | zstd -q -9 -o '{bundle('t9')}'", bundle("t9")),
    ]
    measure(contenders, rounds, work)
    peers = contenders[1], contenders[3]
    sizes = [os.path.getsize(peer.output) for peer in peers]
    rows = []
    for contender in contenders:
        size = os.path.getsize(contender.output)
        extra = [f"{size:,}", *(f"{size / peer:.2f}" for peer in sizes)]
        rows.append(seconds_row(contender, peers, extra))
    print(table(["pack", "bytes", "÷ `tar --zstd`", "÷ `zstd -9`", "time",
                 "fastest–slowest", "time ÷ `tar --zstd`",
                 "time ÷ `zstd -9`", "peak memory"], rows))
    return bundle("k2"), bundle("t3")


def bench_unpack(kbundle, bundle, tarball, work, rounds):
    def root(name):
        return os.path.join(work, name, "")

    contenders = [
        Contender("`kbundle unpack`",
                  f"'{kbundle}' unpack -q '{bundle}' '{root('k')}'",
                  root("k")),
        Contender("`kbundle unpack --sync=none`",
                  f"'{kbundle}' unpack -q --sync=none '{bundle}' "
                  f"'{root('n')}'", root("n")),
        Contender("`tar --zstd -x`",
                  f"tar --zstd -xf '{tarball}' -C '{root('t')}'", root("t")),
        Contender(f"`{TUNED_TAR} -x`",
                  f"{TUNED_TAR} -xf '{tarball}' -C '{root('u')}'",
                  root("u")),
    ]
    measure(contenders, rounds, work)
    files = {tree_size(contender.output)[0] for contender in contenders}
    if len(files) != 1:
        sys.exit(f"different numbers of files were unpacked: {files}")
    peers = contenders[2:]
    print(table(["unpack", "time", "fastest–slowest", "÷ `tar --zstd -x`",
                 "÷ tuned tar", "peak memory"],
                [seconds_row(each, peers) for each in contenders]))


def first_line(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()[0]


def file_system(path):
    return first_line("stat", "-f", "-c", "%T", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kbundle", required=True, help="the program")
    parser.add_argument("--work", default="/dev/shm",
                        help="where to measure; default: tmpfs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("cache", help="a cache that Triton wrote")
    options = parser.parse_args()
    kbundle = os.path.realpath(options.kbundle)

    with tempfile.TemporaryDirectory(dir=options.work) as work:
        cache = os.path.join(work, "cache")
        shutil.copytree(options.cache, cache)
        entries = len(os.listdir(cache))
        files, size = tree_size(cache)
        print(f"### {entries:,} kernels, {files:,} files, "
              f"{size / 1e6:.1f} MB\n")
        print(f"{first_line(kbundle, '--version')}; "
              f"{first_line('tar', '--version')}; "
              f"zstd {first_line('zstd', '-qV')}; {os.cpu_count()} cores, "
              f"{platform.machine()}, {platform.system()}; "
              f"{file_system(work)}; medians of {options.rounds} rounds.\n")
        bundle, tarball = bench_pack(kbundle, cache, work, options.rounds)
        print()
        bench_unpack(kbundle, bundle, tarball, work, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
