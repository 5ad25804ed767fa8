#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# venv_tools.sh: a virtual environment with the readers and validators of
# others that read_by_others.sh uses; prints its path. Exit 77 where PyPI
# cannot be reached.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mapfile -t requirements < <("$here/../../tools/install-deps.sh" --print-pip)
exec "$here/venv_of.sh" tools "${requirements[@]}"
