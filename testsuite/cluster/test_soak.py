# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The short form of the soak: see soaking.py, and testsuite/cluster/soak for
hours."""
import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import LONG
from soaking import soak

pytestmark = pytest.mark.storm_only


def test_short():
    """A minute, in which each attacker has its turn twice; with --long three."""
    need_cgroup2()
    wrong = soak("soak", 4, 3 if LONG else 1,
                 make=lambda name, nodes, **options: make(
                     name, nodes, kind=Gang, **options))
    assert not wrong, "\n".join(wrong)
