#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The rules of the house that a script can check (docs/architecture.md and
# CONTRIBUTING.md say why). Prints one line a fault, `file:line: rule: what`,
# and exits 1 if there was any.
#
#   tools/check.sh                  source rules; and those on a build, if
#                                   build/release is there and not old
#   tools/check.sh --build DIR      the build in DIR must be there
#   tools/check.sh --clean-tree     also: git sees no changed or untracked file
set -Eeuo pipefail
trap 'echo "tools/check.sh: line $LINENO: a check could not run" >&2' ERR
cd "$(dirname "$0")/.."
export LC_ALL=C

build=
clean_tree=
while [ $# -gt 0 ]; do
	case "$1" in
	--build)
		build=${2:?--build needs a directory}
		shift
		;;
	--clean-tree) clean_tree=1 ;;
	*)
		sed -n '/^#   /s/^#   //p' "$0" >&2
		exit 2
		;;
	esac
	shift
done

for tool in git gcc g++ nm tsort clang-format shellcheck; do
	if ! command -v "$tool" >/dev/null; then
		echo "tools/check.sh: no $tool (tools/install-deps.sh)" >&2
		exit 1
	fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults=$work/faults
: >"$faults"

header=include/kbundle/kbundle.h
map=cmake/libkbundle.map

# fault PLACE RULE TEXT
fault() {
	printf '%s: %s: %s\n' "$1" "$2" "$3" >>"$faults"
}

# Project files as git sees them, tracked or new, that are there.
git ls-files -co --exclude-standard | sort -u | while read -r f; do
	[ -f "$f" ] && echo "$f"
done >"$work/files"

files() { # files REGEX
	grep -E "$1" "$work/files" || true
}

files '^(src|formats|include)/.*\.[ch]$' >"$work/sources"
mapfile -t sources <"$work/sources"
mapfile -t c_files < <(files '\.[ch]$')

# file:line:code of all sources, without comments and string contents; an
# include line keeps its name.
awk '
	FNR == 1 { in_comment = 0 }
	{
		line = $0
		out = ""
		is_include = line ~ /^[ \t]*#[ \t]*include/
		while (line != "") {
			if (in_comment) {
				i = index(line, "*/")
				if (!i) { line = ""; break }
				line = substr(line, i + 2)
				in_comment = 0
				continue
			}
			c = substr(line, 1, 1)
			if (substr(line, 1, 2) == "//") break
			if (substr(line, 1, 2) == "/*") {
				in_comment = 1
				line = substr(line, 3)
				continue
			}
			if (!is_include && (c == "\"" || c == "\047")) {
				i = 2
				while (i <= length(line) &&
				       substr(line, i, 1) != c)
					i += substr(line, i, 1) == "\\" ? 2 : 1
				out = out c c
				line = substr(line, i + 1)
				continue
			}
			out = out c
			line = substr(line, 2)
		}
		print FILENAME ":" FNR ":" out
	}
' "${sources[@]}" >"$work/code"

# ---- includes: floors, third parties, cycles ----

