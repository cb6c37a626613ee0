# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A soak: launches, broadcasts, jobs that take turns, and attackers, all at
once, and what the daemons hold afterwards."""
import os
import pathlib
import selectors
import subprocess
import time

import test_hostile
import test_insider_open
import test_insider_turns
from gang import Gang
from harness import HERE, until

#: What attacks, one after the other: {name: f(cluster) -> Started}. A new
#: attacker is a line here.
ATTACKERS = {
    "garbage": lambda c: attack(c, test_hostile.GARBAGE),
    "tamper": lambda c: attack(c, "MODE = 'tamper'\n" + test_hostile.ECHO),
    "replay": lambda c: attack(c, "MODE = 'replay'\n" + test_hostile.ECHO),
    "opens": lambda c: opens(c, "good"),
    "forged": lambda c: opens(c, "forged"),
    "flood": lambda c: flood(c, "header"),
    "connect": lambda c: flood(c, "connect"),
    "timer": lambda c: neighbour(c, "timer"),
    "sleepers": lambda c: neighbour(c, "sleepers 200"),
    "relay": lambda c: neighbour(c, "connect"),
}

#: How much more anonymous memory than after the first part may be there at the
#: end: malloc() returns pages late, and a table may double once. Slurm's own
#: daemons may have more, as slurmctld remembers jobs that have ended.
MORE = {"agent": 2 << 20, "storm_nursery": 1 << 20, "storm_strober": 2 << 20,
        "slurmd": 4 << 20, "slurmctld": 16 << 20}

#: s that a part may take longer than asked for
LATE = 300


def attack(cluster, program):
    """From the host ctl, by the user other, to all nodes."""
    return cluster.start(
        ["python3", "-c", program, *test_hostile.addresses(cluster)],
        host="ctl", user="other", cwd="/tmp", label="attack")


def furnish(cluster):
    """What the attackers run."""
    test_insider_turns.furnish(cluster)
    programs = cluster.home.parent / "programs"
    subprocess.run(["cc", "-std=gnu11", "-O2", HERE.parent / "programs/flood.c",
                    "-o", programs / "flood"], check=True)
    test_insider_open.build(programs / "insider")


def opens(cluster, what):
    """An insider opens sessions, for all nodes and many more, or tries to."""
    nodes = test_hostile.addresses(cluster)
    own = test_insider_open.address(cluster, "login")
    return cluster.start(
        [test_insider_turns.PROGRAMS + "/insider", what, nodes[0], nodes[0],
         own, "4096", "500"], user="other", cwd="/tmp", label="attack")


def flood(cluster, kind):
    """For 3 s, to all nodes."""
    return cluster.start(
        [test_insider_turns.PROGRAMS + "/flood", kind, "5000", "3",
         *test_hostile.addresses(cluster)], user="other", cwd="/tmp",
        label="attack")


def neighbour(cluster, what):
    """For 3 s, as a job on one node."""
    return cluster.begin(f"timeout 3 {test_insider_turns.NEIGHBOUR} {what}",
                         nodes=1, user="other", cwd="/tmp", label="attack")


# -- what is held ---------------------------------------------------------------

def status(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    return 0


def groups_joined(pid):
    """The multicast groups of its network namespace."""
    words = pathlib.Path(f"/proc/{pid}/net/igmp").read_text().split()
    return sorted(w for w in words if len(w) == 8 and w.endswith("EF"))


def daemons(lab, names):
    """{name: pid} of what must still be the same process at the end"""
    found = {}
    for host in names:
        for what in ("agent", "storm_nursery", "slurmd"):
            for pid in lab.pids(host, what):
                found[f"{host} {what}"] = pid
    for what in ("slurmctld", "storm_strober"):
        for pid in lab.pids("ctl", what):
            found[f"ctl {what}"] = pid
    return found


def held(cluster):
    """{what: number or list} of everything that could grow."""
    lab, out = cluster.lab, {}
    for name, pid in daemons(lab, cluster.names).items():
        out[f"{name} pid"] = pid
        # not what the trace's file has of it, a ring that fills once
        out[f"{name} memory"] = status(pid, "RssAnon") << 10
        if "slurm" not in name:     # Slurm's own come and go
            out[f"{name} descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
            out[f"{name} threads"] = status(pid, "Threads")
    for node in cluster.names:
        out[f"{node} multicast groups"] = groups_joined(lab.pid(node))
        out[f"{node} control groups"] = len(cluster.group_paths(node))
        out[f"{node} step records"] = cluster.records(node)
        out[f"{node} run"] = cluster.listing(node, f"/run/slurm-storm/{node}")
        out[f"{node} shm"] = cluster.listing(node, "/dev/shm")
        out[f"{node} tmp"] = cluster.listing(node)
        out[f"{node} storm_file"] = len(lab.pids(node, "storm_file"))
        out[f"{node} sessions"] = cluster.agent(node)["sessions"]
    return out


def worse(first, last):
    """What at the end is not as it was: [(what, before, after)]."""
    found = []
    for what in sorted(first.keys() | last.keys()):
        a, b = first.get(what), last.get(what)
        if what.endswith("memory") and None not in (a, b):
            if b > a + MORE[what.split()[1]]:
                found.append((what, a, b))
        elif a != b:
            found.append((what, a, b))
    return found


def steady(cluster):
    """What is held, as soon as it does not change. An agent that was asked for its
    counters may have that connection a little longer."""
    seen = [held(cluster)]

    def same():
        seen.append(held(cluster))
        return not worse(*seen[-2:]) and not worse(seen[-1], seen[-2])

    until(same, lambda: f"the same to be held: {worse(*seen[-2:])}", interval=0.3)
    return seen[-1]


# -- the load --------------------------------------------------------------------

class Soak:
    def __init__(self, cluster, say=print):
        self.c, self.say = cluster, say
        self.running = {}       # {Started: (role, pidfd)}
        self.ends = selectors.DefaultSelector()
        self.count = dict.fromkeys(("launch", "bcast", "attack"), 0)
        self.wrong = []

    def begin(self, role):
        if role == "launch":
            one = self.c.begin("{do} say here", self.c.nodes, label=role)
        elif role == "bcast":
            one = self.c.begin("--bcast=/tmp/soak.app {big} say here",
                               self.c.nodes, label=role)
        elif role == "attack":
            names = list(ATTACKERS)
            name = names[self.count[role] % len(names)]
            one = ATTACKERS[name](self.c)
        else:
            one = self.c.begin("{do} block", self.c.nodes, label=role)
        fd = os.pidfd_open(one.process.pid)
        self.running[one] = (role, fd)
        self.ends.register(fd, selectors.EVENT_READ, one)

    def ended(self, one):
        role, fd = self.running.pop(one)
        self.ends.unregister(fd)
        os.close(fd)
        run = one.finish()
        self.c.started.remove(one)
        if role in self.count:
            self.count[role] += 1
        if role in ("launch", "bcast"):
            if run.code or run.out != "here\n" * self.c.nodes:
                self.note(str(run))
            elif any(s["fallback"] for s in run.steps):
                self.note(f"it fell back: {run}")
            if role == "bcast":
                self.c.remove("/tmp/soak.app")
        elif role == "turns":
            self.note(f"a job that takes turns ended: {run}")

    def note(self, what):
        """At once: what follows may fail, too."""
        self.say(f"wrong, after {self.count}: {what}")
        self.wrong.append(what)

    def go(self, seconds):
        """Keep all of them running for so long, and until each attacker has had
        its turn."""
        end = time.monotonic() + seconds
        attacks = self.count["attack"] + len(ATTACKERS)
        for role in ("turns", "turns", "launch", "bcast", "attack"):
            self.begin(role)
        while not self.wrong and ((left := end - time.monotonic()) > 0
                                  or self.count["attack"] < attacks):
            if left < -LATE:
                self.note(f"only {self.count['attack']} of {attacks} attacks "
                          "have ended")
            for key, _ in self.ends.select(max(left, 0.1)):
                role = self.running[key.data][0]
                self.ended(key.data)
                self.begin(role)
        since = {n: self.c.mark(n) for n in self.c.names}
        if not self.wrong:      # under load, still
            self.c.alternate(since)
        self.rest()

    def rest(self):
        """End all, and wait until nothing of it is left."""
        for one, (role, fd) in list(self.running.items()):
            self.ends.unregister(fd)
            os.close(fd)
            if role == "attack":
                one.signal(9)
        self.running.clear()
        self.c.end_jobs()
        self.c.remove("/tmp/soak.app")
        for node in self.c.names:
            until(lambda: not self.c.lab.pids(node, "storm_file"),
                  f"{node}'s storm_file to end")
            # the cluster domain stays
            until(lambda: self.c.agent(node)["sessions"] <= 1,
                  f"{node}'s sessions to end")


def soak(name, nodes, minutes, first=60, make=Gang, say=print):
    """Run it; returns what is wrong, as lines."""
    c = make(name, nodes, cpus=1, gang=5, conf=["MinJobAge=2"])
    try:
        furnish(c)
        run = Soak(c, say)
        first = min(first, minutes * 30)
        run.go(first)
        before = steady(c)
        say(f"after {first:.0f} s: {run.count}")
        if not run.wrong:
            run.go(minutes * 60 - first)
        after = steady(c)
        say(f"after {minutes} min: {run.count}")
        for what in sorted(k for k in after if k.endswith("memory")):
            say(f"{what}: {before.get(what)} -> {after[what]}")
        return run.wrong + [f"{what}: {a} became {b}"
                            for what, a, b in worse(before, after)] + \
            [f"no {what} in all that time"
             for what, n in run.count.items() if not n]
    finally:
        c.down()
