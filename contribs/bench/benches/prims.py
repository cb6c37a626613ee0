# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure the three primitives through libstorm's public interface: each node
runs a node of libstorm's, and a process on the login host owns a domain of
them.

By number of nodes, load and radix of the tree, in microseconds:
  trip     a round trip of datagrams between two of the nodes, to compare
  compare  COMPARE-AND-WRITE without a write: a reduction
  write    COMPARE-AND-WRITE with a write: ordered, with a decision
  xfer     XFER-AND-SIGNAL until TEST-EVENT says that all nodes have the data
  answer   until all nodes have tested its event and answered by a variable,
           which COMPARE-AND-WRITE finds
  issue    the call XFER-AND-SIGNAL, which does not block
  poll     TEST-EVENT of an event that has happened
The radices alternate. Loads: all processors spin; each node sends to the next
as fast as the link allows. The hosts of a lab share this machine's processors,
and so do its emulated machines, where verbs and UDP alternate.
"""
import contextlib
import os
import shutil
import sys
import tempfile

from measure import target
from measure.background import (
    LOADS, build_option, built, install, loaded, nodes_of, step)
from measure.result import NotRun, TOP
from measure.settling import settle
from measure.turns import numbers, take_turns, words_of

HELP = "COMPARE-AND-WRITE, XFER-AND-SIGNAL, TEST-EVENT"
SOURCE = "TC'06, Fig. 7"
QUICK = {"nodes": [2], "radix": [2], "times": 10, "rounds": 1, "machines": 0}
COLUMNS = ("compare", "write", "xfer", "answer", "issue", "poll")


def options(parser):
    target.options(parser)
    target.nodes_option(parser)
    parser.add_argument("--radix", default=[2, 8, 32], type=numbers,
                        metavar="LIST",
                        help="radices of the tree (default: 2,8,32)")
    parser.add_argument("--load", default=list(LOADS), metavar="LIST",
                        type=words_of(*LOADS),
                        help=f"loads (default: {','.join(LOADS)})")
    parser.add_argument("--times", type=int, default=200, metavar="N",
                        help="calls in a round (default: 200)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="rounds of each radix, by turns (default: 3)")
    parser.add_argument("--bytes", type=int, default=256, metavar="N",
                        help="data of a transfer (default: 256)")
    parser.add_argument("--rate", default="1gbit", metavar="RATE",
                        help="limit of a lab's links, or off (default: 1gbit)")
    parser.add_argument("--machines", type=int, default=2, metavar="N",
                        help="emulated machines for verbs; 0: none (default: "
                        "2)")
    build_option(parser)


def values(text):
    """{name: [microseconds]} of what prims_rate prints."""
    rows = [line.split() for line in text.splitlines()]
    return {name: [float(word) for word in rest] for name, *rest in rows}


def pooled(rounds):
    """The values of several rounds in one list for each name."""
    if isinstance(rounds, NotRun):
        return dict.fromkeys(COLUMNS, rounds)
    return {name: sum((one[name] for one in rounds), [])
            for name in rounds[0]}


def distinct(radices, nodes):
    """From one that has all nodes as its children on, trees are the same."""
    return [r for i, r in enumerate(radices)
            if not any(s >= nodes for s in radices[:i])]


class Prims:
    """The primitives over the nodes of a job."""

    def __init__(self, where, args, job):
        self.where, self.args, self.job = where, args, job
        self.program = install(where, args, "prims_rate")
        self.nodes = nodes_of(where, job)
        self.names = list(self.nodes)

    def owner(self, radix):
        return values(self.where.must([
            self.program, f"radix={radix}", f"bytes={self.args.bytes}",
            "owner", self.args.times,
            *(f"{name}={ip}" for name, ip in self.nodes.items())]))

    def trip(self):
        return values(self.where.must([
            "srun", f"--jobid={self.job}", "--overlap", "--launch=slurm",
            "-N1", "-n1", "-w", self.names[1], self.program, "ping",
            self.args.times, self.nodes[self.names[0]]]))

    def contenders(self):
        found = {radix: lambda radix=radix: self.owner(radix)
                 for radix in distinct(self.args.radix, len(self.names))}
        if len(self.names) > 1:
            found["trip"] = self.trip
        return found

    def under(self, load, table):
        with loaded(self.where, self.args, self.job, self.names, load):
            found = take_turns(
                self.contenders(), self.args.rounds, warm=0,
                before=settle if load == "idle" else lambda: None)
        trip = found.pop("trip", [{}])
        trip = {"trip": trip} if isinstance(trip, NotRun) else pooled(trip)
        for radix, rounds in found.items():
            table.row((len(self.names), load, radix),
                      {**pooled(rounds), **trip})

    def measure(self, table):
        with contextlib.ExitStack() as both:
            both.enter_context(step(self.where, self.job, self.names,
                                    [self.program, "node"]))
            if len(self.names) > 1:
                both.enter_context(step(self.where, self.job, self.names[:1],
                                        [self.program, "pong"]))
            for load in self.args.load:
                try:
                    self.under(load, table)
                except NotRun as why:
                    table.row((len(self.names), load, ""),
                              dict.fromkeys(COLUMNS, why))


class Machine:
    """The primitives over emulated machines; the first one is the owner,
    too. MUNGE has a key of its own there."""
    MUNGE = ("mkdir -p /run/munge /var/lib/munge /var/log/munge; chown root: "
             "/run/munge /var/lib/munge /var/log/munge; install -m 400 "
             "/machines/key /run/key; munged --key-file=/run/key")

    def __init__(self, machines, args, transport):
        self.machines, self.args = machines, args
        self.words = (f"/machines/prims_rate transport={transport} "
                      f"interface=eth0 patience=60 bytes={args.bytes}")

    @classmethod
    def prepare(cls, machines, args):
        shutil.copy(built(args, "prims_rate"), machines.dir)
        (machines.dir / "key").write_bytes(os.urandom(128))
        for done in machines.run(cls.MUNGE):
            if done.code:
                raise NotRun(f"munged in a machine: {done.err}")

    def __call__(self):
        from vm import until
        nodes = [self.machines.start(i, f"exec {self.words} node n{i}")
                 for i in range(self.machines.count)]
        try:
            for one in nodes:
                until(lambda: "ready" in one.out or one.code is not None,
                      "a node")
            done = self.machines.run(
                f"{self.words} owner {self.args.times} " + " ".join(
                    f"n{i}=10.77.0.{i + 1}" for i in range(len(nodes))), [0],
                timeout=600)[0]
            if done.code:
                raise NotRun(done.err.strip())
            return values(done.out)
        finally:
            self.machines.run("pkill -x prims_rate")
            self.machines.wait(nodes)


def on_machines(args, result):
    sys.path[:0] = [str(TOP / "testsuite" / "machines")]
    import vm
    result.note("the machines are emulated: their times compare the "
                "transports, and nothing else")
    table = result.table("The primitives between emulated machines",
                         by=("nodes", "transport"),
                         columns=dict.fromkeys(COLUMNS, "us"))
    try:
        with tempfile.TemporaryDirectory() as d, \
                vm.Machines(args.machines, d, mtu=4300) as machines:
            machines.boot()
            Machine.prepare(machines, args)
            found = take_turns({name: Machine(machines, args, name)
                                for name in ("udp", "verbs")},
                               args.rounds, warm=0, before=lambda: None)
    except (vm.Trouble, NotRun) as e:
        found = {"verbs": NotRun(str(e))}
    for name, rounds in found.items():
        table.row((args.machines, name), pooled(rounds))


def run(args, result):
    links = f", links {args.rate}" if not args.site else ""
    table = result.table(
        f"The primitives{links}", by=("nodes", "load", "radix"),
        columns=dict.fromkeys(("trip", *COLUMNS), "us"),
        ratios=["compare / trip", "write / trip", "xfer / trip"],
        plot={"x": "nodes", "y": ["trip", "compare", "write", "xfer"],
              "log": "xy"})
    with target.open_target(args, result, max(args.nodes)) as where:
        if where.lab:
            where.lab.shape(args.rate)
        for nodes in args.nodes:
            with where.allocation(nodes) as job:
                Prims(where, args, job).measure(table)
    if args.machines:
        on_machines(args, result)
