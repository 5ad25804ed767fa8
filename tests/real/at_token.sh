#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# at_token.sh BUNDLE COMMAND...: runs the command where BUNDLE was untarred at
# /opt/kbundle and made read-only. All this is in a mount namespace of its own
# and in memory: nothing of the machine changes. Exit 77 where no such
# namespace can be had.
set -euo pipefail

if [ "${1-}" != --inside ]; then
	unshare=(unshare --mount --propagation private)
	[ "$(id -u)" = 0 ] || unshare+=(--map-root-user)
	if ! "${unshare[@]}" mount -t tmpfs none /opt 2>/dev/null; then
		echo "SKIPPED: no private mount namespace here (unshare)" >&2
		exit 77
	fi
	exec "${unshare[@]}" "$0" --inside "$@"
fi
shift
bundle=$(realpath "$1")
shift

# a new /opt that holds what the old one holds, and kbundle
opt=$(mktemp -d)
mount -t tmpfs none "$opt"
for old in /opt/*; do
	[ -d "$old" ] || continue
	mkdir "$opt/${old##*/}"
	mount --rbind "$old" "$opt/${old##*/}"
done
mkdir -p "$opt/kbundle"
mount -t tmpfs none "$opt/kbundle"
mount --rbind "$opt" /opt
umount -l "$opt"
rmdir "$opt"

tar --zstd -xf "$bundle" -C /opt/kbundle
mount -o remount,bind,ro /opt/kbundle
if touch /opt/kbundle/written 2>/dev/null; then
	echo "/opt/kbundle is not read-only" >&2
	exit 1
fi
"$@"
