# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Labs for the tests, and the modes in which a test runs.

A test that takes `cluster` gets 8 nodes with multicast; with STORM_LONG=1, or
marked every_mode, it runs also by the relay (Multicast=no), with a switch that
drops multicast, and with 5 % of all datagrams lost at every receiver.
"""
import os
import pathlib
import re
import signal

import pytest

pytest.register_assert_rewrite("gang_tests", "run_lab", "sched_tests")

from gang import cpu_mount
from harness import LONG, STOCK, Cluster, LabError, shown_in_tmp
import long_rule
from lab.release import MACHINES, RELEASES, chosen, number
from last_words import pytest_runtest_makereport  # noqa: F401

MODES = ["multicast", "relay", "deaf", "drop"]


def pytest_addoption(parser):
    parser.addoption("--slurm", metavar="RELEASE", choices=RELEASES,
                     help="the release of Slurm in the labs: "
                     + ", ".join(RELEASES) + " (default: $STORM_SLURM, or "
                     + MACHINES + ")")
    parser.addoption("--quick", action="store_true",
                     help="only what is marked every_mode, in the first mode, "
                     "or every_release")


def refuse_a_name_in_tmp():
    """The checkout and the stage show in the hosts at their own paths. In /tmp they
    must not have a name that a test writes there."""
    written = {name for path in pathlib.Path(__file__).parent.glob("*.py")
               for name in re.findall(r"/tmp/([\w.-]+)", path.read_text())}
    for path in shown_in_tmp():
        if path.parts[2] in written:
            raise pytest.UsageError(
                f"{path}: tests write /tmp/{path.parts[2]} in the labs' hosts: "
                "give that directory another name")


def pytest_configure(config):
    refuse_a_name_in_tmp()
    # The labs, which stormlab starts, take it from there.
    if config.getoption("slurm"):
        os.environ["STORM_SLURM"] = config.getoption("slurm")
    long_rule.pytest_configure(config)
    # srun inherits the signals that nohup ignores, but not those that are
    # caught.
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
    config.addinivalue_line("markers", "every_mode: run in all modes")
    config.addinivalue_line("markers", "every_release: it rests on what "
                            "differs between releases of Slurm")
    config.addinivalue_line("markers", "by_group: what comes by multicast is "
                            "needed, so only where it goes")
    config.addinivalue_line("markers", "storm_only: there is no stock form")
    config.addinivalue_line("markers", "lab_with(...): options for fresh")
    config.addinivalue_line("markers", "cut_twice: a node is, and may say that no multicast comes")
    config.addinivalue_line("markers", "slurm_only(releases, reason): "
                            "other releases of Slurm cannot do that")


def pytest_collection_modifyitems(config, items):
    if config.getoption("quick"):
        kept = [i for i in items if i.get_closest_marker("every_mode")
                or i.get_closest_marker("every_release")]
        config.hook.pytest_deselected(
            items=[i for i in items if i not in kept])
        items[:] = kept
    long_rule.pytest_collection_modifyitems(items)
    for item in items:
        for mark in item.iter_markers("slurm_only"):
            releases, reason = mark.args
            if number() not in releases.split():
                item.add_marker(pytest.mark.skip(
                    reason=f"SKIP: Slurm {chosen()}: {reason}"))
        if item.get_closest_marker("storm_only") and STOCK:
            item.add_marker(pytest.mark.skip(
                reason="SKIP: STORM_TEST_STOCK runs stock Slurm alone"))


def pytest_generate_tests(metafunc):
    if "cluster" in metafunc.fixturenames:
        everywhere = LONG or any(
            metafunc.definition.iter_markers("every_mode"))
        once = STOCK or metafunc.config.getoption("quick")
        modes = MODES if everywhere and not once else MODES[:1]
        if any(metafunc.definition.iter_markers("by_group")):
            modes = [m for m in modes if m in ("multicast", "drop")]
        metafunc.parametrize("cluster", modes, indirect=True,
                             scope="session")


def lab_name(what):
    # this process's, so that several test runs can run at the same time
    return f"test{os.getpid()}-{what}"


def need_cgroup2():
    """The gang scheduling tests freeze in groups of that kind."""
    if "cgroup2" not in pathlib.Path("/proc/self/mounts").read_text():
        pytest.skip("SKIP: no control groups of version 2 here")


def need_cpu_idle():
    """Policy=flexible lets groups of version 1 give way in a lab."""
    mount = cpu_mount()
    if not mount or not (mount / "cpu.idle").exists() and \
            not list(mount.glob("*/cpu.idle")):
        pytest.skip("SKIP: no groups of version 1 with cpu.idle: use a host "
                    "with Linux 5.15 that mounts the cpu controller so")


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
    """32 nodes, for results that must not depend on the number of nodes."""
    c = make("big", 32, cpus=8)
    yield c
    c.down()


@pytest.fixture(scope="session")
def run_lab():
    """4 nodes for storm run: run_lab.py."""
    c = make("run", 4, standing=False)
    yield c
    c.down()


@pytest.fixture
def fresh(request):
    """4 nodes for this test only, which may break them. Its mark lab_with has
    options."""
    mark = request.node.get_closest_marker("lab_with")
    c = make("fresh", 4, **mark.kwargs if mark else {})
    c.current = re.sub(r"\W+", "_", request.node.name)
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _leave_clean(request):
    """Name the runs of a test after it, and clean up after it."""
    names = [n for n in ("cluster", "big") if n in request.fixturenames]
    clusters = [request.getfixturevalue(n) for n in names]
    for c in clusters:
        c.current = re.sub(r"\W+", "_", request.node.name)[:60]
    yield
    for c in clusters:
        c.clean()
        c.assert_sane()
