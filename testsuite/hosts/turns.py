# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The tools of the tests: a Slurm cluster of two machines with systemd, whose
daemons are units, with a gang partition."""
import json
import pathlib
import shutil
import typing

import gang
import sched_tests
from host_lab import STEPS, HostLab, parse_steps
from slurm_machines import AGENT, Slurm, slurmconf
from vm import SECONDS


class Layout(typing.NamedTuple):
    """A layout of a host's control groups."""
    words: list         # of the kernel command line, which select it
    mounted: str        # by what_is_mounted()
    mechanism: str      # by which steps are stopped: its number in the trace,
    kind: int           # too,
    says: str           # and the text that the agent logs


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
NODES = gang.NODES
MEMORY = 1000   # of a node, by slurm.conf
QUANTUM = 200   # ms: emulated machines do nothing in time

LEFT = f"shopt -s nullglob; {STEPS}; echo /run/slurm-storm/*/steps/*"


class Hosts(gang.Gang):
    """The cluster: like one on a lab, with other means to inspect it."""

    patience = SECONDS
    enough = 2
    looks = 4

    def __init__(self, machines, layout, conf=(), storm_conf=()):
        self.machines, self.layout = machines, layout
        self.by_groups = layout.mechanism != "signals"
        self.quantum = QUANTUM
        self.empty = {}
        self.pair = set()       # the jobs of two_jobs()
        conf = [("ProctrackType", "proctrack/cgroup"),
                ("TaskPlugin", "task/cgroup"), ("SlurmdDebug", "verbose"),
                *sched_tests.CONF, *conf]
        shutil.copy(HERE / "steps-here", machines.dir)
        # a node that is gone is to be missed soon
        self.slurm = Slurm(
            machines, "slurm",
            conf + slurmconf.gang_lines(machines.count, 1, 2, conf),
            [("Quantum", QUANTUM), ("DeadTimeout", "10s"),
             ("Partition", "shared Policy=local"), *storm_conf],
            cpus=1, memory=MEMORY)
        self.begin_with(HostLab(self.slurm), machines.count)
        self.furnish()
        self.with_epilog()
        self.known = {n: [] for n in self.names}        # of the traces

    # -- looked into -----------------------------------------------------------

    def on(self, node, command):
        return self.lab.shell(node, command)

    def everywhere(self, command):
        """The output of a command by node; it runs on all nodes at once."""
        return {n: c.out for n, c in zip(self.names, self.slurm.good(
            self.machines.run(command, timeout=SECONDS)))}

    def trace(self, node, since=0):
        known = self.known[node]
        begin = known[-1]["n"] + 1 if known else 0
        known += [json.loads(line) for line in self.on(
            node, f"{AGENT} --node {node} --trace {begin}").splitlines()]
        return [e for e in known if e["n"] >= since]

    def groups(self, node, whose="turn"):
        """The stopped steps according to the kernel. turn: only those that
        take turns; slurm: also those that Slurm may keep stopped."""
        return self.lab.steps(node, whose)

    def all_groups(self, whose="turn"):
        return {n: parse_steps(t, whose)
                for n, t in self.everywhere(STEPS).items()}

    def wait_until_empty(self):
        self.until(lambda: all(not t.strip() for t in
                               self.everywhere(LEFT).values()),
                   "the end of all groups and records")

    # -- jobs --------------------------------------------------------------------

    def signal_all(self, node, daemons, sig):
        self.lab.signal_all(node, daemons, sig)

    def two_jobs(self):
        """End the last test's jobs, if any are left."""
        if not self.pair or set(self.jobs()) != self.pair:
            self.end_jobs()
            super().two_jobs()
            self.pair = set(self.jobs())

    def gone(self, job):
        super().gone(job)
        self.until(lambda: not [s for groups in self.all_groups().values()
                                for s in groups if s.startswith(f"{job}.")],
                   "its groups to be gone")

    def end_jobs(self):
        self.on("n1", "scancel -p gang; scancel -p urgent; "
                "while [ -n \"$(squeue -h)\" ]; do sleep 0.1; done")
        self.end_all()
        self.nothing_left()
