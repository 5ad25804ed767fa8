#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# venv.sh VERSION: installs that Triton from PyPI, without its dependencies,
# in a virtual environment of its own, and prints the path. What is there
# already is used again. Exit 77 where PyPI cannot be reached.
set -euo pipefail

[ $# = 1 ] || { echo "usage: $0 TRITON_VERSION" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/venv_of.sh" "triton-$1" --no-deps "triton==$1"
