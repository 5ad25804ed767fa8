#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The same cache gives the same bundle, byte for byte, whoever packs it, where
# and how: only the stored entries count. And nothing in a bundle tells who it
# was. The seed of the random orders is $1, $KB_PROP_SEED, or drawn.
source "$(dirname "$0")/../cli/lib.sh"
begin

seed=${1:-${KB_PROP_SEED:-$SRANDOM}}
say "seed $seed"

# ---- the cache: enough of it that several frames are at work at once ----

place=$work/a-place-to-be-forgotten
copies "$place" 200
cp -r "$cache/." "$place"
chmod -R u+w "$place"
# Files that do not compress to nothing, so that frames differ.
python3 - "$place" "$seed" <<'EOF'
import os, random, sys
place, seed = sys.argv[1:]
rng = random.Random(seed)
for key in os.listdir(place):
    if len(key) == 32:
        with open(f"{place}/{key}/add_kernel.ttir", "ab") as out:
            out.write(rng.randbytes(rng.randrange(8192)))
EOF

run 0 pack "$place" -o first.tar.zst --json
id=$(json "$stdout" .id)
mkdir -m 777 out
chmod 755 "$work"

# same WHAT COMMAND...: it writes out/it, which must be the first bundle.
same() {
	local what=$1
	shift
	rm -f out/it
	run_as 0 "$@"
	cmp -s first.tar.zst out/it || fail "another bundle: $what"
	n_same=$((n_same + 1))
}
n_same=0
pack=(pack --quiet -o out/it "$place")

same 'packed again' "$kbundle" "${pack[@]}"

# ---- environment ----

for locale in C POSIX C.UTF-8 de_DE.UTF-8 tr_TR.UTF-8; do
	if locale -a 2>/dev/null | grep -qix "${locale/UTF-8/utf-\\?8}"; then
		same "locale $locale" env LC_ALL="$locale" LANG="$locale" \
			"$kbundle" "${pack[@]}"
	else
		say "no locale $locale here: left out"
	fi
done
for zone in Pacific/Auckland UTC-14 America/St_Johns; do
	same "time zone $zone" env TZ="$zone" "$kbundle" "${pack[@]}"
done
same 'no environment' env -i "$kbundle" "${pack[@]}"
same 'a home' env HOME=/home/somebody-else USER=somebody-else \
	LOGNAME=somebody-else HOSTNAME=some-host TMPDIR="$work/out" \
	SOURCE_DATE_EPOCH=1 "$kbundle" "${pack[@]}"
for mask in 000 077 022; do
	# shellcheck disable=SC2016 # for the shell that is started
	same "umask $mask" sh -c 'umask "$0" && exec "$@"' "$mask" \
		"$kbundle" "${pack[@]}"
done

# ---- who and where ----

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null &&
	setpriv --reuid=65534 --regid=65534 --clear-groups true; then
	install -m 755 "$kbundle" "$work/kbundle-of-all"
	chmod -R a+rX "$place"
	same 'another user' setpriv --reuid=65534 --regid=65534 \
		--clear-groups "$work/kbundle-of-all" "${pack[@]}"
	equal 'owner of that bundle' "$(stat -c %u out/it)" 65534
	chown -R 1234:4321 "$place"
	same 'another owner' "$kbundle" "${pack[@]}"
else
	say 'not root: packing as another user is left out'
fi
if [ "$(id -u)" = 0 ] && unshare --uts true 2>/dev/null; then
	same 'another host' unshare --uts python3 -c '
import os, socket, sys
socket.sethostname("host-to-be-forgotten")
os.execv(sys.argv[1], sys.argv[1:])' "$kbundle" "${pack[@]}"
else
	say 'may not name the host: packing on another host is left out'
fi

# ---- how ----

for threads in 1 2 5 64; do
	same "$threads threads" "$kbundle" "${pack[@]}" --threads="$threads"
done
# shellcheck disable=SC2016 # for the shell that is started
{
	same 'to standard output' sh -c '"$@" >out/it' sh \
		"$kbundle" pack -o - "$place"
	same 'to a pipe' sh -c '"$@" | cat >out/it' sh \
		"$kbundle" pack -o - "$place"
}
mkdir spool
same 'another spool' "$kbundle" "${pack[@]}" --spool=spool
# shellcheck disable=SC2016 # for the shell that is started
same 'relative path' sh -c 'cd "$0" && exec "$@"' "$place" \
	"$kbundle" pack --quiet -o "$work/out/it" .

