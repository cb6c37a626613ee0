# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure what one odd node of a broadcast costs the others: sbcast_storm of a file,
beside one without a fault, by turns on the same lab.

  agent   its agent stands still in mid-transfer
  host    all of it does, as of a virtual machine that is paused
  link    its link has 10 Mbit/s
  full    its disk is full
  hangs   its file system never answers a write

"data" is when the last of the other nodes had written the file, "file" when it had
the file under its name, "whole" when the command ended, all from its begin. "left" is
how many of the others had no file then. "exit" is the command's exit code.

Node 1 is above others in the tree and in the chain, the last one above none.
"""
import contextlib
import functools
import pathlib
import threading
import time

import odd_node
from measure import target
from measure.files import make_file, size_text, sizes
from measure.result import NotRun
from measure.turns import pick, take_turns, words_of

HELP = "a file to all nodes, while one of them stands still or is slow"
SOURCE = ""
QUICK = {"nodes": [3], "sizes": [1_000_000], "repeat": 1, "faults": ["full"],
         "ways": ["multicast"], "places": ["inner"]}

FAULTS = {"agent": odd_node.agent_stops, "host": odd_node.host_stops,
          "link": odd_node.link_slow, "full": odd_node.disk_full,
          "hangs": odd_node.disk_hangs}
#: those that begin while data come
MEANWHILE = ("agent", "host")
COLUMNS = {"data": "ms", "file": "ms", "whole": "ms", "left": "", "exit": ""}


def options(parser):
    target.options(parser, site=False)
    target.nodes_option(parser, [16])
    parser.add_argument("--sizes", default=[12_000_000], type=sizes,
                        metavar="LIST", help="as 64K,12M,1G (default: 12M)")
    parser.add_argument("--link", default="100mbit", metavar="RATE",
                        help="of all links (default: 100mbit)")
    parser.add_argument("--faults", type=words_of(*FAULTS), default=list(FAULTS),
                        metavar="LIST",
                        help=f"of {','.join(FAULTS)} (default: all)")
    parser.add_argument("--ways", type=words_of("multicast", "chain"),
                        default=["multicast", "chain"], metavar="LIST",
                        help="multicast,chain (default: both)")
    parser.add_argument("--places", type=words_of("inner", "leaf"),
                        default=["inner", "leaf"], metavar="LIST",
                        help="inner,leaf (default: both)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N",
                        help="runs of each (default: 3)")
    parser.add_argument("--by", default="sbcast_storm", metavar="COMMAND",
                        help="sbcast_storm or sbcast (default: sbcast_storm)")


class Cast:
    """A broadcast to a job's nodes, one of which has a fault."""

    def __init__(self, where, job, size, link, by):
        self.where, self.job, self.size = where, job, size
        self.link, self.by = link, by
        self.names = where.nodes_of(job)

    def out(self, node):
        return pathlib.Path(self.where.lab.path(node, odd_node.PART)) / "out"

    def others(self, odd, begun):
        """What they have at the end."""
        data, file, left = [], [], 0
        for node in self.names:
            if node == odd:
                continue
            try:
                of = self.out(node).stat()
            except FileNotFoundError:
                left += 1
                continue
            if of.st_size != self.size:
                left += 1
                continue
            data.append((of.st_mtime - begun) * 1000)
            file.append((of.st_ctime - begun) * 1000)
        return {"data": max(data, default=0), "file": max(file, default=0),
                "left": left}

    def command(self):
        done = self.where.run(
            [self.by, "-f", self.where.inside("data"), odd_node.PART + "/out"],
            env={"SLURM_JOB_ID": self.job})
        self.ended = time.time()
        self.said, self.code = done.stderr, done.returncode

    def begins(self, odd):
        """Until data come to it."""
        lab, end = self.where.lab, time.monotonic() + 10
        while not odd_node.temporary(lab, odd):
            if time.monotonic() > end:
                raise NotRun("the broadcast did not begin")
            time.sleep(0.001)
        time.sleep(0.2)

    def once(self, fault, odd):
        lab = self.where.lab
        odd_node.part(lab)
        with contextlib.ExitStack() as stack:
            def strike():
                if fault == "link":
                    stack.enter_context(
                        odd_node.link_slow(lab, odd, self.link))
                elif fault:
                    stack.enter_context(FAULTS[fault](lab, odd))

            if fault not in MEANWHILE:
                strike()
            begun = time.time()
            run = threading.Thread(target=self.command)
            run.start()
            try:
                if fault in MEANWHILE:
                    self.begins(odd)
                    strike()
            finally:
                run.join()
            found = {**self.others(odd, begun), "exit": self.code,
                     "whole": (self.ended - begun) * 1000}
        self.heal()
        return found

    def heal(self):
        """All nodes take part in the next one."""
        lab, end = self.where.lab, time.monotonic() + 120
        while True:
            lab.wait_agents()
            self.where.run(["rm", "-rf", "/tmp/slurm-storm-20001"])
            odd_node.part(lab)
            self.command()
            if not self.code and not self.said:
                return
            if time.monotonic() > end:
                raise NotRun("the lab does not recover: " + self.said.strip())
            time.sleep(0.5)


def measure(args, table, cast, way, size):
    for place in args.places:
        odd = cast.names[0 if place == "inner" else -1]
        runs = take_turns({fault or "none":
                           functools.partial(cast.once, fault, odd)
                           for fault in [None, *args.faults]}, args.repeat,
                          warm=0)
        for fault, found in runs.items():
            table.row((way, size_text(size), len(cast.names), place, fault),
                      {name: pick(found, name) for name in COLUMNS})


def run(args, result):
    table = result.table("a file to all nodes, one of which has a fault",
                         by=("way", "size", "nodes", "place", "fault"),
                         columns=COLUMNS,
                         plot={"x": "fault", "y": ["file", "whole"], "log": "y"})
    for way in args.ways:
        conf = {"Multicast": "no"} if way == "chain" else {}
        with target.open_target(args, result, max(args.nodes),
                                storm_conf=conf) as where:
            where.lab.shape(args.link)
            for nodes in args.nodes:
                with where.allocation(nodes) as job:
                    for size in args.sizes:
                        make_file(where.shared / "data", size)
                        measure(args, table, Cast(
                            where, job, size, args.link, args.by), way, size)
