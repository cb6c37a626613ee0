# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Tests that are marked "long" run with STORM_LONG=1 only: what it means, and
hooks for the conftest.py of a group."""
import os

import pytest

LONG = bool(os.environ.get("STORM_LONG"))


def pytest_configure(config):
    config.addinivalue_line("markers", "long: only with STORM_LONG=1")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("long") and not LONG:
            item.add_marker(pytest.mark.skip(
                reason="SKIP: long; set STORM_LONG=1"))
