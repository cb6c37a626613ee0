# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Kill or stop a daemon at a random moment while jobs take turns, and measure how
long it takes until everything runs, and until the jobs take turns again.

Two jobs share a core of each node, so at most one of them may run at a time. When
both run, everything runs. The test reads cgroup.freeze, which has what the agent
ordered: no task need run for it, so a busy machine does not falsify the result.

With the policy flexible one of them sleeps, and the other runs in its turns, too, but
gives way: cpu.idle. Then everything runs when nothing gives way, either. With yield
both compute, and the one out of its turn gives way.
"""

import os
import random
import signal
import time

from harness import save_jobs, until
from lab.sysdep import kill_process, start_time

#: kind: (daemons, each as "HOST daemon" with n for a node; whether a site's
#: systemd must restart it)
KINDS = {
    "agent": (["n agent"], None),
    "slurmd": (["n slurmd"], "n slurmd"),
    "slurmd+agent": (["n slurmd", "n agent"], "n slurmd"),
    "strober": (["ctl storm_strober"], None),
    "slurmctld": (["ctl slurmctld"], "ctl slurmctld"),
}
#: A daemon that restarts a child waits longer each time. When it is restarted
#: itself, its waits are short again.
PATIENCE = {"agent": "n slurmd", "strober": "ctl slurmctld"}
SIGNALS = {"KILL": signal.SIGKILL, "STOP": signal.SIGSTOP}
#: all of it that there is
ALL = [(kind, sig) for kind in KINDS for sig in SIGNALS]
GIVE_UP = 3.0           # seconds: after this no reaction is expected any more


class Steps:
    """The orders for the steps of each node, as files that stay open."""

    def __init__(self, cluster, nodes):
        self.fds, self.idle = {}, {}
        for node in nodes:
            paths = cluster.group_paths(node)
            assert len(paths) == 2, f"{node} has {sorted(paths)}"
            self.fds[node] = [os.open(f"{p}/cgroup.freeze", os.O_RDONLY)
                              for p in paths]
            idle = cluster.cpu_group_paths(node)
            self.idle[node] = [os.open(f"{idle[p.name]}/cpu.idle", os.O_RDONLY)
                               for p in paths if p.name in idle]

    def close(self):
        for fds in (*self.fds.values(), *self.idle.values()):
            for fd in fds:
                os.close(fd)

    def all_run(self, node):
        """Whether both run. Looks twice, because the turn may change between
        the looks at one job and the other."""
        fds = self.fds[node] + self.idle[node]
        return all(os.pread(fd, 1, 0) == b"0" for fd in fds + fds)

    def some_stand(self, node):
        return not self.all_run(node)

    def which(self, node):
        """The job that runs there alone, or while the other gives way, or None."""
        run = [os.pread(fd, 1, 0) == b"0" for fd in self.fds[node]]
        for i, fd in enumerate(self.idle[node]):
            run[i] &= os.pread(fd, 1, 0) == b"0"
        return run.index(True) if run.count(True) == 1 else None

    def take_turns(self, times=4, limit=60):
        """Wait until the turn has changed so many times on all nodes."""
        left = {node: times for node in self.fds}
        last = {node: None for node in self.fds}

        def done(node):
            now = self.which(node)
            if now is not None and now != last[node]:
                last[node] = now
                left[node] -= 1
            return left[node] <= 0

        found = self.wait(done, limit)
        assert len(found) == len(self.fds), f"no turns but on {sorted(found)}"

    def wait(self, condition, limit=GIVE_UP):
        """{node: time when the condition first held there}"""
        found, end = {}, time.monotonic() + limit
        while len(found) < len(self.fds):
            for node in self.fds:
                if node not in found and condition(node):
                    found[node] = time.monotonic()
            if time.monotonic() > end:
                break
            time.sleep(0.0003)
        return found


def hurry():
    """The measuring process must not wait for those that compute."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
    except OSError:
        os.nice(-20)


def calm():
    try:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except OSError:
        pass


class Kills:
    """Runs faults on a Gang cluster. Call begin() before the first one."""

    def __init__(self, cluster, seed, noise=None, policy="gang"):
        self.c = cluster
        self.programs = ["spin 100000000",
                         "block" if policy == "flexible" else "spin 100000000"]
        self.noise = noise      # reset(), worst(): measure the machine's noise
        self.random = random.Random(seed)

    def begin(self):
        """Start two jobs that go on for ever, and wait until slurmctld has
        saved them, because it must find them again."""
        c = self.c
        for program in self.programs:
            c.begin("{do} " + program, nodes=c.nodes)
        until(lambda: len(c.jobs()) == 2, "two jobs")
        c.alternate()
        if "block" in self.programs:
            until(lambda: all(any(c.cpu_groups(n).values()) for n in c.names),
                  "one job to fill the other's gaps on all nodes")
        save_jobs(c.lab, c.jobs()[0])

    def once(self, kind, sig):
        """{"open", "turns": seconds, None for never; "back": seconds from when
        the daemon was there again until they take turns; "begun": when;
        "noise": if it is measured, until they all ran}"""
        c, (names, service) = self.c, KINDS[kind]
        node = self.random.choice(c.names)

        def place(name):
            return name.replace("n ", node + " ").split()

        if kind in PATIENCE and sig == "KILL":
            c.lab.restart(*place(PATIENCE[kind]))
        where = [place(n) for n in names]
        nodes = c.names if where[0][0] == "ctl" else [node]
        everywhere = Steps(c, c.names)
        try:
            everywhere.take_turns()
            result = self.strike(where, nodes, sig, service and place(service))
            everywhere.take_turns()
            return result
        finally:
            everywhere.close()

    def strike(self, where, nodes, sig, service):
        c = self.c
        found = [(p, start_time(p)) for host, daemon in where
                 for p in c.lab.pids(host, daemon)]
        assert len(found) == len(where), (where, found)
        steps = Steps(c, nodes)
        try:
            return self.measure(steps, found, SIGNALS[sig], lambda:
                                self.repair(found, sig, service))
        finally:
            steps.close()

    def measure(self, steps, found, sig, repair):
        time.sleep(self.random.uniform(0, 0.1))
        hurry()
        if self.noise:
            self.noise.reset()
        try:
            begun = time.monotonic()
            ends = [kill_process(p, started, sig) for p, started in found]
            runs = steps.wait(steps.all_run)
        finally:
            calm()
        for fd in ends:
            os.close(fd)
        noise = {"noise": self.noise.worst()} if self.noise else {}
        repair()
        back = time.monotonic()
        turns = steps.wait(steps.some_stand, 60)
        count = len(steps.fds)
        last = max(turns.values()) if len(turns) == count else None
        return {"open": max(runs.values()) - begun
                if len(runs) == count else None,
                "turns": last and last - begun,
                "back": last and max(0, last - back), "begun": begun, **noise}

    def repair(self, found, sig, service):
        if sig == "STOP":
            for pid, started in found:
                fd = kill_process(pid, started, signal.SIGCONT)
                if fd is not None:
                    os.close(fd)
        elif service:
            self.c.lab.restart(*service)
