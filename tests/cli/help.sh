#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Help and version go to standard output and say all; exit code 0.
source "$(dirname "$0")/lib.sh"
begin

for arguments in --help -h 'pack --help' 'unpack -h' 'list --help' \
	'cat --help' 'inspect --help' 'verify --help' 'pack --help a b -o c'; do
	# shellcheck disable=SC2086 # split on purpose
	run 0 $arguments
	is_empty "$stderr"
	has "$stdout" '^Usage: kbundle '
	equal "lines of '$arguments' over 80 columns" \
		"$(grep -cE '^.{81}' "$stdout")" 0
done

run 0 --help
for verb in pack unpack list cat inspect verify; do
	has "$stdout" "^  $verb "
done

run 0 --version
is_empty "$stderr"
version=$(sed -n 's/^#define KBUNDLE_VERSION_STRING "\(.*\)"/\1/p' \
	"$source_dir/include/kbundle/kbundle.h")
equal version "$(cat "$stdout")" "kbundle $version (bundle format 1)"

# help that cannot be written is an error
code=0
"$kbundle" --help >/dev/full 2>"$stderr" || code=$?
equal 'exit code with a full device' "$code" 1
has "$stderr" 'standard output'
