# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Transport=verbs without an RDMA device, as in a lab's namespaces, or in a
build without verbs. testsuite/verbs tests it with one."""
import os

import pytest

from harness import Lab, LabError

pytestmark = pytest.mark.storm_only

#: the missing thing, and a remedy
REASONS = ("there is no RDMA device: ", "/dev/infiniband/rdma_cm is missing: ",
           "storm.conf cannot", "this libstorm was built without verbs ")


def told(text):
    return [l for l in text.splitlines() if any(r in l for r in REASONS)]


@pytest.fixture
def lab(request):
    made = Lab(f"lab{os.getpid()}-{request.function.__name__[5:21]}")
    yield made
    made.down()


def test_udp_is_used(lab):
    """STORM runs steps, and each log has one line why not over verbs."""
    lab.up(2, storm_conf={"Transport": "verbs"})
    for _ in range(2):
        done = lab.run(["srun", "--launch=storm", "-N2", "hostname"])
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == ["n1", "n2"]
        assert told(done.stderr) and "UDP is used" in done.stderr, done.stderr
        assert "launch" not in done.stderr, done.stderr
    log = lab.log("n1", "slurmd")
    assert told(log) and log.count("UDP is used") == 1, log
    stats = lab.agent_stats("n1")
    assert stats["udp"]["rx_datagrams"] > 0
    assert "verbs" not in stats or not stats["verbs"]["working"]


def test_or_nothing(lab):
    """With TransportFallback=no the agent exits and reports what is
    missing. The lab does not wait for it until a time-out."""
    with pytest.raises(LabError) as e:
        lab.up(1, storm_conf={"Transport": "verbs", "TransportFallback": "no"})
    assert "no agent listens on port 8383, as it ended" in str(e.value)
    assert told(str(e.value)), str(e.value)
