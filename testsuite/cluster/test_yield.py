# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Policy=yield and --storm-turns=yield: a job out of its turn gives way and is not
stopped, so none of its system calls is interrupted. It is held, guarded and billed all
the same.
"""
import subprocess

import pytest

from conftest import make, need_cgroup2, need_cpu_idle
from gang import NODES
from harness import TOP, until
from lab import slurmconf
from test_flexible import Flexible
from test_hold import hold, release

pytestmark = pytest.mark.storm_only

SECONDS = 4


class Yielding(Flexible):
    yields = True


@pytest.fixture(scope="module")
def lab():
    need_cgroup2()
    need_cpu_idle()
    c = make("yield", NODES, kind=Yielding, gang=3, quantum=50,
             storm_conf={"Partition": "gang Policy=yield", "GangYield": "yes"})
    subprocess.run(["cc", "-O2", "-o", c.bin / "calls",
                    TOP / "testsuite/programs/calls.c"], check=True)
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _end(lab):
    yield
    lab.end_jobs()


def set_policy(c, policy):
    """The lab's other partition keeps its line."""
    pairs = [("Partition", f"gang Policy={policy}")
             if value.startswith("gang ") else (key, value)
             for key, value in slurmconf.read_storm_conf(c.lab.dir)]
    slurmconf.write_storm_conf(c.lab.dir, pairs)
    c.root("scontrol reconfigure")


@pytest.fixture
def gang_policy(lab):
    """Strict turns, for this test."""
    set_policy(lab, "gang")
    yield
    set_policy(lab, "yield")


def spinner(c):
    c.begin("{do} spin 10000000")
    return c.until(c.jobs, "the job that computes")[0]


def interrupted(c, options=""):
    """How often calls were, [[epoll_wait, semtimedop] of each node], beside the job
    that computes; and that this one had its turns meanwhile."""
    since = {n: c.mark(n) for n in c.names}
    done = c.begin(f"{options} {{bin}}/calls wait {SECONDS}").finish(60)
    assert done.code == 0, str(done)
    c.alternate(since, job_count=1)
    return [list(map(int, line.split())) for line in done.out.splitlines()]


def stops(c, since, job=None):
    return [e for n in c.names for e in c.trace(n, since[n])
            if e["what"] == "stop" and job in (None, e["job"])]


def gives_way(c):
    """{job: whether it did on all nodes}, of some moment"""
    return {int(s.split(".")[0]) for n in c.names
            for s, idle in c.cpu_groups(n).items() if idle}


def test_nobody_is_stopped(lab):
    job = spinner(lab)
    since = {n: lab.mark(n) for n in lab.names}
    assert interrupted(lab) == [[0, 0]] * NODES
    assert not stops(lab, since)
    lab.begin("{do} spin 10000000")
    other, = lab.until(lambda: set(lab.jobs()) - {job}, "the other job")
    lab.alternate()
    for one in job, other:
        lab.until(lambda: gives_way(lab) == {one}, f"job {one} to give way")
    lab.wait_for_fillers(other)
    assert not stops(lab, since)


def test_strict_turns_interrupt(lab, gang_policy):
    """The same with Policy=gang: what the test above proves can fail."""
    spinner(lab)
    for polls, sems in interrupted(lab):
        assert polls and sems


def test_by_wish(lab, gang_policy):
    """One job gives way, the other is stopped."""
    job = spinner(lab)
    since = {n: lab.mark(n) for n in lab.names}
    assert interrupted(lab, "--storm-turns=yield") == [[0, 0]] * NODES
    others = [e for e in stops(lab, since) if e["job"] != job]
    assert stops(lab, since, job) and not others


def test_wish_gains_nothing(lab, gang_policy):
    """A job that gives way by its wish beside one that is stopped, and both compute:
    the latter has its half."""
    options = ["", "--storm-turns=yield"]
    runs = [lab.begin(f"{o} {{bin}}/calls run {SECONDS}") for o in options]
    had = []
    for run in runs:
        done = run.finish(60)
        assert done.code == 0, str(done)
        had.append(int(done.out.split()[0]))
    assert had[0] > 0.7 * had[1], had


def test_wrong_word(lab):
    done = lab.begin("--storm-turns=stop {do} env").finish(60)
    assert done.code and "--storm-turns=stop: the allowed value is yield" in done.err


def test_held(lab):
    """It stands, and gives way again."""
    job = spinner(lab)
    lab.begin("{do} spin 10000000")
    lab.until(lambda: len(lab.jobs()) == 2, "two jobs")
    lab.alternate()
    hold(lab, job)
    for node in lab.names:
        assert all(still for step, still in lab.groups(node).items()
                   if step.startswith(f"{job}."))
    release(lab, job)
    lab.wait_for_fillers(job)


def test_agent_killed(lab):
    """The guard takes cpu.idle back, and the next agent gives it."""
    spinner(lab)
    lab.begin("{do} spin 10000000")
    lab.until(lambda: len(lab.jobs()) == 2, "two jobs")
    lab.wait_for_fillers()
    since = lab.mark("n1")
    lab.lab.kill("n1", "agent")
    lab.until(lambda: [e for e in lab.trace("n1", since)
                       if e["what"] == "begin"], "the next agent")
    lab.wait_for_fillers()
    lab.signal_all("ctl", ["storm_strober"], 19)
    try:
        for node in lab.names:
            until(lambda n=node: lab.all_as_without_us(n), "silence")
    finally:
        lab.signal_all("ctl", ["storm_strober"], 18)
    lab.wait_for_fillers()
