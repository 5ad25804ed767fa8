#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# read_by_others.sh [BUNDLE...]: reads bundles, or some that it packs from a
# cache that Triton 3.9 compiled, with the tools of others.
# Exit 77: PyPI cannot be reached.
. "$(dirname "$0")/lib.sh"

begin
tools=$("$here/venv_tools.sh") || exit $?
if [ $# = 0 ]; then
	use_triton 3.9.0
	triton compile.py "$work/cache" --count 15 --jobs 2 --autotune \
		--targets cuda:75,cuda:90,hip:gfx942
	run 0 "$kbundle" pack -q "$work/cache" -o "$work/full"
	run 0 "$kbundle" pack -q --slim -9 "$work/cache" -o "$work/slim-9"
	run 0 "$kbundle" pack -q --frame-size 65536 "$work/cache" \
		-o "$work/small-frames"
	set -- "$work/full" "$work/slim-9" "$work/small-frames"
fi
PYTHONDONTWRITEBYTECODE=1 "$tools/bin/python" "$here/read_by_others.py" \
	"$here/../../docs/schema" "$@"
