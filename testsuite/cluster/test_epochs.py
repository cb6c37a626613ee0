# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Agents and strobers that were stopped (SIGSTOP) and continue: what they received
or sent before is old, and must change nothing.

While the strober is stopped or dead nothing new is sent. So a step can only be
stopped or continued then by what an agent finds in its queues, or by what a
strober sends unasked.
"""
import os
import pathlib
import re
import signal
import time

import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import continue_agent, save_jobs, stop_agent, until
from sched_tests import show, told

pytestmark = pytest.mark.storm_only

#: the trace event of an agent that obeys a strobe
OBEYED = ("slot", "stop", "continue")
STROBES = 40            # waiting in a queue


@pytest.fixture(scope="module")
def gang():
    need_cgroup2()
    # a timeout so long that no stopped node is excluded
    c = make("epochs", 2, kind=Gang, storm_conf={"DeadTimeout": "60s"})
    yield c
    c.down()


@pytest.fixture
def two(gang):
    """Two jobs that take turns on all nodes, and that slurmctld has saved."""
    since = marks(gang)
    if not gang.jobs():
        for _ in range(2):
            gang.begin("{do} block")
        until(lambda: len(gang.jobs()) == 2, "two jobs")
        save_jobs(gang.lab, gang.jobs()[0])
    gang.alternate(since)


def has_passed(cluster, node, since, strobes):
    """Wait for so many strobes that named another slot."""
    slots = [e for e in cluster.trace(node, since) if e["what"] == "slot"]
    return len(slots) >= strobes


def stop(cluster):
    cluster.lab.kill("ctl", "storm_strober", signal.SIGSTOP)


def go_on(cluster):
    cluster.lab.kill("ctl", "storm_strober", signal.SIGCONT)


def returned(cluster, node, since):
    return [e for e in cluster.trace(node, since)
            if e["what"] == "open" and e["why"] == "returned"]


def agent_away(cluster, node="n1", other="n2"):
    """Stop an agent until many strobes wait in its queue. Returns the end of
    its trace at the stop."""
    since = cluster.mark(other)
    stop_agent(cluster.lab, node)
    mark = cluster.mark(node)
    until(lambda: has_passed(cluster, other, since, STROBES), "strobes to pass")
    return mark


def users_missed(cluster, what, name):
    """The value as scontrol shows it; nothing yet is less than 0."""
    word = told(show(cluster.lab, what, name))
    return int(word["missed"]) if word else -1


def await_word(cluster, jobs):
    """Wait until slurmctld knows the nodes' earlier misses, from which a job's
    misses are counted. The strober reports both, misses last."""
    def had(job):
        word = told(show(cluster.lab, "job", job))
        return float(word["had"].rstrip("s")) if word else 0

    for _ in range(2):
        before = {j: had(j) for j in jobs}
        until(lambda: all(had(j) > before[j] for j in jobs),
              "users to be told of what the jobs have had")


def test_agent_reads_what_waited(gang, two):
    """No strobes are sent when the agent continues: all that it reads comes
    from the strober's previous life."""
    received = gang.agent("n1", "strobes")
    mark = agent_away(gang)
    stop(gang)
    continue_agent(gang.lab, "n1")
    until(lambda: returned(gang, "n1", mark), "the agent to find that it was away")
    until(lambda: gang.agent("n1", "strobes") >= received + STROBES,
          "it to read what waited")
    gang.until(lambda: not gang.stand("n1"), "all of n1 to run")
    found = gang.trace("n1", mark)
    first = returned(gang, "n1", mark)[0]["n"]
    assert not [e for e in found if e["n"] > first and e["what"] in OBEYED], found
    go_on(gang)
    gang.alternate()


def test_agent_goes_on_with_what_comes(gang, two):
    """The strober has never stopped. The agent obeys the next strobe, and has
    missed those that waited. Users see the misses of the node and of its
    jobs."""
    jobs = gang.jobs()
    await_word(gang, jobs)
    before = gang.agent("n1", "gang_missed")
    told_before = {j: users_missed(gang, "job", j) for j in jobs}
    mark = agent_away(gang)
    continue_agent(gang.lab, "n1")
    until(lambda: returned(gang, "n1", mark), "the agent to find that it was away")
    gang.alternate()
    # but for those that came before it stopped
    assert gang.agent("n1", "gang_missed") >= before + STROBES / 2
    missed = [e for e in gang.trace("n1", mark) if e["what"] == "missed"]
    assert missed and missed[0]["a"] >= STROBES / 2, missed
    until(lambda: users_missed(gang, "node", "n1") >= before + STROBES / 2,
          lambda: "n1's misses: " + show(gang.lab, "node", "n1"))
    for job in jobs:
        until(lambda: users_missed(gang, "job", job) >=
              told_before[job] + STROBES / 2,
              lambda: f"job {job}'s misses: " + show(gang.lab, "job", job))


