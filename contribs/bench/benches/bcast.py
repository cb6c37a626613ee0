# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long a file takes to all nodes of a job by sbcast_storm, by
Slurm's sbcast, and by other programs, by turns on the same lab.

  sbcast_storm  checked, sealed and repaired
  sbcast        Slurm's
  chain         testsuite/programs/chain.c: a TCP chain without any check
  udpcast       multicast; udpcast-fec: with forward error correction
  uftp          multicast; uftp-aes: encrypted with AES-256-GCM

The time is that of the whole command at the root, until the last node has the
file. The peers' receivers wait before it begins, and those of the chain are
connected. "cast" is the part of sbcast_storm's time from the first byte sent,
by STORM's timeline. "bytes" is what the root sends as a multiple of the file.
"CPU" is the processor time of all hosts for a byte that a node gets (in a lab,
of the whole machine). "root" and "node" are the memory that the processes there
need more meanwhile, in a run of its own.

With --parts a table shows where the processor time of sbcast_storm and of the
chain goes, by process and part, from perf's samples in runs of their own. Both
are ns for a byte that a node gets. "forward" is all that the kernel does with
packets between a sender and a receiver's socket.

A loss is that of the nodes and the login host, of all that comes to them from
each other.
"""
from measure import cost, parts, peers, target
from measure.files import make_file, size_text, sizes
from measure.links import set_links
from measure.result import NotRun, ratio
from measure.turns import pick, reals, take_turns, words, words_of

HELP = "a file to all nodes: sbcast_storm, sbcast, chain, udpcast, uftp"
SOURCE = ""
QUICK = {"nodes": [2], "sizes": [1_000_000], "repeat": 1, "links": ["1gbit"],
         "parts": 1}
COLUMNS = {"time": "ms", "cast": "ms", "time / ours": "", "goodput": "MB/s",
           "bytes": "x", "CPU": "ns/B", "root": "MB", "node": "MB"}


def options(parser):
    target.options(parser)
    target.nodes_option(parser, [8, 16])
    parser.add_argument("--sizes", default=[12_000_000], type=sizes,
                        metavar="LIST", help="as 64K,12M,1G (default: 12M)")
    parser.add_argument("--links", default=["1gbit"], type=words,
                        metavar="LIST", help="limits of all links of a lab, as "
                        "off,1gbit,100mbit (default: 1gbit)")
    parser.add_argument("--loss", default=[0], type=reals, metavar="LIST",
                        help="percents that the nodes of a lab lose, as 0,1,5 "
                        "(default: 0)")
    parser.add_argument("--peers", default=list(peers.ALL), metavar="LIST",
                        type=words_of(*peers.ALL),
                        help=f"of {','.join(peers.ALL)} (default: all)")
    parser.add_argument("--repeat", type=int, default=5, metavar="N",
                        help="runs of each (default: 5)")
    parser.add_argument("--no-multicast", action="store_true",
                        help="sbcast_storm sends along a tree (Multicast=no)")
    parser.add_argument("--parts", type=int, default=0, metavar="N",
                        help="show where the processor time goes, of N runs")
    parser.add_argument("--no-memory", action="store_true",
                        help="without the run that measures memory")


def begin(broadcast):
    """One run, as a function for take_turns."""
    def run():
        found = {}
        with cost.counted(broadcast.where, found):
            found["time"] = broadcast.once()
        found["cast"] = broadcast.cast
        broadcast.check()
        broadcast.over()
        return found
    return run


def memory(broadcast):
    """{root, node}: bytes"""
    with cost.Peak(broadcast.where.lab, ("login", broadcast.names[0])) as grown:
        broadcast.once()
    broadcast.over()
    return grown


def spent(broadcast, times):
    """{process: {part: ns for a byte that a node gets}}"""
    bytes_got = broadcast.size * len(broadcast.names) * times
    with parts.Samples() as taken:
        for _ in range(times):
            with taken.on():
                broadcast.once()
            broadcast.over()
        seconds = taken.seconds()
    return {process: {part: s * 1e9 / bytes_got
                      for part, s in seconds[process].most_common()}
            for process in broadcast.processes if process in seconds}


class Spending:
    """The table of --parts, once there is something in it."""

    def __init__(self, result, times):
        self.result, self.times, self.table = result, times, None

    def rows(self, names, broadcast):
        if not (self.times and broadcast.processes and broadcast.where.lab):
            return
        try:
            found = spent(broadcast, self.times)
        except NotRun as e:
            self.result.not_run("where the processor time goes", e)
            return
        self.table = self.table or self.result.table(
            "where the processor time goes",
            by=("link", "loss %", "size", "nodes", "by", "process", "part"),
            columns={"CPU": "ns/B"})
        for process, row in found.items():
            self.table.row((*names, process, "all"), {"CPU": sum(row.values())})
            for part, ns in row.items():
                if ns >= 0.005:
                    self.table.row((*names, process, part), {"CPU": ns})


def contenders(args, where, job, nodes, size, link):
    """{name: Broadcast, or why there is none}"""
    found = {}
    for name in args.peers:
        kind = peers.ALL[name]
        if args.no_multicast and kind is peers.Storm:
            kind = peers.Relayed
        one = kind(where, job, where.nodes_of(job), size, link)
        try:
            one.ready()
            found[name] = one
        except NotRun as e:
            found[name] = e
    return found


def cells(name, broadcast, runs, ours, args):
    """The cells of a contender's row."""
    if isinstance(runs, NotRun):
        return {"time": runs}
    size, nodes = broadcast.size, len(broadcast.names)
    time = pick(runs, "time")
    found = {"time": time, "goodput": [size / ms / 1e3 for ms in time],
             "bytes": [n / size for n in pick(runs, "bytes")]}
    if broadcast.cast is not None:
        found["cast"] = pick(runs, "cast")
    if isinstance(ours, list) and name != "sbcast_storm":
        found["time / ours"] = ratio(time, pick(ours, "time"))
    if broadcast.where.lab:
        found["CPU"] = [s * 1e9 / size / nodes for s in pick(runs, "cpu")]
        if not args.no_memory:
            try:
                grown = memory(broadcast)
                found.update(root=grown["login"] / 1e6,
                             node=grown[broadcast.names[0]] / 1e6)
            except NotRun as e:
                found.update(root=e, node=e)
    return found


