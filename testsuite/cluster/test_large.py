# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""32 nodes: 64 tasks of a program of 12 MB, repeatedly; 50 times each with
STORM_LONG=1. Also with 5 % of the datagrams dropped at every receiver."""
import pathlib

import pytest

from harness import LONG, STOCK

TIMES = 50 if LONG else 3

#: exit code, words of the task's life
LIVES = {
    "all-well": (0, "say fine"),
    "three-fail": (200, "@3 exit 7 @17 exit 200 @60 exit 1 say fine"),
    "one-killed": (128 + 9, "@33 kill 9 say fine"),
    "one-dies-early": (9, "@6 exit 9 sleep 0.3 say fine"),
}


@pytest.fixture(params=["multicast", "drop"])
def lossy(request, big):
    if request.param == "drop" and not STOCK:
        big.lab.drop(5, seed=11)
    yield request.param == "drop"
    if request.param == "drop" and not STOCK:
        big.lab.drop(0)


@pytest.mark.parametrize("life", LIVES)
def test_bcast_and_run(big, lossy, life):
    code, words = LIVES[life]
    fine = 64 - words.count("exit") - words.count("kill")
    want = (big.bin / "big").read_bytes()
    stock = big.srun(f"-N32 -n64 {{do}} {words}", "slurm")
    assert stock.code == code, str(stock)
    for i in range(TIMES):
        run = big.srun(f"-N32 -n64 --bcast=/tmp/app {{big}} {words}")
        assert run.code == code, f"run {i}: {run}"
        assert run.out == "fine\n" * fine, f"run {i}: {run}"
        assert run.normal()["err"] == stock.normal()["err"], \
            f"run {i}: {run}\n{stock}"
        big.by_storm(run, repaired=lossy and not STOCK)
        if i in (0, TIMES - 1):
            assert all(big.file(n, "/tmp/app") == want for n in big.names)
        big.remove("/tmp/app")
    assert big.litter() == []


@pytest.mark.storm_only
def test_relay_on_32_nodes(big):
    """The switch drops multicast: the same, by the chain."""
    big.lab.multicast(False)
    try:
        for _ in range(TIMES):
            run = big.srun("-N32 -n64 --bcast=/tmp/app {big} @9 exit 3 "
                           "say fine")
            assert run.code == 3 and run.out == "fine\n" * 63, str(run)
            assert run.steps[0]["fallback"] is None, str(run)
            assert run.steps[0]["multicast"] is False, str(run)
    finally:
        big.lab.multicast(True)
        big.remove("/tmp/app")


@pytest.mark.storm_only
def test_names_are_looked_up_side_by_side(big):
    """A slow name service: srun asks for several nodes at a time. It does so
    after the first four (node_addr.c)."""
    slow = pathlib.Path(__file__).with_name("slow_names.py")
    run = big.run(["unshare", "-m", "python3", str(slow), "--pairs", "4",
                   "user", "20",
                   *big.srun_argv("-N32 -n32 {do} say fine", "storm")],
                  user="root")
    assert run.code == 0 and run.out == "fine\n" * 32, str(run)
    big.by_storm(run)
