# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Reliable queue pairs: between ends in one machine (test_rc.c), and to a
machine that dies, is started again, kills its program, or has no cable."""
import pytest

from transfer import BUILD, SECONDS, program, until


@pytest.fixture(autouse=True)
def built():
    if not (BUILD / "testsuite/verbs/test_rc").exists():
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")


@pytest.mark.one_host
@pytest.mark.alone("pairs")
def test_in_one_machine(alone):
    [job] = alone("pairs")
    assert job.code == 0 and "100%: Checks: " in job.out, str(job)


class Sender:
    """Sends from the last machine to the first one, for ever."""

    def __init__(self, machines):
        self.machines, self.peer = machines, program("verbs", "rc_peer")
        self.listen()
        self.c = machines.start(machines.count - 1,
                                f"{self.peer} send 10.77.0.1")

    def listen(self):
        self.listener = self.machines.start(0, f"{self.peer} listen")
        until(lambda: "ready" in self.listener.out, "a listener")

    def has(self, word, times):
        until(lambda: self.c.out.split().count(word) >= times or
              self.c.code is not None, f"{word} {times} times")
        assert self.c.code is None, str(self.c)

    def arrives(self):
        """And in order, or the listener would have ended."""
        until(lambda: "got 100" in self.listener.out or
              self.listener.code is not None, "a hundred datagrams")
        assert self.listener.code is None, str(self.listener)

    def goes_on(self, times):
        self.has("connected", times)
        self.arrives()


def test_the_other_end_goes(machines):
    s = Sender(machines)
    try:
        s.goes_on(1)
        machines.kill(0)
        s.has("lost", 1)
        machines.boot([0], timeout=SECONDS)
        s.listen()
        s.goes_on(2)
        machines.run("pkill -9 rc_peer", [0])
        s.has("lost", 2)
        s.listen()
        s.goes_on(3)
        machines.run("ip link set eth0 down", [0])
        s.has("lost", 3)
        machines.run("ip -batch /run/network", [0])
        s.has("connected", 4)
    finally:
        if not machines.up[0]:
            machines.boot([0], timeout=SECONDS)
        machines.run("ip -batch /run/network; pkill -9 rc_peer",
                     {0, machines.count - 1})
