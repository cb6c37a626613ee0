# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A user chooses a file system that does not answer, or one that is full for
users: nobody else waits, and no more is written than the user may write."""
import json
import os
import pathlib
import shutil
import time

import pytest

from harness import until

pytestmark = pytest.mark.storm_only

HANG = pathlib.Path(__file__).with_name("fuse_hang.py")

#: an agent gives a file system up after 10 s without an answer
PATIENCE = 10


def host_pids(cluster, node):
    """{pid: name} of the processes of STORM's in a node."""
    text = cluster.root("ps -e -o pid=,comm=", host=node)
    return {int(line.split()[0]): line.split()[1]
            for line in text.splitlines() if "storm" in line}


def files_processes(cluster, node):
    return [pid for pid, name in host_pids(cluster, node).items()
            if name == "storm_file"]


def agent_log(cluster, node):
    return cluster.lab.log(node, "slurmd")


class Hang:
    """fuse_hang.py in a node, on /tmp/hang, which is a directory like any other elsewhere."""

    def __init__(self, cluster, node, *what):
        self.cluster, self.node = cluster, node
        for name in cluster.names:
            cluster.root("mkdir -m 1777 /tmp/hang", host=name)
        r, w = os.pipe()
        self.to = os.fdopen(w, "w")
        self.run = cluster.start(["python3", str(HANG), "/tmp/hang", *what],
                                 host=node, user="root", cwd="/",
                                 label="hang", stdin=os.fdopen(r))
        self.until("ready")

    def until(self, word):
        until(lambda: word in self.run.out(),
              lambda: f"{word}: {self.run.out()}{self.run.err()}")

    def answer(self):
        self.to.write("\n")
        self.to.flush()

    def end(self):
        self.to.close()
        self.run.process.wait(120)
        self.cluster.remove("/tmp/hang")


@pytest.fixture
def hang(fresh):
    if not os.path.exists("/dev/fuse"):
        pytest.skip("SKIP: there is no /dev/fuse here")
    h = Hang(fresh, "n2")
    yield h
    h.end()


def quick(cluster, job):
    """Another user's launch with a broadcast: its time, launched by STORM."""
    cluster.remove("/tmp/other")
    begun = time.monotonic()
    run = cluster.start(["srun", "--launch=storm", f"--jobid={job}", "-N4",
                         "--bcast=/tmp/other", "/tmp/mine", "say", "fine"], user="other", cwd="/tmp",
                        env={"STORM_TIMELINE": "/tmp/timeline"}).finish(60)
    took = time.monotonic() - begun
    assert run.code == 0, str(run)
    step = json.loads(cluster.file("login", "/tmp/timeline"))
    assert step["launch"] == "storm" and step["fallback"] is None, step
    return took


def test_hung_file_system(fresh, hang):
    """A broadcast to a file system that hangs ends by itself and names node and
    reason. Meanwhile the node's agent serves everybody else."""
    fresh.root("install -m 755 /home/user/bin/big /tmp/mine")
    job = fresh.allocate(4, "--ntasks-per-node=2", user="other")

    def usual():
        return sorted(quick(fresh, job) for _ in range(3))[1]

    quiet = usual()
    before = files_processes(fresh, "n2")
    victim = fresh.start_srun("--bcast=/tmp/hang/app -N4 {big} say never")
    begun = time.monotonic()
    hang.until("hung")
    slow = []
    while victim.running():
        fresh.agent("n2")               # --stats answers
        slow.append(quick(fresh, job))
        assert time.monotonic() < begun + PATIENCE + 60, "it does not end"
    run = victim.finish()
    assert run.code != 0
    assert "n2" in run.err and "the file system does not answer" in run.err, \
        str(run)
    # others may use this machine, too, but not all the time; an agent that waits for
    # the file system does so for PATIENCE
    quiet = max(quiet, usual())
    assert min(slow) < 2 * quiet, f"{slow}, quiet {quiet}"
    assert max(slow) < quiet + PATIENCE / 2, f"{slow}, quiet {quiet}"
    # on the other nodes nothing is left, and the log names what happened
    for node in ("n1", "n3", "n4"):
        until(lambda: fresh.listing(node, "/tmp/hang") == [], f"{node} to be tidy")
    until(lambda: "the file system does not answer" in agent_log(fresh, "n2"),
          "the log's words")

    # one process waits, killed or not; it cleans up when it can
    def hung():
        return set(files_processes(fresh, "n2")) - set(before)

    until(lambda: len(hung()) == 1, lambda: f"one process, not {hung()}")
    hang.answer()
    until(lambda: not hung(), "the end of the process that hung")
    hang.until("empty")                 # its temporary has gone
    until(lambda: fresh.agent("n2")["sessions"] == fresh.agent("n1")["sessions"],
          "the sessions to end")


