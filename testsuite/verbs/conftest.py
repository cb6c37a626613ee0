# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The machines, booted once for all tests, and what the tests are written in.

Environment:
  STORM_BUILD=DIR        where the programs were built        [_build]
  STORM_STAGE=DIR        where the plugins are                [_stage]
  STORM_DEVICE=NAME      this RDMA device of this host, no machines
  STORM_MACHINES_SECONDS=N limit of everything that takes long  [300]
  STORM_VERBS_MACHINES=N how many                  [4, or a processor each]
  STORM_VALGRIND=1       the programs that test one host, by valgrind; no others
"""
import os
import sys

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
TESTSUITE = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTSUITE, "machines"), TESTSUITE]

import long_rule  # noqa: E402
import vm  # noqa: E402
import alone as alone_module  # noqa: E402
from needs import need_verbs  # noqa: E402
from transfer import SECONDS, VALGRIND, program, sanitized  # noqa: E402

CORES = len(os.sched_getaffinity(0))
#: no more than there are processors: an emulated one is busy when it polls
COUNT = int(os.environ.get("STORM_VERBS_MACHINES")
            or min(4, max(2, CORES)))


DEVICE = os.environ.get("STORM_DEVICE")


def pytest_configure(config):
    long_rule.pytest_configure(config)
    config.addinivalue_line("markers", "one_host: also on a device of a host")
    config.addinivalue_line("markers", "alone(NAME): its program, see alone.py")


def pytest_collection_modifyitems(items):
    long_rule.pytest_collection_modifyitems(items)
    for item in items:
        if DEVICE and not item.get_closest_marker("one_host"):
            item.add_marker(pytest.mark.skip(
                reason="SKIP: needs several hosts; without --device it runs "
                "in machines"))
        alone = item.get_closest_marker("alone")
        if VALGRIND and not (alone and alone.args[0] in
                             ("conformance", *alone_module.PROGRAMS)):
            item.add_marker(pytest.mark.skip(
                reason="SKIP: by valgrind the programs that test one host"))


def pytest_report_header():
    if DEVICE:
        return f"RDMA device {DEVICE} of this host"
    few = "" if COUNT >= 4 else f", not 4: processors here: {CORES}"
    return f"{COUNT} machines{few}"


@pytest.fixture(scope="session")
def machines(tmp_path_factory):
    """Up, each with one processor; or this host, with --device."""
    try:
        if DEVICE:
            yield vm.Here(DEVICE, tmp_path_factory.mktemp("machines"))
            return
        big = VALGRIND or sanitized(program("verbs", "across"))
        # a network on which RoCE has its 4096
        m = vm.Machines(COUNT, tmp_path_factory.mktemp("machines"), mtu=4300,
                        memory=1500 if big else 512)
        with m:
            os.chmod(m.dir, 0o755)  # srun is an ordinary user
            m.boot(timeout=SECONDS)
            yield m
    except vm.Trouble as e:
        pytest.exit(f"no machines: {e}", 1)


@pytest.fixture(params=["udp", "verbs"])
def transport(request):
    if request.param == "verbs":
        need_verbs()
    return request.param


@pytest.fixture(scope="session")
def alone(machines, request):
    """NAME -> the jobs of that name, done: all that this run's tests want."""
    marks = [item.get_closest_marker("alone") for item in request.session.items
             if not any(m.name == "skip" for m in item.iter_markers())]
    done = alone_module.run(machines, {m.args[0] for m in marks if m})
    return lambda name: [j for j in done if j.name.startswith(name)]
