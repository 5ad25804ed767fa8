#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the build into a fresh prefix, builds examples/ against it as a
# stranger would (find_package, shared and static, and pkg-config), runs what
# was built, uninstalls, and expects that nothing is left.
set -euo pipefail

: "${KBUNDLE_BUILD_DIR:?the build to install}"
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/kbundle-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
	echo "install: FAILED: $*" >&2
	exit 1
}

cmake --install "$KBUNDLE_BUILD_DIR" --prefix "$prefix" >"$work/log"
lib=$(dirname "$(find "$prefix" -name libkbundle.a)")

for f in bin/kbundle include/kbundle/kbundle.h share/man/man1/kbundle.1; do
	[ -f "$prefix/$f" ] || fail "$f was not installed"
done
[ "$(readelf -d "$lib/libkbundle.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')" \
	= libkbundle.so.0 ] || fail "the soname is not libkbundle.so.0"

# The examples are taken out of the source tree: nothing but the installed
# header can be found.
cp -r "$source_dir/examples" "$work/examples"
cmake -S "$work/examples" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
	-DCMAKE_C_FLAGS="-Wall -Wextra -Werror" >>"$work/log" ||
	fail "find_package: $(cat "$work/log")"
cmake --build "$work/build" >>"$work/log" ||
	fail "build by CMake: $(cat "$work/log")"

export PKG_CONFIG_PATH=$lib/pkgconfig
read -ra flags <<<"$(pkg-config --cflags --libs kbundle)"
cc -Wall -Wextra -Werror -o "$work/by_pkg_config" \
	"$work/examples/pack_and_list.c" "${flags[@]}"
version=$("$prefix/bin/kbundle" --version)
[[ $version == *"$(pkg-config --modversion kbundle)"* ]] ||
	fail "the program says $version, kbundle.pc another version"

for program in "$work/build/pack_and_list" "$work/build/pack_and_list_static" \
	"$work/by_pkg_config"; do
	name=$(basename "$program")
	LD_LIBRARY_PATH=$lib "$program" "$source_dir/tests/fixtures/triton" \
		"$work/$name.kbundle.tar.zst" >"$work/$name.list" ||
		fail "$name: exit code $?"
	grep -q '^sha256:' "$work/$name.list" || fail "$name printed no id"
done
cmp "$work/pack_and_list.list" "$work/by_pkg_config.list"
ldd "$work/build/pack_and_list_static" | grep -q libkbundle &&
	fail "the static example needs the shared library"

cmake --build "$KBUNDLE_BUILD_DIR" --target uninstall >>"$work/log" ||
	fail "uninstall: $(cat "$work/log")"
left=$(find "$prefix" ! -type d)
[ -z "$left" ] || fail "uninstall left $left"
left=$(find "$prefix" -name '*kbundle*')
[ -z "$left" ] || fail "uninstall left the directory $left"
echo "install: installed, used in three ways, uninstalled"
