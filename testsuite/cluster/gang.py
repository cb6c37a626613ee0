# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A cluster whose jobs take turns."""
import contextlib
import os
import pathlib
import re

import gang_rules
from harness import (
    Cluster, epilog_ran, need_records, until, write_epilog)
from lab import cgroups

NODES = 2


def cpu_mount():
    """Where groups of version 1 have the cpu controller, or None."""
    for point, kind, controllers, _ in cgroups.hierarchies():
        if kind == "cgroup" and "cpu" in controllers.split(","):
            return pathlib.Path(point)
    return None


def groups_below(top, name):
    """The control groups in a tree that have a file of this name. Groups come and
    go meanwhile, and pathlib's rglob() fails if one goes that it is about to
    read."""
    return [pathlib.Path(path) for path, _, files in os.walk(top)
            if name in files]


def groups_in(top, name):
    """Those directly in this group; none if it has gone, too."""
    try:
        return [top / n for n in os.listdir(top)
                if os.path.exists(top / n / name)]
    except OSError:
        return []


class Gang(Cluster):
    """A lab with a gang partition and no standing job."""

    patience = 120      # seconds
    enough = 5          # turns of a job that prove that it takes turns
    looks = 20          # checks that prove that nothing changes any more
    by_groups = True    # steps are stopped by control groups, not by signals
    yields = False      # steps that run may give way, without a stop
    epilog = False      # whether each job runs an epilog that leaves a file

    def __init__(self, name, nodes=NODES, gang=2, quantum=10, cpus=1,
                 **options):
        self.empty = {}         # {node: position in its trace when nothing ran}
        self.quantum = quantum
        need_records()
        super().__init__(name, nodes, cpus=cpus, standing=False, gang=gang,
                         quantum=quantum, **options)

    def begin(self, verbs, nodes=NODES, **options):
        """Start a job of one task on each node. Returns its Started."""
        return self.start(f"srun -pgang -N{nodes} --launch=storm {verbs}",
                          **options)

    def on(self, node, command):
        """The output of a shell command that root runs on a node."""
        done = self.lab.run(["sh", "-c", command], host=node, cwd="/")
        assert done.returncode == 0, f"{node}: {command}: {done.stderr}"
        return done.stdout

    def until(self, condition, what, interval=0.02):
        return until(condition, what, self.patience, interval)

    def jobs(self):
        return [int(j) for j in self.root("squeue -h -t R -o %A").split()]

    def mark(self, node):
        """The end of the trace: later events have at least this number."""
        return (self.trace(node) or [{"n": -1}])[-1]["n"] + 1

    def stand(self, node):
        return [s for s, still in self.groups(node).items() if still]

    def said(self, host, daemon, text):
        """Whether slurmd's log has the text. slurmstepd writes to it, too, and
        now and then one cuts a line of the other's in two."""
        cut = r"(?:\[\d{4}-[^\n]*\n)?"
        return re.search(cut.join(map(re.escape, text)),
                         self.lab.log(host, daemon))

    def goes_on(self, node):
        """Wait until everything on a node runs, and make sure that it is not a
        moment between two turns."""
        seen = []

        def runs():
            if self.stand(node):
                seen.clear()
            seen.append(node)
            return len(seen) > 3

        self.until(runs, f"all of {node} to run")
        for _ in range(self.looks):
            groups = self.groups(node)
            assert groups and not any(groups.values()), groups

    def all_run(self):
        return not any(self.stand(n) for n in self.names)

    def task_states(self, job):
        """The states in /proc of a job's tasks (taskdo) on all nodes."""
        return [letter for node in self.names for letter in self.on(
            node, "for p in $(pgrep -x taskdo); do "
            f"! grep -zqx SLURM_JOB_ID={job} /proc/$p/environ || "
            r"sed 's/.*) \(.\).*/\1/' /proc/$p/stat; done 2>/dev/null"
            ).split()]

    def signal_all(self, node, daemons, sig):
        """Send a signal to all tasks at once."""
        for pid in [p for d in daemons for p in self.lab.pids(node, d)]:
            with contextlib.suppress(ProcessLookupError):   # it has just ended
                os.kill(pid, sig)

    def two_jobs(self):
        """Jobs that take turns on all nodes and run until they are ended."""
        for _ in range(2):
            self.begin("{do} block")
        self.until(lambda: len(self.jobs()) == 2, "two jobs")
        self.alternate()

    def gone(self, job):
        """Wait for the end of a job, which must leave nothing behind."""
        self.until(lambda: not self.root(
            f"squeue -h -t R,CG -j {job}").strip(), f"the end of job {job}")
        if self.epilog:
            epilog_ran(self.lab, job, *self.names)

    def with_epilog(self):
        """It is in slurm.conf."""
        write_epilog(self.lab)
        self.epilog = True

    def alternate(self, since=None, times=None, job_count=2):
        """Wait until so many jobs have been stopped and continued on all
        nodes."""
        times = times or self.enough
        since = since or {n: self.mark(n) for n in self.names}

        def enough():
            for node in self.names:
                turns = {}
                for e in self.trace(node, since[node]):
                    if e["what"] == "continue" and e["why"] == "slot":
                        turns[e["job"]] = turns.get(e["job"], 0) + 1
                if len([j for j in turns if turns[j] >= times]) < job_count:
                    return False
            return True

        self.until(enough, "jobs to take turns on all nodes", 0.1)

    def wait_until_empty(self):
        for node in self.names:
            self.until(lambda: not self.groups(node), f"{node} to be empty")
            self.until(lambda: not self.records(node), f"no record on {node}")

    def nothing_left(self, jobs=()):
        """Check that there is no step, no group and no stopped process, and
        that the traces since the last such check are correct. `jobs` have
        shared all their cores."""
        self.wait_until_empty()
        cores = {n: {j: [{0}] for j in jobs} for n in self.names}
        traces = {n: self.trace(n, self.empty.get(n, 0)) for n in self.names}
        _, faults = gang_rules.judge(traces, cores, free=None,
                                     since=self.empty, yields=self.yields)
        assert not faults, faults
        self.empty.update((n, t[-1]["n"] + 1) for n, t in traces.items() if t)

    def trace(self, node, since=0):
        return self.lab.gang_trace(node, since)

    def records(self, node):
        return os.listdir(
            self.lab.path(node, f"/run/slurm-storm/{node}/steps"))

    def group_paths(self, node):
        """The control groups of its steps."""
        base = pathlib.Path(self.lab.path(node, "/sys/fs/cgroup"))
        return [p for tree in ("", "unified/") for p in groups_in(
            base / f"{tree}slurm-storm/{node}", "cgroup.freeze")]

    def groups(self, node):
        """{step: whether it is stopped} according to the kernel"""
        found = {}
        for path in self.group_paths(node):
            try:
                text = (path / "cgroup.freeze").read_text()
                found[path.name] = text.strip() == "1"
            except OSError:     # it has just ended
                pass
        return found

    def frozen(self):
        """The stopped control groups of the lab, whatever created them."""
        found = []
        for top in self.lab.record["cgroups"]:
            for path in groups_below(top, "cgroup.freeze"):
                try:
                    if (path / "cgroup.freeze").read_text().strip() == "1":
                        found.append(str(path.relative_to(top)))
                except OSError:     # it has just ended
                    pass
        return found

    def cpu_group_paths(self, node):
        """{step: its group that can give way (cpu.idle)}, of all labs on this
        host"""
        mount = cpu_mount()
        return {p.name: p for p in groups_below(mount, "cpu.idle")
                if p.parent.parts[-2:] == ("slurm-storm", node)} \
            if mount else {}

    def cpu_groups(self, node):
        """{step: whether it gives way}, of all labs on this host"""
        found = {}
        for name, path in self.cpu_group_paths(node).items():
            try:
                found[name] = (path / "cpu.idle").read_text().strip() == "1"
            except OSError:     # it has just ended
                pass
        return found

    def stopped_processes(self):
        """(pid, name) of the lab's processes that are stopped, or traced"""
        spaces = {os.stat(f"/proc/{self.lab.pid(h)}/ns/pid").st_ino
                  for h in self.lab.hosts}
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
                if stat.rsplit(")", 1)[1].split()[0] in "Tt" and \
                        os.stat(f"/proc/{pid}/ns/pid").st_ino in spaces:
                    found.append((int(pid), stat.split()[1]))
            except OSError:
                pass
        return found

    def set_quantum(self, ms):
        self.set_key("Quantum", ms)

    def end_jobs(self):
        # with their sruns: slurmstepd waits 10 s for one that has ended
        self.root("scancel -p gang")
        until(lambda: not self.root("squeue -h"), "the jobs' end")
        self.end_all()
        self.nothing_left()
