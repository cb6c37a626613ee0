# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Strobes on a separate network: StrobeRail over UDP, in a lab whose hosts have two
interfaces.
"""

import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import until
from lab import net

pytestmark = pytest.mark.storm_only

STROBES = 100


@pytest.fixture
def gang():
    need_cgroup2()
    c = make("rail", 2, kind=Gang, networks=2, storm_conf={
        "StrobeRail": "eth1", "DeadTimeout": "60s"})
    yield c
    c.down()


def counts(cluster, node):
    """(strobes obeyed, datagrams on the rail, datagrams on all interfaces)"""
    stats = cluster.lab.agent_stats(node)
    udp = stats["udp"]
    return (stats["gang"]["gang_strobes"], udp["rx_rail"],
            udp["rx_datagrams"])


def sent(cluster, device):
    return net.counters(cluster.lab.pid("ctl"), device)["tx_packets"]


def await_strobes(cluster, node, by_rail):
    """Wait for so many consecutive strobes that all use this path, or all the
    other. (At first multicast is not known to reach all.)"""
    def one_way():
        first = counts(cluster, node)
        until(lambda: counts(cluster, node)[0] >= first[0] + STROBES, "strobes")
        strobes, rail, all_ = [
            b - a for a, b in zip(first, counts(cluster, node))]
        # signs of life and requests to the agent: some per second
        return rail >= STROBES - 5 and all_ - rail < strobes / 2 \
            if by_rail else rail < strobes / 2 <= all_ - rail

    until(one_way, f"strobes to {node} by rail: {by_rail}")


def test_strobes_by_a_rail(gang):
    for _ in range(2):
        gang.begin("{do} block")
    until(lambda: len(gang.jobs()) == 2, "two jobs")
    gang.alternate()
    before = sent(gang, "eth1")
    for node in gang.names:
        await_strobes(gang, node, True)
    assert sent(gang, "eth1") - before >= STROBES

    # an agent that starts without the rail: all strobes use the other path
    done = gang.lab.run(["ip", "link", "set", "eth1", "down"], host="n2",
                        cwd="/")
    assert not done.returncode, done.stderr
    gang.lab.kill("n2", "agent")
    until(lambda: "StrobeRail eth1 in storm.conf cannot be used: " in
          gang.lab.log("n2", "slurmd"), "n2's agent to say so")
    gang.alternate()
    for node in gang.names:
        await_strobes(gang, node, False)
    gang.end_jobs()
