#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks Triton for the kernels that compile.py compiled, and lets it neither
compile nor write: every way there is made to raise. What it still returns, it
found in the cache.

Exit 0 if all were found, or as many as --expect-hits says (0 for the control:
every single one must then have ended in a trap).
"""
import sys

import worklist


class Compiles(BaseException):
    """Not an Exception, so that nothing in Triton can swallow it."""


class Traps:

    def __init__(self):
        self.calls = 0

    def trap(self, owner, name):

        def raises(*args, **kwargs):
            self.calls += 1
            raise Compiles(f"{owner.__name__}.{name}")

        setattr(owner, name, raises)

    def arm(self):
        from triton.backends import backends
        from triton.compiler import ASTSource
        from triton.runtime.cache import FileCacheManager
        for backend in backends.values():
            stages = [name for name in dir(backend.compiler)
                      if name.startswith("make_")]
            if not stages:
                raise RuntimeError(f"{backend.compiler} has no stages")
            for name in stages + ["add_stages"]:
                self.trap(backend.compiler, name)
        self.trap(ASTSource, "make_ir")
        self.trap(FileCacheManager, "put")

    def benchmark(self):
        self.calls += 1
        raise Compiles("benchmark")


def main():
    parser = worklist.arguments(__doc__)
    parser.add_argument("--expect-hits", type=int)
    options = parser.parse_args()
    worklist.use_cache(options.cache)
    traps = Traps()
    traps.arm()

    questions = [(f"{wanted.kernel} {wanted.target} {wanted.door}",
                  lambda wanted=wanted: worklist.ask(wanted))
                 for wanted in worklist.requests(options)]
    if options.autotune:
        target = options.targets.split(",")[0]
        questions.append((f"autotune {target}", lambda: worklist.ask_autotune(
            target, traps.benchmark)))

    expected = options.expect_hits
    if expected is None:
        expected = len(questions)
    hits = misses = 0
    for name, ask in questions:
        try:
            hits += bool(ask())
        except Compiles as why:
            misses += 1
            if expected == len(questions):
                print(f"miss: {name}: {why} was called", file=sys.stderr)
    print(f"hits {hits} of {len(questions)}, compile calls {traps.calls}")
    as_expected = (hits == expected and misses == len(questions) - expected
                   and traps.calls == misses and len(questions) > 0)
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
