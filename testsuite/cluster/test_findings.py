# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What the owner of the cluster domain finds by signs of life: hosts that stand, and
that nothing reaches; and what it must not find. Deaths are test_failed_nodes.py's.
"""
import os
import pathlib
import re
import signal
import time

import pytest

from harness import until
from lab.sysdep import pids_in_namespace
from test_failed_nodes import Step, good, new_lab, node, said, shown

pytestmark = pytest.mark.storm_only

FOUND = "gives no sign of life|does nothing else|hears nothing of|by its neighbour"


@pytest.fixture(scope="module")
def shared():
    made = new_lab("found", 4, ["FailedNode=down"])
    try:
        for i in range(1, 5):
            until(lambda: f"node n{i} is a member of" in said(made), "all members")
        yield made
        assert "not responding, setting DOWN" not in said(made)
    finally:
        made.down()


@pytest.fixture
def lab(shared):
    """All is well before and after."""
    for i in range(1, 5):
        good(shared, f"n{i}")
    yield shared
    if shared.faults():
        shared.heal()


def since(lab, begin):
    return said(lab)[begin:]


def test_the_whole_machine_stands(lab):
    """As when a hypervisor stops it for a second: what stood itself blames nobody."""
    begin = len(said(lab))
    every = [p for host in lab.record["pids"] for p in pids_in_namespace(lab.pid(host))
             if p != lab.pid(host)]
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in every:
            os.kill(pid, number)
        time.sleep(1)
    # what it would find, it would have found by now
    lab.fault("stop", "n2", "agent")
    until(lambda: "node n2 gives no sign of life" in since(lab, begin), "a finding")
    lab.heal("n2")
    assert len(re.findall(FOUND, since(lab, begin))) == 1, since(lab, begin)


def test_an_agent_that_stands_ends_no_step(lab):
    """It is a suspect, and its slurmd answers: the step goes on, and srun is not told."""
    begin = len(said(lab))
    step = Step(lab, nodes=4)
    lab.fault("stop", "n3", "agent")
    until(lambda: "node n3 gives no sign of life" in since(lab, begin), "a finding")
    until(lambda: "node n3 is back" in since(lab, begin) or
          "not answered for 5 s: replacing it" in lab.log("n3", "slurmd"), "another agent")
    assert "DOWN" not in node(lab)
    lab.heal("n3")
    good(lab)
    step.goes()
    code, out = step.ends()
    assert (code, len(out)) == (0, 8) and "n3:" not in step.said(), step.said()


def test_nothing_reaches_a_host(lab):
    """Its own signs come, so it is no suspect, and its step is not given up, though none
    of its ports answers."""
    begin = len(said(lab))
    step = Step(lab, nodes=4)
    lab.fault("cut-in", "n3")
    until(lambda: "node n3 gives signs of life, and hears nothing of this host" in
          since(lab, begin), "a finding")
    shown(lab, "deaf")
    assert "node n3 gives no sign of life" not in since(lab, begin)
    assert "DOWN" not in node(lab) and "n3:" not in step.said()
    lab.heal("n3")
    good(lab)
    step.goes()
    code, out = step.ends()
    assert (code, len(out)) == (0, 8), step.said()


SCRIPT = """#!/bin/bash
srun --launch=slurm -n1 sh -c 'while :; do echo >>/home/twice/$SLURMD_NODENAME; sleep 0.05; done'
"""


def test_a_host_that_was_away_runs_no_task_twice(lab):
    """A host stands for ten seconds, and nothing of it is heard. Its job begins again on
    another one. When the host is back, what it ran ends before it is given a job."""
    ticks = pathlib.Path(lab.dir, "home/twice")
    ticks.mkdir()
    ticks.chmod(0o777)
    (ticks / "job.sh").write_text(SCRIPT)

    def size(host):
        path = ticks / host
        return path.stat().st_size if path.exists() else 0

    sent = lab.run(["sbatch", "--requeue", "-N1", "-n1", "-o", "/dev/null",
                    "/home/twice/job.sh"], cwd="/home/twice", check=True)
    job = sent.stdout.split()[-1]
    until(lambda: any(size(f"n{i}") for i in range(1, 5)), "the job to begin")
    host, = (f"n{i}" for i in range(1, 5) if size(f"n{i}"))
    lab.fault("cut", host)
    lab.fault("pause", host)
    away = time.monotonic()
    until(lambda: "State=DOWN" in node(lab, host), lambda: f"DOWN: {node(lab, host)}")
    # Slurm begins a requeued job after a pause of its own
    lab.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], cwd="/")
    while time.monotonic() < away + 10:
        time.sleep(0.1)
    lab.heal(host)
    good(lab, host)
    assert not lab.pids(host, "slurmstepd")
    stopped = size(host)
    until(lambda: any(size(f"n{i}") for i in range(1, 5) if f"n{i}" != host),
          "the job to begin elsewhere", timeout=300)
    assert size(host) == stopped
    lab.run(["scancel", job], cwd="/", check=True)
    until(lambda: not lab.run(["squeue", "-h"], cwd="/").stdout, "the job to end")
