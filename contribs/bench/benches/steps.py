# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long a step without a file takes by STORM and by stock Slurm, on
labs of one or more releases of Slurm in the same run.

An allocation of n nodes runs `srun -N n -n n PROGRAM` some times, all with
--launch=storm or all with --launch=slurm. Its first step and the later ones
are apart. Slurm launches steps of fewer nodes than LaunchNodes (12), whatever
--launch says; with --launch-nodes 2 STORM does. From Slurm 24.11 on srun executes
STORM's own srun for what STORM launches; --direct starts that one as a third
contender, and the difference is what execution costs.
"""
import contextlib

from lab import slurmconf
from lab.release import MACHINES
from measure import target
from measure.result import NotRun
from measure.settling import settle
from measure.turns import pick, take_turns, words

HELP = "a step without a file: srun -N n true"
SOURCE = ""
QUICK = {"nodes": [1, 2], "repeat": 2, "later": 1}
DIRECT = slurmconf.STAGE + "/libexec/slurm-storm/srun"


def options(parser):
    target.options(parser)
    parser.add_argument("--releases", type=words, metavar="LIST",
                        help="releases of Slurm, each a lab of this run "
                        "(default: that of --slurm)")
    target.nodes_option(parser)
    parser.add_argument("--program", default="true",
                        help="what each task executes (default: true)")
    parser.add_argument("--repeat", type=int, default=10, metavar="N",
                        help="allocations of each contender (default: 10)")
    parser.add_argument("--later", type=int, default=2, metavar="N",
                        help="steps after the first of each (default: 2)")
    parser.add_argument("--launch-nodes", metavar="N", type=int, default=0,
                        help="the labs' LaunchNodes in storm.conf (default: "
                        "none)")
    parser.add_argument("--direct", action="store_true",
                        help="also start STORM's own srun")


class Steps:
    """Steps of one contender on n nodes of a target."""

    def __init__(self, where, nodes, args, form):
        self.where, self.nodes, self.later = where, nodes, args.later
        self.argv = [DIRECT if form == "direct" else "srun",
                     "--launch=" + ("slurm" if form == "stock" else "storm"),
                     f"-N{nodes}", f"-n{nodes}", args.program]
        # Slurm launches on few nodes, by either (launch_module.h).
        self.checked = form == "stock" or nodes == 1
        self.words = ["storm: launches StepId="]
        if nodes < args.launch_nodes or not args.launch_nodes:
            self.words.append("LaunchNodes")

    def __call__(self):
        job = self.where.allocate(self.nodes)
        try:
            settle()
            argv = [*self.argv[:2], f"--jobid={job}", *self.argv[2:]]
            took = {"first": self.where.timed(argv), "later": []}
            for _ in range(self.later):
                settle()
                took["later"].append(self.where.timed(argv))
            if not self.checked:
                self.check([argv[0], "-v", *argv[1:]])
            return took
        finally:
            self.where.free(job)

    def check(self, argv):
        done = self.where.run(argv)
        if not any(word in done.stderr for word in self.words):
            raise NotRun("not launched by STORM: " + done.stderr.strip())
        self.checked = True


def later(values):
    found = pick(values, "later")
    return found if isinstance(found, NotRun) else sum(found, [])


def measure(args, table, where, nodes):
    forms = ["storm", "stock"]
    if args.direct and where.release not in (MACHINES, "site"):
        forms.append("direct")
    found = take_turns({form: Steps(where, nodes, args, form)
                        for form in forms}, args.repeat)
    table.row((where.release, nodes, "first"),
              {form: pick(v, "first") for form, v in found.items()})
    if args.later:
        table.row((where.release, nodes, "later"),
                  {form: later(v) for form, v in found.items()})


def run(args, result):
    columns = {"storm": "ms", "stock": "ms"}
    if args.direct:
        columns["direct"] = "ms"
    table = result.table(
        f"srun {args.program} in an allocation",
        by=("release", "nodes", "step"), columns=columns,
        ratios=["storm / stock"],
        plot={"x": "nodes", "y": ["storm", "stock"], "log": "x",
              "facets": ["step"]})
    if args.site:
        args.launch_nodes = 0       # the site's storm.conf has it
    conf = {"LaunchNodes": str(args.launch_nodes)} if args.launch_nodes else {}
    with contextlib.ExitStack() as labs:
        where = [labs.enter_context(
            target.open_target(args, result, max(args.nodes), release,
                               storm_conf=conf))
            for release in args.releases or [None]]
        for nodes in args.nodes:
            for one in where:
                measure(args, table, one, nodes)
