# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""MPI programs of testsuite/programs as jobs of a target, which begin together."""
import concurrent.futures
import contextlib
import itertools
import os
import shlex
import time

import mpis

from .result import NotRun, TOP

PROGRAMS = TOP / "testsuite/programs"
#: srun's option of each way to launch
FORMS = {"storm": "--launch=storm", "stock": "--launch=slurm"}


def powers():
    """1, 2, 4, ... up to the number of processors: a node that polls needs
    one."""
    count = len(os.sched_getaffinity(0))
    return [2 ** i for i in range(count.bit_length())]


def first():
    """MPICH, or Open MPI where that is the only one."""
    if name := mpis.first():
        return name
    raise NotRun("no MPI: install one (apt install mpich libmpich-dev, or "
                 "openmpi-bin libopenmpi-dev)")


def build(where, *names, mpi=None):
    """Compile programs into the directory that the target's hosts share."""
    for name in names:
        mpis.build(mpi or first(), f"{name}.c", where.shared / name)


class Jobs:
    """Jobs of a target. `partitions` is {form: partition}, `options` are
    srun's for all of them. A line is (argv of srun, program, arguments after
    GO)."""
    counts = itertools.count()

    def __init__(self, where, partitions, options=(), mpi=None):
        self.where, self.partitions = where, partitions
        self.options = [mpis.MPIS[mpi or first()][1], *options]

    def srun(self, form, nodes, *more):
        partition = self.partitions.get(form)
        return ["srun", FORMS[form], f"-N{nodes}", f"-n{nodes}",
                *self.options, *([f"-p{partition}"] if partition else []),
                *more]

    def together(self, lines, timeout=60):
        """Run jobs that begin together once all are ready. Returns their
        outputs."""
        with self.ready(lines, timeout) as (go, runs):
            go.touch()
            return [self.output(run.result()) for run in runs]

    @contextlib.contextmanager
    def beside(self, line):
        """A job that runs meanwhile, and is cancelled then."""
        with self.ready([line]) as (go, _):
            go.touch()
            yield

    @contextlib.contextmanager
    def ready(self, lines, timeout=60):
        """Jobs that wait for a file: (the file, their runs). At the end none
        of them is left."""
        number = next(self.counts)
        name = f"bench{os.getpid()}.{number}"
        go = self.where.shared / f"go{number}"
        with concurrent.futures.ThreadPoolExecutor(len(lines)) as pool, \
                self.ended(name):
            runs = [pool.submit(self.where.run, [
                *srun, "-J", name, self.where.inside(program),
                self.where.inside(go.name), *map(str, arguments)])
                for srun, program, arguments in lines]
            if not self.await_ready(go, runs, timeout):
                self.where.run(["scancel", "-n", name])
                raise NotRun(f"the jobs were not ready after {timeout} s: "
                             + "; ".join(run.result().stderr.strip()
                                         for run in runs))
            yield go, runs
        for path in [go, *go.parent.glob(go.name + ".*")]:
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def ended(self, name):
        try:
            yield
        finally:
            self.where.run(["scancel", "-n", name])
            while self.where.run(["squeue", "-h", "-n", name]).stdout.strip():
                time.sleep(0.02)

    @staticmethod
    def output(done):
        if done.returncode:
            raise NotRun(f"{shlex.join(done.args)}: exit code "
                         f"{done.returncode}: {done.stderr.strip()}")
        return done.stdout

    @staticmethod
    def await_ready(go, runs, timeout):
        end = time.monotonic() + timeout
        while len(list(go.parent.glob(go.name + ".*"))) < len(runs):
            for run in runs:
                if run.done():
                    raise NotRun("a job ended before it began: "
                                 + run.result().stderr.strip())
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True
