# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""PMI2 with MPICH, and what a debugger sees (MPIR).

The programs do not call MPI_Finalize; programs/leave_mpi.h has the reason.
"""
import shutil
import subprocess

import pytest

from harness import same, until

mpich = pytest.mark.skipif(not shutil.which("mpicc"),
                           reason="SKIP: no mpicc; apt-get install mpich "
                                  "libmpich-dev")


@mpich
@pytest.mark.every_mode
def test_pmi2(cluster):
    stock, storm = same(cluster, "--mpi=pmi2 -N4 -n8 {bin}/mpi_sum", code=0)
    assert "rank 7 of 8 sum 28 token 8" in storm.out


@mpich
def test_pmi2_one_node(cluster):
    same(cluster, "--mpi=pmi2 -N1 -n4 {bin}/mpi_sum", code=0)


@mpich
def test_pmi2_abort(cluster):
    """MPI_Abort in one rank ends all."""
    stock, storm = same(cluster, "--mpi=pmi2 -K -N2 -n4 {bin}/mpi_sum 2 9",
                        only=["code"])
    assert storm.code != 0


@mpich
def test_pmi2_bcast(cluster):
    same(cluster, "--mpi=pmi2 --bcast=/tmp/mpi -N2 -n4 {bin}/mpi_sum",
         code=0, between=lambda: cluster.remove("/tmp/mpi"))
    cluster.remove("/tmp/mpi")


def table(text):
    """The lines of --debugger-test without pids."""
    return sorted(line.split(", pid")[0] + line[line.find(", executable"):]
                  for line in text.splitlines() if "task:" in line)


def test_mpir_proctable(cluster):
    """srun --debugger-test prints MPIR_proctable as a debugger reads it."""
    tables = []
    for launch in ("slurm", "storm"):
        s = cluster.start_srun("--debugger-test -N4 -n8 {do} say x", launch)
        until(lambda: s.err().count("task:") >= 8 or not s.running(),
              "the table")
        tables.append(table(s.err()))
        pids = [line.split("pid:")[1].split(",")[0]
                for line in s.err().splitlines() if "pid:" in line]
        assert all(int(p) > 0 for p in pids), s.err()
        s.signal(9)
        s.process.wait(60)
        cluster.clean()
    assert tables[0] == tables[1] and len(tables[1]) == 8, tables


@pytest.mark.skipif(not shutil.which("gdb"),
                    reason="SKIP: no gdb; apt-get install gdb")
def test_mpir_debugger(cluster):
    """A debugger starts srun, stops in MPIR_Breakpoint when all tasks have
    started, and reads the table."""
    outs = []
    for launch in ("slurm", "storm"):
        argv = cluster.srun_argv("-N2 -n4 {do} say x", launch)
        run = cluster.run(
            ["gdb", "-nx", "-batch", "-ex", "set breakpoint pending on",
             "-ex", "set confirm off", "-ex", "handle all nostop noprint",
             "-ex", "start",
             "-ex", "set *(int *)&MPIR_being_debugged = 1",
             "-ex", "break MPIR_Breakpoint", "-ex", "continue",
             "-ex", "print *(int *)&MPIR_proctable_size",
             "-ex", "print *(int *)&MPIR_debug_state",
             "-ex", "kill", "--args", *argv], label=launch)
        cluster.clean()
        if "MPIR_being_debugged" in run.err and "No symbol" in run.err:
            pytest.skip("SKIP: srun without symbols")
        outs.append([line for line in run.out.splitlines()
                     if line.startswith("$")])
    assert outs[0] == outs[1] == ["$1 = 4", "$2 = 1"], outs


def test_debugger_attaches_later(cluster):
    """The table also exists if it was not requested at the start."""
    if not shutil.which("gdb"):
        pytest.skip("SKIP: no gdb; apt-get install gdb")
    sizes = []
    for launch in ("slurm", "storm"):
        s = cluster.start_srun("-N2 -n4 {do} touch up.%t wait {dir}/go",
                               launch)
        until(lambda: (s.dir / "up.3").exists(), "the tasks")
        (pid,) = [p for p in cluster.lab.pids("login", "srun")
                  if p == s.process.child()]
        done = subprocess.run(
            ["gdb", "-nx", "-batch", "-p", str(pid), "-ex",
             "print *(int *)&MPIR_proctable_size"], text=True,
            capture_output=True, check=False, timeout=60)
        sizes.append([line for line in done.stdout.splitlines()
                      if line.startswith("$")])
        (s.dir / "go").touch()
        run = s.finish()
        assert run.code == 0, str(run)
    assert sizes[0] == sizes[1] == ["$1 = 4"], sizes
    cluster.by_storm(run)
