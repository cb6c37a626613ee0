# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure the cost of gang scheduling: makespan / (MPL x solo) of MPI jobs whose
ranks wait for each other every hundred microseconds or so. The programs are in
testsuite/programs: bsp.c calls allreduce, stencil.c sweeps through a megabyte.

Starts a lab for each program, number of jobs per core (MPL) and quantum; each
node is bound to a core. Alternates RUNS times between one job alone and MPL jobs
in the partition gang, and LOCAL times runs MPL jobs in the partition shared,
where the kernel alone schedules them. --stock adds one run with Slurm's gang
scheduler, whose turns take 5 seconds. --bare adds BARE runs with bare_switch,
which uses only the kernel's freezer and a timer on each core. It sends no
messages and needs no daemon: a lower bound for every scheduler on this machine.

--switches also measures the cost of a switch between jobs: the time from the
last iteration's end of one job to the first iteration's end of the next, less
one iteration. A run has thousands of switches, so their median is more precise
than a ratio of makespans (bsp, on the first node).

--figure N sets nodes, jobs and quanta as a figure of TC'06 has them: 3 varies
the quantum, 4 the nodes, 5 the jobs per core.

--walk runs the microbenchmark of the Quadrics paper instead: jobs that walk
through an array and exchange all with all now and then, by STORM in turns and by
stock Slurm in the partition shared. Slowdowns are mean run times / (MPL x that of
one process with one number and without exchanges). It varies the memory, the
number of exchanges (granularity), the bytes of one (message), the jobs per core,
the quantum and the nodes; swap shows what happens when memory does not fit;
this machine has a swap file in /var/tmp meanwhile.

1 is ideal. The machine's speed varies, so a run is compared with the mean of the
solo runs just before and after it. A solo run is compared with its neighbours,
which shows the noise. The figures are valid only on a machine that is otherwise
idle.
"""
import array
import contextlib
import itertools
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import typing

import mpis
from harness import Cluster, until
from measure import mpi, target, walks
from measure.background import build_option, built
from measure.mpi import powers
from measure.result import NotRun
from measure.turns import numbers, reals, words, words_of

HELP = "what it costs jobs to take turns: makespan / (MPL x solo)"
SOURCE = "TC'06 Fig. 3 to 5; with --walk " + walks.SOURCE
QUICK = {"nodes": [1], "cycles": 1_000_000, "quantum": [10], "runs": 1,
         "local": 0, "switches": True}
HOME = "/home/user"
#: {figure of TC'06: what it varies, and the rest}; nodes: processors here
FIGURES = {3: {"quantum": [0.3, 0.5, 1, 2, 10, 50, 200], "mpl": [2]},
           4: {"nodes": powers(), "mpl": [1, 2], "quantum": [50]},
           5: {"mpl": [1, 2, 4, 8], "quantum": [50]}}
#: {program: iterations that take about a second}
PROGRAMS = {"bsp": 10000, "stencil": 8000}


class Run(typing.NamedTuple):
    """The result of jobs that ran together."""
    seconds: float      # from the first one's start to the last one's end
    apart: float        # their ends, as a part of that


def tasks(cluster, program):
    """{pid: environment} of the program's tasks."""
    found = {}
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (proc / "comm").read_text().strip() == program:
                found[int(proc.name)] = dict(
                    word.split("=", 1) for word in
                    (proc / "environ").read_text().split("\0") if "=" in word)
    jobs = cluster.root("squeue -h -t R -o %A").split()
    return {p: e for p, e in found.items() if e.get("SLURM_JOB_ID") in jobs}


@contextlib.contextmanager
def bare_turns(cluster, jobs, program, quantum):
    """Let the jobs' tasks, all of which have started, take turns by
    bare_switch."""
    mount = next((line.split()[1] for line in open("/proc/self/mounts")
                  if line.split()[2] == "cgroup2"), None)
    if not mount:
        raise NotRun("--bare needs control groups of version 2")
    groups = pathlib.Path(tempfile.mkdtemp(prefix="gang-bench-", dir=mount))
    slots, nodes = {}, {}
    try:
        for pid, env in tasks(cluster, program).items():
            slot = slots.setdefault(env["SLURM_JOB_ID"], len(slots))
            cpu, = os.sched_getaffinity(pid)
            nodes[env["SLURM_NODEID"]] = cpu
            group = groups / f"{env['SLURM_NODEID']}.{slot}"
            group.mkdir(exist_ok=True)
            (group / "cgroup.procs").write_text(str(pid))
        with subprocess.Popen(
                [cluster.bin / "bare_switch", f"{quantum * 1000:.0f}"] +
                [f"{cpu}=" + ",".join(f"{groups}/{node}.{slot}"
                                      for slot in range(jobs))
                 for node, cpu in nodes.items()]) as switch:
            try:
                yield
            finally:
                switch.terminate()
    finally:
        for group in groups.iterdir():
            if group.is_dir():
                group.rmdir()
        groups.rmdir()


