# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The traffic of login's interface for a step inside an allocation must not
grow with the number of nodes. It is counted, so the test holds on any
machine."""
import pytest

from harness import SIZE, TIMEOUT, sanitized

QUIET = "-inone -onone -enone"
KEYS = ("tx_bytes", "rx_bytes", "accepted")
#: from 8 to 32 nodes; stock's grows by a factor of 3.8
GROWTH = 2 if sanitized() else 1.2
#: bytes that a file needs at MTU 1500, including all headers
ONCE = 1.12 * SIZE
#: bytes. Until all is done each of the owner's children sends a report every
#: tenth of a second (1.7 kB from all). If processors are short, a step on 32
#: nodes takes longer than one on 8.
A_SECOND = 17_000


def counted(big, args, launch="storm", times=3, most=None):
    """The least of some runs. A timer of Slurm's may fire in one, and if
    processors are short, fewer of the nodes' reports merge on their way, and what
    a node's full socket has dropped is sent again. No more runs than until the
    host sends at most so many bytes."""
    best = None
    while times and not (best and most and best["tx_bytes"] <= most):
        times -= 1
        before = big.lab.counters("login")
        run = big.srun(args, launch)
        after = big.lab.counters("login")
        assert run.code == 0, str(run)
        if launch == "storm":
            big.by_storm(run)
        cost = {k: after[k] - before[k] for k in KEYS}
        if not best or sum(cost.values()) < sum(best[k] for k in KEYS):
            best = {**cost, "seconds": run.seconds}
    print(f"login, {launch}, srun {args}: {best}")      # for pytest -s
    return best


@pytest.fixture(scope="module")
def costs(big):
    return {n: counted(big, f"{QUIET} -N{n} -n{2 * n} {{do}}", times=8)
            for n in (8, 32)}


@pytest.mark.storm_only
@pytest.mark.parametrize("key", ["tx_bytes", "rx_bytes"])
def test_bytes_do_not_grow(costs, key):
    longer = max(0, costs[32]["seconds"] - costs[8]["seconds"])
    assert costs[32][key] <= GROWTH * costs[8][key] + longer * A_SECOND, costs


@pytest.mark.storm_only
def test_at_most_60_kilobytes_out(costs):
    assert costs[32]["tx_bytes"] <= 60_000, costs


@pytest.mark.storm_only
def test_at_most_4_connections_accepted(costs):
    assert costs[32]["accepted"] <= 4, costs


def test_stock_grows(big):
    """Check the method: stock's own traffic is O(n)."""
    eight = counted(big, f"{QUIET} -N8 -n16 {{do}}", "slurm", 1)
    all32 = counted(big, f"{QUIET} -N32 -n64 {{do}}", "slurm", 1)
    assert all32["tx_bytes"] > 2 * eight["tx_bytes"]
    assert all32["tx_bytes"] > 150_000, all32
    assert all32["accepted"] >= 64, all32


@pytest.mark.storm_only
@pytest.mark.parametrize("nodes", [8, 32])
def test_bcast_goes_out_about_once(big, nodes):
    """Unless nodes have no time to read it."""
    cost = counted(big, f"{QUIET} --bcast=/tmp/app -N{nodes} -n{nodes} "
                   "{big}", times=8, most=ONCE)
    assert SIZE < cost["tx_bytes"] <= ONCE, cost
    assert cost["rx_bytes"] < 0.1 * SIZE, cost


def test_stock_bcast_goes_out_eight_times(big):
    before = big.lab.counters("login")
    run = big.srun(f"{QUIET} --bcast=/tmp/app -N32 -n32 {{big}}", "slurm",
                   timeout=TIMEOUT)
    assert run.code == 0, str(run)
    sent = big.lab.counters("login")["tx_bytes"] - before["tx_bytes"]
    assert sent > 7 * SIZE


@pytest.mark.storm_only
def test_sbcast_storm_goes_out_about_once(big):
    env = {"SLURM_JOB_ID": str(big.job)}

    def sent():
        before = big.lab.counters("login")
        run = big.run("sbcast_storm -f {big} /tmp/app", env=env)
        assert run.code == 0, str(run)
        big.by_storm(run, launched=False)
        return big.lab.counters("login")["tx_bytes"] - before["tx_bytes"]

    times = [sent()]
    while times[-1] > ONCE and len(times) < 8:
        times.append(sent())
    assert SIZE < times[-1] <= ONCE, times


