# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The two-minute form of the soak: see soaking.py, and testsuite/cluster/soak
for hours."""
import pytest

from conftest import make, need_cgroup2
from gang import Gang
from soaking import soak

pytestmark = pytest.mark.storm_only


def test_two_minutes():
    need_cgroup2()
    wrong = soak("soak", 4, 2, make=lambda name, nodes, **options: make(
        name, nodes, kind=Gang, **options))
    assert not wrong, "\n".join(wrong)
