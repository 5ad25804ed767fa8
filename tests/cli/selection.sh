#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --arch, --name and --key, on pack, unpack and list: lists combine with "and",
# what is in a list with "or"; what has no target belongs to every arch.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o all.tar.zst

selected() { # "KEYS" OPTION...: in each verb
	local keys
	keys=$(tr ' ' '\n' <<<"$1" | sort)
	shift
	run 0 list all.tar.zst "$@"
	equal "list $*" "$(sed 's/.* triton.//' "$stdout" | sort)" "$keys"
	run 0 pack "$cache" "$@" -o some.tar.zst
	run 0 list some.tar.zst
	equal "pack $*" "$(sed 's/.* triton.//' "$stdout" | sort)" "$keys"
	rm -rf target
	run 0 unpack all.tar.zst "$@" target
	equal "unpack $*" "$(find target -mindepth 1 -maxdepth 1 \
		-printf '%P\n' | sort)" "$keys"
}

selected "$old $new $tune" --name='*'
selected "$old $new $tune" --arch=sm_75
selected "$old $new $tune" --arch cuda:sm_75 --arch=gfx942
selected "$tune" --arch=sm_90
selected "$tune" --arch=hip:gfx942
selected "$old" --key="$old"
selected "$old $new" --key="$old" --key "$new"
selected "$new" --key="$new" --name='add_*' --arch=75
selected "$old $new $tune" --name=nothing --name='a*el*'

run 2 pack "$cache" --arch=no-arch -o x.tar.zst
has "$stderr" 'no-arch'
run 2 unpack all.tar.zst --arch=no-arch x
[ ! -e x ] || fail "a target was made"
run 2 list all.tar.zst --arch=no-arch
is_empty "$stdout"
has "$stderr" 'no-arch'

# what was not selected is counted
rm -rf target
run 0 unpack all.tar.zst --key="$old" target --json
equal entries "$(json "$stdout" .counts.entries)" 1
equal unselected "$(json "$stdout" .counts.unselected)" 2

# two architectures, from a cache that Triton made; its kernels for sm_90 say
# sm_90a in the binary
fixtures=${KBUNDLE_FIXTURES:-$source_dir/../shared/fixtures}
[ -d "$fixtures/triton-3.1.0-cuda" ] || skip "no fixtures at $fixtures"
run 0 pack "$fixtures/triton-3.1.0-cuda" --arch=sm_90 --arch=sm_80 \
	-o some.tar.zst
run 0 inspect some.tar.zst --json
equal targets "$(json "$stdout" '[.targets[].target] | join(" ")')" \
	'cuda:sm_80 cuda:sm_90a'