def together(cluster, jobs, partition, program, quantum=None):
    """Run jobs together. With a quantum, bare_switch makes their turns."""
    go = cluster.home / "go"
    go.unlink(missing_ok=True)
    runs = [cluster.start(
        f"srun -p{partition} -N{cluster.nodes} {mpis.MPIS[mpi.first()][1]} "
        "--launch=storm "
        f"{{bin}}/{program}") for _ in range(jobs)]
    until(lambda: len(cluster.root("squeue -h -t R,S").splitlines()) == jobs,
          "the jobs to run")
    times = []
    with contextlib.ExitStack() as turns:
        if quantum:
            name = program.split()[0]
            until(lambda: len(tasks(cluster, name)) == jobs * cluster.nodes,
                  "all tasks")
            turns.enter_context(bare_turns(cluster, jobs, name, quantum))
        go.touch()
        for run in runs:
            done = run.finish(600)
            assert done.code == 0, str(done)
            times.append([int(word) for word in done.out.split()])
    until(lambda: not cluster.root("squeue -h"), "the jobs' end")
    ends = [t[1] for t in times]
    makespan = max(ends) - min(t[0] for t in times)
    return Run(makespan / 1e9, (max(ends) - min(ends)) / makespan)


def make_lab(args, nodes, mpl, program, **options):
    lab = Cluster(f"gangbench{os.getpid()}", nodes, cpus=1,
                  standing=False, gang=mpl, **options)
    try:
        mpis.build(mpi.first(), f"{program}.c", lab.bin / program)
        if args.bare:
            shutil.copy(built(args, "bare_switch"), lab.bin)
    except BaseException:
        lab.down()
        raise
    return lab


def switch_costs(directory):
    """The seconds of each switch before the first job's end."""
    ends = []
    for path in directory.iterdir():
        times = array.array("q", path.read_bytes())
        ends.append([(t, path.name) for t in times])
        path.unlink()
    last = min(times[-1][0] for times in ends)
    merged = [e for e in sorted(sum(ends, [])) if e[0] <= last]
    within, across = [], []
    for (t, job), (u, other) in zip(merged, merged[1:]):
        (within if job == other else across).append((u - t) / 1e9)
    iteration = statistics.median(within)
    return [gap - iteration for gap in across]


class Figures(typing.NamedTuple):
    solo: list          # one more than of gang
    gang: dict          # {lead: runs}; None: as it is by default
    local: list
    bare: list
    missed: int
    switches: list
    bare_switches: list


def measure(args, nodes, mpl, quantum, program):
    storm_conf = {"AgentCPUs": args.agents} if args.agents else {}
    leads = args.lead or [None]
    lab = make_lab(args, nodes, mpl, program, quantum=quantum,
                   storm_conf=storm_conf)
    line = f"{program} {PROGRAMS[program] * args.length} {HOME}/go"
    kept = lab.home / "ends"
    ends = f" {HOME}/ends" if args.switches else ""
    try:
        kept.mkdir()
        kept.chmod(0o777)
        solo = [together(lab, 1, "gang", line)]
        gang, local, bare, bare_switches = {n: [] for n in leads}, [], [], []
        switches = {n: [] for n in leads}
        for i in range(args.runs):
            for lead in leads[::-1] if i % 2 else leads:
                if lead is not None:
                    lab.set_key("StrobeLead", lead)
                gang[lead].append(together(lab, mpl, "gang", line + ends))
                if ends:
                    switches[lead] += switch_costs(kept)
            if i < args.bare:
                bare.append(together(lab, mpl, "shared", line + ends, quantum))
                if ends:
                    bare_switches += switch_costs(kept)
            solo.append(together(lab, 1, "gang", line))
            if i < args.local:
                local.append(together(lab, mpl, "shared", line))
        missed = sum(lab.agent(n, "gang_missed") for n in lab.names)
        return Figures(solo, gang, local, bare, missed, switches, bare_switches)
    finally:
        lab.down()


def measure_stock(args, nodes, mpl, program):
    """Measure Slurm's gang scheduler with programs of some 15 seconds: in
    shorter ones no turn would end."""
    lab = make_lab(args, nodes, mpl, program, conf={
        "SchedulerType": "sched/backfill", "PreemptMode": "GANG",
        "SchedulerTimeSlice": 5})
    line = f"{program} {PROGRAMS[program] * 15} {HOME}/go"
    try:
        return together(lab, 1, "gang", line), together(lab, mpl, "gang", line)
    finally:
        lab.down()


def between(solo):
    """The mean seconds of each two neighbouring solo runs."""
    return [(a.seconds + b.seconds) / 2 for a, b in zip(solo, solo[1:])]


