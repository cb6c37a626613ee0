# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Strobes while a file is sent, by a rail of their own: none is lost, and none
stands behind bulk data in a queue of ours, which is shown by counts."""
import pytest

from test_transfer import done, payload  # noqa: F401
from transfer import Transfer, counters, has_verbs, lines, program

CONTROL, BULK = 0, 1


def strobed(machines, payload, **settings):
    """The transfer, once all strobes have come, everywhere, in order."""
    if not has_verbs(program("verbs", "across")):
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")
    t = done(Transfer(machines, "verbs", strobe_ms=50, **settings), payload)
    sent = t.stat("strobes")
    assert sent > 0, str(t.owner)
    for n in t.nodes:
        # the epoch stands in the upper half
        came = [int(s) - (1 << 32) for s in lines(n, "strobe")]
        assert came == list(range(sent)), str(n)
    return t, sent


@pytest.mark.parametrize("name", [
    "rxe1", pytest.param("eth1", marks=pytest.mark.long)])
def test_two_rails(machines, payload, name):
    """No strobe is on the data rail, no bulk data on the strobe rail."""
    t, sent = strobed(machines, payload, strobe_device=name)
    data, strobe = (counters(t.owner)[k] for k in ("verbs", "strobe_rail"))
    assert data["working"] and strobe["working"]
    assert strobe["tx_group"] >= sent
    assert strobe["sends"][BULK] == 0 and strobe["full"] == [0, 0]
    assert data["sends"][BULK] > 2000
    for n in t.nodes:
        assert counters(n)["strobe_rail"]["rx_group"] >= sent
        assert counters(n)["strobe_rail"]["sends"][BULK] == 0


def test_strobe_rail_that_is_none(machines, payload):
    """Everything by the data rail, and it is said."""
    t, sent = strobed(machines, payload, strobe_device="rxe7")
    assert "strobe_rail" not in counters(t.owner)
    assert counters(t.owner)["verbs"]["sends"][CONTROL] >= sent
    assert "StrobeRail rxe7" in t.owner.err, str(t.owner)
