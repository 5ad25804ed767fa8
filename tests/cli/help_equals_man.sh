#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The synopsis and the options of each man page are those of --help, word by
# word and in the same order.
source "$(dirname "$0")/lib.sh"
begin
man=$source_dir/docs/man

plain() { # roff -> text: fonts gone, \- is a dash
	sed -e 's/\\f[BIR]//g' -e 's/\\-/-/g'
}

section() { # NAME FILE: its lines without macros
	sed -n "/^\.SH $1\$/,/^\.SH /p" "$2" | grep -v '^\.' | plain
}

compare() { # WHAT HELP MAN
	[ -s "$2" ] || fail "$1: none in the help"
	diff -u "$2" "$3" >"$stderr" || fail "$1: help and man page differ"
}

for verb in '' pack unpack list cat inspect verify; do
	page=$man/kbundle${verb:+-$verb}.1
	# shellcheck disable=SC2086 # no word where there is no verb
	"$kbundle" $verb --help >help

	sed -n 's/^Usage: //p' help >help.synopsis
	section SYNOPSIS "$page" >man.synopsis
	compare "synopsis of kbundle $verb" help.synopsis man.synopsis

	# a tag ends at two spaces or at the end of its line
	sed -nE 's/^ {2,6}(-[^ ,]+(, -[^ ]+)?).*/\1/p' help >help.options
	sed -n '/^\.SH OPTIONS$/,/^\.SH /p' "$page" |
		grep -A1 '^\.TP$' | grep -v -e '^\.TP$' -e '^--$' |
		plain >man.options
	compare "options of kbundle $verb" help.options man.options
done

# every verb has a page, and every page is named by the main one
for page in "$man"/kbundle-*.1; do
	name=$(basename "$page" .1)
	section NAME "$page" | grep -q "^$name - " || fail "$page: no name"
	plain <"$man/kbundle.1" | grep -q "^\.BR $name (1)" ||
		fail "kbundle.1 does not name $name"
	"$kbundle" "${name#kbundle-}" --help >/dev/null
done
