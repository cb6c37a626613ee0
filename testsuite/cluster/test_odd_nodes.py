# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A node that STORM does not reach, and Slurm does (Fallback=nodes): it alone gets the
file and the launch by Slurm's own messages, and is named once; STORM serves the
others."""
import contextlib
import re

import pytest

from bad_paths import ON_A_NODE, nothing_known
from conftest import make
from firewall import dropped
from harness import key

pytestmark = pytest.mark.storm_only

#: as from a host without an agent
REFUSED = ("input", "tcp dport 8383 reject with tcp reset; udp dport 8383",
           "nothing listens on storm port ")
SILENT = ON_A_NODE["tcp"]
ALONE = re.compile(
    r"^srun: warning: storm: (.*); falling back to Slurm's own messages there, and "
    r"not for the other (\d+) nodes$", re.M)


@pytest.fixture(scope="module")
def eight():
    """n1 has n2 and n3 below it in the tree, and these have two nodes each."""
    c = make("odd", 8, storm_conf={"Radix": "2"})
    yield c
    c.down()


@pytest.fixture
def lab(eight, request):
    eight.current = re.sub(r"\W+", "_", request.node.name)
    nothing_known(eight)
    yield eight
    eight.clean()


@contextlib.contextmanager
def odd(lab, node, fault=REFUSED):
    with dropped(lab.lab, node, *fault[:2]):
        yield


def served(run, node, others, says):
    """STORM has launched it on the others, and one line names the node."""
    assert run.code == 0, str(run)
    said = ALONE.findall(run.err)
    assert len(said) == 1 and run.err.count("\n") == 1, str(run)
    assert said[0][0].startswith(f"node {node}: {says}"), str(run)
    assert said[0][1] == str(others), str(run)
    (step,) = run.steps
    assert (step["launch"], step["fallback"], step["odd"]) == \
        ("storm", None, node), str(run)


@pytest.mark.every_release
@pytest.mark.parametrize("node", ["n1", "n3", "n8"])
def test_without_a_file(lab, node):
    """The first node, an inner one of the tree, and the last."""
    with odd(lab, node):
        run = lab.srun("-N8 -n16 -l {do} say ran")
    served(run, node, 7, REFUSED[2])
    assert sorted(map(str.strip, run.out.splitlines())) == \
        sorted(f"{i}: ran" for i in range(16)), str(run)


@pytest.mark.every_release
def test_with_a_file(lab):
    """It is the program, and is not on the nodes else."""
    with odd(lab, "n3"):
        run = lab.srun("-N8 -n8 --bcast=/tmp/app {big} say ran")
    served(run, "n3", 7, REFUSED[2])
    assert run.out == "ran\n" * 8, str(run)
    whole = (lab.bin / "big").read_bytes()
    assert all(lab.file(node, "/tmp/app") == whole for node in lab.names)


@pytest.mark.parametrize("force", ["", "-f"])
def test_sbcast_storm(lab, force):
    """The same, of a file alone. Without --force, too: none has it twice."""
    with odd(lab, "n1"):
        run = lab.run(f"sbcast_storm {force} {{big}} /tmp/app",
                      env={"SLURM_JOB_ID": str(lab.job)})
    assert run.code == 0 and run.err.count("\n") == 1, str(run)
    assert [n for _, n in re.findall(ALONE, run.err.replace("sbcast_storm", "srun"))] \
        == ["7"], str(run)
    assert (run.timeline["fallback"], run.timeline["odd"]) == (None, "n1"), str(run)
    whole = (lab.bin / "big").read_bytes()
    assert all(lab.file(node, "/tmp/app") == whole for node in lab.names)


@pytest.mark.every_release
def test_a_firewall(lab):
    """It is found late. The next step goes round it at once, by STORM, too."""
    with odd(lab, "n3", SILENT):
        first, second = (lab.srun("-N8 -n8 {do} say ran") for _ in range(2))
    for run in (first, second):
        served(run, "n3", 7, SILENT[2].replace("this host", "node n1"))
        assert run.out == "ran\n" * 8, str(run)
    assert " s ago; " not in first.err and " s ago; " in second.err, str(second)


#: n1 is found first, and n8 only by a domain without it
BOTH = ["n1", "n8"]


@contextlib.contextmanager
def two(lab):
    with odd(lab, BOTH[0]), odd(lab, BOTH[1]):
        yield


def one_line(run, says):
    """It names both, and says what is done."""
    assert run.code == 0 and run.err.count("\n") == 1, str(run)
    assert run.err.endswith(says), str(run)
    for node in BOTH:
        assert f"node {node}: {REFUSED[2]}" in run.err, str(run)


@pytest.mark.every_release
@pytest.mark.parametrize("file", ["{do}", "--bcast=/tmp/app {big}"])
def test_more_than_a_few(lab, file):
    """Two of 8 are more than a tenth, and than one: Slurm launches on all."""
    with two(lab):
        run = lab.srun(f"-N8 -n8 {file} say ran")
    one_line(run, "; falling back to Slurm's standard launch\n")
    assert run.out == "ran\n" * 8, str(run)
    assert run.steps[0]["fallback"] and not run.steps[0]["odd"], str(run)


def test_sbcast_and_more_than_a_few(lab):
    with two(lab):
        run = lab.run("sbcast_storm {big} /tmp/app",
                      env={"SLURM_JOB_ID": str(lab.job)})
    one_line(run, "; falling back to Slurm's standard broadcast\n")


@pytest.mark.parametrize("file", ["{do}", "--bcast=/tmp/app {big}"])
def test_one_after_the_other(lab, file):
    """Two that are a few."""
    key(lab, "MaxFallbackNodes", "2")
    try:
        with two(lab):
            run = lab.srun(f"-N8 -n8 {file} say ran")
    finally:
        key(lab, "MaxFallbackNodes", "10%")
    one_line(run, "; falling back to Slurm's own messages there, and not for the other "
             "6 nodes\n")
    assert run.out == "ran\n" * 8, str(run)
    assert run.steps[0]["odd"] == "n1,n8", str(run)


def test_one_other(lab):
    with odd(lab, "n2"):
        run = lab.srun("-N2 -n2 -w n[1-2] {do} say ran")
    assert (run.code, run.out) == (0, "ran\n" * 2), str(run)
    assert run.err.endswith("own messages there, and not for the other node\n"), str(run)


def test_heterogeneous(lab):
    """Each component by itself: that of the odd node is served without it."""
    with odd(lab, "n2"):
        run = lab.srun("-N4 -n4 -w n[1-4] {do} say ran : -N4 -n4 -w n[5-8] {do} "
                       "say ran", alone=True)
    assert run.code == 0 and run.out == "ran\n" * 8, str(run)
    assert len(ALONE.findall(run.err)) == 1, str(run)
    assert sorted(str(step["odd"]) for step in run.steps) == ["None", "n2"], str(run)
