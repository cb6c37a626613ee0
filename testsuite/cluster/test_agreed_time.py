# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""StrobeLead: a strobe says when its slot begins, and nodes begin it then. One that
misses a strobe begins the next slot by itself, once.

When each slot began is no matter here (bench strobe). The traces must be right at
the end of each test, and nothing may stand: the fixture checks it.
"""
import os
import pathlib
import signal
import time

import pytest

from conftest import make, need_cgroup2
from gang import NODES, Gang
from harness import agent_stands, until

pytestmark = pytest.mark.storm_only

LEAD = "500us"
SLOTS = 50              # that show how slots begin


@pytest.fixture(scope="module")
def lab():
    need_cgroup2()
    # a timeout so long that no node is excluded because of what is lost
    c = make("agreed", NODES, kind=Gang,
             storm_conf={"DeadTimeout": "60s", "StrobeLead": LEAD})
    yield c
    c.down()


@pytest.fixture
def gang(lab):
    lab.two_jobs()
    yield lab
    lab.end_jobs()


def counts(gang, what):
    return [gang.agent(node, what) for node in gang.names]


def grows(gang, what, by):
    """Wait until the counter has grown by so much on each node."""
    before = counts(gang, what)
    gang.until(lambda: all(now >= was + by for now, was in
                           zip(counts(gang, what), before)),
               lambda: f"{what} to grow: {before}, {counts(gang, what)}")


def agreed_share(gang):
    """The least part of the slots that a node began at the agreed time, of the
    next SLOTS."""
    slots, agreed = counts(gang, "gang_slots"), counts(gang, "gang_agreed")
    grows(gang, "gang_slots", SLOTS)
    return min((a - b) / (s - t) for a, b, s, t in zip(
        counts(gang, "gang_agreed"), agreed, counts(gang, "gang_slots"), slots))


def test_agreed(gang):
    """Once the clocks are known, most of them do: some strobes are late."""
    grows(gang, "gang_agreed", SLOTS)
    gang.alternate()


def test_strobes_that_are_lost(gang):
    """A node goes on by itself, and never twice by one strobe: a rule of the
    traces."""
    grows(gang, "gang_agreed", SLOTS)
    gang.lab.drop(25, seed=3)
    try:
        grows(gang, "gang_planned", 10)
    finally:
        gang.lab.drop(0)
    for node in gang.names:
        assert [e for e in gang.trace(node) if e["what"] == "planned"]
        assert gang.agent(node, "gang_missed")
    gang.alternate()


def test_without_lead(gang):
    """0 is as if there were none; it takes effect by a reconfigure."""
    grows(gang, "gang_agreed", SLOTS)
    gang.set_key("StrobeLead", "0")
    gang.until(lambda: not agreed_share(gang), "slots to begin by strobes")
    planned = counts(gang, "gang_planned")
    gang.alternate()
    assert not agreed_share(gang)
    assert counts(gang, "gang_planned") == planned
    gang.set_key("StrobeLead", LEAD)
    grows(gang, "gang_agreed", SLOTS)


def opened(gang, node, since):
    return [e for e in gang.trace(node, since) if e["what"] == "open"]


def test_strober_killed(gang):
    """With a lead of half a quantum a strobe waits half of the time. Without a
    strober everything runs; one slot may begin before that."""
    gang.set_key("StrobeLead", "5ms")
    for _ in range(4):
        grows(gang, "gang_agreed", SLOTS)
        since = {n: gang.mark(n) for n in gang.names}
        old, = gang.lab.pids("ctl", "storm_strober")
        died = time.monotonic_ns()      # to find it takes some slots
        os.kill(old, signal.SIGKILL)
        for node in gang.names:
            gang.until(lambda n=node: opened(gang, n, since[n]),
                       f"everything to run on {node}")
            first = opened(gang, node, since[node])[0]["n"]
            # a strobe that was late may have let one begin before
            begun = [e for e in gang.trace(node, since[node])
                     if e["n"] < first and e["what"] == "planned" and
                     e["at"] > died]
            assert len(begun) <= 1, begun
        until(lambda was=old: set(gang.lab.pids("ctl", "storm_strober")) - {was},
              "another strober")
        gang.alternate()
    gang.set_key("StrobeLead", LEAD)


def test_agent_stopped(gang):
    """What waited for its time is not obeyed after a stop."""
    grows(gang, "gang_agreed", SLOTS)
    since = gang.mark("n1")
    with agent_stands(gang.lab, "n1"):
        grows_on(gang, "n2", SLOTS)
    gang.until(lambda: [e for e in opened(gang, "n1", since)
                        if e["why"] in ("returned", "freed")], "it to be back")
    gang.alternate()


def test_agent_frozen(gang):
    """Nor after its group was frozen for less than makes it late. In turns of
    2 ms the thread hears of nothing but time."""
    gang.set_quantum(2)
    grows(gang, "gang_agreed", SLOTS)
    pid, = gang.lab.pids("n1", "agent")
    top, = (path for path in map(pathlib.Path, gang.lab.record["cgroups"])
            if (path / "n1/cgroup.freeze").exists())
    home = top / "frozen"
    home.mkdir()
    try:
        (home / "cgroup.procs").write_text(str(pid))
        since = gang.mark("n1")
        for times in range(1, 6):
            (home / "cgroup.freeze").write_text("1")
            until(lambda: "frozen 1" in (home / "cgroup.events").read_text(),
                  "the agent to be frozen", interval=0.001)
            (home / "cgroup.freeze").write_text("0")
            gang.until(lambda n=times: len(returns(gang, "n1", since)) >= n,
                       "it to be back")
            grows(gang, "gang_agreed", SLOTS)
        gang.alternate()
    finally:
        (top / "n1/cgroup.procs").write_text(str(pid))
        home.rmdir()
        gang.set_quantum(10)


def returns(gang, node, since):
    return [e for e in opened(gang, node, since) if e["why"] == "returned"]


def grows_on(gang, node, by):
    before = gang.agent(node, "gang_slots")
    gang.until(lambda: gang.agent(node, "gang_slots") >= before + by,
               f"turns on {node}")
