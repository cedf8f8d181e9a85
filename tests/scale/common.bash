# What the scripts of this folder share: the program, the overlay, a folder that goes at the end. To be sourced.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
what=$(basename "$0")
program=$(realpath -m "${EBAUDIT:-$root/target/debug/ebaudit}")
overlay=$(realpath -m "${1:-$root/overlay}")

fail() { echo "$what: $*" >&2; exit 1; }
# what is wanted is not here: status 77, so that it is neither a pass nor a fault of ebaudit
lacks() { echo "$what: NOT RUN: $*" >&2; exit 77; }

# a package of Debian for each command that is not here: COMMAND=PACKAGE…
needs() {
	local pair missing=()
	for pair in "$@"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "${pair%%=*}" > /dev/null || missing+=("${pair#*=}")
	done
	((${#missing[@]})) || return 0
	[ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || lacks "not here, and can't be installed without root and apt-get: ${missing[*]}"
	echo "$what: installing ${missing[*]}"
	# no service of theirs is to be started by that
	local policy=/usr/sbin/policy-rc.d made=""
	[ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' > $policy && chmod +x $policy && made=1; }
	local done=0
	{
		timeout 60 apt-get update -q &&
			DEBIAN_FRONTEND=noninteractive timeout 90 apt-get install -qy --no-install-recommends "${missing[@]}"
	} < /dev/null > "$temp/apt.log" 2>&1 || done=$?
	[ -z "$made" ] || rm -f $policy
	[ $done = 0 ] || { tail -5 "$temp/apt.log" >&2; lacks "can't install ${missing[*]}"; }
}

[ -x "$program" ] || fail "$program is not there; build it, or name it with EBAUDIT"
[ -e "$overlay/profiles/repo_name" ] || fail "$overlay is no overlay"

temp=$(mktemp -d "${TMPDIR:-/tmp}/scale.XXXXXX")
finish() { :; }
recipe=
trap 'status=$?; trap "" INT TERM; [ -z "$recipe" ] || kill "$recipe" 2> /dev/null || true; finish; rm -rf "$temp"; exit $status' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# the recipes say `ebaudit`, and have their own place for results
mkdir "$temp/bin" "$temp/home"
ln -s "$program" "$temp/bin/ebaudit"
export PATH="$temp/bin:$PATH" XDG_CACHE_HOME="$temp/cache" HOME="$temp/home"
# where this runs in CI itself, no recipe is to see it
unset CI_NODE_INDEX CI_NODE_TOTAL CIRCLE_NODE_INDEX CIRCLE_NODE_TOTAL BUILDKITE_PARALLEL_JOB BUILDKITE_PARALLEL_JOB_COUNT JOB_COMPLETION_INDEX \
	PARALLEL_SEQ
for name in $(compgen -e SLURM_ || true); do unset "$name"; done

# the recipes say `overlay`; they write into an empty folder, the same each time, since reports hold the overlay's place
work() {
	cd "$temp"
	rm -rf "$temp/work"
	mkdir "$temp/work"
	ln -s "$overlay" "$temp/work/overlay"
	cd "$temp/work"
}

# one run, whose report that of the shares must be
whole() {
	local status=0
	work
	ebaudit audit overlay --no-cache --format json -o "$temp/whole.json" --quiet 2> "$temp/whole.err" || status=$?
	case $status in
	0 | 1 | 3) echo "$status" > "$temp/whole.status" ;;
	*) cat "$temp/whole.err" >&2; fail "one run ends with status $status" ;;
	esac
}

# recipe FILE: runs it, five minutes at most; a signal does not wait for its end
recipe() {
	local status=0
	timeout 300 bash "$1" > recipe.out 2> recipe.err < /dev/null &
	recipe=$!
	wait "$recipe" || status=$?
	recipe=
	return $status
}

# compare REPORT STATUS: with the report and the status of one run
compare() {
	"$here/same" "$temp/whole.json" "$1" || fail "the shares are not the whole"
	[ "$2" = "$(cat "$temp/whole.status")" ] || fail "the status of the shares is $2, that of one run $(cat "$temp/whole.status")"
}
