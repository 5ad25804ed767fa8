#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# corpus.sh [COUNT]: a Triton cache of COUNT kernels (default 180; the large
# corpus is 2000) that Triton 3.9 compiles for three targets; prints its path.
# It is kept below $KBUNDLE_CORPUS (default: build/bench of this checkout) and
# used again.
set -euo pipefail
export LC_ALL=C.UTF-8

count=${1:-180}
here=$(cd "$(dirname "$0")" && pwd)
corpora=${KBUNDLE_CORPUS:-$here/../../build/bench}
mkdir -p "$corpora"
corpora=$(cd "$corpora" && pwd)
corpus=$corpora/corpus-$count

exec 9>"$corpus.lock"
flock 9
if [ ! -e "$corpus.complete" ]; then
	venv=$("$here/../real/venv.sh" 3.9.0)
	echo "compiling $count kernels" >&2
	# an interrupted run left whole entries here: Triton hits them
	env -i HOME="$corpora" PATH="$PATH" LC_ALL=C.UTF-8 \
		PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" \
		"$here/../real/compile.py" "$corpus" --count "$count" \
		--targets cuda:80,cuda:90,cuda:100 --doors warmup --jobs 2 1>&2
	touch "$corpus.complete"
fi
echo "$corpus"
