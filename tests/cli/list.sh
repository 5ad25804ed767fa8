#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# list prints a line for each entry in bundle order; with -v its files.
source "$(dirname "$0")/lib.sh"
begin
run 0 pack "$cache" -o b.tar.zst
run 0 list b.tar.zst
is_empty "$stderr"
equal lines "$(wc -l <"$stdout")" 3
has "$stdout" "^- +autotune +.* add_kernel +triton/$tune\$"
has "$stdout" "^cuda:sm_75 +kernel +.* add_kernel +triton/$new\$"
equal 'last field of the first line' \
	"$(head -1 "$stdout" | awk '{print $NF}')" "triton/$tune"

run 0 list -v b.tar.zst
equal lines "$(wc -l <"$stdout")" 19
hash=$(sha256sum <"$cache/$new/add_kernel.cubin" | cut -d' ' -f1)
size=$(stat -c %s "$cache/$new/add_kernel.cubin")
has "$stdout" "^ +$hash +$size +add_kernel.cubin\$"

# only the manifest is read: a payload that is broken does not matter
size=$(stat -c %s b.tar.zst)
cp b.tar.zst broken.tar.zst
printf 'XXXX' | dd of=broken.tar.zst bs=1 seek=$((size / 2)) conv=notrunc \
	status=none
run 3 verify broken.tar.zst
run 0 list broken.tar.zst
