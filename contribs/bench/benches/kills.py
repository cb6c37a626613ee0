# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how soon all steps run after a daemon of gang scheduling dies or stops.

Two jobs take turns on all nodes of a lab. COUNT times for each kind, at random
moments, the daemon receives SIGKILL or SIGSTOP. "all run" is the time until all
steps that depend on it run, "turns" until they take turns again. When all steps
run, this program restarts the daemons that a site's systemd would restart, and
continues those that it stopped; "back" counts from when the daemon was back.
--noise also measures for how long a processor did not run a process of the
highest priority: the hypervisor had suspended the machine, or its kernel was
busy.
"""
import argparse
import json
import math
import mmap
import os
import pathlib
import signal
import struct
import time

import gang_kill
from gang import Gang
from measure import target

NAMES = ",".join(f"{k}:{s}" for k, s in gang_kill.ALL)
HELP = "how soon all steps run after a daemon dies or stops"
SOURCE = ""
QUICK = {"count": 1, "kinds": [("agent", "KILL"), ("strober", "STOP")]}
#: {what a fault's result has: its name}
WHAT = {"open": "all run", "turns": "turns", "back": "back", "noise": "noise"}
SHARES = {"min": 0, "p50": 50, "p90": 90, "p99": 99, "max": 100}


def percentile(values, p):
    return values[max(0, math.ceil(len(values) * p / 100) - 1)]


def spread(values):
    """The columns of these seconds; None is a wait in vain."""
    known = sorted(v * 1000 for v in values if v is not None)
    found = {name: percentile(known, p) for name, p in SHARES.items()} \
        if known else {}
    return {**found, "n": len(values), "never": len(values) - len(known)}


class Children:
    """Processes that repeat an action until end()."""

    def __init__(self):
        self.pids = []

    def begin(self, do, *args):
        parent, pid = os.getpid(), os.fork()
        if pid:
            self.pids.append(pid)
            return
        try:
            while os.getppid() == parent:
                do(*args)
        finally:
            os._exit(0)

    def end(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def compute():
    for _ in range(10000):
        pass


class Noise:
    """A process of the highest priority on each processor, which wakes every
    two milliseconds."""

    def __init__(self, children):
        cpus = sorted(os.sched_getaffinity(0))
        self.late = mmap.mmap(-1, 8 * len(cpus))
        for i, cpu in enumerate(cpus):
            children.begin(self.run, i, cpu)
        self.cpus = cpus

    def run(self, i, cpu):
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(61))
        due = time.monotonic() + 0.002
        time.sleep(0.002)
        late = time.monotonic() - due
        if late > self.get(i):
            struct.pack_into("d", self.late, 8 * i, late)

    def get(self, i):
        return struct.unpack_from("d", self.late, 8 * i)[0]

    def reset(self):
        self.late[:] = bytes(8 * len(self.cpus))

    def worst(self):
        """Seconds since reset(), including a gap that has not ended yet."""
        time.sleep(0.005)
        return max(map(self.get, range(len(self.cpus))))


def keep_traces(lab, directory, name, since):
    """Save the nodes' traces, beginning a second before the fault."""
    for node in lab.names:
        with open(directory / f"{name}.{node}", "w") as f:
            for e in lab.trace(node):
                if e["at"] >= (since - 1) * 1e9:
                    f.write(json.dumps(e) + "\n")


def kinds(text):
    """The type of the option --kinds."""
    found = [tuple(k.rsplit(":", 1)) for k in text.split(",")]
    bad = [k for k in found if k not in gang_kill.ALL]
    if bad:
        raise argparse.ArgumentTypeError(f"unknown kind {':'.join(bad[0])}")
    return found


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--quantum", type=float, default=20,
                        help="quantum in milliseconds (default: 20)")
    parser.add_argument("--policy", choices=("gang", "flexible"),
                        default="gang", help="with flexible one of the jobs "
                        "sleeps, and the other fills its gaps (default: gang)")
    parser.add_argument("--count", type=int, default=100,
                        help="faults of each kind (default: 100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--busy", type=int, default=0, metavar="N",
                        help="run N processes that compute at the same time")
    parser.add_argument("--noise", action="store_true",
                        help="measure the machine's noise")
    parser.add_argument("--traces", type=pathlib.Path, metavar="DIR",
                        help="save the nodes' traces of faults that took over "
                        "100 ms, or two quanta")
    parser.add_argument("--kinds", type=kinds, default=gang_kill.ALL,
                        metavar="LIST",
                        help=f"kinds of faults (default: {NAMES})")


def measure(args, result, table, lab, kills, kind):
    found = []
    for i in range(args.count):
        found.append(kills.once(*kind))
        begun, took = found[-1].pop("begun"), found[-1]["open"]
        if args.traces and (took or 9) * 1000 > max(100, 2 * args.quantum):
            name = f"{'.'.join(kind)}.{i + 1}"
            keep_traces(lab, args.traces, name, begun)
            result.note(f"{name}: begun {begun:.6f}, {found[-1]}")
    for what, name in WHAT.items():
        if what in found[0]:
            table.row((":".join(kind), name),
                      spread([one[what] for one in found]))


def run(args, result):
    table = result.table(
        f"after a fault, {args.nodes} nodes, quantum {args.quantum:g} ms, "
        f"policy {args.policy}",
        by=("fault", "until"),
        columns={**dict.fromkeys(SHARES, "ms"), "n": "", "never": ""},
        plot={"x": "fault", "y": ["p50", "max"], "log": "y",
              "facets": ["until"], "points": ["p50", "max"]})
    if args.traces:
        args.traces.mkdir(parents=True, exist_ok=True)
    lab, children = None, Children()
    try:
        lab = Gang(f"gangkills{os.getpid()}", args.nodes,
                   quantum=args.quantum,
                   storm_conf={"Partition": f"gang Policy={args.policy}"})
        noise = Noise(children) if args.noise else None
        for _ in range(args.busy):
            children.begin(compute)
        kills = gang_kill.Kills(lab, args.seed, noise, args.policy)
        kills.begin()
        for kind in args.kinds:
            measure(args, result, table, lab, kills, kind)
    finally:
        children.end()
        if lab:
            lab.end_all()
            lab.lab.down()
