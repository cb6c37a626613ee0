# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long the end of a step is in coming: from the end of its last
task until srun ends.

All tasks end at one time, which they are given, and each says when it did. So
STORM's detection of termination, its reports' way up the tree and the end of
the step count, and nothing of the start. In a lab STORM launches on few nodes,
too (LaunchNodes). The clocks of the nodes must agree; those of a lab are one.
"""
import time

from measure import target
from measure.background import build_option, install
from measure.result import NotRun
from measure.settling import settle
from measure.turns import take_turns

HELP = "from the last task's end to srun's end"
SOURCE = "TC'06, 2.4.2: termination detection"
QUICK = {"nodes": [2], "repeat": 2}

#: Prints srun's exit code and when it ended, in microseconds.
ENDED = """"$@" </dev/null >/dev/null 2>&1
echo $? ${EPOCHREALTIME/./}"""
#: end_at's exit code if its task began too late
LATE = 3


def options(parser):
    target.options(parser)
    target.nodes_option(parser)
    parser.add_argument("--tasks", type=int, default=1, metavar="N",
                        help="tasks on each node (default: 1)")
    parser.add_argument("--repeat", type=int, default=10, metavar="N",
                        help="steps of each contender (default: 10)")
    build_option(parser)


class Steps:
    """Steps of one contender in a job. `lead`: seconds from srun's start to
    the tasks' end, which doubles if a task begins too late."""

    def __init__(self, where, args, job, nodes, launch):
        self.where, self.tasks, self.lead = where, nodes * args.tasks, 0.5
        self.srun = ["srun", f"--launch={launch}", f"--jobid={job}",
                     f"-N{nodes}", f"-n{self.tasks}", "--overcommit"]
        self.end_at = install(where, args, "end_at")

    def __call__(self):
        while True:
            at = time.time() + self.lead
            code, ended = map(int, self.where.must([
                "bash", "-c", ENDED, "ended", *self.srun, self.end_at,
                f"{at:.6f}", self.where.inside(".")]).split())
            if code == 0:
                return (ended - self.last()) / 1000
            if code != LATE or self.lead > 60:
                raise NotRun(f"{' '.join(self.srun)}: exit code {code}")
            self.lead *= 2
            settle()

    def last(self):
        """When the last task ended."""
        return max(int((self.where.shared / f"end.{i}").read_text())
                   for i in range(self.tasks))


def run(args, result):
    table = result.table(
        "From the last task's end to srun's end", by=("nodes", "tasks"),
        columns={"storm": "ms", "stock": "ms"}, ratios=["storm / stock"],
        plot={"x": "nodes", "y": ["storm", "stock"], "log": "x"})
    with target.open_target(args, result, max(args.nodes),
                            storm_conf={"LaunchNodes": "2"}) as where:
        for nodes in args.nodes:
            with where.allocation(nodes) as job:
                found = take_turns({
                    name: Steps(where, args, job, nodes, launch)
                    for name, launch in (("storm", "storm"),
                                         ("stock", "slurm"))}, args.repeat)
            table.row((nodes, nodes * args.tasks), found)
