#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Configures, builds and tests one preset, and prints what was counted.
#
#   tools/test.sh [--werror] [--strict] [--labels REGEX] [PRESET]
#
#   PRESET          release (default), asan, tsan, fuzz or coverage
#   --werror        warnings of the compiler are errors
#   --strict        skipped tests are failures (tools/test-summary.py)
#   --labels REGEX  only tests with such a label: unit, fault, prop, thread,
#                   cli, real, install, house, fuzz
#
# Reports, and the logs of sanitizers, are left in build/PRESET/reports.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
werror=OFF
labels=.
strict=()
while [ $# -gt 0 ]; do
	case "$1" in
	--werror) werror=ON ;;
	--strict) strict=(--strict) ;;
	--labels)
		labels=${2:?--labels needs a regular expression}
		shift
		;;
	-*)
		sed -n '/^#   /s/^#   //p' "$0" >&2
		exit 2
		;;
	*) preset=$1 ;;
	esac
	shift
done

build=$PWD/build/$preset
reports=$build/reports
rm -rf "$reports"
cmake --preset "$preset" -DKBUNDLE_WERROR=$werror
cmake --build "$build"

# A sanitizer's report must fail the run even where a test swallows the exit
# code of the program that made it.
options=log_path=$reports/sanitizer.log:abort_on_error=1
symbolizer=$(command -v llvm-symbolizer || true)
options+=${symbolizer:+:external_symbolizer_path=$symbolizer}
export ASAN_OPTIONS=$options:detect_leaks=1
export UBSAN_OPTIONS=$options:print_stacktrace=1
export TSAN_OPTIONS=$options:halt_on_error=1

# Tests in Python find what they import in a virtual environment.
if venv=$(tests/real/venv_tools.sh); then
	export PATH=$venv/bin:$PATH
fi

result=0
ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" \
	--label-regex "$labels" --no-tests=error \
	--output-junit "$reports/ctest.xml" || result=1

tools/test-summary.py "${strict[@]}" "$build" || result=1
exit $result
