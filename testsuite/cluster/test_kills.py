# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Daemons are killed or stopped at random moments under gang load. All steps run
while a daemon is away, and gangs take turns again afterwards. How soon, is a
figure of contribs/bench/gang_kills, which does this a hundred times.
"""

import pytest

import gang_kill
from conftest import make, need_cgroup2
from gang import Gang
from harness import LONG

pytestmark = pytest.mark.storm_only

TIMES = 20 if LONG else 1


@pytest.fixture(scope="module")
def kills():
    need_cgroup2()
    c = make("kills", 2, kind=Gang, quantum=20)
    try:
        k = gang_kill.Kills(c, seed=1)
        k.begin()
        yield k
    finally:
        c.down()


@pytest.mark.parametrize("kind, sig", gang_kill.ALL)
def test_everything_runs(kills, kind, sig):
    for _ in range(TIMES):
        result = kills.once(kind, sig)
        assert result["open"] is not None, "something stood still"
        assert result["turns"] is not None, "they take turns no more"