def noise(solo):
    """Each solo run as a multiple of the mean of its neighbours."""
    return [b.seconds * 2 / (a.seconds + c.seconds)
            for a, b, c in zip(solo, solo[1:], solo[2:])]


class Tables:
    """The tables of a result."""

    def __init__(self, result, switches):
        by = ("program", "nodes", "MPL", "quantum", "turns")
        self.spans = result.table(
            "makespan / (MPL x solo), quantum in ms", by,
            {"overhead": "", "apart": "%", "solo": "s", "missed": "strobes"},
            plot={"x": "quantum", "y": ["overhead"], "log": "x",
                  "facets": ["program"]})
        self.switches = switches and result.table(
            "a switch between two jobs, quantum in ms", by,
            {"switch": "us", "of the quantum": "%"},
            plot={"x": "quantum", "y": ["switch"], "log": "xy"})

    def span(self, names, runs, alone, **more):
        if runs:
            self.spans.row(names, {
                "overhead": [r.seconds / names[2] / a
                             for r, a in zip(runs, alone)],
                "apart": [r.apart * 100 for r in runs], **more})

    def switch(self, names, seconds):
        if seconds:
            self.switches.row(names, {
                "switch": [s * 1e6 for s in seconds],
                "of the quantum": [s * 1e5 / names[3] for s in seconds]})


def turns_name(lead):
    return "gang" if lead is None else f"lead {lead}"


def one(args, tables, program, nodes, mpl, quantum):
    f = measure(args, nodes, mpl, quantum, program)
    alone = between(f.solo)
    case = (program, nodes, mpl, quantum)
    if len(f.solo) > 2:
        tables.spans.row((*case, "solo"),
                         {"overhead": noise(f.solo), "solo": alone})
    for lead, runs in f.gang.items():
        tables.span((*case, turns_name(lead)), runs, alone, solo=alone,
                    missed=f.missed)
    tables.span((*case, "bare"), f.bare, alone)
    tables.span((*case, "local"), f.local, alone)
    for lead, seconds in f.switches.items():
        tables.switch((*case, turns_name(lead)), seconds)
    tables.switch((*case, "bare"), f.bare_switches)


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--figure", type=int, choices=FIGURES,
                        help="what a figure of TC'06 varies")
    parser.add_argument("--walk", type=words, metavar="LIST",
                        help=f"of {','.join(walks.NAMES)}, or all")
    parser.add_argument("--cycles", type=int, default=100_000_000,
                        metavar="N", help="steps of a walk (default: "
                        "100000000)")
    parser.add_argument("--nodes", type=numbers, default=[2], metavar="LIST",
                        help="nodes of a job (default: 2)")
    parser.add_argument("--mpl", type=numbers, default=[2], metavar="LIST",
                        help="jobs per core (default: 2)")
    parser.add_argument("--quantum", type=reals, default=[2, 10],
                        metavar="LIST",
                        help="quanta in milliseconds (default: 2,10)")
    parser.add_argument("--runs", type=int, default=9, metavar="N",
                        help="runs in the partition gang (default: 9)")
    parser.add_argument("--local", type=int, default=3, metavar="N",
                        help="runs in the partition shared (default: 3)")
    parser.add_argument("--bare", type=int, default=0, metavar="N",
                        help="runs with bare_switch (default: 0)")
    build_option(parser)
    parser.add_argument("--agents", metavar="CPUS",
                        help="reserve CPUs for the agents (AgentCPUs)")
    parser.add_argument("--lead", type=words, metavar="LIST",
                        help="values of StrobeLead, by turns; a job takes its "
                        "first seconds to know the clocks: see --length")
    parser.add_argument("--switches", action="store_true",
                        help="measure the cost of a switch (bsp only)")
    parser.add_argument("--stock", action="store_true",
                        help="also run with Slurm's gang scheduler")
    parser.add_argument("--length", type=int, default=1, metavar="N",
                        help="seconds that a job takes alone, about "
                        "(default: 1)")
    parser.add_argument("--programs", type=words_of(*PROGRAMS),
                        default=["bsp"], metavar="LIST",
                        help=f"of {','.join(PROGRAMS)} (default: bsp)")


def run(args, result):
    mpi.first()     # there must be one
    if args.switches and args.programs != ["bsp"]:
        raise NotRun("--switches is for the program bsp alone")
    if args.walk:
        walks.run(args, result)
        return
    if args.figure:
        vars(args).update(FIGURES[args.figure])
    tables = Tables(result, args.switches)
    for program, nodes, mpl in itertools.product(args.programs, args.nodes,
                                                 args.mpl):
        for quantum in args.quantum:
            one(args, tables, program, nodes, mpl, quantum)
        if args.stock:
            solo, gang = measure_stock(args, nodes, mpl, program)
            tables.span((program, nodes, mpl, 5000, "stock"), [gang],
                        [solo.seconds], solo=solo.seconds)
