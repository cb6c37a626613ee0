# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""MPICH over PMI2, Open MPI over PMIx, and what a debugger sees (MPIR).

The programs do not call MPI_Finalize; programs/leave_mpi.h has the reason.
"""
import shutil
import subprocess

import pytest

import mpis
from harness import MACHINES, STOCK, chosen, root_of, same, until


@pytest.fixture
def mpich(cluster):
    return program(cluster, "mpich")


def program(cluster, name):
    """A function that makes a command for srun of an MPI, from options and
    arguments."""
    mpis.need(name)
    path = cluster.bin / f"mpi_sum.{name}"
    if not path.exists():
        mpis.build(name, "mpi_sum.c", path)
    return lambda options, arguments="": (
        f"{mpis.MPIS[name][1]} {options} {{bin}}/{path.name} {arguments}")


@pytest.mark.every_mode
def test_pmi2(cluster, mpich):
    stock, storm = same(cluster, mpich("-N4 -n8"), code=0)
    assert "rank 7 of 8 sum 28 token 8" in storm.out


def test_pmi2_one_node(cluster, mpich):
    same(cluster, mpich("-N1 -n4"), code=0, storm=False)


def test_pmi2_abort(cluster, mpich):
    """MPI_Abort in one rank ends all."""
    stock, storm = same(cluster, mpich("-K -N2 -n4", "2 9"), only=["code"])
    assert storm.code != 0


def test_pmi2_bcast(cluster, mpich):
    same(cluster, mpich("--bcast=/tmp/mpi -N2 -n4"), code=0,
         between=lambda: cluster.remove("/tmp/mpi"))
    cluster.remove("/tmp/mpi")


def test_pmix(cluster):
    stock, storm = same(cluster, program(cluster, "openmpi")("-N2 -n2"), code=0)
    assert "rank 1 of 2 sum 1 token 2" in storm.out


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


def gdb(pid, *commands, sysroot="target:"):
    """What this machine's gdb prints of a process of a lab; a root file system
    has no gdb. Returns the lines of its print commands, and the whole."""
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-iex", "set auto-load off",
         "-iex", f"set sysroot {sysroot}", "-p", str(pid),
         *[word for line in commands for word in ("-ex", line)]],
        text=True, capture_output=True, check=False, timeout=300)
    text = done.stdout + done.stderr
    return [line for line in text.splitlines() if line.startswith("$")], text


need_gdb = pytest.mark.skipif(not shutil.which("gdb"),
                              reason="SKIP: no gdb; apt-get install gdb")


@need_gdb
def test_mpir_debugger(cluster):
    """A debugger has srun from its beginning, stops in MPIR_Breakpoint when
    all tasks have started, and reads the table. After 22.05 srun keeps Slurm's
    own launch for it, and says so."""
    outs = []
    for launch in ("slurm", "storm"):
        s = cluster.start(cluster.srun_argv("-N2 -n4 {do} say x", launch),
                          label=launch, prefix="touch waits; "
                          "while [ ! -e go ]; do sleep 0.02; done")
        until(lambda: (s.dir / "waits").exists(), "the shell")
        lines, text = gdb(
            s.process.child(), "set breakpoint pending on", "set confirm off",
            "handle all nostop noprint", "catch exec",
            f"shell touch {s.dir}/go", "continue",
            "set *(int *)&MPIR_being_debugged = 1",
            "break MPIR_Breakpoint", "continue",
            "print *(int *)&MPIR_proctable_size",
            "print *(int *)&MPIR_debug_state", "kill",
            # from the namespaces of gdb: it does not find a new program else
            sysroot=root_of(chosen()) or "/")
        s.process.wait(60)
        cluster.clean()
        if "No symbol \"MPIR_being_debugged\"" in text:
            pytest.skip("SKIP: srun without symbols")
        outs.append((lines, text))
        assert ("a debugger is not supported" in s.err()) == (
            launch == "storm" and chosen() != MACHINES and not STOCK), s.err()
    assert outs[0][0] == outs[1][0] == ["$1 = 4", "$2 = 1"], outs


#: A task that leaves its process number, and waits.
TASK = ["sh", "-c",
        "cd {dir} && echo $$ > .$SLURM_PROCID && mv .$SLURM_PROCID "
        "task.$SLURM_PROCID; while [ ! -e go ]; do sleep 0.05; done"]


@need_gdb
@pytest.mark.parametrize("step", [
    ["-N2", "-n4", *TASK],
    # the tasks of a node do not follow one another
    ["-N2", "-n6", "-m", "cyclic", *TASK],
    ["-N2", "-n2", *TASK, ":", "-N2", "-n2", *TASK]],
    ids=["block", "cyclic", "components"])
def test_debugger_attaches_later(cluster, step):
    """The table also exists, with the tasks' process numbers, if it was not
    requested at the start."""
    tasks = 6 if "-n6" in step else 4
    for launch in ("slurm", "storm"):
        s = cluster.start_srun(step, launch)
        pids = [s.dir / f"task.{t}" for t in range(tasks)]
        until(lambda: all(p.exists() for p in pids), "the tasks")
        (srun,) = [p for p in cluster.lab.pids("login", "srun")
                   if p == s.process.child()]
        wanted = [f"$1 = {tasks}"] + [
            f"${t + 2} = {p.read_text().strip()}" for t, p in enumerate(pids)]

        def table():
            return gdb(srun, "print *(int *)&MPIR_proctable_size", *[
                f"print *(int *)(*(char **)&MPIR_proctable + {24 * t + 16})"
                for t in range(tasks)])[0]
        # srun has the starts a moment later than the tasks
        until(lambda: table() == wanted, lambda: f"{wanted}: {table()}",
              timeout=20)
        (s.dir / "go").touch()
        run = s.finish()
        assert run.code == 0, str(run)
    cluster.by_storm(run)
