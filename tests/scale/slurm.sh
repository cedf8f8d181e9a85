#!/usr/bin/env bash
# A real Slurm of two nodes on loopback runs the recipes of docs/scale.md on an overlay (default: that of the project) and its shares are
# merged; the report must be that of one run.
#
#     EBAUDIT=target/release/ebaudit tests/scale/slurm.sh [OVERLAY]
#
# Needs root: slurmd wants it. Installs slurmctld, slurmd, slurm-client and munge from Debian where they are missing. All state is in a
# folder for temporary files, the ports are free ones, and whatever the machine has of Slurm or munge is neither asked nor touched.
. "$(dirname "$0")/common.bash"
export PATH=$PATH:/usr/sbin:/sbin

[ "$(id -u)" = 0 ] || fail "slurmd needs root"
needs slurmctld=slurmctld slurmd=slurmd sbatch=slurm-client munged=munge python3=python3

started=()
finish() {
	# what Slurm still runs is ended by Slurm; then its daemons, the last one first
	if [ -n "${SLURM_CONF:-}" ] && ((${#started[@]} > 1)); then
		timeout 10 scancel --quiet --user="$(id -un)" 2> /dev/null || true
	fi
	local at pid
	for ((at = ${#started[@]} - 1; at >= 0; at--)); do kill "${started[at]}" 2> /dev/null || true; done
	for pid in "${started[@]}"; do
		for _ in $(seq 50); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
		kill -9 "$pid" 2> /dev/null || true
		wait "$pid" 2> /dev/null || true
	done
	# a step's own process outlives its slurmd; its command line does not name the folder, its environment does
	local environ
	for environ in /proc/[0-9]*/environ; do
		pid=${environ#/proc/}; pid=${pid%/environ}
		[ "$pid" != "$$" ] && [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = slurmstepd ] || continue
		if { tr "\0" "\n" < "$environ"; } 2> /dev/null | grep -qF "$temp"; then kill -9 "$pid" 2> /dev/null || true; fi
	done
}

chmod 755 "$temp"
mkdir -m 755 "$temp/munge" "$temp/slurm" "$temp/slurm/spool-n1" "$temp/slurm/spool-n2" "$temp/slurm/state"
head -c 1024 /dev/urandom > "$temp/munge/key"
chmod 400 "$temp/munge/key"
(exec munged --foreground --force --key-file="$temp/munge/key" --socket="$temp/munge/socket" --pid-file="$temp/munge/pid" \
	--log-file="$temp/munge/log" --seed-file="$temp/munge/seed" --origin=127.0.0.1 > "$temp/munge/out" 2>&1) &
started+=($!)
for _ in $(seq 100); do [ -S "$temp/munge/socket" ] && break; sleep 0.1; done
[ -S "$temp/munge/socket" ] || { cat "$temp/munge/out" "$temp/munge/log" >&2; fail "munged does not start"; }

read -r controller n1 n2 < <(python3 -c '
import socket
sockets = [socket.socket() for _ in range(3)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in sockets))')
cpus=$(nproc)
export SLURM_CONF=$temp/slurm/slurm.conf
cat > "$SLURM_CONF" <<END
ClusterName=ebaudit
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$controller
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$temp/munge/socket
CredType=cred/munge
StateSaveLocation=$temp/slurm/state
SlurmdSpoolDir=$temp/slurm/spool-%n
SlurmctldPidFile=$temp/slurm/slurmctld.pid
SlurmdPidFile=$temp/slurm/slurmd-%n.pid
SlurmctldLogFile=$temp/slurm/slurmctld.log
SlurmdLogFile=$temp/slurm/slurmd-%n.log
# a container has no cgroups to give: processes are known by their group
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$n1 CPUs=$cpus State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$n2 CPUs=$cpus State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
# Slurm before 23.02 knows no plugin that is off, and reads this only where something asks for cgroups
echo 'CgroupAutomount=no' > "$temp/slurm/cgroup.conf"

(exec slurmctld -D -f "$SLURM_CONF" > "$temp/slurm/slurmctld.out" 2>&1) &
started+=($!)
for node in n1 n2; do
	(exec slurmd -D -N $node -f "$SLURM_CONF" > "$temp/slurm/slurmd-$node.out" 2>&1) &
	started+=($!)
done
idle=0
for _ in $(seq 150); do
	idle=$(timeout 5 sinfo --noheader --Node --states=idle 2> /dev/null | wc -l) || idle=0
	[ "$idle" = 2 ] && break
	sleep 0.2
done
if [ "$idle" != 2 ]; then
	tail -n 5 "$temp"/slurm/*.out "$temp"/slurm/*.log >&2
	fail "the two nodes do not come up"
fi
sinfo --Node --long

whole

# the job array of the documentation, and its merge
work
"$here/recipe" audit.sbatch > audit.sbatch
"$here/recipe" slurm-array.sh > recipe.sh
status=0
timeout 300 bash recipe.sh > merged.txt 2> recipe.err || status=$?
cat recipe.err
[ -s report.json ] || { cat reports/*.log >&2 || true; fail "the job array left no report (status $status)"; }
echo "job array: $(ls reports/*.json | wc -l) shares, on nodes: $(cat reports/*.log | sed -n 's/^on //p' | sort | uniq -c | xargs)"
compare report.json "$status"

# and the tasks of one job
work
"$here/recipe" slurm-tasks.sh > recipe.sh
status=0
timeout 300 bash recipe.sh > merged.txt 2> recipe.err || status=$?
[ -s report.json ] || { cat recipe.err >&2; fail "srun left no report (status $status)"; }
echo "srun: $(ls reports/*.json | wc -l) shares"
compare report.json "$status"
echo "$what: passed"
