# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Compare the cost of a file transfer to all nodes over RDMA verbs and over UDP,
which alternate on the same emulated machines (testsuite/machines).

Each machine is a node; the first one is also the owner. Soft-RoCE's speed does
not predict that of hardware, but these counts do:
  messages    datagrams of all kinds that the owner sends and receives, and that
              a node does in the mean
  copied      bytes copied between the program's memory and the network's, per
              byte delivered. With UDP the kernel copies what is sent, and what
              each node receives. With verbs libstorm copies what is sent into
              registered memory; the adapter stores what is received in place.
              The write to the file is the same with both and does not count.
  CPU         time of the processes in ns per byte delivered (size x nodes).
              With UDP it includes the system calls. With verbs hardware does
              this work; here the kernel does it, which does not count.
  start       of a node, in wall clock time: it joins all groups of the pool
              (groups=N, 16), with verbs two for each
The programs must be built: testsuite/run verbs does that.
"""
import os
import statistics
import sys
import tempfile

from measure import files
from measure.result import NotRun, TOP
from measure.turns import take_turns, words

sys.path[:0] = [str(TOP / "testsuite" / d) for d in ("verbs", "machines")]
import vm  # noqa: E402
from transfer import (  # noqa: E402
    Transfer, counters, has_verbs, program, stat)

HELP = "a transfer over RDMA verbs and over UDP: counts"
SOURCE = ""
QUICK = {"machines": 2, "size": 1_000_000, "repeat": 1}


def traffic(command, transport):
    """(datagrams sent, datagrams received, bytes copied)"""
    c = counters(command)[transport]
    if transport == "udp":
        return (c["tx_datagrams"], c["rx_datagrams"],
                c["tx_bytes"] + c["rx_bytes"])
    return c["tx_datagrams"], c["rx_datagrams"], c["tx_copied"]


def one(machines, transport, size, settings):
    """The costs of one transfer, a dict in the order of the table."""
    t = Transfer(machines, transport, **settings).finish()
    if t.owner.code:
        raise NotRun(str(t.owner))
    owner = traffic(t.owner, transport)
    nodes = [traffic(n, transport) for n in t.nodes]
    delivered = size * len(nodes)
    cpu_nodes = sum(stat(n, "cpu_us") for n in t.nodes)
    return {
        "datagrams that the owner sends": owner[0],
        "datagrams that the owner receives": owner[1],
        "datagrams that a node sends": statistics.mean(n[0] for n in nodes),
        "datagrams that a node receives": statistics.mean(n[1] for n in nodes),
        "bytes copied per byte delivered":
            (owner[2] + sum(n[2] for n in nodes)) / delivered,
        "DATA frames sent again": t.stat("tx_repair"),
        "CPU of the owner, ns per byte delivered":
            1000 * t.stat("cpu_us") / delivered,
        "CPU of a node, ns per byte delivered to it":
            1000 * cpu_nodes / delivered,
        "start of a node, ms":
            statistics.median(stat(n, "start_us") for n in t.nodes) / 1000,
    }


def options(parser):
    parser.add_argument("--machines", type=int, metavar="N",
                        default=min(4, max(2, len(os.sched_getaffinity(0)))),
                        help="emulated machines (default: %(default)s)")
    parser.add_argument("--size", type=files.size, default=12_000_000,
                        metavar="BYTES", help="(default: 12M)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N",
                        help="runs of each (default: 3)")
    parser.add_argument("--mtu", type=int, default=4300,
                        help="MTU of the network (default: 4300, RoCE's 4096 "
                        "and UDP's 4272)")
    parser.add_argument("--settings", type=words, default=[],
                        metavar="KEY=VALUE,...",
                        help="settings; testsuite/verbs/across.c lists them")


def transfers(args, machines):
    settings = dict(s.split("=", 1) for s in args.settings)
    return take_turns(
        {name: lambda name=name: one(machines, name, args.size, settings)
         for name in ("udp", "verbs")}, args.repeat, warm=0)


def in_machines(args):
    with tempfile.TemporaryDirectory() as d, \
            vm.Machines(args.machines, d, mtu=args.mtu) as machines:
        files.make_file(machines.dir / "payload", args.size)
        machines.boot()
        return transfers(args, machines)


def run(args, result):
    try:
        across = program("verbs", "across")
    except AssertionError as e:
        raise NotRun(f"this needs the programs of testsuite/verbs: {e}") from e
    if not has_verbs(across):
        raise NotRun("libstorm was built without verbs: install "
                     "libibverbs-dev and librdmacm-dev, and build again")
    try:
        found = in_machines(args)
    except vm.Trouble as e:
        raise NotRun(f"this needs emulated machines: {e}") from e
    table = result.table(
        f"{args.size} bytes to {args.machines} machines, MTU {args.mtu}",
        by=("what",), columns={"udp": "", "verbs": ""},
        ratios=["verbs / udp"],
        plot={"x": "what", "y": ["udp", "verbs"], "log": "y",
              "points": ["udp", "verbs"]})
    rows(table, found)


def rows(table, found):
    said = next((runs for runs in found.values() if isinstance(runs, list)),
                [])
    for what in said[0] if said else ["all"]:
        table.row((what,), {
            name: runs if isinstance(runs, NotRun) else [r[what] for r in runs]
            for name, runs in found.items()})
