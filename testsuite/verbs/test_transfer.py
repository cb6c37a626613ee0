# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A file to all machines by libstorm: complete, on a network that loses
datagrams, with small receive buffers, and with a machine that dies."""
import os

import pytest

from transfer import SECONDS, Transfer, counters, until

SIZE = 12_000_000


def over(**marks):
    """Over verbs, and over UDP if it has this mark; None: not."""
    return pytest.mark.parametrize("transport", [
        pytest.param(t, marks=marks.get(t, ())) for t in ("udp", "verbs")
        if marks.get(t, ()) is not None], indirect=True)


@pytest.fixture(scope="module")
def payload(machines):
    """12 MB on the machines' common directory."""
    path = machines.dir / "payload"
    path.write_bytes(os.urandom(SIZE))
    return path


def done(t, payload):
    t.finish()
    assert t.owner.code == 0 and t.lines("outcome") == ["done"], str(t.owner)
    assert not t.lines("fault") and not t.lines("lost"), str(t.owner)
    t.all_have(payload)
    return t


def by_transport(command, transport):
    """All of it used this transport, as the counters show."""
    c = counters(command)
    if transport == "udp":
        assert "verbs" not in c and c["udp"]["tx_datagrams"] > 0, str(command)
    else:
        assert c["verbs"]["working"], str(command)
        assert c["verbs"]["tx_datagrams"] > 0, str(command)
        assert c["udp"]["tx_datagrams"] == 0, str(command)
        assert c["udp"]["rx_datagrams"] == 0, str(command)


@over(udp=pytest.mark.long)
def test_whole(machines, transport, payload):
    """With strobes during the transfer: even if the queue of bulk data is
    full, none waits in a queue of STORM's."""
    t = done(Transfer(machines, transport, strobe_ms=20), payload)
    assert t.stat("multicast") == 1, str(t.owner)
    for command in (t.owner, *t.nodes):
        by_transport(command, transport)
    told = t.strobes_shown()
    if transport == "udp":
        return
    c = counters(t.owner)["verbs"]
    control, bulk = range(2)
    assert c["full"][control] == c["kept"][control] == 0, str(t.owner)
    assert c["sends"][bulk] >= t.stat("tx_data"), str(t.owner)
    assert c["sends"][control] >= len(told), str(t.owner)
    for n in t.nodes:
        c = counters(n)["verbs"]
        # no queue of ours has lost any, the data neither
        assert c["empty"] == [0, 0], str(n)


@pytest.fixture
def losses(machines):
    """lose(PERCENT) of what each machine sends, until the end of the test."""
    def tc(what):
        for c in machines.run(f"tc qdisc {what}"):
            assert c.code == 0, str(c)

    yield lambda percent: tc(f"add dev eth0 root netem limit 10000 "
                             f"loss {percent}%")
    tc("del dev eth0 root")


@pytest.mark.parametrize("percent, mtu", [(1, 4096), (5, 1024)])
@over(udp=pytest.mark.long)
def test_losses(machines, transport, payload, losses, percent, mtu):
    losses(percent)
    t = done(Transfer(machines, transport, mtu=mtu), payload)
    assert t.stat("tx_repair") > 0, str(t.owner)


@over(udp=None)
def test_little_room(machines, transport, payload):
    """What does not fit into the receive queue is lost, and the loss is
    detected."""
    t = done(Transfer(machines, transport, depth=64), payload)
    for n in t.nodes:
        bulk = counters(n)["verbs"]["empty"][1]
        assert (bulk > 0) == ("raise ReceiveQueue" in n.err), str(n)


@over(udp=pytest.mark.long)
def test_one_dies(machines, transport, payload):
    """It is named. The other machines have no file, and get it on a second
    try."""
    last = machines.count - 1
    again = machines.dir / "again"
    again.unlink(missing_ok=True)
    t = Transfer(machines, transport, again=f"{machines.inside}/again",
                 rate=2_000_000, dead_ms=10000)
    try:
        until(lambda: "quarter" in t.owner.out or t.owner.code is not None,
              "a quarter of the file")
        assert t.owner.code is None, str(t.owner)
        machines.kill(last)
        until(lambda: t.lines("outcome") or t.owner.code is not None,
              "the outcome")
        assert t.lines("outcome") == ["aborted"], str(t.owner)
        assert t.lines("lost") == [str(last)], str(t.owner)
        assert [f.split()[0] for f in t.lines("fault")] == [str(last)], \
            str(t.owner)
        assert not any(t.digests().values()), str(t.owner)
        again.touch()
        t.finish()
        assert t.lines("outcome") == ["aborted", "done"], str(t.owner)
        t.all_have(payload, but=[last])
    finally:
        machines.boot([last], timeout=SECONDS)