# Many small frames: their order is no matter of luck.
run 0 pack "$place" -q -o small.tar.zst --frame-size=64K --threads=1
frames=$(zstd -lv small.tar.zst 2>/dev/null |
	sed -n 's/^# Zstandard Frames: //p')
[ "$frames" -gt 9 ] || fail 'too few frames to mean anything'
for threads in 2 5 16; do
	run 0 pack "$place" -q -o out/small --frame-size=64K \
		--threads="$threads"
	same_bytes small.tar.zst out/small
done

# Other bytes, the same id.
for options in --level=1 --level=15 --frame-size=64K --frame-size=8M; do
	run 0 pack "$place" -o out/other --json "$options"
	equal "id with $options" "$(json "$stdout" .id)" "$id"
	! cmp -s first.tar.zst out/other || [ "$options" = --frame-size=8M ] ||
		fail "$options does nothing"
done

# ---- another place, of another length, made in another order ----

# make_copy DIR SEED: the cache at DIR, with the paths that it would have there,
# files and folders made in a random order, at random times.
make_copy() {
	python3 - "$place" "$1" "$2" <<-'EOF'
		import json, os, random, sys
		source, target, seed = sys.argv[1:]
		rng = random.Random(seed)
		files = [(key, name) for key in sorted(os.listdir(source))
		         for name in sorted(os.listdir(f"{source}/{key}"))]
		rng.shuffle(files)
		for key, name in files:
		    with open(f"{source}/{key}/{name}", "rb") as stream:
		        data = stream.read()
		    if name.startswith("__grp__") and len(key) > 32:
		        paths = json.loads(data)["child_paths"]
		        paths = {n: f"{target}/{key}/{n}" for n in paths}
		        data = json.dumps({"child_paths": paths}).encode()
		    path = f"{target}/{key}/{name}"
		    os.makedirs(f"{target}/{key}", exist_ok=True)
		    # What was there before leaves its mark in some file systems.
		    for n in range(rng.choice((0, 0, 3))):
		        open(f"{target}/{key}/.gone{n}", "w").close()
		        os.unlink(f"{target}/{key}/.gone{n}")
		    with open(path, "wb") as out:
		        out.write(data)
		    os.utime(path, ns=(rng.randrange(2**62), rng.randrange(2**61)))
		    os.chmod(path, rng.choice((0o400, 0o644, 0o755)))
	EOF
}

orders=$work/orders
order_of() { (cd "$1" && find . -type f) | sha256sum >>"$orders"; }

long=$work/$(printf 'x%.0s' $(seq 250))/$(printf 'y%.0s' $(seq 250))
targets=("$work/s" "$work/with space and 'quotes'" "$long")
if [ -w /dev/shm ]; then
	memory=$(mktemp -d /dev/shm/kbundle-prop.XXXXXX)
	trap 'rm -rf "$memory"; end' EXIT
	targets+=("$memory/1" "$memory/2")
fi
for i in "${!targets[@]}"; do
	make_copy "${targets[i]}" "$seed-$i"
	order_of "${targets[i]}"
	same "copy $i" "$kbundle" pack --quiet -o out/it "${targets[i]}"
done
ln -s "$work/s" link
same 'through a symlink' "$kbundle" pack --quiet -o out/it link

# ---- nothing in it tells who ----

zstd -dcq first.tar.zst | tar -xO kbundle.jsonl >manifest
equal 'id' "sha256:$(sha256sum <manifest | cut -d' ' -f1)" "$id"
has_not manifest "$work"
has_not manifest 'a-place-to-be-forgotten'
python3 - manifest "$(uname -n)" "$(id -un 2>/dev/null || id -u)" <<'EOF' || \
	fail 'the manifest names the host or the user'
import json, re, sys

name, *secrets = sys.argv[1:]
secrets = {s.lower() for s in secrets} | {secrets[0].split(".")[0].lower()}

def texts(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value

words = set()
for line in open(name, encoding="utf-8"):
    for text in texts(json.loads(line)):
        words.update(re.split("[^a-z0-9._-]+", text.lower()))
assert "triton" in words and "add_kernel" in words
sys.exit(f"the manifest says {secrets & words}" if secrets & words else 0)
EOF

say "$n_same times the same bundle; files were listed in" \
	"$(sort -u "$orders" | wc -l) orders"
# Without a file system in memory all may be listed in the order of a hash.
[ -z "${memory-}" ] || [ "$(sort -u "$orders" | wc -l)" -gt 1 ] ||
	fail 'all copies were listed in one order'
