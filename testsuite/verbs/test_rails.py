# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Strobes on a separate rail during a file transfer. Counters show that STORM
loses none, and that none waits behind bulk data in a queue of STORM's."""
import os
import re

import pytest

from test_transfer import done
from needs import need_verbs
from transfer import Transfer, counters, lines, until

CONTROL, BULK = 0, 1
SIZE = 4_000_000


@pytest.fixture(scope="module")
def payload(machines):
    path = machines.dir / "payload"
    path.write_bytes(os.urandom(SIZE))
    return path


@pytest.mark.parametrize("name", [
    "rxe1", pytest.param("eth1", marks=pytest.mark.long)])
def test_two_rails(machines, payload, name):
    """No strobe is on the data rail, no bulk data on the strobe rail."""
    need_verbs()
    t = done(Transfer(machines, "verbs", strobe_ms=20, strobe_device=name),
             payload)
    sent = len(t.strobes_shown(card=1))
    data, strobe = (counters(t.owner)[k] for k in ("verbs", "strobe_rail"))
    assert data["working"] and strobe["working"]
    assert strobe["tx_group"] >= sent
    assert strobe["sends"][BULK] == 0 and strobe["full"] == [0, 0]
    assert data["sends"][BULK] > SIZE / 4096
    for n in t.nodes:
        assert counters(n)["strobe_rail"]["rx_group"] > 0
        assert counters(n)["strobe_rail"]["empty"] == [0, 0]
        assert counters(n)["strobe_rail"]["sends"][BULK] == 0


def test_strobe_rail_that_is_none(machines, payload):
    """Everything uses the data rail, and the log has a line."""
    need_verbs()
    t = done(Transfer(machines, "verbs", strobe_ms=20, strobe_device="rxe7"),
             payload)
    assert "strobe_rail" not in counters(t.owner)
    assert counters(t.owner)["verbs"]["sends"][CONTROL] >= t.stat("strobes")
    assert "StrobeRail rxe7" in t.owner.err, str(t.owner)
    # beside the data the kernels of emulated machines lose some
    for n in t.nodes:
        assert lines(n, "strobe"), str(n)


@pytest.mark.parametrize("where", ["owner", "node"])
def test_strobe_rail_goes_down(machines, payload, where):
    """In the middle of it: the data rail carries what it would have."""
    need_verbs()
    machine = 0 if where == "owner" else machines.count - 1
    # it takes 8 s: the rail is down for most of it
    t = Transfer(machines, "verbs", strobe_device="rxe1", strobe_ms=50,
                 dead_ms=60000, rate=SIZE // 8)
    try:
        until(lambda: "quarter" in t.owner.out or t.owner.code is not None,
              "a quarter of the file")
        assert t.owner.code is None, str(t.owner)
        machines.run("ip link set eth1 down", [machine])
        done(t, payload)
        assert counters(t.owner)["verbs"]["working"]
        said = t.owner if where == "owner" else t.nodes[machine]
        # a datagram may fail, under way or when it is sent, before the port's
        # failure is logged
        assert re.search("RDMA device rxe1 (is down|failed)", said.err), str(said)
        assert not counters(said)["strobe_rail"]["working"]
    finally:
        machines.run("ip -batch /run/network", [machine])
