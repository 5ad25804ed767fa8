#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets Triton compile a list of kernels into a cache directory."""
import os
import subprocess
import sys

import worklist


def compile_share(options, share, shares):
    """Compiles each shares-th request; returns how many there were."""
    done = 0
    for wanted in worklist.requests(options)[share::shares]:
        worklist.ask(wanted)
        done += 1
    if options.autotune and share == 0:
        target = options.targets.split(",")[0]
        worklist.ask_autotune(target, lambda: [0.5, 0.4, 0.6])
        done += 1
    return done


def main():
    parser = worklist.arguments(__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--share", type=int, help="used with --jobs itself")
    options = parser.parse_args()
    worklist.use_cache(options.cache)

    if options.share is None and options.jobs > 1:
        command = [sys.executable, os.path.abspath(__file__)] + sys.argv[1:]
        parts = [subprocess.Popen(command + ["--share", str(n)])
                 for n in range(options.jobs)]
        return max([part.wait() != 0 for part in parts])
    done = compile_share(options, options.share or 0, options.jobs)
    print(f"compiled {done}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
