# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""MPI programs that take turns: by MPICH over PMI2, by Open MPI over PMIx, and
hpcc, which uses all of MPI, beside itself."""
import shutil

import pytest

import mpis
from conftest import make, need_cgroup2
from gang import Gang

pytestmark = pytest.mark.storm_only
NODES = 2
#: hpccinf.txt: two lines of text, then a value in each line; a problem so small
#: that it ends after seconds
HPCC = "\n".join(
    f"- - HPL.out 8 1 200 1 40 0 1 1 {NODES} 16.0 1 2 1 4 1 2 1 1 1 1 1 1 2 64 0 "
    "0 1 8 - 0 0 0 0".split()) + "\n"


@pytest.fixture(scope="module")
def gang():
    need_cgroup2()
    c = make("gangmpi", NODES, kind=Gang, gang=3)
    c.begin("{do} spin 10000000")   # others take turns with it
    c.until(c.jobs, "the job that computes")
    yield c
    c.down()


def two_jobs(gang, argv, timeout=120, **options):
    """Both end with 0, and on each node each was stopped. Returns their runs."""
    beside = set(gang.jobs())
    since = {n: gang.mark(n) for n in gang.names}
    runs = [gang.start(argv, **options) for _ in range(2)]
    done = [run.finish(timeout) for run in runs]
    for run in done:
        assert run.code == 0, str(run)
    for node in gang.names:
        stopped = {e["job"] for e in gang.trace(node, since[node])
                   if e["what"] == "stop"}
        assert len(stopped - beside) == 2, f"{node}: {stopped}"
    return done


@pytest.mark.parametrize("name", list(mpis.MPIS))
def test_turns(gang, name):
    mpis.need(name)
    mpis.build(name, "wait_suite.c", gang.bin / f"suite.{name}")
    first, second = two_jobs(
        gang, f"srun -pgang -N{NODES} -n{NODES} {mpis.MPIS[name][1]} "
        f"--launch=storm {{bin}}/suite.{name} 5")
    assert first.out == second.out and first.out.count("--- rank") == NODES


def test_hpcc(gang):
    if not shutil.which("hpcc"):
        pytest.skip("SKIP: no hpcc; apt-get install hpcc")
    mpis.need("openmpi")
    runs = two_jobs(
        gang, f"srun -pgang -N{NODES} -n{NODES} --mpi=pmix --launch=storm hpcc",
        given={"hpccinf.txt": HPCC}, timeout=600)
    for run in runs:
        text = (run.dir / "hpccoutf.txt").read_text()
        assert "Success=1" in text, text[-3000:]
