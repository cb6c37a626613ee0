# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The tests of sched/storm that labs run, on hosts with systemd."""
import pytest

from sched_tests import *  # noqa: F401, F403

pytestmark = pytest.mark.long


@pytest.fixture
def lab(hosts):
    return hosts.lab
