# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Two machines with systemd, booted once for each layout of control groups.

Environment:
  STORM_STAGE=DIR           where the plugins are                   [_stage]
  STORM_MACHINES_SECONDS=N  limit of everything that takes long     [300]
"""
import os
import re
import sys

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
TESTSUITE = os.path.dirname(HERE)
sys.path[:0] = [HERE, TESTSUITE] + [os.path.join(TESTSUITE, d)
                                    for d in ("machines", "cluster")]
pytest.register_assert_rewrite("gang_tests", "sched_tests")

import vm  # noqa: E402
from long_rule import (  # noqa: E402, F401
    pytest_collection_modifyitems, pytest_configure)
from last_words import pytest_runtest_makereport  # noqa: E402, F401
from slurm_machines import write_units  # noqa: E402
from turns import LAYOUTS, NODES, Hosts  # noqa: E402

CORES = len(os.sched_getaffinity(0))


@pytest.fixture(scope="session", params=[
    "v2", pytest.param("hybrid", marks=pytest.mark.long),
    pytest.param("v1", marks=pytest.mark.long)])
def hosts(request, tmp_path_factory):
    layout = LAYOUTS[request.param]
    try:
        machines = vm.Machines(
            NODES, tmp_path_factory.mktemp("hosts"), rdma=False, memory=640,
            smp=max(1, min(2, CORES // NODES)), systemd=layout.words)
    except vm.Trouble as e:
        pytest.skip(f"SKIP: {e}")
    os.chmod(machines.dir, 0o755)       # srun is an ordinary user
    write_units(machines.dir)
    with machines:
        try:
            machines.boot(timeout=vm.SECONDS)
        except vm.Trouble as e:
            pytest.exit(f"no machines: {e}", 1)
        h = Hosts(machines, layout)
        yield h
        h.end_jobs()


@pytest.fixture
def gang(hosts):
    """The interface that gang_tests.py uses."""
    return hosts


@pytest.fixture(autouse=True)
def _clear(request):
    """No jobs of the last test are left, but all tests that want two jobs that
    take turns share them."""
    h = request.getfixturevalue("hosts")
    h.current = re.sub(r"\W+", "_", request.node.name)[:60]
    if "two" not in request.fixturenames:
        h.end_jobs()


@pytest.fixture
def two(hosts):
    """Two jobs that take turns on all nodes and run until they are ended."""
    hosts.two_jobs()
