# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What the tests are written in: a Slurm cluster of two machines with systemd,
whose daemons are units, with a gang partition."""
import json
import os
import pathlib
import re
import subprocess

import vm
from gang import Turns
from slurm_machines import AGENT, Slurm, slurmconf
from vm import SECONDS

#: what systemd makes of the control groups, by words on the kernel's command
#: line
LAYOUTS = {
    "v2": ["systemd.unified_cgroup_hierarchy=1"],
}

NODES = 2
MEMORY = 1000   # of a node, by slurm.conf
QUANTUM = 200   # ms: emulated machines do nothing in time

#: the groups of Slurm's cgroup/v2 and those of ours, wherever v2 is mounted
GROUPS = ("shopt -s nullglob; for f in /sys/fs/cgroup/system.slice/"
          "*_slurmstepd.scope/job_*/step_*/user/cgroup.freeze "
          "/sys/fs/cgroup/{,unified/}slurm-storm/*/*/cgroup.freeze "
          "/sys/fs/cgroup/freezer/slurm-storm/*/*/freezer.state; do "
          '{ echo "$f $(<"$f")"; } 2>/dev/null; done')
LEFT = f"{GROUPS}; echo /run/slurm-storm/*/steps/*"
OF_SLURM = re.compile(r"/job_(\d+)/step_(\w+)/user/cgroup.freeze (\d)")
OF_OURS = re.compile(r"/(\d+)\.(\d+)\.\d+/[a-z.]+ (\w+)")


class Hosts(Turns, Slurm):
    """The cluster.  A job is known by its command (vm.Command)."""

    patience = SECONDS

    def __init__(self, machines, conf=(), storm_conf=()):
        conf = [*{"ProctrackType": "proctrack/cgroup",
                  "TaskPlugin": "task/cgroup",
                  "Epilog": "/machines/epilog", **dict(conf)}.items()]
        gang = slurmconf.gang_lines(machines.count, 1, 2, conf)
        self.known = {f"n{i + 1}": [] for i in range(NODES)}    # of the traces
        self.taskdo = build(machines.dir)
        write_epilog(machines.dir)
        # a node that is gone is to be missed soon
        super().__init__(machines, "slurm", conf + gang,
                         [("Quantum", QUANTUM), ("DeadTimeout", "10s"),
                          *storm_conf], cpus=1, memory=MEMORY)

    # -- what Turns wants ------------------------------------------------------

    def root(self, command):
        return self.on("n1", command)

    def on(self, node, command):
        """What a command of root's prints on a node."""
        [c] = self.machines.run(command, [self.names.index(node)], SECONDS)
        assert c.code == 0, str(c)
        return c.out

    def everywhere(self, command):
        """What it prints, by node; at once on all of them."""
        return {n: c.out for n, c in zip(self.names, self.good(
            self.machines.run(command, timeout=SECONDS)))}

    def trace(self, node, since=0):
        known = self.known[node]
        begin = known[-1]["n"] + 1 if known else 0
        known += [json.loads(line) for line in self.on(
            node, f"{AGENT} --node {node} --trace {begin}").splitlines()]
        return [e for e in known if e["n"] >= since]

    def groups(self, node):
        """By the kernel's word."""
        return parse_groups(self.on(node, GROUPS))

    def all_groups(self):
        return {n: parse_groups(t) for n, t in self.everywhere(GROUPS).items()}

    def wait_until_empty(self):
        self.until(lambda: all(not t.strip() for t in
                               self.everywhere(LEFT).values()),
                   "the end of all groups and records")

    # -- jobs --------------------------------------------------------------------

    def begin(self, verbs):
        """A job of one task on each node."""
        return self.start(f"srun -pgang -N{NODES} --launch=storm "
                          f"{self.taskdo} {verbs}")

    def finish(self, *runs):
        assert self.machines.wait(runs, SECONDS), str(runs[0])
        for run in runs:
            assert run.code == 0, f"{run}\n{self.log()}"

    def two_jobs(self):
        if len(self.jobs()) == 2:
            return
        self.end_jobs()
        for _ in range(2):
            self.begin("block")
        self.until(lambda: len(self.jobs()) == 2, "two jobs")
        self.alternate(times=2)

    def set_quantum(self, ms):
        self.everywhere(f"sed -i 's/^Quantum=.*/Quantum={ms}/' "
                        "/etc/slurm/storm.conf")
        self.root("scontrol reconfigure")

    def end_jobs(self):
        self.root("scancel -p gang; while [ -n \"$(squeue -h)\" ]; do "
                  "sleep 0.1; done")
        self.nothing_left()

    def slurmd_log(self, node):
        return self.on(node, "cat /var/log/slurm/slurmd.log")


def parse_groups(text):
    return {f"{job}.{step}": still in ("1", "FROZEN") for pattern in
            (OF_SLURM, OF_OURS) for job, step, still in pattern.findall(text)}


def build(to):
    """The test's program, seen from all machines."""
    source = vm.TOP / "testsuite" / "programs" / "taskdo.c"
    subprocess.run(["cc", "-std=gnu11", "-O2", source, "-o", to / "taskdo"],
                   check=True)
    return "/machines/taskdo"


def write_epilog(to):
    path = pathlib.Path(to) / "epilog"
    path.write_text("#!/bin/sh\n"
                    ": >/machines/epilog.$SLURM_JOB_ID.$SLURMD_NODENAME\n")
    os.chmod(path, 0o755)