def measure(args, table, spending, where, job, nodes, size, link, loss):
    make_file(where.shared / "data", size)
    all_of_them = contenders(args, where, job, nodes, size, link)
    there = {name: one for name, one in all_of_them.items()
             if not isinstance(one, NotRun)}
    found = take_turns({name: begin(one) for name, one in there.items()},
                       args.repeat)
    ours = found.get("sbcast_storm")
    names = link, f"{loss:g}", size_text(size), nodes
    for name, one in all_of_them.items():
        table.row((*names, name),
                  cells(name, one, found.get(name, one), ours, args))
    for name, one in there.items():
        if isinstance(found[name], list):
            spending.rows((*names, name), one)


def run(args, result):
    table = result.table(
        "a file to all nodes", by=("link", "loss %", "size", "nodes", "by"),
        columns=COLUMNS,
        plot={"x": "nodes", "y": ["time"], "log": "xy",
              "facets": ["link", "loss %", "size"]})
    spending = Spending(result, args.parts)
    if args.site:
        args.links, args.loss = ["off"], [0]
    conf = {"Multicast": "no"} if args.no_multicast else {}
    with target.open_target(args, result, max(args.nodes),
                            storm_conf=conf) as where:
        for nodes in args.nodes:
            with where.allocation(nodes) as job:
                for link in args.links:
                    for loss in args.loss:
                        try:
                            set_links(where, link, loss)
                        except NotRun as e:
                            result.not_run(f"link {link}, loss {loss:g} %", e)
                            continue
                        for size in args.sizes:
                            measure(args, table, spending, where, job, nodes,
                                    size, link, loss)
                set_links(where)
