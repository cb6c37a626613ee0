# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What the tests are written in: a Slurm cluster of two machines with systemd,
whose daemons are units, with a gang partition."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import typing

import vm
from gang import Turns
from slurm_machines import AGENT, Slurm, slurmconf
from vm import SECONDS

class Layout(typing.NamedTuple):
    """Of a host's control groups."""
    words: list         # that make systemd make it, on the kernel's command line
    mounted: str        # by what_is_mounted()
    mechanism: str      # by which steps are stopped: its number in the trace,
    kind: int           # too,
    says: str           # and the agent's words


LAYOUTS = {
    "v2": Layout(
        ["systemd.unified_cgroup_hierarchy=1"], "cgroup2fs",
        "cgroup2", 1, "stopped by cgroup2, in Slurm's own groups"),
    "hybrid": Layout(
        ["systemd.unified_cgroup_hierarchy=0"], "tmpfs unified",
        "cgroup2", 1, "stopped by cgroup2 below "
                      "/sys/fs/cgroup/unified/slurm-storm/"),
    "v1": Layout(
        ["systemd.unified_cgroup_hierarchy=0",
         "systemd.legacy_systemd_cgroup_controller=1"], "tmpfs",
        "signals", 2, "stopped by signals"),
}
MOUNTED = ("stat -fc %T /sys/fs/cgroup; cd /sys/fs/cgroup; "
           "[ ! -d unified ] || echo unified")

HERE = pathlib.Path(__file__).resolve().parent
NODES = 2
MEMORY = 1000   # of a node, by slurm.conf
QUANTUM = 200   # ms: emulated machines do nothing in time

STEPS = "/machines/steps-here"
LEFT = f"shopt -s nullglob; {STEPS}; echo /run/slurm-storm/*/steps/*"
OF_STEPS = re.compile(r"(turn|slurm) (\S+) (\w+ |)([01])$", re.M)


class Hosts(Turns, Slurm):
    """The cluster.  A job is known by its command (vm.Command)."""

    patience = SECONDS

    def __init__(self, machines, layout, conf=(), storm_conf=()):
        self.layout = layout
        conf = [*{"ProctrackType": "proctrack/cgroup",
                  "TaskPlugin": "task/cgroup",
                  "Epilog": "/machines/epilog",
                  "SlurmdDebug": "verbose", **dict(conf)}.items()]
        gang = slurmconf.gang_lines(machines.count, 1, 2, conf)
        self.known = {f"n{i + 1}": [] for i in range(NODES)}    # of the traces
        self.taskdo = build(machines.dir)
        write_epilog(machines.dir)
        shutil.copy(HERE / "steps-here", machines.dir)
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

    def groups(self, node, whose="turn"):
        """By the kernel's word.  turn: that take turns; slurm: that Slurm may
        keep standing."""
        return parse_steps(self.on(node, STEPS), whose)

    def all_groups(self, whose="turn"):
        return {n: parse_steps(t, whose)
                for n, t in self.everywhere(STEPS).items()}

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


def parse_steps(text, whose):
    return {step: still == "1" for which, step, _, still in
            OF_STEPS.findall(text) if which == whose}


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
