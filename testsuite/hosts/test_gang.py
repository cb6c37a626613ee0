# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The tests of gang scheduling that labs run, on hosts with systemd."""
import pytest

import gang_tests
from gang_tests import *  # noqa: F401, F403

#: the quick form's; the others are long
QUICK = ["test_two_jobs_take_turns"]

for name, value in list(vars(gang_tests).items()):
    if name.startswith("test_") and name not in QUICK:
        pytest.mark.long(value)
