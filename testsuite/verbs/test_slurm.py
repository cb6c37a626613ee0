# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A whole Slurm cluster on the machines (slurm_machines.py).  srun uses the transport
in storm.conf, as the machines' own counters show."""
import pytest

from needs import need_plain_plugins, need_verbs
from slurm_machines import Slurm
from transfer import SECONDS

SIZE = 4_000_000


class OverTransport(Slurm):
    """The cluster, with STORM's datagrams over this transport."""

    def __init__(self, machines, transport):
        self.transport = transport
        more = [("Transport", transport)]
        if transport == "verbs":
            more.append(("TransportFallback", "no"))
        super().__init__(machines, f"slurm-{transport}", storm_conf=more)

    def packets(self):
        """What each RDMA device has sent and received."""
        return [sum(int(n) for n in c.out.split()) for c in self.machines.run(
            "cd /sys/class/infiniband/$RXE_DEV/ports/1/hw_counters && "
            "cat sent_pkts rcvd_pkts")]


@pytest.fixture(scope="module", params=[
    "verbs", pytest.param("udp", marks=pytest.mark.long)])
def slurm(machines, request):
    if request.param == "verbs":
        need_verbs()
    need_plain_plugins()
    s = OverTransport(machines, request.param)
    yield s
    s.stop()


def test_launch(slurm):
    n = slurm.machines.count
    before = slurm.packets()
    run = slurm.srun(f"-N {n} -l hostname")
    slurm.by_storm(run)
    assert sorted(run.out.splitlines()) == [f"{i}: rx{i}" for i in range(n)]
    went = [a - b for a, b in zip(slurm.packets(), before)]
    assert all(went) if slurm.transport == "verbs" else not any(went), went


def test_bcast(slurm):
    """Broadcast a program to all nodes and run it there."""
    before = slurm.packets()
    slurm.bcast(SIZE)
    went = [a - b for a, b in zip(slurm.packets(), before)]
    if slurm.transport == "verbs":
        # all of it, at every machine, in packets of at most 4096 bytes
        assert min(went) > SIZE / 4096, went
    else:
        assert not any(went), went


def test_exit_codes(slurm):
    n = slurm.machines.count
    run = slurm.srun(f"-N {n} sh -c 'exit $((SLURM_PROCID == 1 ? 7 : 0))'")
    assert run.code == 7, f"{run}\n{slurm.log()}"
