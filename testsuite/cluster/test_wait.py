# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""srun --storm-wait=MODE: the results are the same whichever way the ranks wait,
and only the tasks of the step have the library."""
import pytest

import mpis
from harness import sanitized, until

pytestmark = [
    pytest.mark.storm_only,
    pytest.mark.skipif(sanitized(), reason="SKIP: the programs of MPI are not "
                       "built with the sanitizers")]

MODES = ["spin", "block", "slice"]
LIBRARY = "libstorm_wait.so"
#: the last line of a report
STATS = "storm: --storm-wait={}: {} ranks"


@pytest.fixture(params=list(mpis.MPIS))
def mpi(request, cluster):
    mpis.need(request.param)
    return request.param


def compiled(cluster, mpi, source):
    """The program's path on the hosts."""
    name = f"{source.split('.')[0]}.{mpi}"
    if not (cluster.bin / name).exists():
        mpis.build(mpi, source, cluster.bin / name)
    return "{bin}/" + name


def run(cluster, mpi, program, *options, nodes=2, tasks=4, **more):
    done = cluster.srun([mpis.MPIS[mpi][1], f"-N{nodes}", f"-n{tasks}",
                         *options, *program.split()], **more)
    assert done.code == 0, str(done)
    return done


def lines(done):
    """In the order of the ranks, which print at the same time."""
    return sorted(done.out.splitlines())


def test_results(cluster, mpi):
    """All calls that block, in C: bit for bit as without the library. Rank 0
    prints, so the order counts, too."""
    program = compiled(cluster, mpi, "wait_suite.c")
    without = run(cluster, mpi, program)
    assert without.out.count("--- rank") == 4, str(without)
    for mode in MODES:
        done = run(cluster, mpi, program, f"--storm-wait={mode}")
        assert done.out == without.out, f"{mode}: {done}"


@pytest.mark.parametrize("source", ["wait_fortran.f90", "wait_f08.f90"])
def test_fortran(cluster, mpi, source):
    """The waits are counted, so the library was in the way."""
    program = compiled(cluster, mpi, source)
    without = run(cluster, mpi, program, nodes=1)
    for mode in MODES:
        done = run(cluster, mpi, program, f"--storm-wait={mode}", nodes=1,
                   env={"STORM_WAIT_STATS": "1"})
        assert lines(done) == lines(without), f"{mode}: {done}"
        if (mpi, source) != ("mpich", "wait_f08.f90"):
            assert STATS.format(mode, 4) in done.err, str(done)


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES[1:])
def test_many_results(cluster, mpi, mode):
    """A thousand rounds of all calls in 10 steps; the program compares each
    round with its first one."""
    program = compiled(cluster, mpi, "wait_suite.c")
    without = run(cluster, mpi, program)
    for _ in range(10):
        done = run(cluster, mpi, program + " 100", f"--storm-wait={mode}",
                   timeout=600)
        assert done.out == without.out, str(done)


def users_of_library(cluster, host):
    """The names of a host's processes that have it loaded."""
    text = cluster.root(["sh", "-c", "for p in /proc/[0-9]*; do grep -qs "
                         f"{LIBRARY} $p/maps && cat $p/comm; done; true"],
                        host=host)
    return text.split()


def test_only_the_tasks_have_it(cluster):
    """Neither srun nor slurmd nor slurmstepd, and no task of another step."""
    with_it = cluster.start_srun(
        "-N1 -n1 --storm-wait=block {do} touch {dir}/up wait {dir}/go")
    without = cluster.start_srun(
        "-N1 -n1 -w n2 {do} touch {dir}/up wait {dir}/go")
    for step in with_it, without:
        until((step.dir / "up").exists, "the task")
    assert users_of_library(cluster, "n1") == ["taskdo"]
    assert users_of_library(cluster, "n2") == []
    assert users_of_library(cluster, "login") == []
    for step in with_it, without:
        (step.dir / "go").touch()
        done = step.finish()
        assert done.code == 0, str(done)


def users_of_page(cluster, host):
    """The names of a host's processes that have the accounts' page open."""
    text = cluster.root(["sh", "-c", "for p in /proc/[0-9]*; do ls -l $p/fd "
                         "2>/dev/null | grep -q memfd:storm_wait && "
                         "cat $p/comm; done; true"], host=host)
    return sorted(text.split())


