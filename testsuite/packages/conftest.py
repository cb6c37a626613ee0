# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The release of Slurm that the packages are for, and hosts with it."""
import os
import pathlib
import platform
import shutil
import sys

import pytest

from bare_hosts import Hosts, root_archive

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "testsuite"))

from long_rule import (  # noqa: E402, F401
    pytest_collection_modifyitems, pytest_configure)

#: Debian's releases that have them; None: this machine's
SUITES = {"22.05": None, "24.11": "trixie", "26.05": "forky"}


def pytest_addoption(parser):
    parser.addoption("--slurm", metavar="RELEASE", choices=SUITES,
                     help="the release of Slurm on the hosts: " + ", ".join(SUITES)
                     + " (default: $STORM_SLURM, or 22.05)")


class Release:
    """What the tests need to know of it."""

    def __init__(self, name):
        self.name = name
        self.suite = SUITES[name] or \
            platform.freedesktop_os_release()["VERSION_CODENAME"]
        self.option = ["--slurm", name] if SUITES[name] else []
        self.stage = pathlib.Path(os.environ.get("STORM_STAGE") or
                                  TOP / ("_stage-" + name if self.option else "_stage"))
        self.debs = pathlib.Path(os.environ.get("STORM_DEBS") or
                                 TOP / ("_debs-" + name if self.option else "_debs"))

    def archive(self):
        return root_archive(self.suite, os.environ.get("STORM_CACHE") or TOP / ".cache")



@pytest.fixture(scope="session")
def release(request):
    if os.geteuid() != 0:
        pytest.skip("SKIP: only root can make hosts of namespaces")
    if not shutil.which("mmdebstrap"):
        pytest.skip("SKIP: install the package mmdebstrap")
    return Release(request.config.getoption("slurm") or
                   os.environ.get("STORM_SLURM") or "22.05")


@pytest.fixture(scope="module")
def debs(release):
    """{name: file} of the packages."""
    found = {p.name.split("_")[0]: p for p in release.debs.glob("*.deb")
             if "-dbgsym" not in p.name}
    if not found:
        pytest.skip(f"SKIP: no packages in {release.debs}: run '"
                    f"{' '.join(['contribs/build_debs', *release.option])}'")
    return found


@pytest.fixture(scope="module")
def hosts(release, tmp_path_factory):
    h = Hosts(release.archive(), tmp_path_factory.mktemp("bare"))
    try:
        h.up()
        h.before = h.picture()
        yield h
    finally:
        h.down()
