#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [COUNT...]: measures kbundle beside tar and zstd on caches of COUNT
# real kernels (default 180; corpus.sh makes them) and prints the tables of
# docs/performance.md; they are also kept as results-COUNT.md in build/bench.
# KBUNDLE_BIN is the program, KBUNDLE_BENCH_DIR where to measure (/dev/shm),
# KBUNDLE_BENCH_ROUNDS how often (7).
set -euo pipefail
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "$0")" && pwd)
: "${KBUNDLE_BIN:?the path of the kbundle program}"
[ $# -gt 0 ] || set -- 180
for count; do
	corpus=$("$here/corpus.sh" "$count")
	python3 "$here/bench.py" --kbundle "$KBUNDLE_BIN" \
		--work "${KBUNDLE_BENCH_DIR:-/dev/shm}" \
		--rounds "${KBUNDLE_BENCH_ROUNDS:-7}" "$corpus" |
		tee "$(dirname "$corpus")/results-$count.md"
done
