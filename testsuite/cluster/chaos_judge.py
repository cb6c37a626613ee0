# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What a job's end says, held against what Slurm recorded, what the job printed, what
its tasks left in files, and the faults of its nodes in its time. Pure.

	a job that Slurm calls COMPLETED has each line of each task, once
	srun exits with 0 if, and only if, Slurm calls its job COMPLETED
	any other end has a fault of one of the job's nodes in its time
	an error of srun that names nodes names one that had a fault
	no task runs twice

What stock Slurm does as well is known by its words (STOCK), and counted apart: an end
may be untrue by srun's own fault.
"""
import dataclasses
import re

#: s by which a fault may lie before the job, as a node comes back late, and clocks
#: are whole seconds
BEFORE, AFTER = 8, 2

GOOD = "COMPLETED"
RUNNING = {"RUNNING", "PENDING", "COMPLETING", "SUSPENDED", "REQUEUED"}
#: {kind of untruth: {what srun says: what it is}}
STOCK = {
    "incomplete": {
        r"falling back to Slurm's standard launch(?s:.*)missing step on node":
            "srun exits with 0 if those tasks are lost whose node has booted"},
    "hangs": {
        r"falling back to Slurm's (standard launch|own messages)":
            "a standard launch can wait for ever for a node that was cut meanwhile"},
    "code": {
        r"aborted before step completely launched":
            "srun exits with 0 if a step ends before all of its tasks have begun"},
    "lost output": {
        r"falling back to Slurm's (standard launch|own messages)":
            "a standard launch can lose what a task wrote last, if its node is cut",
        r"Abandoning IO \d+ secs after job shutdown initiated":
            "srun exits with 0 if a node dies that has output left, and names no node"}}
#: ... and this one by what is missing
WAITS = "srun waits 10 minutes for a task whose slurmstepd could not connect to it, " \
    "also when the job is over"

#: states that only a fault explains
BAD = {"FAILED", "NODE_FAIL", "CANCELLED", "TIMEOUT", "BOOT_FAIL", "OUT_OF_MEMORY",
       "DEADLINE", "PREEMPTED"}


@dataclasses.dataclass
class Unit:
    """A job as Slurm records it, a task of an array, or a whole het job."""
    name: str
    kind: str
    tasks: int                  # that are to print, 0: unknown
    state: str                  # of sacct; "": it has none
    nodes: list
    began: float                # s since 1970
    ended: float
    code: "int | None" = None   # srun's exit status, None: there is no client
    out: str = ""               # what was printed
    err: str = ""
    hangs: bool = False         # the client runs behind the end of its job
    marks: dict = dataclasses.field(default_factory=dict)
    #: {"begun" or "ended": {task: how often}} of files that tasks write


@dataclasses.dataclass
class Trouble:
    """A fault that was in force."""
    kind: str
    node: str
    began: float
    healed: float


def lines(unit):
    """{task: [its words]}, of srun --label or of storm each."""
    found = {}
    for task, word in re.findall(r"^ *(\d+): (\w+)$", unit.out, re.M):
        found.setdefault(int(task), []).append(word)
    return found


def troubles_of(unit, troubles, nodes=None):
    """The faults of some nodes, by default the unit's, in its time."""
    nodes = unit.nodes if nodes is None else nodes
    return [t for t in troubles if t.node in nodes
            and t.began <= unit.ended + AFTER and t.healed + BEFORE >= unit.began]


def named(text):
    """The nodes that errors name."""
    found = set()
    for line in text.splitlines():
        if re.search("error|failure|failed|cannot", line, re.I):
            for prefix, inside in re.findall(r"\bn(\d+)\b|\bn\[([\d,-]+)\]", line):
                for part in (inside or prefix).split(","):
                    low, _, high = part.partition("-")
                    found |= {f"n{i}" for i in range(int(low),
                                                     int(high or low) + 1)}
    return found


def judge(unit, troubles):
    """A list of untruths, each (kind, words, why stock does so as well or None)."""
    def stock(kind):
        if kind == "hangs" and len(unit.marks.get("begun", ())) < unit.tasks:
            return WAITS
        return next((why for text, why in STOCK.get(kind, {}).items()
                     if re.search(text, unit.err)), None)

    return [(kind, words, stock(kind)) for kind, words in _judge(unit, troubles)]


def _judge(unit, troubles):
    said = []
    seen = lines(unit)
    mine = troubles_of(unit, troubles)
    want = ["end"] if unit.kind == "each" else ["begin", "end"]
    missing = [t for t in range(unit.tasks) if seen.get(t, [])[-1:] != ["end"]]
    twice = [t for t, words in seen.items() if len(words) > len(want)] + [
        t for mark in unit.marks.values() for t, n in mark.items() if n > 1]
    if twice and unit.kind != "each":
        said.append(("twice", f"tasks {sorted(set(twice))} ran twice"))
    if not unit.state:
        said.append(("unrecorded", "slurmdbd has no record"))
    elif unit.state in RUNNING:
        said.append(("hung", f"it is {unit.state} at the end"))
    elif unit.state == GOOD:
        unmarked = [t for t in range(unit.tasks)
                    if unit.marks and unit.marks["ended"].get(t, 0) < 1]
        if missing:
            said.append(("lost output" if not unmarked else "incomplete",
                         f"COMPLETED, and tasks {missing} have not printed their "
                         "last word"))
        elif unmarked:
            said.append(("incomplete", f"COMPLETED, and tasks {unmarked} have not "
                         "ended"))
        if unit.kind == "each" and twice:
            said.append(("twice", f"COMPLETED, and {sorted(set(twice))} printed "
                         "twice"))
    elif not mine:
        said.append(("no cause", f"{unit.state}, and none of {unit.nodes} had a "
                     "fault"))
    if unit.hangs:
        said.append(("hangs", f"{unit.state}, and its srun runs on"))
    elif unit.code is not None and unit.state and unit.state not in RUNNING and \
            (unit.code == 0) != (unit.state == GOOD):
        said.append(("code", f"srun exits with {unit.code}, Slurm says {unit.state}"))
    if unit.code and unit.err and not unit.hangs:
        blamed = named(unit.err)
        if blamed and not troubles_of(unit, troubles, blamed):
            said.append(("blames", f"srun names {sorted(blamed)}, and none had a "
                         "fault"))
        elif not blamed and mine:
            said.append(("unnamed", "srun fails and names no node"))
    return said
