# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Chaos from a seed: which jobs come when, and which fault of which node. Pure: the
same seed gives the same plan."""
import dataclasses
import random

NODES = 16
#: s between faults, and between jobs on average
FAULT_EVERY, JOB_EVERY = 2, 1.4
#: nodes that have a fault at one time, at most
BROKEN = 4
#: s that a node has for itself after its fault was healed
REST = 6

#: kinds of jobs, and their weights
JOBS = {"launch": 6, "bcast": 3, "sbcast": 3, "gang": 4, "array": 2, "het": 2,
        "each": 2}

#: kinds of faults: weight, s that they last, options from a random number generator
FAULTS = {
    "kill": (3, (2, 25), {}),
    "pause": (3, (0.5, 10), {}),
    "stop": (3, (0.5, 10), {"what": ["agent", "agent", "slurmd"]}),
    "cut": (3, (0.5, 25), {}),
    "cut-in": (2, (0.5, 10), {}),
    "cut-out": (2, (0.5, 10), {}),
    "delay": (2, (1, 8), {"ms": [0, 5, 40], "loss": [2, 10, 30]}),
    "fill": (2, (1, 8), {}),
    "hang": (2, (1, 8), {}),
    "flood": (1, (1, 4), {"rate": [1000, 5000]}),
    "age": (1, (4, 10), {"seconds": [0.5, 2]}),
}


@dataclasses.dataclass
class Job:
    name: str
    kind: str
    at: float           # s after the begin
    nodes: int
    tasks: int          # on each node
    work: float         # s
    parts: int = 1      # of an array or a het job

    def __str__(self):
        return f"{self.at:7.2f}  {self.name} {self.kind} {self.parts}x{self.nodes}x" \
            f"{self.tasks}, {self.work:.2f} s"


@dataclasses.dataclass
class Fault:
    kind: str
    at: float
    node: str
    hold: float         # s until it is healed
    options: dict

    def __str__(self):
        return f"{self.at:7.2f}  {self.kind} {self.node} " + "".join(
            f"{k}={v} " for k, v in self.options.items()) + f"for {self.hold:.2f}"


@dataclasses.dataclass
class Plan:
    seed: int
    seconds: float
    jobs: list
    faults: list

    def __str__(self):
        return "\n".join([f"seed {self.seed}, {self.seconds:g} s"] + [
            str(x) for x in sorted(self.jobs + self.faults, key=lambda x: x.at)])


def choose(r, weights):
    return r.choices(list(weights), list(weights.values()))[0]


def make_job(r, number, at):
    kind = choose(r, JOBS)
    job = Job(name=f"{kind}{number}", kind=kind, at=at,
              nodes=r.choice([1, 2, 2, 3, 4, 6, NODES // 2]), tasks=r.choice([1, 1, 2]),
              work=min(10, r.expovariate(1 / 2.5)))
    if kind in ("array", "het"):
        job.parts, job.nodes = r.choice([2, 3]), r.choice([1, 1, 2])
    if kind == "gang":
        job.nodes, job.tasks = max(2, job.nodes), 1
    return job


def make_fault(r, at, free):
    kind = choose(r, {k: w for k, (w, _, _) in FAULTS.items()})
    _, hold, options = FAULTS[kind]
    # Slurm fills the first nodes first.
    weights = [2 if int(node[1:]) <= NODES // 2 else 1 for node in free]
    return Fault(kind, at, r.choices(free, weights)[0], r.uniform(*hold),
                 {k: r.choice(v) for k, v in options.items()})


def make_plan(seed, seconds):
    """Jobs come until the end, and faults from 3 s on. A node has one fault at a
    time."""
    r = random.Random(f"chaos {seed}")
    jobs, faults = [], []
    at = r.expovariate(1 / JOB_EVERY)
    while at < seconds:
        jobs.append(make_job(r, len(jobs), at))
        at += r.expovariate(1 / JOB_EVERY)
    busy = {}           # node: when it may have the next
    at = 3.0
    while at < seconds:
        free = [f"n{i}" for i in range(1, NODES + 1) if busy.get(f"n{i}", 0) <= at]
        if sum(until - REST > at for until in busy.values()) < BROKEN:
            fault = make_fault(r, at, free)
            busy[fault.node] = at + fault.hold + REST
            faults.append(fault)
        at += FAULT_EVERY
    return Plan(seed, seconds, jobs, faults)
