# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Daemons are killed or stopped at random moments under gang load. All steps run
while a daemon is away, and gangs take turns again afterwards. How soon, is a
figure of contribs/bench/storm_bench kills, which does this a hundred times.

Each process that a daemon of ours starts is killed here: agent and strober, the
nursery, a child that writes a file; and slurmd and slurmstepd, which have guards.
"""

import contextlib
import os
import pathlib
import signal

import pytest

import gang_kill
from conftest import make, need_cgroup2, need_cpu_idle
from gang import Gang
from harness import LONG, until

pytestmark = pytest.mark.storm_only

TIMES = 20 if LONG else 1


#: jobs that give way are guarded as those that fill gaps; test_yield.py has one kill
POLICIES = ["gang", "flexible", "yield"] if LONG else ["gang", "flexible"]


@pytest.fixture(scope="module", params=POLICIES)
def kills(request):
    need_cgroup2()
    if request.param != "gang":
        need_cpu_idle()
    yields = request.param == "yield"
    c = make(f"kills{request.param}", 2, kind=Gang,
             quantum=50 if yields else 20,
             storm_conf={"Partition": f"gang Policy={request.param}"})
    c.yields = yields
    try:
        k = gang_kill.Kills(c, seed=1, policy=request.param)
        k.begin()
        yield k
    finally:
        c.down()


@pytest.mark.parametrize("kind, sig", gang_kill.ALL)
def test_everything_runs(kills, kind, sig):
    for _ in range(TIMES):
        result = kills.once(kind, sig)
        assert result["open"] is not None, "something stood still"
        assert result["turns"] is not None, "they take turns no more"


def test_nursery(kills):
    """Nothing runs out of turn: the agent starts another nursery."""
    c = kills.c

    def interrupted():
        since = {n: c.mark(n) for n in c.names}
        for node in c.names:
            old, = c.lab.kill(node, "storm_nursery")
            until(lambda: [p for p in c.lab.pids(node, "storm_nursery")
                           if p != old], "another nursery")
        c.alternate()
        return [e for node in c.names for e in c.trace(node, since[node])
                if e["what"] == "open"]

    # on a busy machine strobes can be late, but not each time
    found = [interrupted()]
    while found[-1] and len(found) < 3:
        found.append(interrupted())
    assert not found[-1], f"turns were interrupted: {found}"


def test_slurmstepd(kills):
    """The third guard of a step dies with it. The other job has its turns, and
    the agent goes on."""
    c = kills.c
    job = max(c.jobs())
    agents = {n: c.lab.pids(n, "agent") for n in c.names}

    def is_its(pid):
        with contextlib.suppress(OSError):      # another job's, which has just ended
            return f"[{job}." in pathlib.Path(f"/proc/{pid}/cmdline").read_text()

    found = [p for n in c.names for p in c.lab.pids(n, "slurmstepd") if is_its(p)]
    assert len(found) >= len(c.names), found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    c.root(f"scancel {job}")
    until(lambda: job not in c.jobs(), "the end of its job")
    c.begin("{do} spin 100000000", nodes=c.nodes)
    until(lambda: len(c.jobs()) == 2, "two jobs again")
    c.alternate()
    assert {n: c.lab.pids(n, "agent") for n in c.names} == agents


def test_child_that_writes(fresh):
    """Killed in mid-broadcast, as its user may do: that broadcast alone fails."""
    fresh.lab.shape("20mbit")       # 12 MB take 5 s
    s = fresh.start_srun("--bcast=/tmp/app -N4 -n4 {big} say ran")
    until(lambda: fresh.lab.pids("n2", "storm_file") and
          [f for f in fresh.listing("n2") if f.startswith(".")],
          "the broadcast to begin")
    fresh.lab.kill("n2", "storm_file")
    fresh.lab.shape(None)
    run = s.finish()
    assert "n2" in run.err, str(run)
    assert run.code == 0 or "ran" not in run.out, str(run)
    fresh.clean()
    run = fresh.srun("--bcast=/tmp/app2 -N4 -n4 {do} say again")
    assert run.code == 0 and run.out == "again\n" * 4, str(run)
    fresh.by_storm(run)
