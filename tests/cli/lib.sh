# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Shared by the scripts of this folder: sourced, not run. Each has a folder of
# its own, $work, and calls the program through run(). Exit code 77: skipped.

set -euo pipefail
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
cache=$source_dir/tests/fixtures/triton # three entries, never written to

say() { printf '%s: %s\n' "$(basename "$0")" "$*"; }
fail() {
	say "FAILED: $*" >&2
	if [ -s "${stdout-}" ]; then sed 's/^/  stdout: /' "$stdout" | cut -c-600 >&2; fi
	if [ -s "${stderr-}" ]; then sed 's/^/  stderr: /' "$stderr" | cut -c-600 >&2; fi
	exit 1
}
skip() {
	say "SKIPPED: $*" >&2
	exit 77
}

begin() {
	: "${KBUNDLE_BIN:?the path of the kbundle program}"
	kbundle=$(realpath "$KBUNDLE_BIN")
	work=$(mktemp -d "${TMPDIR:-/tmp}/kbundle-cli.XXXXXX")
	stdout=$work/stdout
	stderr=$work/stderr
	trap end EXIT
	cd "$work"
}

end() {
	local running
	running=$(jobs -p)
	# shellcheck disable=SC2086 # one word a process
	[ -z "$running" ] || kill $running 2>/dev/null || true
	! mountpoint -q "$work/disk" 2>/dev/null || umount "$work/disk"
	chmod -R u+rwX "$work" 2>/dev/null || true
	rm -rf "$work"
}

# run EXIT ARGUMENT...: what it printed is then in the files $stdout, $stderr.
run() {
	local expected=$1
	shift
	run_as "$expected" "$kbundle" "$@"
}

# run_as EXIT COMMAND...: the same for a command that calls the program.
run_as() {
	local expected=$1 code=0
	shift
	"$@" >"$stdout" 2>"$stderr" || code=$?
	[ "$code" = "$expected" ] ||
		fail "exit code $code, not $expected, of: $*"
}

# has FILE REGEX, has_not FILE REGEX: is there a line with it?
has() {
	grep -qE -e "$2" "$1" || fail "$(basename "$1") lacks: $2"
}
has_not() {
	! grep -qE -e "$2" "$1" || fail "$(basename "$1") has: $2"
}

is_empty() {
	[ ! -s "$1" ] || fail "$(basename "$1") is not empty"
}

# equal WHAT GOT EXPECTED
equal() {
	[ "$2" = "$3" ] || fail "$1: '$2', not '$3'"
}

same_bytes() {
	cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# json FILE FILTER: one document, and what jq makes of it.
json() {
	jq -es 'length == 1' "$1" >/dev/null 2>&1 ||
		fail "$(basename "$1") is not exactly one JSON document"
	jq -r "$2" "$1"
}

# A line for each thing below a directory, with the hash of a file.
tree() {
	(
		cd "$1"
		find . -mindepth 1 -printf '%P %y %m\n' | sort
		find . -type f -exec sha256sum {} + | sort
	)
}

# wait_until COMMAND...: at most 20 s.
wait_until() {
	for _ in $(seq 400); do
		if "$@"; then return; fi
		sleep 0.05
	done
	fail "waited in vain for: $*"
}

# Keys of the fixture: entry of 2.1, entry of 3.9, autotune result.
# shellcheck disable=SC2034 # for the scripts
{
	old=6e1380bbb79e032d5d942237fcc22405
	new=TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ
	tune=FH7LBAJMWB62GWWZKIGDLXQTIXUE6LSNFRJPD6DZAEQWJKVMCPYA
}

# copy_cache DIR: a copy of the fixture that a test may change.
copy_cache() {
	cp -r "$cache" "$1"
	chmod -R u+w "$1"
}

# copies DIR N: a cache of N copies of the 2.1 entry (its group holds no path,
# and its key is a hash of what is no longer there).
copies() {
	python3 - "$cache/$old" "$1" "$2" <<-'EOF'
		import shutil, sys
		source, target, n = sys.argv[1:]
		for i in range(1, int(n) + 1):
		    shutil.copytree(source, f"{target}/{i:032x}", dirs_exist_ok=True)
	EOF
}

# The program as a user that is not root: $as_user is the command in front,
# and what it reads and writes lies in $work, which it may enter.
become_user() {
	as_user=()
	[ "$(id -u)" = 0 ] || return 0
	command -v setpriv >/dev/null || skip "root, and no setpriv"
	as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${as_user[@]}" true 2>/dev/null || skip "may not become another user"
	install -m 755 "$kbundle" "$work/kbundle"
	kbundle=$work/kbundle
	chmod 755 "$work"
}
