#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# venv_of.sh NAME PIP_ARGUMENT...: the virtual environment NAME below
# $KBUNDLE_VENVS (default: build/venv of this checkout); prints its path.
# Only one with a stamp is complete; one process at a time makes it.
set -euo pipefail

name=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
venvs=${KBUNDLE_VENVS:-$here/../../build/venv}
mkdir -p "$venvs"
venvs=$(cd "$venvs" && pwd)
venv=$venvs/$name
stamp=$venv/complete

exec 9>"$venvs/$name.lock"
flock 9
if [ "$(cat "$stamp" 2>/dev/null)" != "$*" ]; then
	echo "installing $* in $venv" >&2
	rm -rf "$venv"
	"${PYTHON:-python3}" -m venv "$venv" 1>&2
	pip=("$venv/bin/python" -m pip --disable-pip-version-check)
	if ! "${pip[@]}" install --quiet --no-cache-dir "$@" 1>&2; then
		# a package that is not there, or no network?
		if "${pip[@]}" download --quiet --no-deps --no-cache-dir \
			--dest "$venv" pip 1>&2; then
			echo "cannot install: $*" >&2
			exit 1
		fi
		echo "SKIPPED: PyPI cannot be reached: no $*" >&2
		exit 77
	fi
	echo "$*" >"$stamp"
fi
echo "$venv"
