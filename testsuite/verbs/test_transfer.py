# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A file to all machines by libstorm: whole, over a network that loses, with
little room for what comes in, and with a machine that dies."""
import hashlib
import os

import pytest

from conftest import SECONDS, program, until

SIZE = 12_000_000


@pytest.fixture(scope="module")
def payload(machines):
    """12 MB on the machines' common directory."""
    path = machines.dir / "payload"
    path.write_bytes(os.urandom(SIZE))
    return path


class Transfer:
    """Nodes on all machines, and an owner on the first of them."""

    def __init__(self, machines, transport, **settings):
        self.machines = machines
        self.across = program("verbs", "across")
        words = {"transport": transport, "fallback": 0, **settings}
        self.words = " ".join(f"{k}={v}" for k, v in words.items())
        self.nodes = [machines.start(
            i, f"rm -rf /tmp/across; mkdir /tmp/across; "
            f"{self.across} node {self.words} root=/tmp/across")
            for i in range(machines.count)]
        for n in self.nodes:
            until(lambda: "ready" in n.out or n.code is not None, "a node")
            assert n.code is None, str(n)
        self.owner = machines.start(
            0, f"{self.across} owner {machines.inside}/payload {self.words}")

    def finish(self):
        """The owner's and the nodes' ends."""
        assert self.machines.wait([self.owner], SECONDS), str(self.owner)
        alive = [n for n in self.nodes if self.machines.up[n.machine]]
        assert self.machines.wait(alive, SECONDS), str(alive[0])
        for n in alive:
            assert n.code == 0, str(n)
        return self

    def lines(self, word):
        return [l.split(maxsplit=1)[1] for l in self.owner.out.splitlines()
                if l.startswith(word + " ")]

    def stat(self, name):
        return dict(s.split() for s in self.lines("stat"))[name]

    def digests(self):
        """SHA-256 of the file by machine, "" where there is none."""
        where = [i for i in range(self.machines.count) if self.machines.up[i]]
        return {c.machine: c.out[:64] for c in self.machines.run(
            "sha256sum </tmp/across/f 2>/dev/null", where)}

    def all_have(self, payload, but=()):
        whole = hashlib.sha256(payload.read_bytes()).hexdigest()
        assert self.digests() == {i: whole for i in range(self.machines.count)
                                  if i not in but}


def done(t, payload):
    t.finish()
    assert t.owner.code == 0 and t.lines("outcome") == ["done"], str(t.owner)
    assert not t.lines("fault") and not t.lines("lost"), str(t.owner)
    t.all_have(payload)
    return t


def test_whole(machines, transport, payload):
    t = done(Transfer(machines, transport), payload)
    assert t.stat("multicast") == "1", str(t.owner)


@pytest.fixture
def losses(machines):
    """lose(PERCENT) of what each machine sends, until the end of the test."""
    def tc(what):
        for c in machines.run(f"tc qdisc {what}"):
            assert c.code == 0, str(c)

    yield lambda percent: tc(f"add dev eth0 root netem limit 10000 "
                             f"loss {percent}%")
    tc("del dev eth0 root")


@pytest.mark.parametrize("percent", [1, 5])
def test_losses(machines, transport, payload, losses, percent):
    losses(percent)
    t = done(Transfer(machines, transport, dead_ms=30000), payload)
    assert int(t.stat("tx_repair")) > 0, str(t.owner)


def test_little_room(machines, transport, payload):
    """What does not fit into the receive queue is lost, and found to be."""
    if transport == "udp":
        pytest.skip("SKIP: only verbs has receive queues of a given depth")
    done(Transfer(machines, transport, depth=64), payload)


@pytest.mark.parametrize("again", [0, 1], ids=["roll back", "finish"])
def test_one_dies(machines, transport, payload, again):
    """It is named; the others have nothing, or, asked again, everything."""
    last = machines.count - 1
    t = Transfer(machines, transport, again=again, rate=2_000_000)
    try:
        until(lambda: "quarter" in t.owner.out or t.owner.code is not None,
              "a quarter of the file")
        assert t.owner.code is None, str(t.owner)
        machines.kill(last)
        t.finish()
        assert t.lines("outcome") == ["aborted"] + ["done"] * again, \
            str(t.owner)
        assert t.lines("lost") == [str(last)], str(t.owner)
        assert [f.split()[0] for f in t.lines("fault")] == [str(last)], \
            str(t.owner)
        if again:
            t.all_have(payload, but=[last])
        else:
            assert not any(t.digests().values()), str(t.owner)
    finally:
        machines.boot([last], timeout=SECONDS)
