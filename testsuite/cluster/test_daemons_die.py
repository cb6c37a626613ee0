# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A daemon dies, stands for a while or is restarted: in a launch, in a transfer, while
tasks run, when they end.

What always holds: the tasks run to their end and srun has all of their output, or srun
ends and names the node; no file that is half written, no session, no step and no process
of ours is left; and the next broadcast and launch go by STORM.
"""
import contextlib
import os
import re
import signal
import time

import pytest

from conftest import make, need_cgroup2
from harness import LONG, LabError, sanitized, save_jobs, until

pytestmark = pytest.mark.storm_only

KILL, STOP, RESTART = "kill", "stop", "restart"
STANDS = 10 if LONG else 2      # s

#: where each one runs, and the name of its process
WHERE = {
    "slurmctld": ("ctl", "slurmctld"),
    "strober": ("ctl", "storm_strober"),
    "slurmd": ("n2", "slurmd"),
    "agent": ("n2", "agent"),
    "keeper": ("n2", "storm_keeper"),
    "nursery": ("n2", "storm_nursery"),
    "slurmstepd": ("n2", "slurmstepd"),
    "srun": ("login", "srun"),
    "sbcast_storm": ("login", "sbcast_storm"),
}
#: ms from srun's start to the fault: before, in and behind its launch
LAUNCHES = {"launch": 20, "launch-late": 45, "launch-later": 80}
#: what a site's systemd restarts
SERVICES = ("slurmctld", "slurmd")

#: kills, stops and restarts at other moments are in test_faults, test_kills,
#: test_epochs, test_contexts, test_failed_nodes and test_insider_daemons; those of a
#: job's launchers and their head in test_run_die
CELLS = [
    ("slurmctld", STOP, "end"), ("strober", KILL, "transfer"),
    ("slurmd", STOP, "run"), ("slurmd", KILL, "transfer"), ("agent", STOP, "run"),
    ("keeper", KILL, "transfer"), ("nursery", KILL, "transfer"),
    ("slurmstepd", KILL, "run"), ("sbcast_storm", STOP, "transfer"),
]
#: Nobody restarts a process of one step, or of one transfer. The latter can be told to end.
OF_A_STEP = ("slurmstepd", "srun", "sbcast_storm")
EVERY_CELL = [(d, f, m) for d in WHERE for f in (KILL, STOP, RESTART)
              for m in (*LAUNCHES, "transfer", "run", "end")
              if not (f == RESTART and d in OF_A_STEP[:2])
              and not (d == "sbcast_storm" and m == "run")]


@pytest.fixture(scope="module")
def lab():
    need_cgroup2()
    conf = {} if sanitized() else {"DeadTimeout": "2s", "Heartbeat": "400ms"}
    c = make("die", 4, conf=["SchedulerType=sched/storm"],
             storm_conf={"Partition": "shared Policy=local", **conf})
    save_jobs(c.lab, c.job)
    yield c
    c.down()


# -- the moments ----------------------------------------------------------------

def temporaries(c, node):
    return [f for f in c.listing(node) if f.startswith(".")]


def transfer(c):
    """12 MB take two seconds."""
    c.lab.shape("50mbit")
    s = c.start_srun("--bcast=/tmp/app -N4 -n4 {big} say end")
    until(lambda: all(temporaries(c, n) for n in c.names), "the broadcast to begin")
    return s


def run(c):
    s = c.start_srun("-N4 -n8 {do} touch up.%t wait {dir}/go say end")
    until(lambda: all((s.dir / f"up.{i}").exists() for i in range(8)),
          "the tasks to run")
    return s


def launch(c, moment):
    s = c.start_srun("-N4 -n8 {do} say end")
    time.sleep(LAUNCHES[moment] / 1000)     # the moment itself
    return s


def sbcast(c, moment):
    if moment == "transfer":
        c.lab.shape("50mbit")
    s = c.start("sbcast_storm {big} /tmp/app", env={"SLURM_JOB_ID": str(c.job)})
    if moment in LAUNCHES:
        time.sleep(LAUNCHES[moment] / 1000)     # the moment itself
    elif moment == "transfer":
        until(lambda: all(temporaries(c, n) for n in c.names), "the broadcast to begin")
    else:
        until(lambda: any("app" in c.listing(n) for n in c.names), "a node to have it",
              interval=0.001)
    return s


def begin(c, daemon, moment):
    if daemon == "sbcast_storm":
        return sbcast(c, moment)
    if moment in LAUNCHES:
        return launch(c, moment)
    if moment == "transfer":
        return transfer(c)
    s = run(c)
    if moment == "end":
        (s.dir / "go").touch()
    return s


# -- the faults -----------------------------------------------------------------

def strike(c, s, daemon, fault):
    if fault == RESTART and daemon in SERVICES:
        c.lab.restart(*WHERE[daemon])
    elif fault == STOP:
        signals(c, daemon, signal.SIGSTOP)
        # its length is the fault itself, and nothing is waited for
        time.sleep(STANDS)
        signals(c, daemon, signal.SIGCONT)
        # nsenter, its parent, has stopped itself with it
        if WHERE[daemon][0] == "login":
            os.kill(s.process.pid, signal.SIGCONT)
    else:
        signals(c, daemon, signal.SIGKILL if fault == KILL else signal.SIGTERM)


def signals(c, daemon, sig):
    # a process of one step may have ended, or not be there yet
    with contextlib.suppress(*[LabError] if daemon in OF_A_STEP else []):
        c.lab.kill(*WHERE[daemon], sig)


def heal(c, daemon, fault):
    c.lab.shape(None)
    host, name = WHERE[daemon]
    if fault == KILL and daemon in SERVICES:
        c.lab.restart(host, name)
    until(lambda: set(c.lab.run(["sinfo", "-hN", "-o", "%T"], cwd="/").stdout.split())
          == {"mixed"}, "all nodes to serve the standing job")
    if daemon == "slurmctld" and fault != STOP:
        # Nodes are busy until they have registered, for which srun alone, Slurm's too,
        # waits a minute or more.
        until(lambda: c.lab.run(
            ["srun", "--immediate=1", f"--jobid={c.job}", "-N4", "-n4", "--overlap",
             "true"], cwd="/", user="user").returncode == 0,
            "slurmctld to know its nodes")


# -- what was promised ------------------------------------------------------------

def ended_well(done, tasks):
    return done.code == 0 and done.out == "end\n" * tasks


def judge(daemon, moment, done):
    tasks = 4 if moment == "transfer" else 8
    if ended_well(done, tasks):
        return
    if daemon == "srun":
        assert done.code, str(done)
    elif daemon == "slurmctld" and moment in LAUNCHES:
        assert done.code and "error: " in done.err, str(done)
    else:
        # Slurm may have sent the file itself, if not
        assert daemon == "slurmstepd" or moment == "transfer" or moment in LAUNCHES, str(done)
        assert daemon != "strober" and done.code and "n2" in done.err, str(done)


def judge_sbcast(c, done):
    """Each node has all of the file or nothing of it."""
    until(lambda: not any(temporaries(c, n) for n in c.names), "no temporary files")
    have, want = [c.file(n, "/tmp/app") for n in c.names], (c.bin / "big").read_bytes()
    assert all(file in (None, want) for file in have), str(done)
    assert done.code or all(have), str(done)
    assert done.code <= 0 or done.code > 128 or "error: " in done.err, str(done)


def nothing_left(c):
    until(lambda: not any(temporaries(c, n) for n in c.names),
          "no temporary files")
    c.lab.wait_agents()
    # each node's part of the cluster domain is one
    until(lambda: all(c.agent(n, "sessions") == 1 for n in c.names),
          lambda: f"one session: {[c.agent(n, 'sessions') for n in c.names]}")
    until(lambda: not any(c.lab.pids(n, p) for n in c.names
                          for p in ("taskdo", "big", "slurmstepd", "storm_file")),
          "the ends of the processes")


def again(c):
    """Broadcasts and a launch, by STORM, with a context."""
    c.remove("/tmp/app")
    done = c.run("sbcast_storm {do} /tmp/app", env={"SLURM_JOB_ID": str(c.job)})
    assert done.code == 0 and all(c.file(n, "/tmp/app") for n in c.names), str(done)
    c.by_storm(done, launched=False)
    c.remove("/tmp/app")
    done = c.srun("--bcast=/tmp/app -N4 -n4 {do} say again")
    assert done.code == 0 and done.out == "again\n" * 4, str(done)
    c.by_storm(done)
    c.remove("/tmp/app")


@pytest.mark.parametrize("daemon,fault,moment", EVERY_CELL if LONG else CELLS, ids=lambda v: v)
def test_cell(lab, daemon, fault, moment):
    lab.current = re.sub(r"\W+", "_", f"{daemon}_{fault}_{moment}")
    # a back-off lasts, which deaths of cells before have made longer
    until(lambda: daemon in OF_A_STEP or lab.lab.pids(*WHERE[daemon]),
          f"{daemon} to run")
    s = begin(lab, daemon, moment)
    try:
        strike(lab, s, daemon, fault)
        if moment == "run":
            (s.dir / "go").touch()
        heal(lab, daemon, fault)
        if daemon == "sbcast_storm":
            judge_sbcast(lab, s.finish())
        else:
            judge(daemon, moment, s.finish())
    finally:
        lab.clean()
    nothing_left(lab)
    again(lab)


@pytest.mark.every_release
def test_slurmstepd_killed(lab):
    """Slurm notices it nowhere. Its tasks end with all that they have started, srun and
    slurmctld are told, and another step's tasks on the node go on."""
    lab.current = "slurmstepd_killed"
    other = run(lab)
    before = set(lab.lab.pids("n2", "slurmstepd"))
    # the task is a shell, whose child would go on without it
    one = lab.start_srun("-N4 -n4 --overlap sh -c '{do} touch on.%t wait {dir}/never; true'")
    until(lambda: all((one.dir / f"on.{i}").exists() for i in range(4)), "four tasks")
    victim, = set(lab.lab.pids("n2", "slurmstepd")) - before
    tasks = set(lab.lab.pids("n2", "taskdo"))
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(lab.lab.pids("n2", "taskdo")) == 2, "the end of its task")
    until(lambda: "n2: task 1: Killed" in one.err(), lambda: "srun to say so: " + one.err())
    (one.dir / "never").touch()
    assert one.finish().code == 137
    assert len(tasks) == 3 and set(lab.lab.pids("n2", "taskdo")) < tasks
    until(lambda: lab.root("squeue -hs").count(".") == 1, lambda: lab.root("squeue -hs"))
    (other.dir / "go").touch()
    done = other.finish()
    assert done.code == 0 and done.out == "end\n" * 8, str(done)
    nothing_left(lab)
