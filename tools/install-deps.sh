#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The one list of what kbundle is built and tested with, and its installer on
# Debian 12 and its kin. README.md and CI use this script and no other list.
#
#   tools/install-deps.sh             install the Debian packages that are missing
#   tools/install-deps.sh --build     only those needed to build
#   tools/install-deps.sh --print-apt    print the Debian packages, one a line
#   tools/install-deps.sh --print-pip    print the PyPI requirements of the tests
#   tools/install-deps.sh --triton       print the Triton versions of the tests
#
# PyPI packages are never installed into the system: tests/real makes virtual
# environments of its own from the lists that this script prints.
set -euo pipefail

apt_build=(
	gcc
	libc6-dev
	cmake
	ninja-build
	pkg-config
	libzstd-dev
	libssl-dev
	libcjson-dev
	libelf-dev
	libarchive-dev
	uuid-dev
)

apt_test=(
	libcriterion-dev
	g++                # the public header as C++
	clang              # the asan, tsan and fuzz presets
	libclang-rt-dev    # the sanitizers' own libraries
	llvm               # llvm-symbolizer: names in sanitizer reports
	clang-format
	shellcheck
	git
	jq                 # reads the program's JSON
	zstd               # readers of bundles that are not ours
	libarchive-tools   # bsdtar
	tar
	zip                # a cache as a zip archive
	xz-utils
	python3
	python3-venv
	util-linux         # setpriv: tests as another user
	man-db             # the man pages are rendered
)

pip_test=(
	"indexed_zstd==1.7.2" # a reader of the zstd seekable format
	"jsonschema==4.26.0"  # validates manifests and reports
)

# Real Triton, without torch: 64-digit keys, base64 keys, base32 keys before
# and after its reader became strict.
triton_test=(3.1.0 3.2.0 3.4.0 3.9.0)

usage() {
	sed -n '/^#   tools/s/^#   //p' "$0"
}

install_apt() {
	local missing=() package sudo=()

	for package in "$@"; do
		dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
			grep -q 'install ok installed' || missing+=("$package")
	done
	if [ ${#missing[@]} -eq 0 ]; then
		echo "all packages are installed"
		return
	fi
	if [ "$(id -u)" -ne 0 ]; then
		sudo=(sudo)
	fi
	echo "installing: ${missing[*]}"
	"${sudo[@]}" apt-get update -qq
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

case "${1:-}" in
"") install_apt "${apt_build[@]}" "${apt_test[@]}" ;;
--build) install_apt "${apt_build[@]}" ;;
--print-apt) printf '%s\n' "${apt_build[@]}" "${apt_test[@]}" ;;
--print-pip) printf '%s\n' "${pip_test[@]}" ;;
--triton) printf '%s\n' "${triton_test[@]}" ;;
-h | --help) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
