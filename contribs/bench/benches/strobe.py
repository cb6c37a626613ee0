# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure the cost of strobes and how many arrive per second, in two ways.

Agents only: starts a lab for each number of nodes. An owner on the login host
sends strobes at each rate (strobe_rate). The agents' counters then show how many
arrived: the strobes missed by all agents, the processor time that a strobe costs
an agent (by the kernel's accounting), the greatest delay of a strobe when sent,
and the delay of the last one. An owner that falls behind has not reached the
rate.

Turns: starts a lab with a gang partition and two jobs that compute, on as many
nodes as there are cores. The agents' traces show when each node began a turn; all
nodes of a lab share a clock. "skew" is by how much the nodes differ; a strobe's
cost to an agent includes the switch here. With --lead the same jobs run with each
StrobeLead by turns, ROUNDS times.
"""
import os
import pathlib
import shutil
import time

from harness import Cluster, Lab, until
from lab.slurmconf import address_of
from measure import target
from measure.background import build_option, built
from measure.result import NotRun
from measure.turns import numbers, reals, words

HELP = "what strobes cost, and how many arrive in a second"
SOURCE = ""
QUICK = {"nodes": [1], "rates": [1000], "seconds": 1, "gang": 2,
         "quantum": [2]}
#: path on the hosts
PROGRAM = "/home/user/strobe_rate"


def cpu(lab, nodes):
    """The processor time of these nodes' agents, in nanoseconds."""
    total = 0
    for node in nodes:
        for pid in lab.pids(node, "agent"):
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                total += int((task / "schedstat").read_text().split()[0])
    return total


def strobes(lab, nodes):
    return sum(lab.agent_stats(n)["nm"]["strobes"] for n in nodes)


def rates(args, result, table, count):
    lab = Lab(f"strobe{os.getpid()}")
    best = 0
    try:
        lab.up(count)
        lab.wait_agents()
        shutil.copy(built(args, "strobe_rate"), lab.dir + PROGRAM)
        for rate in args.rates:
            if one_rate(args, table, lab, rate):
                best = max(best, rate)
    finally:
        lab.down()
    result.note(f"The highest rate without a miss, {count} nodes: {best} a "
                "second.")


def one_rate(args, table, lab, rate):
    """Whether all strobes arrived, and in time."""
    nodes = [f"{n}={address_of(n)}" for n in lab.nodes]
    had, used = strobes(lab, lab.nodes), cpu(lab, lab.nodes)
    done = lab.run([PROGRAM, str(rate), str(args.seconds), *nodes], cwd="/")
    if done.returncode:
        raise NotRun(done.stderr.strip())
    used = cpu(lab, lab.nodes) - used
    came = strobes(lab, lab.nodes) - had
    sent, latest, last = done.stdout.split()
    missed = int(sent) * len(nodes) - came
    table.row((len(nodes), rate), {
        "missed": missed, "agent": used / max(came, 1),
        "latest": float(latest), "last": float(last)})
    # If the owner fell behind, the true rate was lower.
    return not missed and float(last) < args.seconds * 1e4


class Sample:
    """What the agents did while some seconds passed."""

    def __init__(self):
        self.skews, self.used, self.came = [], 0, 0
        self.planned, self.missed = 0, 0


def counted(lab, what):
    return sum(lab.agent(n, what) for n in lab.names)


def set_lead(lab, lead):
    """Wait until it counts, and the nodes know the clocks."""
    lab.set_key("StrobeLead", lead)
    on = float(lead.rstrip("mus")) > 0

    def counts():
        before = counted(lab, "gang_agreed"), counted(lab, "gang_slots")
        time.sleep(0.5)
        agreed = counted(lab, "gang_agreed") - before[0]
        slots = counted(lab, "gang_slots") - before[1]
        return slots and (agreed > slots / 2 if on else not agreed)

    until(counts, f"StrobeLead={lead} to count")
    # the estimate has all of its windows
    time.sleep(5 if on else 0)


def sample(args, lab, to):
    names = ("gang_strobes", "gang_planned", "gang_missed")
    had = [counted(lab, n) for n in names]
    used, since = cpu(lab.lab, lab.names), time.monotonic_ns()
    time.sleep(args.seconds * 2)
    to.used += cpu(lab.lab, lab.names) - used
    came, planned, missed = (counted(lab, n) - h for n, h in zip(names, had))
    to.came += came
    to.planned += planned
    to.missed += missed
    to.skews += skews(lab, since)


def turns(args, table, quantum):
    conf = {"AgentCPUs": args.agents} if args.agents else {}
    lab = Cluster(f"strobe{os.getpid()}", args.gang, cpus=1, standing=False,
                  gang=2, quantum=quantum, storm_conf=conf)
    samples = {lead: Sample() for lead in args.lead}
    try:
        for _ in range(2):
            lab.start(f"srun -pgang -N{args.gang} --launch=storm "
                      "{do} spin 3600000")
        until(lambda: all(lab.agent(n, "gang_stops") > 20 for n in lab.names),
              "turns")
        for _ in range(args.rounds):
            for lead in args.lead:
                set_lead(lab, lead)
                sample(args, lab, samples[lead])
        lab.end_all()
        lab.root("scancel -p gang")
        until(lambda: not lab.root("squeue -h"), "the jobs' end")
    finally:
        lab.end_all()
        lab.lab.down()
    for lead, s in samples.items():
        skew = sorted(s.skews)
        if not skew:
            raise NotRun("no switch was seen by all nodes")
        table.row((args.gang, quantum, lead), {
            "skew": skew, "p90": skew[int(len(skew) * .9)],
            "p99": skew[int(len(skew) * .99)], "max": skew[-1],
            "agent": s.used / max(s.came, 1), "planned": s.planned,
            "missed": s.missed})


def skews(lab, since):
    """By how many us the nodes differ, for each switch."""
    seen = {}
    for node in lab.names:
        for e in lab.lab.gang_trace(node):
            if e["what"] == "slot" and e["at"] >= since:
                seen.setdefault(e["strobe"], []).append(e["at"])
    return [(max(at) - min(at)) / 1e3 for at in seen.values()
            if len(at) == len(lab.names)]


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--nodes", default=[1, 8, 32], metavar="LIST",
                        type=numbers,
                        help="numbers of agents (default: 1,8,32)")
    parser.add_argument("--rates", metavar="LIST", type=numbers,
                        default=[1000, 2000, 5000, 10000, 20000, 50000],
                        help="strobes per second (default: 1000 to 50000)")
    parser.add_argument("--seconds", type=int, default=2, metavar="N",
                        help="duration of each rate (default: 2)")
    parser.add_argument("--gang", type=int, default=3, metavar="N",
                        help="nodes that take turns (default: 3)")
    parser.add_argument("--quantum", type=reals, default=[2, 0.3],
                        metavar="LIST",
                        help="quanta in milliseconds (default: 2,0.3)")
    parser.add_argument("--lead", type=words, default=["0", "500us"],
                        metavar="LIST",
                        help="values of StrobeLead, by turns "
                        "(default: 0,500us)")
    parser.add_argument("--rounds", type=int, default=1, metavar="N",
                        help="times that each of them is measured "
                        "(default: 1)")
    parser.add_argument("--agents", metavar="CPUS",
                        help="reserve CPUs for the agents (AgentCPUs)")
    parser.add_argument("--turns-only", action="store_true",
                        help="measure no rates")
    build_option(parser)


def run(args, result):
    table = result.table(
        "strobes to agents", by=("nodes", "rate"),
        columns={"missed": "", "agent": "ns", "latest": "us", "last": "us"},
        plot={"x": "rate", "y": ["agent"], "log": "x"})
    for count in [] if args.turns_only else args.nodes:
        rates(args, result, table, count)
    table = result.table(
        "turns of two jobs, quantum in ms", by=("nodes", "quantum", "lead"),
        columns={"skew": "us", "p90": "us", "p99": "us", "max": "us",
                 "agent": "ns", "planned": "", "missed": ""})
    for quantum in args.quantum:
        turns(args, table, quantum)