def test_agent_finds_another_epoch(gang, two):
    """Another strober has started meanwhile, and is stopped, too. Neither old
    strobes nor the missing new ones keep any job stopped."""
    mark = agent_away(gang)
    old, = gang.lab.kill("ctl", "storm_strober")
    until(lambda: set(gang.lab.pids("ctl", "storm_strober")) - {old},
          "another strober")
    continue_agent(gang.lab, "n1")
    until(lambda: returned(gang, "n1", mark), "the agent to find that it was away")
    since = gang.mark("n1")
    gang.alternate()
    epochs = {e["strobe"] >> 32 for e in gang.trace("n1", since)
              if e["what"] == "slot"}
    old_epochs = {e["strobe"] >> 32 for e in gang.trace("n1")
                  if e["n"] < mark and e["what"] == "slot"}
    assert max(epochs) > max(old_epochs) and not epochs & old_epochs


def strobes(cluster, since):
    """The strobes that the nodes have received since."""
    return {n: [e for e in cluster.trace(n, since[n]) if e["what"] in OBEYED or
                e["what"] == "open" and e["why"] == "all"]
            for n in cluster.names}


def marks(cluster):
    return {n: cluster.mark(n) for n in cluster.names}


def await_silence(cluster, since):
    for node in cluster.names:
        until(lambda: [e for e in cluster.trace(node, since[node])
                       if e["what"] == "open"], f"all of {node} to run")


def test_strober_of_a_dead_slurmctld(gang, two):
    """It was stopped when its slurmctld died, and has not read the last signs
    of life. It recognizes that they are old, and ends without sending
    anything."""
    since = marks(gang)
    pid, = gang.lab.pids("ctl", "storm_strober")
    stop(gang)
    await_silence(gang, since)
    gang.lab.kill("ctl", "slurmctld")
    until(lambda: not gang.lab.pids("ctl", "slurmctld"), "slurmctld's end")
    since = marks(gang)
    go_on(gang)
    until(lambda: pid not in gang.lab.pids("ctl", "storm_strober"), "its end")
    said = strobes(gang, since)
    gang.lab.restart("ctl", "slurmctld")
    assert not any(said.values()), said


def test_strober_begins_an_epoch(gang, two):
    """A strober that continues under a live slurmctld starts a new epoch."""
    def epoch():
        return max(e["strobe"] >> 32 for e in gang.trace("n1")
                   if e["what"] == "slot")

    before, since = epoch(), marks(gang)
    pid, = gang.lab.pids("ctl", "storm_strober")
    stop(gang)
    await_silence(gang, since)
    # A strober late by less than 0.1 s was not stopped, and nodes may react as
    # quickly.
    time.sleep(0.3)
    go_on(gang)
    gang.alternate()
    assert gang.lab.pids("ctl", "storm_strober") == [pid]
    assert epoch() > before


def owner(cluster):
    """The strober to whose epochs the saved one belongs."""
    state = cluster.lab.path("ctl", "/var/lib/slurm/slurmctld/storm_gang")
    return int(re.search(r"epoch (\d+)", pathlib.Path(state).read_text())[1]) >> 16


def test_strober_of_another_slurmctld(gang, two):
    """Two strobers, after a kill and a restart. The older one continues; the
    nodes obey only the newer one."""
    first = owner(gang)
    pid, = gang.lab.pids("ctl", "storm_strober")
    since = marks(gang)
    stop(gang)
    gang.lab.kill("ctl", "slurmctld")
    await_silence(gang, since)
    gang.lab.restart("ctl", "slurmctld")
    until(lambda: set(gang.lab.pids("ctl", "storm_strober")) - {pid},
          "another strober")
    gang.alternate()
    second, since = owner(gang), marks(gang)
    assert second > first
    assert pid in gang.lab.pids("ctl", "storm_strober")
    os.kill(pid, signal.SIGCONT)
    until(lambda: pid not in gang.lab.pids("ctl", "storm_strober"), "its end")
    gang.alternate(since)
    for node in gang.names:
        events = gang.trace(node, since[node])
        assert not [e for e in events if e["what"] == "slot" and
                    e["strobe"] >> 48 != second], events
        assert not [e for e in events if e["what"] == "open" and
                    e["why"] in ("all", "closed")], events
    assert owner(gang) == second
