# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Strobes by a network of their own: StrobeRail over UDP, in a lab whose hosts have
two interfaces.
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
    """(strobes that were obeyed, datagrams by the rail, by all interfaces)"""
    stats = cluster.lab.agent_stats(node)
    udp = stats["udp"]
    return (stats["gang"]["gang_strobes"], udp["rx_rail"],
            udp["rx_datagrams"])


def sent(cluster, device):
    return net.counters(cluster.lab.pid("ctl"), device)["tx_packets"]


def await_strobes(cluster, node, by_rail):
    """So many, one after the other, that all go this way, or all the other (at first
    multicast is not known to reach all)."""
    def one_way():
        first = counts(cluster, node)
        until(lambda: counts(cluster, node)[0] >= first[0] + STROBES, "strobes")
        strobes, rail, all_ = [
            b - a for a, b in zip(first, counts(cluster, node))]
        # signs of life, and what is asked of it: some in a second
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

    # an agent that begins without the rail: all are strobed by the other one
    done = gang.lab.run(["ip", "link", "set", "eth1", "down"], host="n2",
                        cwd="/")
    assert not done.returncode, done.stderr
    gang.lab.kill("n2", "agent")
    until(lambda: "StrobeRail eth1 in storm.conf cannot be used here" in
          gang.lab.log("n2", "slurmd"), "n2's agent to say so")
    gang.alternate()
    for node in gang.names:
        await_strobes(gang, node, False)
    gang.end_jobs()
