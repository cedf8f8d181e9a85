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

[ "$(id -u)" = 0 ] || lacks "slurmd needs root"
needs slurmctld=slurmctld slurmd=slurmd sbatch=slurm-client munged=munge python3=python3

started=()

# the processes of Slurm's steps that belong to this run: they outlive slurmd, and only their environment names the folder
steps() {
	local of
	for of in /proc/[0-9]*; do
		[ "$(cat "$of/comm" 2> /dev/null)" = slurmstepd ] || continue
		if { tr '\0' '\n' < "$of/environ"; } 2> /dev/null | grep -qF "$temp"; then echo "${of#/proc/}"; fi
	done
}

# gone SECONDS PID…: waits until none of the processes is there
gone() {
	local tries=$(($1 * 10)) pid
	shift
	for pid in "$@"; do
		while kill -0 "$pid" 2> /dev/null; do
			((tries-- > 0)) || return 1
			sleep 0.1
		done
	done
}

finish() {
	((${#started[@]})) || return 0
	# jobs end by Slurm's hand if it still lives, else by a signal to what the steps started
	[ -z "${controller_pid:-}" ] || ! kill -0 "$controller_pid" 2> /dev/null || timeout 3 scancel --quiet --user="$(id -un)" 2> /dev/null || true
	local left child step
	mapfile -t left < <(steps)
	if ((${#left[@]})) && ! gone 2 "${left[@]}"; then
		for child in $(for step in "${left[@]}"; do cat "/proc/$step/task/"*/children 2> /dev/null || true; done); do
			kill -- "-$child" 2> /dev/null || kill "$child" 2> /dev/null || true
		done
		gone 3 "${left[@]}" || kill -9 "${left[@]}" 2> /dev/null || true
	fi
	kill "${started[@]}" 2> /dev/null || true
	gone 3 "${started[@]}" || kill -9 "${started[@]}" 2> /dev/null || true
	wait "${started[@]}" 2> /dev/null || true
	mapfile -t left < <(steps)
	((${#left[@]} == 0)) || kill -9 "${left[@]}" 2> /dev/null || true
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
controller_pid=$!
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
recipe recipe.sh || status=$?
cat recipe.err
[ -s report.json ] || { cat reports/*.log >&2 || true; fail "the job array left no report (status $status)"; }
echo "job array: $(ls reports/*.json | wc -l) shares, on nodes: $(cat reports/*.log | sed -n 's/^on //p' | sort | uniq -c | xargs)"
compare report.json "$status"

# and the tasks of one job
work
"$here/recipe" slurm-tasks.sh > recipe.sh
status=0
recipe recipe.sh || status=$?
[ -s report.json ] || { cat recipe.err >&2; fail "srun left no report (status $status)"; }
echo "srun: $(ls reports/*.json | wc -l) shares"
compare report.json "$status"
echo "$what: passed"