check_includes() {
	local code=$work/code

	# "file line kind name", kind q ("...") or a (<...>)
	sed -nE \
		-e 's|^([^:]+):([0-9]+):[ \t]*#[ \t]*include[ \t]*"([^"]+)".*|\1 \2 q \3|p' \
		-e 's|^([^:]+):([0-9]+):[ \t]*#[ \t]*include[ \t]*<([^>]+)>.*|\1 \2 a \3|p' \
		"$code" >"$work/includes"

	awk -v list="$work/sources" -v edges="$work/edges" '
	function floor_of(path) {
		if (path ~ /^include\//) return -1
		if (path ~ /^src\/base\//) return 0
		if (path ~ /^src\/sys\//) return 1
		if (path ~ /^src\/dep\//) return 2
		if (path ~ /^formats\//) return 3
		if (path ~ /^src\/core\//) return 4
		if (path ~ /^src\/(store|remote)\//) return 5
		if (path ~ /^src\/api\//) return 6
		if (path ~ /^src\/(cli|probe)\//) return 7
		return 99
	}
	function house_of(path) { sub(/\/[^\/]*$/, "", path); return path }
	function format_of(path) { # formats/triton_group.c -> triton
		sub(/^formats\//, "", path)
		sub(/[_.].*$/, "", path)
		return path
	}
	function resolve(dir, name,   part, n, i, out, depth) {
		n = split(dir "/" name, part, "/")
		depth = 0
		for (i = 1; i <= n; i++) {
			if (part[i] == "." || part[i] == "") continue
			if (part[i] == "..") { depth--; continue }
			out[++depth] = part[i]
		}
		name = out[1]
		for (i = 2; i <= depth; i++) name = name "/" out[i]
		return name
	}
	function say(rule, what) {
		printf "%s:%s: %s: %s\n", $1, $2, rule, what
	}
	BEGIN {
		while ((getline line < list) > 0) there[line] = 1
		n = split("assert endian errno inttypes limits stdalign " \
			"stdarg stdbool stddef stdint stdio stdlib string", \
			a, " ")
		for (i = 1; i <= n; i++) base_libc[a[i] ".h"] = 1
		# What libc and the kernel headers give; all else is third party.
		n = split("assert ctype dirent elf endian errno fcntl fnmatch " \
			"getopt inttypes langinfo limits locale poll pthread " \
			"pwd sched signal spawn stdalign stdarg stdatomic " \
			"stdbool stddef stdint stdio stdlib stdnoreturn string " \
			"strings termios time unistd", a, " ")
		for (i = 1; i <= n; i++) libc[a[i] ".h"] = 1
	}
	$3 == "a" && $4 == "kbundle/kbundle.h" { next }
	$3 == "a" {
		if ($1 ~ /^src\/base\// && !($4 in base_libc))
			say("base-libc", "base includes only plain libc " \
				"headers, not <" $4 ">")
		if ($1 ~ /^include\// && $4 !~ /^std(def|int)\.h$/)
			say("public-header", "the public header needs no <" \
				$4 ">")
		if (($4 in libc) || $4 ~ /^(sys|linux)\//) next
		if ($1 !~ /^src\/dep\/[^\/]*\.c$/) {
			say("third-party", "<" $4 "> belongs in one .c under " \
				"src/dep")
			next
		}
		library = $4
		if (library ~ /\//) sub(/\/.*/, "", library)
		if (seen[library] != "" && index(seen[library], " " $1 " ") == 0) {
			users[library]++
			# OpenSSL has one user for hashes, one for signatures.
			if (users[library] > (library == "openssl"))
				say("third-party", "<" $4 "> is used in" \
					seen[library] "already")
		}
		if (index(seen[library], " " $1 " ") == 0)
			seen[library] = (seen[library] == "" ? " " : \
				seen[library]) $1 " "
		next
	}
	{
		target = resolve(house_of($1), $4)
		if (!(target in there)) {
			say("include", "\"" $4 "\" is no file of the project")
			next
		}
		print $1, target > edges
		from = floor_of($1)
		to = floor_of(target)
		if (from == 99 || to == 99)
			say("floors", "no floor is known for " \
				(from == 99 ? $1 : target))
		if (to > from)
			say("floors", "floor " from " may not include " \
				target " of floor " to)
		if ($1 ~ /^src\/remote\// && target ~ /^src\/store\//)
			say("floors", "remote may not include store")
		if ($1 ~ /^src\/cli\// && target !~ /^src\/(cli|base)\//)
			say("cli-includes", "the program includes only " \
				"<kbundle/kbundle.h>, src/base and its own, not " \
				target)
		if ($1 ~ /^src\/probe\// && target !~ /^src\/(probe|base)\//)
			say("floors", "the probe includes only src/base")
		if ($1 ~ /^formats\// && target ~ /^formats\// &&
		    target != "formats/format.h" &&
		    $1 != "formats/registry.c" &&
		    format_of($1) != format_of(target))
			say("floors", "a format does not include another: " \
				target)
	}
	' "$work/includes" >>"$faults"

	# tsort names the files of each loop on stderr.
	if [ -s "$work/edges" ] &&
		! tsort "$work/edges" >/dev/null 2>"$work/loops"; then
		sed -n 's/^tsort: \([^ ]*\.h\)$/\1:1: cycles: part of an include loop/p' \
			"$work/loops" >>"$faults"
	fi
}

# ---- banned calls ----

# ban RULE CALLS WHY FILE_REGEX
ban() {
	grep -E "^($4):[0-9]+:" "$work/code" |
		{ grep -E "(^|[^A-Za-z0-9_.>])($2)[[:space:]]*\(" || true; } |
		sed -nE "s/^([^:]+:[0-9]+):(.*[^A-Za-z0-9_.>]|)($2)[ \t]*\(.*/\1: $1: \3() $3/p" \
			>>"$faults"
}

check_calls() {
	ban banned-call \
		'strcpy|strcat|stpcpy|sprintf|vsprintf|gets|atoi|atol|atoll|atof|strtok|system|chdir|fchdir|umask|alloca|setlocale' \
		'is banned here' '(src|formats)/[^:]*'
	ban no-exit '_exit|exit|quick_exit' 'outside a main.c' \
		'(src|formats)/[^:]*/[^:/]*[^:/n]\.[ch]|(src|formats)/[^:]*[^:/]n\.c'
	ban no-printing 'printf|vprintf|puts|putchar|perror|psignal' \
		'in the library, which never prints' \
		'(src/(base|sys|dep|core|store|remote|api)|formats)/[^:]*'
}

# ---- the public header and the symbols ----

header_symbols() {
	sed -nE 's/^([^:]+:[0-9]+:)(.*)/\2/p' <(grep "^$header:" "$work/code") |
		grep -oE '\bkbundle_[a-z0-9_]+[[:space:]]*\(' | tr -d '( \t' | sort -u
}

map_symbols() {
	sed -nE 's/^[ \t]+([A-Za-z_][A-Za-z0-9_]*);.*/\1/p' "$map" | sort -u
}

check_symbols() {
	local name line

	header_symbols >"$work/in-header"
	map_symbols >"$work/in-map"
	comm -23 "$work/in-header" "$work/in-map" | while read -r name; do
		fault "$map:1" symbols "$name is in the public header, not here"
	done
	comm -13 "$work/in-header" "$work/in-map" | while read -r name; do
		line=$(grep -nw "$name" "$map" | head -1 | cut -d: -f1)
		fault "$map:$line" symbols "$name is not in the public header"
	done
	[ -n "$build" ] || return 0
	nm -D --defined-only "$build/src/libkbundle.so" |
		awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
		sort -u >"$work/in-so"
	comm -3 "$work/in-map" "$work/in-so" | while read -r name; do
		fault "$build/src/libkbundle.so:0" symbols \
			"exported symbols and $map differ: $name"
	done
	grep -v '^kbundle_' "$work/in-so" | while read -r name; do
		fault "$build/src/libkbundle.so:0" symbols \
			"$name does not begin with kbundle_"
	done || true
}

# The header alone, and each KBUNDLE_X_INIT as what a struct kbundle_x begins
# with, must compile without a warning.
check_header() {
	local language use=$work/use.c

	{
		echo '#include <kbundle/kbundle.h>'
		sed -nE 's/^#define (KBUNDLE_([A-Z_]+)_INIT)\b.*/\1 \L\2/p' \
			"$header" | while read -r macro name; do
			echo "struct kbundle_$name ${name}_use(void);"
			echo "struct kbundle_$name ${name}_use(void)"
			echo "{ struct kbundle_$name x = $macro; return x; }"
		done
	} >"$use"
	for language in 'c -std=c99' 'c++ -std=c++11'; do
		# shellcheck disable=SC2086 # language and standard
		gcc -x $language -pedantic-errors -Wall -Wextra -Werror \
			-Iinclude -fsyntax-only "$use" >"$work/out" 2>&1 ||
			fault "$(sed -nE "s|^($header:[0-9]+):.*|\1|p" \
				"$work/out" | head -n 1)" public-header \
				"alone as ${language##*=}: $(grep -m1 error: \
					"$work/out" | sed 's/.*error: //')"
	done
}

# ---- files: golden, licence, lists, leftovers of work ----

check_golden() {
	local path commit was now

	if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
		fault tests/golden/v1:1 golden \
			"cannot be checked in a shallow clone"
		return
	fi
	# The oldest commit that added a path says what it must be for ever.
	git log --reverse --no-renames --diff-filter=A --format='commit %H' \
		--name-only -- tests/golden/v1 |
		awk '$1 == "commit" { c = $2; next }
			$0 != "" && !($0 in seen) { seen[$0] = 1; print c, $0 }' \
			>"$work/golden"
	while read -r commit path; do
		was=$(git rev-parse "$commit:$path")
		if [ ! -f "$path" ]; then
			fault "$path:1" golden "was removed; golden files stay"
			continue
		fi
		now=$(git hash-object "$path")
		[ "$was" = "$now" ] || fault "$path:1" golden \
			"was changed since ${commit:0:12}; golden files never change"
	done <"$work/golden"
}

check_spdx() {
	local f

	files '(\.(c|h|sh|py|cmake|map|cu)|CMakeLists\.txt|^\.ci/run)$' |
		while read -r f; do
			head -n 3 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
				fault "$f:1" spdx "no SPDX line in the first three"
		done
}

check_listed() {
	local f list

	cat src/CMakeLists.txt >"$work/lists"
	files '^tests/.*CMakeLists\.txt$' | xargs -r cat >>"$work/lists"
	files '^(src|formats|tests)/.*\.c$' | while read -r f; do
		list=${f#src/}
		list=${list#tests/}
		case $f in # listed by what the program is called
		tests/fuzz/fuzz_* | tests/thread/*) list=$(basename "$f" .c) ;;
		esac
		grep -qwF "$list" "$work/lists" ||
			fault "$f:1" listed "is in no CMakeLists.txt"
	done
}

check_markers() {
	local word='TO''DO|FIX''ME|XX''X'

	files '\.(c|h|sh|py|cmake|md|1|json|txt)$' |
		xargs -r grep -nwE "$word" |
		sed -nE 's/^([^:]+:[0-9]+):.*/\1: markers: finish it, or file an issue/p' \
			>>"$faults" || true
}

check_clean_tree() {
	local line

	[ -n "$clean_tree" ] || return 0
	git status --porcelain | while read -r line; do
		fault "${line:2}:1" clean-tree "git status says '$line'"
	done
}

# ---- documents against code ----

check_errors_doc() {
	sed -nE 's/^[ \t]+X\(([A-Z]+), (-[0-9]+), ([0-9]+), .*/\1 \2 \3/p' \
		"$header" | while read -r name value exit_code; do
		grep -qE "^\| \`KBUNDLE_E_$name\` \| $value \| $exit_code \|" \
			docs/errors.md ||
			fault docs/errors.md:1 errors \
				"no row for KBUNDLE_E_$name, $value, exit $exit_code"
	done
}

check_formats_doc() {
	local f line name

	files '^formats/.*\.c$' |
		{ xargs -r grep -nE '^[[:space:]]*\.name = "' || true; } |
		sed -nE 's/^([^:]+):([0-9]+):.*\.name = "([^"]+)".*/\1 \2 \3/p' |
		while read -r f line name; do
			grep -qE "^\| \`$name\` \|" README.md ||
				fault "$f:$line" formats \
					"README.md has no row for format $name"
		done
}

# A synopsis without its markup and line breaks.
plain_synopsis() {
	tr '\n\t' '  ' | sed -E 's/  +/ /g; s/^ //; s/ $//'
}

check_man() {
	local f verb page help

	[ -n "$build" ] || return 0
	if [ ! -x "$build/src/kbundle" ]; then
		fault "$build/src/kbundle:0" man "there is no program"
		return 0
	fi
	for f in src/cli/cmd_*.c; do
		[ -f "$f" ] || continue
		verb=${f#src/cli/cmd_}
		verb=${verb%.c}
		page=docs/man/kbundle-$verb.1
		if [ ! -f "$page" ]; then
			fault "$page:1" man "no man page for $verb"
			continue
		fi
		help=$("$build/src/kbundle" "$verb" --help |
			sed -nE '/^Usage: /,/^$/{s/^Usage: //;p}' |
			plain_synopsis)
		[ -n "$help" ] ||
			fault "$f:1" man "--help of $verb has no usage line"
		man_synopsis "$page" >"$work/synopsis"
		[ "$help" = "$(cat "$work/synopsis")" ] ||
			fault "$page:1" man \
				"synopsis '$(cat "$work/synopsis")', --help says '$help'"
	done
}

man_synopsis() { # man_synopsis PAGE
	sed -nE '/^\.SH SYNOPSIS/,/^\.SH [^S]/{/^\.SH/d;/^\.(nf|fi|PP|sp|br|ad|nh|hy|na)/d;p}' "$1" |
		sed -E 's/^\.(B|I|BR|IR|RB|RI|BI|IB|SY|OP) ?//; s/\\f[BIRP]//g; s/\\-/-/g; s/\\&//g; s/\\ / /g; s/"//g' |
		plain_synopsis
}

# ---- other people's checkers ----

check_format() {
	printf '%s\0' "${c_files[@]}" |
		xargs -0 clang-format --dry-run --Werror 2>&1 |
		sed -nE 's/^([^ :]+:[0-9]+):[0-9]+: error: .*/\1: clang-format: run clang-format -i/p' |
		sort -t: -u -k1,1 >>"$faults" || true
}

# The slowest check: it runs beside the others, and is waited for. A lib.sh is
# not read again with every script that sources it: so names that cross between
# them are left to `set -u`.
check_scripts() {
	local scripts

	scripts=$(files '(\.sh$|^\.ci/run$)')
	{
		grep '/lib\.sh$' <<<"$scripts" |
			xargs -r shellcheck -e SC2034 -f gcc || true
		grep -v '/lib\.sh$' <<<"$scripts" |
			xargs -r shellcheck -e SC1091,SC2154 -f gcc || true
	} >"$work/shellcheck"
}

take_scripts() {
	wait "$scripts_pid"
	sed -E 's/^([^:]+:[0-9]+):[0-9]+:/\1: shellcheck:/' \
		"$work/shellcheck" >>"$faults"
}

so=build/release/src/libkbundle.so
if [ -z "$build" ] && [ -f $so ]; then
	if [ -z "$(find src formats include cmake -newer $so -print -quit)" ]; then
		build=build/release
	else
		echo "tools/check.sh: build/release is older than the sources"
	fi
elif [ -n "$build" ] && [ ! -f "$build/src/libkbundle.so" ]; then
	fault "$build:0" build "there is no libkbundle.so in its src/"
	build=
fi

check_scripts &
scripts_pid=$!
check_includes
check_calls
check_symbols
check_header
check_golden
check_spdx
check_listed
check_markers
check_clean_tree
check_errors_doc
check_formats_doc
check_man
check_format
take_scripts

if [ -s "$faults" ]; then
	sort -t: -k1,1 -k2,2n "$faults"
	echo "tools/check.sh: $(wc -l <"$faults") faults" >&2
	exit 1
fi
echo "tools/check.sh: no fault${build:+ (with $build)}"
