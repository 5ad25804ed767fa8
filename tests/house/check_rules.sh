#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Is every rule of tools/check.sh awake? A copy of the sources passes; then each
# rule is broken once in the copy, and must be named with its file and line.
set -euo pipefail

source_dir=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/kbundle-house.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
	echo "check_rules: FAILED: $*" >&2
	exit 1
}

git_here() {
	git -c user.name=test -c user.email=test@localhost \
		-c commit.gpgsign=false "$@"
}

mkdir "$work/copy"
cd "$source_dir"
git ls-files -co --exclude-standard -z | while IFS= read -r -d '' f; do
	if [ -f "$f" ]; then
		printf '%s\0' "$f"
	fi
done | tar --null -T - -cf - | tar -xf - -C "$work/copy"
cd "$work/copy"
git_here init -q .
mkdir -p tests/golden/v1
echo frozen >tests/golden/v1/frozen.txt
echo kept >tests/golden/v1/kept.txt
git_here add -A
git_here commit -q -m copy

tools/check.sh --clean-tree >"$work/out" 2>&1 ||
	fail "the sources themselves break a rule: $(cat "$work/out")"

# broken FILE RULE: adds standard input to FILE; RULE must name its last line.
expected=$work/expected
: >"$expected"
broken() {
	mkdir -p "$(dirname "$1")"
	if [ ! -e "$1" ]; then
		printf '/* SPDX-License-Identifier: Apache-2.0 */\n' >"$1"
	fi
	cat >>"$1"
	echo "$1:$(wc -l <"$1"): $2:" >>"$expected"
}

broken src/base/up.h floors <<<'#include "../sys/ctx.h"'
broken src/base/listed_libc.h base-libc <<<'#include <unistd.h>'
broken src/core/third.h third-party <<<'#include <zstd.h>'
broken src/dep/zstd_second.c third-party <<<'#include <zstd.h>'
broken src/cli/inside.h cli-includes <<<'#include "../core/tar.h"'
broken formats/other.h floors <<<'#include "triton.h"'
broken formats/inner.h floors <<<'#include "../src/core/tar.h"'
broken src/sys/gone.h include <<<'#include "not_there.h"'
broken src/sys/copy.h banned-call <<<'	strcpy(a, b);'
broken src/sys/mask.h banned-call <<<'	umask(0);'
broken src/sys/leave.h no-exit <<<'	exit(1);'
broken src/api/speak.h no-printing <<<'	printf("a");'
broken src/sys/later.h markers <<<"/* TO""DO */"

echo 'int kbundle_new_thing(void);' >>include/kbundle/kbundle.h
echo "cmake/libkbundle.map:1: symbols: kbundle_new_thing" >>"$expected"
sed -i 's/^\tkbundle_version;/&\n\tkbundle_gone;/' cmake/libkbundle.map
echo "symbols: kbundle_gone is not in the public header" >>"$expected"
echo 'struct bad { struct kbundle_error class; int a[]; };' \
	>>include/kbundle/kbundle.h
echo "public-header: alone as c++11" >>"$expected"

echo thawed >>tests/golden/v1/frozen.txt
rm tests/golden/v1/kept.txt
{
	echo "tests/golden/v1/frozen.txt:1: golden:"
	echo "tests/golden/v1/kept.txt:1: golden:"
} >>"$expected"

echo 'int kb_no_licence;' >src/sys/no_licence.c
{
	echo "src/sys/no_licence.c:1: spdx:"
	echo "src/sys/no_licence.c:1: listed:"
} >>"$expected"

printf '#include "ring_b.h"\n' >src/sys/ring_a.h
printf '#include "ring_a.h"\n' >src/sys/ring_b.h
echo "src/sys/ring_a.h:1: cycles:" >>"$expected"

sed -i '/KBUNDLE_E_LIMIT/d' docs/errors.md
echo "docs/errors.md:1: errors: no row for KBUNDLE_E_LIMIT" >>"$expected"
# shellcheck disable=SC2016 # the backquotes are Markdown
sed -i '/^| `triton` |/d' README.md
echo "formats: README.md has no row for format triton" >>"$expected"

printf '/* SPDX-License-Identifier: Apache-2.0 */\nint  kb_x ;\n' \
	>src/sys/crooked.h
echo "src/sys/crooked.h:2: clang-format:" >>"$expected"
# shellcheck disable=SC2016 # what it should find
printf '#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\nrm $1\n' \
	>tools/loose.sh
echo "tools/loose.sh:3: shellcheck:" >>"$expected"
echo "clean-tree: git status says" >>"$expected"

code=0
tools/check.sh --clean-tree >"$work/out" 2>&1 || code=$?
[ "$code" = 1 ] || fail "exit code $code, not 1: $(cat "$work/out")"
while read -r line; do
	grep -qF "$line" "$work/out" ||
		fail "not found: $line: $(cat "$work/out")"
done <"$expected"
echo "check_rules: $(wc -l <"$expected") broken rules were found"
