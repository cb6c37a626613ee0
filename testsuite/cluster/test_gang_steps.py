# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Which processes of a job on a node take turns and which never do. Also a
partition in which jobs share without turns.
"""
import os
import pathlib
import signal

import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import until

pytestmark = pytest.mark.storm_only

BATCH, INTERACTIVE, EXTERN = 0xfffffffb, 0xfffffffa, 0xfffffffc
SCRIPT = "#!/bin/sh\nexec /home/user/bin/taskdo block\n"


@pytest.fixture(scope="module")
def gang():
    need_cgroup2()
    c = make("steps", 1, kind=Gang, conf=[
        "MessageTimeout=10", "PrologFlags=Contain", "LaunchParameters=use_interactive_step",
        'InteractiveStepOptions="--interactive --preserve-env '
        '/home/user/bin/taskdo block"'])
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _end(gang):
    yield
    gang.end_jobs()


def begin_script(cluster):
    cluster.start("sbatch -Q -pgang -N1 -o /dev/null script",
                  given={"script": SCRIPT})


def stops(cluster, since, step=None):
    return [e for e in cluster.trace("n1", since)
            if e["what"] == "stop" and step in (None, e["step"])]


def beside_another(cluster, since, step=None):
    """Another job comes and takes turns; it stops this step, too."""
    cluster.begin("{do} block", nodes=1)
    until(lambda: len(cluster.jobs()) == 2, "another job")
    until(lambda: len(stops(cluster, since, 0)) > 5, "its turns")
    if step:
        until(lambda: len(stops(cluster, since, step)) > 5, "the step's turns")


def test_extern_steps_never(gang):
    """No plugin knows these processes: they hold what users start on the node
    themselves."""
    since = gang.mark("n1")
    gang.begin("{do} block", nodes=1)
    beside_another(gang, since)
    listed = [s for s in gang.root("squeue -h -s -o %i").split()]
    assert len([s for s in listed if s.endswith(".extern")]) == 2, listed
    assert not [r for r in gang.records("n1") if str(EXTERN) in r]
    assert not [e for e in gang.trace("n1", since) if e.get("step") == EXTERN]


def test_interactive_steps_do(gang):
    """salloc's shell on the node, while its job has no other step."""
    since = gang.mark("n1")
    gang.start("salloc -Q -pgang -N1")
    until(lambda: [e for e in gang.trace("n1", since)
                   if e["what"] == "step" and e["step"] == INTERACTIVE and
                   e["b"]], "its step")
    beside_another(gang, since, INTERACTIVE)


def test_scripts_do_not_in_long_quanta(gang):
    """If they were stopped, slurmctld's answers to their requests could time
    out."""
    since = gang.mark("n1")
    begin_script(gang)
    until(gang.jobs, "the script")
    beside_another(gang, since, BATCH)
    since = gang.mark("n1")
    gang.set_quantum(2500)          # a quarter of MessageTimeout
    try:
        until(lambda: [e for e in gang.trace("n1", since)
                       if e["what"] == "map"], "the new quantum")
        # beginning with the next turn
        until(lambda: stops(gang, since, 0), "the other one's turn to end")
        since = gang.mark("n1")
        until(lambda: stops(gang, since, 0), "another one's end")
        assert not stops(gang, since, BATCH)
    finally:
        gang.set_quantum(10)


def cpu_time(pid):
    """In ticks."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(stat[11]) + int(stat[12])


@pytest.mark.parametrize("leave", ["setsid", "setsid -f", "unshare -Ur setsid -f"])
def test_another_session_does_not_help(gang, leave):
    """A process that leaves its session, its parent or its user namespace stands out
    of its turn as the rest of its step does."""
    gang.begin(f"sh -c '{leave} {{do}} spin 10000000; exec {{do}} block'", nodes=1)
    job, = until(gang.jobs, "the job")
    left, = until(lambda: [p for p in gang.lab.pids("n1", "taskdo")
                           if os.getsid(p) == p], "its process")
    gang.begin("{do} spin 10000000", nodes=1)
    until(lambda: len(gang.jobs()) == 2, "another job")
    other, = until(lambda: [p for p in gang.lab.pids("n1", "taskdo")
                            if os.getsid(p) != left and cpu_time(p) > 5],
                   "its task to compute")
    gang.set_quantum(4000)

    def stands():
        return any(still for step, still in gang.groups("n1").items()
                   if step.startswith(f"{job}."))

    def stood():
        since = gang.mark("n1")
        if not stands():
            return None
        beside, before = cpu_time(other), cpu_time(left)
        until(lambda: cpu_time(other) > beside + 40 or not stands(),
              "the other one to compute")
        # and it has not had a turn meanwhile
        after = cpu_time(left)
        return stands() and not [
            e for e in gang.trace("n1", since)
            if e["what"] == "continue" and e["job"] == job] and (before, after)

    try:
        before, after = until(stood, "its turn to be over")
    finally:
        gang.set_quantum(10)
        os.kill(left, signal.SIGKILL)   # Slurm does not find it any more
    assert after <= before + 1, "it has not stood"


def test_group_of_a_process_left_behind(gang):
    """A process that has left its step keeps the step's group until it ends."""
    run = gang.run("srun -pgang -N1 --launch=storm setsid -f sh -c 'exec "
                   "</dev/null >/dev/null 2>&1; until [ -e {dir}/go ]; do "
                   "sleep 0.1; done'")
    assert run.code == 0, str(run)
    until(lambda: not gang.root("squeue -h"), "the job's end")
    until(lambda: not gang.records("n1"), "the step's record to go")
    assert list(gang.groups("n1").values()) == [False]
    (run.dir / "go").touch()
    gang.wait_until_empty()


def test_local_partition(gang):
    """Policy=local: the kernel alone schedules jobs that share their
    cores."""
    since = gang.mark("n1")
    for _ in range(2):
        gang.start("srun -pshared -N1 --launch=storm {do} spin 1000000")
    until(lambda: len(gang.jobs()) == 2, "two jobs")
    tasks = until(lambda: [p for p in [gang.lab.pids("n1", "taskdo")]
                           if len(p) == 2], "their tasks")[0]
    until(lambda: min(cpu_time(p) for p in tasks) > 30, "both to compute")
    for job in gang.jobs():
        assert "storm:turns" not in gang.root(f"scontrol show job {job}")
    gang.root("scancel -p shared")
    until(lambda: not gang.root("squeue -h"), "the jobs' end")
    said = {e["what"] for e in gang.trace("n1", since)}
    assert said <= {"step", "gone"}, said
