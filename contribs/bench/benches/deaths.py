# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how soon it is known that a host has died.

A step of stock srun has a task on each node. COUNT times the switch's port to one of
the nodes goes down, so that nothing of the host is heard and no socket of its is closed.
"suspects" is the owner's own figure, from the node's last sign of life until it
counts as a suspect: more than from the death. The others count from the death: until
srun names the node, until srun says what became of it (the host is unreachable),
and until scontrol show node does. "false" counts other nodes that were suspected.

idle: nothing else runs. busy: SPINNERS processes for each processor. The host is heard
again before the next one dies.
"""
import array
import fcntl
import multiprocessing
import os
import re
import socket
import struct
import subprocess
import threading
import time

from benches.kills import Children, compute
from lab.sysdep import CLONE_NEWNET, setns
from measure import target
from measure.result import NotRun
from measure.turns import words_of

HELP = "how soon a host's death is known"
SOURCE = "TC'06 2.4.3"
QUICK = {"nodes": [3], "count": 2, "loads": ["idle"]}
LOADS = ("idle", "busy")
WHAT = ("suspects", "srun told", "verdict", "scontrol")
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
PRIORITY = 62
PATIENCE = 60       # seconds
STRANGE = "storm_strober: node (n[0-9]+) gives no sign of life \\(last heard ([0-9]+) ms"


def options(parser):
    target.options(parser, site=False)
    target.nodes_option(parser, (8, 32))
    parser.add_argument("--count", type=int, default=100, metavar="N",
                        help="deaths for each row (default: 100)")
    parser.add_argument("--loads", type=words_of(*LOADS), default=LOADS, metavar="LIST",
                        help=f"of {','.join(LOADS)} (default: both)")
    parser.add_argument("--spinners", type=int, default=10, metavar="N",
                        help="of each processor, where it is busy (default: 10)")


def urgent():
    """What this thread sees it must not see late. Its children are as all others."""
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK,
                          os.sched_param(PRIORITY))


def set_port(sock, name, up):
    request = array.array("B", struct.pack("16sh14x", name.encode(), 0))
    fcntl.ioctl(sock, SIOCGIFFLAGS, request)
    flags, = struct.unpack_from("h", request, 16)
    struct.pack_into("h", request, 16, flags | IFF_UP if up else flags & ~IFF_UP)
    fcntl.ioctl(sock, SIOCSIFFLAGS, request)


def switch(pid, pipe):
    """A process in the switch's namespace: takes (host, up), gives the time before."""
    with open(f"/proc/{pid}/ns/net", encoding="ascii") as space:
        setns(space.fileno(), CLONE_NEWNET)
    urgent()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        while True:
            try:
                host, up = pipe.recv()
            except EOFError:
                return
            now = time.time()
            set_port(sock, host, up)
            pipe.send(now)


class Step:
    """srun with a task on each node; knows when it has said what."""

    def __init__(self, lab, nodes):
        self.said, self.lock = [], threading.Condition()
        self.process = lab.popen(
            ["srun", "--launch=slurm", "--no-kill", f"-N{nodes}", f"-n{nodes}", "sh", "-c",
             "echo begun; sleep 600"], user="user", cwd="/tmp", text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        for _ in range(nodes):
            if self.process.stdout.readline() != "begun\n":
                raise NotRun("srun ended: " + "".join(line for _, line in self.said))

    def read(self):
        urgent()
        for line in self.process.stderr:
            with self.lock:
                self.said.append((time.time(), line))
                self.lock.notify_all()

    def when(self, text):
        """The time when it said that."""
        found = []

        def look():
            found[:] = [at for at, line in self.said if text in line]
            return found
        with self.lock:
            if not self.lock.wait_for(look, PATIENCE):
                raise NotRun(f"srun does not say {text}: {self.said}")
        return found[0]

    def end(self):
        self.process.terminate()
        self.process.stdout.close()
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stderr.close()


def shown(lab, node):
    return lab.run(["scontrol", "-o", "show", "node", node], cwd="/").stdout


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise NotRun(f"no {what} after {PATIENCE} s")
        time.sleep(0.01)
    return time.time()


def death(lab, nodes, node, port):
    """ms by name, and how many others were suspected."""
    before = len(lab.log("ctl", "slurmctld"))
    step = Step(lab, nodes)
    try:
        port.send((node, False))
        died = port.recv()
        told = step.when(f"node {node}: no sign of life")
        verdict = step.when(f"node {node}: host unreachable")
        seen = until(lambda: "failed=host-unreachable" in shown(lab, node), "word in scontrol")
        suspects = re.findall(STRANGE, lab.log("ctl", "slurmctld")[before:])
    finally:
        port.send((node, True))
        port.recv()
        step.end()
    until(lambda: "storm:" not in shown(lab, node), "return")
    silence = [int(ms) for name, ms in suspects if name == node]
    if not silence:
        raise NotRun(f"the strober did not log that {node} is suspect")
    return {"suspects": silence[0], **{
        name: (at - died) * 1000 for name, at in
        (("srun told", told), ("verdict", verdict), ("scontrol", seen))}}, \
        sum(name != node for name, _ in suspects)


def one(args, table, nodes, load, where):
    lab, (mine, theirs) = where.lab, multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=switch, args=(lab.record["pids"]["sw"][0], theirs))
    process.start()
    theirs.close()
    spinning, found, false = Children(), [], 0
    for _ in range(args.spinners * len(os.sched_getaffinity(0)) * (load == "busy")):
        spinning.begin(compute)
    try:
        for k in range(args.count):
            times, others = death(lab, nodes, f"n{k % nodes + 1}", mine)
            found.append(times)
            false += others
    finally:
        spinning.end()
        mine.close()
        process.terminate()
        process.join()
    for what in WHAT:
        values = sorted(times[what] for times in found)
        table.row((nodes, load, what), {
            "p50": [values[len(values) // 2]],
            "p99": [values[min(len(values) - 1, len(values) * 99 // 100)]],
            "max": [values[-1]], "false": [false]})


def run(args, result):
    table = result.table(
        "from a host's death until it is known", by=("nodes", "load", "what"),
        columns={"p50": "ms", "p99": "ms", "max": "ms", "false": ""},
        plot={"x": "what", "y": ["p50", "p99"], "log": "y"})
    for nodes in args.nodes:
        with target.open_target(
                args, result, nodes, cpus=1,
                conf=["SchedulerType=sched/storm", "SlurmctldDebug=debug"],
                storm_conf=["Partition=shared Policy=local"]) as where:
            for k in range(nodes):
                until(lambda k=k: f"node n{k + 1} is a member of" in
                      where.lab.log("ctl", "slurmctld"), "cluster domain")
            urgent()
            for load in args.loads:
                one(args, table, nodes, load, where)
