# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Random job mixes from a seed: which jobs come when, and the faults of jobs,
nodes and daemons. Pure: the same seed gives the same plan."""
import dataclasses
import random

#: actions on a job, and their weights
TO_JOBS = {"cancel": 3, "usr1": 2, "term": 1, "kill": 1, "suspend": 2,
           "requeue": 2, "hold": 1}
#: faults of nodes and daemons
FAULTS = {"agent killed": 3, "agent stopped": 2, "slurmd killed": 3,
          "strober killed": 2, "strober stopped": 1, "node down": 2,
          "node drained": 1, "reconfigure": 1, "slurmctld restarted": 1}
#: their durations. Slurm takes two seconds to suspend a job. A resume that
#: comes meanwhile may overtake the suspend on a node, where the job then stays
#: suspended.
HOLD = {"suspend": (2.5, 4), "hold": (0.2, 3)}
NEED_SCRIPT = {"requeue", "hold"}
NEED_STEP = {"usr1", "term"}


@dataclasses.dataclass
class Job:
    name: str
    kind: str           # srun, batch (a script with a step), script (without)
    partition: str
    nodes: int
    tasks: int          # on each node
    arrival: float
    work: list          # taskdo's words
    launch: str
    exclusive: bool = False
    #: (seconds after all of its tasks have begun, action, duration)
    deeds: list = dataclasses.field(default_factory=list)

    def __str__(self):
        deeds = "".join(f", {what} at +{at:.2f}" + (f" for {hold:.2f}"
                                                   if hold else "")
                        for at, what, hold in self.deeds)
        return (f"{self.arrival:5.2f}  {self.name} {self.kind} "
                f"-p{self.partition} {self.nodes}x{self.tasks} "
                f"{' '.join(self.work)} ({self.launch})"
                f"{' exclusive' if self.exclusive else ''}{deeds}")


@dataclasses.dataclass
class Fault:
    at: float
    what: str
    node: str
    hold: float         # seconds until the fault is undone

    def __str__(self):
        return f"{self.at:5.2f}  {self.what} {self.node} for {self.hold:.2f}"


@dataclasses.dataclass
class Shape:
    """The parameters of a lab, common to all mixes of a block of seeds."""
    nodes: int
    cpus: int
    jobs: int           # that share a core at most
    quantum: float      # ms
    lossy: bool         # 5 % of all datagrams are dropped


@dataclasses.dataclass
class Plan:
    seed: int
    jobs: list
    faults: list

    def __str__(self):
        rows = [(x.at if isinstance(x, Fault) else x.arrival, str(x))
                for x in self.jobs + self.faults]
        return "\n".join([f"seed {self.seed}"] + [r for _, r in sorted(rows)])


BLOCK = 10


def shape(seed):
    r = random.Random(f"shape {seed // BLOCK}")
    return Shape(nodes=r.randint(4, 6), cpus=r.choice([1, 2, 2]),
                 jobs=r.randint(2, 4), quantum=r.choice([10, 20, 20, 40]),
                 lossy=r.random() < 0.25)


def choose(r, weights):
    return r.choices(list(weights), list(weights.values()))[0]


def make_work(r):
    """Alternate between computing and waiting, about a second in all."""
    words = []
    for _ in range(r.randint(1, 3)):
        words += ["spin", str(int(r.expovariate(1 / 80)) + 5)]
        if r.random() < 0.8:
            words += ["sleep", f"{r.expovariate(1 / 0.5):.2f}"]
    return words


def make_deeds(r, job):
    if r.random() > 0.4:
        return
    for _ in range(r.choice([1, 1, 2])):
        what = choose(r, TO_JOBS)
        if (what in NEED_SCRIPT and job.kind == "srun") or \
                (what in NEED_STEP and job.kind == "script"):
            continue
        hold = r.uniform(*HOLD[what]) if what in HOLD else 0
        if what in [d[1] for d in job.deeds]:
            continue
        job.deeds.append((r.uniform(0, 0.8), what, hold))


def make_job(r, name, lab):
    nodes = r.choice([1, 2, 2, 3, 3, lab.nodes, lab.nodes])
    partition = r.choices(["gang", "shared", "all"], [14, 1, 1])[0]
    job = Job(name=name, partition=partition, nodes=min(nodes, lab.nodes),
              kind=r.choices(["srun", "batch", "script"], [4, 4, 1])[0],
              tasks=r.randint(1, lab.cpus), arrival=r.uniform(0, 2),
              work=make_work(r),
              launch=r.choices(["storm", "slurm"], [4, 1])[0],
              exclusive=partition == "all" and r.random() < 0.5)
    if job.kind == "script":
        job.nodes = job.tasks = 1
    make_deeds(r, job)
    return job


def make_fault(r, lab):
    return Fault(at=r.uniform(0.3, 3), what=choose(r, FAULTS),
                 node=f"n{r.randint(1, lab.nodes)}", hold=r.uniform(0.05, 1))


def make_plan(seed, lab):
    r = random.Random(seed)
    jobs = [make_job(r, f"s{seed}j{i}", lab)
            for i in range(r.randint(8, 14))]
    faults = [make_fault(r, lab) for _ in range(r.choice([0, 0, 1, 1, 2]))]
    return Plan(seed, sorted(jobs, key=lambda j: j.arrival),
                sorted(faults, key=lambda f: f.at))
