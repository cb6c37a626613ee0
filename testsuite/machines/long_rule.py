# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Of tests in machines, those that are marked "long" run with STORM_LONG=1 only:
hooks for a conftest.py."""
import os

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "long: only with STORM_LONG=1")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("long") and not os.environ.get("STORM_LONG"):
            item.add_marker(pytest.mark.skip(
                reason="SKIP: long; set STORM_LONG=1"))
