#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the bundles under future/ (README.md): make_future.py DIR"""

import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import bundle_ref as ref  # noqa: E402


def main(directory):
    version = ref.example()
    version.header["kbundle"] = 2
    version.extra = {"lattice": {"levels": [1, 2, 3]}}
    requires = ref.example()
    requires.header["requires"] = ["lattice"]
    for name, made, unknown in (("version-2", version, "version 2"),
                                ("requires-lattice", requires, "lattice")):
        path = os.path.join(directory, name)
        with open(path + ".kbundle.tar.zst", "wb") as out:
            out.write(made.write())
        with open(path + ".unknown", "w", encoding="ascii") as out:
            out.write(unknown + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