def test_page(cluster):
    """The accounts of a step's tasks are in memory that the step alone has, and
    goes with it."""
    with_it = cluster.start_srun(
        "-N1 -n2 -w n1 --storm-wait=spin {do} touch {dir}/up%t wait {dir}/go")
    without = cluster.start_srun(
        "-N1 -n1 -w n2 {do} touch {dir}/up0 wait {dir}/go")
    for step, tasks in (with_it, 2), (without, 1):
        until(lambda s=step, t=tasks: len(list(s.dir.glob("up*"))) == t,
              "the tasks")
    assert users_of_page(cluster, "n1") == ["slurmstepd", "taskdo", "taskdo"]
    assert users_of_page(cluster, "n2") == []
    for step in with_it, without:
        (step.dir / "go").touch()
        done = step.finish()
        assert done.code == 0, str(done)
    until(lambda: users_of_page(cluster, "n1") == [], "the end of the page")


def test_own_preload(cluster):
    """What the user preloads stays, behind the library."""
    done = cluster.srun(["-N1", "-n1", "--storm-wait=block", "sh", "-c",
                         "echo $LD_PRELOAD"], env={"LD_PRELOAD": "libm.so.6"})
    assert done.out.endswith(f"/{LIBRARY}:libm.so.6\n"), str(done)
    done = cluster.srun(["-N1", "-n1", "sh", "-c", "echo $LD_PRELOAD"])
    assert done.out == "\n", str(done)


def test_environment(cluster):
    """The variable alone, and --export=NONE, as for --launch. A batch script has
    the variable for its sruns, and no library."""
    show = ["/bin/sh", "-c", "echo $SLURM_STORM_WAIT ${LD_PRELOAD##*/}"]
    done = cluster.srun(["-N1", "-n1", "--export=NONE", "--storm-wait=block:20",
                         *show])
    assert done.out == f"block:20 {LIBRARY}\n", str(done)
    done = cluster.srun(["-N1", "-n1", *show], env={"SLURM_STORM_WAIT": "spin"})
    assert done.out == f"spin {LIBRARY}\n", str(done)
    script = ("#!/bin/sh\necho script ${LD_PRELOAD##*/}\n"
              "srun sh -c 'echo step ${LD_PRELOAD##*/}'\n")
    done = cluster.run(["sbatch", "-W", "-N1", "-n1", "--storm-wait=slice",
                        "-o", "{dir}/batch", "{dir}/script"],
                       given={"script": script})
    assert done.code == 0, str(done)
    assert (done.dir / "batch").read_text() == f"script\nstep {LIBRARY}\n"


@pytest.mark.parametrize("text", ["", "sleep", "block:", "block:0", "spin:1",
                                  "slice:100:100", "block:50:50:50"])
def test_refused(cluster, text):
    for words, env, name in ((["--storm-wait=" + text], {}, "--storm-wait"),
                             ([], {"SLURM_STORM_WAIT": text},
                              "SLURM_STORM_WAIT")):
        if not text and env:
            continue
        done = cluster.srun(["-N1", "-n1", *words, "true"], env=env)
        assert done.code != 0, str(done)
        assert f"storm: {name}={text}: allowed values are spin" in done.err


def test_report(cluster, mpi):
    """Granularity and waiting of all ranks, by rank 0; and what a mode costs a
    program that meets all the time."""
    program = compiled(cluster, mpi, "wait_end.c")
    plain = run(cluster, mpi, program, "--storm-wait=spin", nodes=1)
    assert not plain.err, str(plain)
    for mode, advice in (("slice", "--storm-wait=block costs such a program"),
                         ("block", "no option costs it less")):
        # it is about what rank 0 measures, which others on this machine can disturb
        for _ in range(10):
            done = run(cluster, mpi, program, f"--storm-wait={mode}", nodes=1)
            if done.err:
                break
        assert advice in done.err, str(done)
        assert len(done.err.splitlines()) == 1, str(done)
    done = run(cluster, mpi, program, "--storm-wait=spin", nodes=1,
               env={"STORM_WAIT_STATS": "1"})
    assert STATS.format("spin", 4) + ", 300 waits of each;" in done.err, str(done)
    assert len(done.err.splitlines()) == 1, str(done)


def test_heterogeneous(cluster, mpi):
    """Its parts may have been started without the option: the ranks wait as MPI
    does, with a word."""
    program = compiled(cluster, mpi, "wait_end.c")
    done = run(cluster, mpi, "env SLURM_HET_SIZE=2 " + program,
               "--storm-wait=block", nodes=1)
    assert done.err == ("storm: --storm-wait=block: the ranks of a "
                        "heterogeneous job wait as MPI does\n"), str(done)
