# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Labs for the tests, and the modes in which a test runs.

A test that takes `cluster` gets 8 nodes with multicast; with STORM_LONG=1, or
marked every_mode, it runs also by the relay (Multicast=no), with a switch that
drops multicast, and with 5 % of all datagrams lost at every receiver.
"""
import os
import re
import signal

import pytest

from harness import LONG, STOCK, Cluster, Lab, LabError

MODES = ["multicast", "relay", "deaf", "drop"]


def pytest_configure(config):
    # what nohup ignores would be ignored by each srun that a test starts, too;
    # what is caught is not
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
    config.addinivalue_line("markers", "every_mode: run in all modes")
    config.addinivalue_line("markers", "by_group: what comes by multicast is "
                            "needed, so only where it goes")
    config.addinivalue_line("markers", "long: only with STORM_LONG=1")
    config.addinivalue_line("markers", "storm_only: there is no stock form")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("long") and not LONG:
            item.add_marker(pytest.mark.skip(
                reason="SKIP: long; set STORM_LONG=1"))
        if item.get_closest_marker("storm_only") and STOCK:
            item.add_marker(pytest.mark.skip(
                reason="SKIP: STORM_TEST_STOCK runs stock Slurm alone"))


def pytest_generate_tests(metafunc):
    if "cluster" in metafunc.fixturenames:
        everywhere = LONG or any(
            metafunc.definition.iter_markers("every_mode"))
        modes = MODES if everywhere and not STOCK else MODES[:1]
        if any(metafunc.definition.iter_markers("by_group")):
            modes = [m for m in modes if m in ("multicast", "drop")]
        metafunc.parametrize("cluster", modes, indirect=True,
                             scope="session")


def last_words(lab):
    """(title, text): the ends of the logs that tell why a test has failed."""
    for host in ["ctl", *lab.nodes[:4]]:
        daemon = "slurmctld" if host == "ctl" else "slurmd"
        lines = lab.log(host, daemon).splitlines()
        yield (f"{daemon} of {lab.name}, {host}",
               "\n".join(lines[-80 if host == "ctl" else -40:]))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """The labs are gone when somebody reads of a failure."""
    report = (yield).get_result()
    if not report.failed:
        return
    used = [getattr(v, "lab", v) for v in item.funcargs.values()]
    for lab in {v.name: v for v in used if isinstance(v, Lab)}.values():
        try:
            report.sections += last_words(lab)
        except LabError:        # the test has taken it down
            pass


def lab_name(what):
    # of this process, so that several test runs may go on beside each other
    return f"test{os.getpid()}-{what}"


def make(what, nodes, kind=Cluster, **options):
    if os.geteuid() != 0:
        pytest.exit("the cluster tests must be run by root: they make "
                    "network namespaces", 1)
    try:
        return kind(lab_name(what), nodes, **options)
    except LabError as e:
        pytest.exit(f"no lab: {e}", 1)


@pytest.fixture(scope="session")
def cluster(request):
    """8 nodes, in the mode of the test's parameter."""
    c = make(request.param, 8, mode=request.param)
    yield c
    c.down()


@pytest.fixture(scope="session")
def big():
    """32 nodes, for what must not depend on their number."""
    c = make("big", 32, cpus=8)
    yield c
    c.down()


@pytest.fixture
def fresh(request):
    """4 nodes for this test alone, which may break them."""
    c = make("fresh", 4)
    c.current = re.sub(r"\W+", "_", request.node.name)
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _leave_clean(request):
    """Give the runs of a test its name, and clear up after it."""
    names = [n for n in ("cluster", "big") if n in request.fixturenames]
    clusters = [request.getfixturevalue(n) for n in names]
    for c in clusters:
        c.current = re.sub(r"\W+", "_", request.node.name)[:60]
    yield
    for c in clusters:
        c.clean()
        c.assert_sane()
