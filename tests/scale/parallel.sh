#!/usr/bin/env bash
# GNU parallel runs the recipe of docs/scale.md on an overlay (default: that of the project), on two machines that are both this one: in the
# place of ssh stands a script that runs its command here. The report must be that of one run.
#
#     EBAUDIT=target/release/ebaudit tests/scale/parallel.sh [OVERLAY]
#
# Installs GNU parallel from Debian where it is missing.
. "$(dirname "$0")/common.bash"

needs parallel=parallel python3=python3
parallel --version | grep -q 'GNU parallel' || fail "parallel is not GNU parallel"
mkdir -p "$HOME/.parallel"
touch "$HOME/.parallel/will-cite"

cat > "$temp/bin/ssh" <<'END'
#!/bin/sh
# sshd sets SHELL to that of the account, and GNU parallel runs its jobs by it: the caller's may be unset
export SHELL=/bin/sh
# options, the machine, then the command
while :; do
	case $1 in
	-[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;
	--) shift; break ;;
	-*) shift ;;
	*) break ;;
	esac
done
echo "$1" >> "$SSH_LOG"
shift
[ "$1" != -- ] || shift
exec sh -c "$*"
END
chmod +x "$temp/bin/ssh"
export SSH_LOG=$temp/ssh.log

whole
work
printf '%s\n' one.example.org two.example.org > hosts
"$here/recipe" parallel.sh > recipe.sh
status=0
recipe recipe.sh || status=$?
[ -s report.json ] || { cat recipe.err jobs.log reports/*.err >&2 || true; fail "there is no report (status $status)"; }
sort "$SSH_LOG" | uniq -c | while read -r count host; do echo "$host: $count connections"; done
[ "$(sort -u "$SSH_LOG" | wc -l)" = 2 ] || fail "not both machines had a share"
echo "GNU parallel: $(($(wc -l < jobs.log) - 1)) shares"
compare report.json "$status"
echo "$what: passed"