def test_left_behind(fresh, hang):
    """It is killed, and named as long as that does not help."""
    victim = fresh.start_srun("--bcast=/tmp/hang/app -N4 {big} say never")
    hang.until("hung")
    assert victim.finish().code != 0
    until(lambda: "is left behind" in agent_log(fresh, "n2"), "its name")
    (left,) = files_processes(fresh, "n2")
    assert f"storm_file process {left} " in agent_log(fresh, "n2")
    hang.answer()
    until(lambda: not files_processes(fresh, "n2"), "its end")
    until(lambda: f"process {left} of uid 20001 has ended"
          in agent_log(fresh, "n2"), "that the log says so")


def test_a_mount_of_its_own(fresh):
    """In a namespace of its own a user's process has another /tmp. Neither the user's
    next file nor another user's goes there."""
    holder = fresh.start_srun(
        "-N4 -n4 --overlap unshare -Urm sh -c 'mount -t tmpfs mine /tmp && "
        "touch /tmp/mine && echo ready && exec {do} block'")
    until(lambda: holder.out().count("ready") == 4 or not holder.running(),
          "the namespaces")
    assert holder.running(), holder.err()
    run = fresh.srun("--overlap --bcast=/tmp/app -N4 -n4 {big} say ran")
    assert run.code == 0 and run.out == "ran\n" * 4, str(run)
    fresh.by_storm(run)
    want = (fresh.bin / "big").read_bytes()
    for node in fresh.names:
        assert fresh.file(node, "/tmp/app") == want, node
        task, = until(lambda: fresh.lab.pids(node, "taskdo"), "the first task")
        assert os.listdir(f"/proc/{task}/root/tmp") == ["mine"]
    fresh.remove("/tmp/app")


def test_reserved_blocks(fresh):
    """A file that is larger than what users may use of a file system fails:
    blocks reserved for root stay so. (A stock slurmd writes as root, and uses
    them.)"""
    if not shutil.which("mkfs.ext2"):
        pytest.skip("SKIP: no mkfs.ext2 here")
    for node in fresh.names:
        fresh.root("mkdir -m 1777 /tmp/small", host=node)
    # 20 MB, half of them root's; ext2 cannot reserve space at the begin
    fresh.root("dd if=/dev/zero of=/tmp/image bs=1M count=20 status=none",
               host="n2")
    fresh.root("mkfs.ext2 -q -F -m 50 /tmp/image", host="n2")
    done = fresh.lab.run(["mount", "-o", "loop", "/tmp/image", "/tmp/small"],
                         host="n2", cwd="/")
    if done.returncode:
        pytest.skip(f"SKIP: no loop mount here: {done.stderr.strip()}")
    try:
        fresh.root("chmod 1777 /tmp/small", host="n2")
        free = fresh.root("stat -f -c '%f %a' /tmp/small", host="n2")
        run = fresh.srun("--bcast=/tmp/small/app -N4 {big} say never")
        assert run.code != 0, str(run)
        assert "No space left on device" in run.err, str(run)
        until(lambda: fresh.listing("n1", "/tmp/small") == [], "n1 to be tidy")
        # once storm_file has closed it
        until(lambda: fresh.root("stat -f -c '%f %a' /tmp/small",
                                 host="n2") == free, "its blocks to be free")
    finally:
        fresh.root("umount /tmp/small", host="n2")
