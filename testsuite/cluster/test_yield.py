# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Policy=yield and --storm-turns=yield: a job out of its turn gives way and is not
stopped, so none of its system calls is interrupted. It is held, guarded and billed all
the same.
"""
import subprocess
import time

import pytest

from conftest import make, need_cgroup2, need_cpu_idle
from gang import NODES
from harness import TOP, until
from lab import slurmconf
from test_flexible import Flexible
from test_hold import hold, release
from test_insider_turns import used

pytestmark = pytest.mark.storm_only

TURNS = 20      # in which calls wait
PAYS = 6        # turns that a job skips


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
    """How often calls were, [[epoll_wait, semtimedop] of each node], in turns beside
    the job that computes."""
    run = c.begin(f"{options} {{bin}}/calls wait 600 {{dir}}/over")
    c.alternate(times=TURNS)
    (run.dir / "over").touch()
    done = run.finish()
    assert done.code == 0, str(done)
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
    """A job that gives way by its wish computes while its neighbour sleeps, which is
    half of the neighbour's turns. It skips turns of its own for that, so it has no
    more of a CPU than its half."""
    lab.begin("sh -c 'while :; do {do} spin 25; sleep 0.025; done'")
    neighbour, = lab.until(lab.jobs, "the neighbour")
    lab.begin("--storm-turns=yield {do} spin 10000000")
    job, = lab.until(lambda: set(lab.jobs()) - {neighbour}, "the other job")
    lab.alternate()
    since = {n: lab.mark(n) for n in lab.names}

    def pays(node):
        return [e["job"] for e in lab.trace(node, since[node])
                if e["what"] == "pays"]

    began, before = time.monotonic(), used(lab, job)
    lab.until(lambda: all(pays(n).count(job) >= PAYS for n in lab.names),
              "turns that it skips")
    share = (used(lab, job) - before) / (time.monotonic() - began)
    print(f"{share:.2f} of a CPU")
    # unpaid, it would have 0.75; beside other work both are less
    assert share < 0.65, share
    assert not any(neighbour in pays(n) for n in lab.names)


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
