#!/usr/bin/env bash
# The recipes of docs/scale.md for GitLab, GitHub Actions, Kubernetes, CircleCI and Buildkite: the lines of their scripts, run here once a
# share with the variables that the system would set, on an overlay (default: that of the project); and the hook before a commit. None of
# these systems is here: this shows that the lines and the variables do what the recipe says, not that the system takes the file.
#
#     EBAUDIT=target/release/ebaudit tests/scale/simulated.sh [OVERLAY]
#
# Installs git and PyYAML from Debian where they are missing.
. "$(dirname "$0")/common.bash"

needs python3=python3 git=git
python=python3
if ! python3 -c 'import yaml' 2> /dev/null; then
	/usr/bin/python3 -c 'import yaml' 2> /dev/null || needs no-such-command-as-yaml=python3-yaml
	python=/usr/bin/python3
fi
script() { "$python" "$here/recipe" --script "$@"; }

shares=4
whole

# ran STATUS: of a share
ran() { case $1 in 0 | 3) ;; *) cat share.err >&2; fail "$system: a share ends with status $1" ;; esac; }

# merged COMMAND…: the report of all shares
merged() {
	local status=0
	"$@" --format json -o report.json 2> merge.err || status=$?
	[ -s report.json ] || { cat merge.err >&2; fail "$system: no report"; }
	echo "$system: $shares shares"
	compare report.json "$status"
}

# a system whose jobs run in the overlay itself: then that is a copy, so that nothing is written to the original
inside() {
	work
	rm overlay
	cp -r "$overlay" overlay
	cd overlay
}

system=GitLab
inside
script .gitlab-ci.yml audit script > job.sh
[ "$("$python" "$here/recipe" --script .gitlab-ci.yml audit parallel)" = "$shares" ] || fail "GitLab: not $shares shares"
for index in $(seq $shares); do
	status=0
	CI_NODE_INDEX=$index CI_NODE_TOTAL=$shares sh -e job.sh 2> share.err || status=$?
	ran $status
done
mv reports .ebaudit job.sh share.err ..
cd ..
script .gitlab-ci.yml merge script | grep -qx 'ebaudit merge reports/\*.json --fail-on error' || fail "GitLab: another merge than is run here"
merged ebaudit merge reports/*.json --fail-on error

system='GitHub Actions'
inside
script audit.yml jobs audit steps 2 run > job.txt
[ "$(script audit.yml jobs audit strategy matrix shard | wc -l)" = "$shares" ] 2> /dev/null || fail "GitHub: not $shares shares"
mkdir reports
for index in $(seq $shares); do
	sed -e "s/\${{ matrix.shard }}/$index/g" -e "s/\${{ strategy.job-total }}/$shares/g" job.txt > job.sh
	status=0
	bash --noprofile --norc -eo pipefail job.sh 2> share.err || status=$?
	ran $status
	mv "$index.json" reports
done
mv reports job.sh share.err ..
cd ..
script audit.yml jobs merge steps 2 run | grep -qx 'ebaudit merge reports/\*.json' || fail "GitHub: another merge than is run here"
merged ebaudit merge reports/*.json

system=Kubernetes
work
mkdir reports
script job.yaml spec template spec containers 0 args > job.sh
[ "$(script job.yaml spec completions)" = "$shares" ] || fail "Kubernetes: not $shares shares"
for index in $(seq 0 $((shares - 1))); do
	status=0
	JOB_COMPLETION_INDEX=$index sh -c "$(cat job.sh)" 2> share.err || status=$?
	ran $status
done
merged ebaudit merge reports/*.json

for system in CircleCI Buildkite; do
	work
	mkdir reports
	case $system in
	CircleCI) name=CIRCLE_NODE_INDEX of=CIRCLE_NODE_TOTAL recipe=circleci.sh ;;
	Buildkite) name=BUILDKITE_PARALLEL_JOB of=BUILDKITE_PARALLEL_JOB_COUNT recipe=buildkite.sh ;;
	esac
	"$here/recipe" $recipe > job.sh
	for index in $(seq 0 $((shares - 1))); do
		status=0
		env "$name=$index" "$of=$shares" sh -e job.sh 2> share.err || status=$?
		ran $status
	done
	merged ebaudit merge reports/*.json
done

# the hook: a commit with a dead edit is stopped, one without is made
system=git
inside
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.org GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.org
rm -rf ./*
mkdir -p profiles metadata app-misc/a
printf 'hooked\n' > profiles/repo_name
printf 'app-misc\n' > profiles/categories
printf 'masters =\n' > metadata/layout.conf
ebuild() {
	printf 'EAPI=8\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nLICENSE=MIT\nSLOT=0\nS=${WORKDIR}\nsrc_prepare() {\n\tdefault\n\techo a > b || die\n\tsed -i -e s/%s/c/ b || die\n}\n' "$1" > app-misc/a/a-1.ebuild
	git add -A
}
git init -q -b main
git add -A
git commit -qm one
"$here/recipe" pre-commit > .git/hooks/pre-commit
chmod +x .git/hooks/pre-commit
ebuild a
git commit -qm two > hook.log 2>&1 || { cat hook.log >&2; fail "the hook stops a commit without a dead edit"; }
ebuild nothing
if git commit -qm three > hook.log 2>&1; then fail "the hook lets a dead edit pass"; fi
grep -q DeadSed hook.log || { cat hook.log >&2; fail "the hook stops a commit for another reason"; }
# and what a pull request is audited by: the last commit of a clone of depth 2
git commit -qnm three
commits=$(script changes.yml jobs changes steps 2 run)
git clone -q --depth 2 "file://$PWD" ../shallow
cd ../shallow
status=0
$commits --format json -o ../changes.json 2> ../changes.err || status=$?
[ "$status" = 1 ] && grep -q '"rule": "DeadSed"' ../changes.json || { cat ../changes.err >&2; fail "--commits in a shallow clone: status $status"; }
echo "hook and shallow clone: as told"
echo "$what: passed"
