# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure what jobs get that share cores by the policies of storm.conf. Jobs
of testsuite/programs/workload.c run on all nodes of a lab, each of which is bound to
a core. A share is the work of a job as a part of what it does alone; two jobs by
strict turns have 0.5 each.

  notebook    one spins in barriers; the other works 20 ms of each half second
  io          one spins, and sleeps 0.5 ms of each 1.5 ms; the other computes
  imbalanced  both wait for their slower rank, and block
  spin        both spin in barriers
  mpi         one meets by MPI every 100 us; one computes; the third is a notebook
  told        the same; the first has --storm-wait=spin, so nodes know what it does

"burst" is how long a notebook's work takes, as a multiple of that of one alone; it
does too little in a run to have a share. In each round the jobs run alone, and
then together by each policy; the policies' order alternates.
"""
import contextlib
import itertools
import os
import shutil
import subprocess
import typing

import mpis
from harness import TOP, Cluster, until
from measure import mpi, target
from measure.turns import words_of

HELP = "what jobs get by strict turns, and if others fill their gaps"
SOURCE = "TC'06 3.2"
QUICK = {"runs": 1, "seconds": 1.5, "cases": ["notebook"], "nodes": 1}
CASES = {"notebook": ("bsp", "notebook"), "io": ("io", "compute"),
         "imbalanced": ("imbalanced", "imbalanced"), "spin": ("bsp", "bsp"),
         "mpi": ("mpi", "compute", "notebook"),
         "told": ("told", "compute", "notebook")}
#: kinds of jobs that need MPI, and srun's options for them
MPI = {"mpi": [], "told": ["--storm-wait=spin"]}
POLICIES = ("gang", "flexible", "yield")
PAGE = 64 << 10


class Work(typing.NamedTuple):
    iterations: int
    burst: int          # ns


class Shared(Cluster):
    """A lab whose partition has a policy."""

    def __init__(self, args, policy):
        super().__init__(
            f"policy{policy}{os.getpid()}", args.nodes, cpus=1, standing=False,
            gang=3, quantum=args.quantum,
            storm_conf={"Partition": f"gang Policy={policy}"})
        self.pages = itertools.count()
        self.seconds = args.seconds

    def begin(self, kind):
        name = f"page{next(self.pages)}"
        page = self.home / name
        page.write_bytes(bytes(PAGE))
        page.chmod(0o666)
        words = [] if kind not in MPI else \
            [mpis.MPIS[mpi.first()][1], *MPI[kind]]
        run = self.start(
            ["srun", "-pgang", f"-N{self.nodes}", "--launch=storm", *words,
             "{bin}/workload", "mpi" if words else kind, f"/home/user/{name}",
             str(self.seconds)])
        return run, page

    def ready(self, page):
        return int.from_bytes(page.read_bytes()[:4], "little") == self.nodes

    def together(self, kinds):
        """Run jobs of these kinds at once. Returns the Work of each."""
        jobs = [self.begin(kind) for kind in kinds]
        until(lambda: all(self.ready(page) for _, page in jobs), "all ranks")
        for _, page in jobs:
            page.with_name(page.name + ".go").touch()
        found = []
        for run, page in jobs:
            done = run.finish(60 + self.seconds)
            assert done.code == 0, str(done)
            found.append(Work(*map(int, done.out.split())))
            page.unlink()
        until(lambda: not self.root("squeue -h"), "the jobs' end")
        return found


def needs_mpi(case):
    return any(kind in MPI for kind in CASES[case])


def compile_to(program, cases):
    if any(map(needs_mpi, cases)):
        mpis.build(mpi.first(), "workload.c", program, "-DWORKLOAD_MPI")
    else:
        subprocess.run(["cc", "-std=gnu11", "-O2", "-o", program, TOP /
                        "testsuite/programs/workload.c"], check=True)


@contextlib.contextmanager
def labs(args):
    """{policy: its lab}, with the program."""
    with contextlib.ExitStack() as stack:
        found = {}
        for policy in args.policies:
            found[policy] = lab = Shared(args, policy)
            stack.callback(lab.down)
            built = lab.bin / "workload"
            if found[args.policies[0]] is lab:
                compile_to(built, args.cases)
            else:
                shutil.copy(found[args.policies[0]].bin / "workload", built)
        yield found


def figures(kinds, work, alone):
    """{column: value} of jobs that ran together."""
    share = [w.iterations / a.iterations for kind, w, a in
             zip(kinds, work, alone) if kind != "notebook"]
    found = dict(zip(("first", "second"), share))
    if len(share) == 2:
        found["sum"] = sum(share)
    if "notebook" in kinds:
        found["burst"] = work[-1].burst / alone[-1].burst
    return found


def measure(where, kinds, runs):
    """{policy: {column: [a value for each round]}}"""
    found = {policy: {} for policy in where}
    first = next(iter(where.values()))
    for i in range(runs):
        solo = {kind: first.together([kind])[0] for kind in dict.fromkeys(kinds)}
        alone = [solo[kind] for kind in kinds]
        for policy in list(where) if i % 2 else list(where)[::-1]:
            work = where[policy].together(kinds)
            for name, value in figures(kinds, work, alone).items():
                found[policy].setdefault(name, []).append(value)
    return found


def options(parser):
    target.options(parser, site=False)
    usual = [case for case in CASES if not needs_mpi(case)]
    parser.add_argument("--cases", type=words_of(*CASES), default=usual,
                        metavar="LIST", help=f"of {','.join(CASES)} "
                        f"(default: {','.join(usual)})")
    parser.add_argument("--policies", type=words_of(*POLICIES),
                        default=["gang", "flexible"], metavar="LIST",
                        help=f"of {','.join(POLICIES)} (default: "
                        "gang,flexible); yield needs --quantum 50 or more")
    parser.add_argument("--nodes", type=int, default=2, metavar="N",
                        help="nodes of the lab (default: 2)")
    parser.add_argument("--quantum", type=float, default=10, metavar="MS",
                        help="milliseconds (default: 10)")
    parser.add_argument("--runs", type=int, default=9, metavar="N",
                        help="rounds (default: 9)")
    parser.add_argument("--seconds", type=float, default=2, metavar="N",
                        help="of each run (default: 2)")


def run(args, result):
    table = result.table(
        "shares of jobs", ("case", "nodes", "policy"),
        {"first": "", "second": "", "sum": "", "burst": ""},
        plot={"x": "nodes", "y": ["first", "second"], "facets": ["case"]})
    with labs(args) as where:
        for case in args.cases:
            for policy, columns in measure(where, CASES[case],
                                           args.runs).items():
                table.row((case, args.nodes, policy), columns)
