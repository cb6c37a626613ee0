# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""One node of a broadcast stands still, is slow, or cannot write: the others have the
file as if it were not there, and it catches up or is named."""
import contextlib
import os
import pathlib
import re
import shutil
import time

import pytest

import bad_paths
import odd_node
from conftest import make
from harness import LONG, until

pytestmark = pytest.mark.storm_only

LINK = "100mbit"
#: seconds that others may wait for one node: half a second, and what a busy machine
#: adds. Before, it was DeadTimeout at least, or ten seconds of a slow link
WAIT = 3
#: n1 is the first of the tree and of the chain, n8 the last
PLACES = pytest.mark.parametrize("odd", ["n1", "n8"] if LONG else ["n1"])


@pytest.fixture(scope="module", params=["multicast", "relay"])
def eight(request):
    """n1 has two of them below it in the tree, and each of these two more."""
    c = make("stopped", 8, mode=request.param, storm_conf={"Radix": "2"})
    c.lab.shape(LINK)
    yield c
    c.down()


@pytest.fixture
def lab(eight, request):
    eight.current = re.sub(r"\W+", "_", request.node.name)
    eight.lab.wait_agents()
    shutil.rmtree(eight.lab.path("login", bad_paths.KNOWN), ignore_errors=True)
    odd_node.part(eight.lab)
    return eight


class Cast:
    """sbcast_storm of 12 MB to PART/app."""

    def __init__(self, lab):
        self.lab, self.begun = lab, time.time()
        self.want = (lab.bin / "big").stat().st_size
        self.run = lab.start(f"sbcast_storm -f {{big}} {odd_node.PART}/app",
                             env={"SLURM_JOB_ID": str(lab.job)})

    def has(self, node):
        try:
            return os.stat(self.lab.lab.path(
                node, odd_node.PART + "/app")).st_size == self.want
        except FileNotFoundError:
            return False

    def begins(self):
        """Bytes have come everywhere. The files are there before it is known whether
        the group reaches all: that is waited for, in these labs up to 5 s."""
        def under_way(node):
            path = odd_node.temporary(self.lab.lab, node)
            return path and path.stat().st_size
        until(lambda: all(map(under_way, self.lab.names)), "the broadcast to begin",
              interval=0.001)

    def others(self, odd):
        """Seconds until all others have the file."""
        rest = [n for n in self.lab.names if n != odd]
        until(lambda: all(map(self.has, rest)), "the others to have it")
        return max(os.stat(self.lab.lab.path(n, odd_node.PART + "/app"))
                   .st_ctime for n in rest) - self.begun


def whole(lab):
    """Seconds of one to nodes that are well."""
    one = Cast(lab)
    took = one.others(None)
    run = one.run.finish()
    assert run.code == 0 and run.err == "", str(run)
    odd_node.part(lab.lab)
    return took


@contextlib.contextmanager
def casting(lab, fault, odd):
    """A broadcast in the midst of which a node has a fault. The others have the file
    when the context begins."""
    base = whole(lab)
    one = Cast(lab)
    one.begins()
    with fault(lab.lab, odd):
        took = one.others(odd)
        assert took < base + WAIT, f"{took:.2f} s beside {base:.2f}"
        yield one


def same(lab, node):
    return pathlib.Path(lab.lab.path(node, odd_node.PART + "/app")) \
        .read_bytes() == (lab.bin / "big").read_bytes()


@PLACES
def test_agent_stops(lab, odd):
    """slurmd has the file brought there by Slurm, and only there."""
    with casting(lab, odd_node.agent_stops, odd) as one:
        assert one.run.running(), one.run.err()
        run = one.run.finish()
    assert run.code == 0 and re.search(rf"\b{odd}\b", run.err), str(run)
    assert "falling back to Slurm's own messages there" in run.err, str(run)
    assert all(same(lab, node) for node in lab.names)
    lab.lab.wait_agents()


@PLACES
def test_host_goes_on(lab, odd):
    """It stands for a moment, and catches up by itself."""
    with casting(lab, odd_node.host_stops, odd) as one:
        assert not one.has(odd)
    run = one.run.finish()
    assert run.code == 0 and "falling back" not in run.err, str(run)
    assert all(same(lab, node) for node in lab.names)


@PLACES
def test_link_is_slow(lab, odd):
    """The same, of one that crawls: its losses slow no other down."""
    base = whole(lab)
    with odd_node.link_slow(lab.lab, odd, LINK):
        one = Cast(lab)
        took = one.others(odd)
        assert not one.has(odd)
        run = one.run.finish()
    assert took < base + WAIT, f"{took:.2f} s beside {base:.2f}"
    assert run.code == 0 and "falling back" not in run.err, str(run)
    assert all(same(lab, node) for node in lab.names)


@pytest.mark.parametrize("fault,words", [
    (odd_node.disk_full, "No space left on device"),
    (odd_node.disk_hangs, "does not answer")])
def test_disk(lab, fault, words):
    """The node is named, and nothing of the file stays there."""
    base = whole(lab)
    with fault(lab.lab, "n2"):
        one = Cast(lab)
        took = one.others("n2")
        run = one.run.finish()
        assert took < base + WAIT, f"{took:.2f} s beside {base:.2f}"
        assert run.code != 0 and words in run.err, str(run)
        assert set(re.findall(r"\bn\d\b", run.err)) == {"n2"}, str(run)
        if fault is odd_node.disk_full:
            until(lambda: not odd_node.temporary(lab.lab, "n2"),
                  "n2 to be tidy")
            assert not one.has("n2")
    assert all(same(lab, node) for node in lab.names if node != "n2")


def test_step_is_all_or_nothing(lab):
    """A step needs the file on all of its nodes: srun leaves it on none."""
    with odd_node.disk_full(lab.lab, "n2"):
        run = lab.srun(f"--bcast={odd_node.PART}/app -N8 -n8 {{big}} say ran")
    assert run.code != 0 and "No space left on device" in run.err, str(run)
    assert "ran" not in run.out, str(run)
    for node in lab.names:
        until(lambda node=node: lab.listing(node, odd_node.PART) == [],
              f"{node} to be tidy")
