# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""AgentCPUs: an agent on CPUs of its own waits for strobes awake."""
import os

import pytest

from conftest import make
from gang import NODES, Gang
from harness import until

pytestmark = pytest.mark.storm_only


def gang(what, cpus):
    return make(what, NODES, kind=Gang, storm_conf={"AgentCPUs": cpus})


def test_bound_and_awake():
    cpu = max(os.sched_getaffinity(0))
    with_one = gang("agent-cpus", str(cpu))
    try:
        runs = [with_one.begin("{do} block") for _ in range(2)]
        with_one.alternate()
        for node in with_one.names:
            agent, = with_one.lab.pids(node, "agent")
            assert os.sched_getaffinity(agent) == {cpu}
            until(lambda n=node: with_one.agent(n, "gang_awake"),
                  f"{node} to wait for a strobe awake")
        assert all(r.running() for r in runs)
    finally:
        with_one.down()


def test_cpus_that_are_not_there():
    """The agent logs it, and turns continue."""
    c = gang("agent-nocpus", "1023")
    try:
        for node in c.names:
            until(lambda n=node: "AgentCPUs in storm.conf" in c.lab.log(n, "slurmd"),
                  "the agent's complaint")
        runs = [c.begin("{do} block") for _ in range(2)]
        c.alternate()
        assert all(r.running() for r in runs)
        assert not sum(c.agent(n, "gang_awake") for n in c.names)
    finally:
        c.down()
