# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Two machines with systemd, booted once for each layout of control groups.
Another release of Slurm comes with another Debian, whose systemd makes version 2.

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

import long_rule  # noqa: E402
import vm  # noqa: E402
from long_rule import pytest_collection_modifyitems  # noqa: E402, F401
from last_words import pytest_runtest_makereport  # noqa: E402, F401
from slurm_machines import machines_of_release, write_units  # noqa: E402
from lab import LabError  # noqa: E402
from lab.release import MACHINES, RELEASES, chosen  # noqa: E402

CORES = len(os.sched_getaffinity(0))


def pytest_addoption(parser):
    parser.addoption("--slurm", metavar="RELEASE", choices=RELEASES,
                     help="the release of Slurm on the machines: "
                     + ", ".join(RELEASES) + " (default: $STORM_SLURM, or "
                     + MACHINES + ")")


def pytest_configure(config):
    # before the tests are imported, some of which differ between releases
    if config.getoption("slurm"):
        os.environ["STORM_SLURM"] = config.getoption("slurm")
    long_rule.pytest_configure(config)
    # of the cluster's tests, which run here, too
    config.addinivalue_line("markers", "every_release: there is one here")


def pytest_generate_tests(metafunc):
    if "hosts" in metafunc.fixturenames:
        layouts = ["v2"]
        if chosen() == MACHINES:
            layouts += [pytest.param(name, marks=pytest.mark.long)
                        for name in ("hybrid", "v1")]
        metafunc.parametrize("hosts", layouts, indirect=True,
                             scope="session")


@pytest.fixture(scope="session")
def hosts(request, tmp_path_factory):
    from harness import need_records
    from turns import LAYOUTS, NODES, Hosts
    need_records()
    layout = LAYOUTS[request.param]
    try:
        machines = vm.Machines(
            NODES, tmp_path_factory.mktemp("hosts"), rdma=False, memory=640,
            smp=max(1, min(2, CORES // NODES)), systemd=layout.words,
            **machines_of_release())
    except (vm.Trouble, LabError) as e:
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
