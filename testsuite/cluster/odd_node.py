# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""One node of a lab that is not as the others: its agent or all of it stands still, its
link is slow, its disk is full or never answers. Each fault is a context with the lab
and the node; PART is where its files are."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading

from lab import host as hosts, net
from lab.sysdep import pids_in_namespace

#: a directory that all nodes have
PART = "/tmp/part"
HANG = pathlib.Path(__file__).with_name("fuse_hang.py")
#: on a link of this speed
SLOW = "10mbit"


def part(lab):
    """Make PART on all nodes, empty."""
    for node in lab.nodes:
        path = pathlib.Path(lab.path(node, PART))
        path.mkdir(exist_ok=True)
        path.chmod(0o1777)
        for left in path.iterdir():
            left.unlink()


def temporary(lab, node):
    """The file that is on its way to PART of the node; None: none is."""
    for path in pathlib.Path(lab.path(node, PART)).iterdir():
        if path.name.startswith("."):
            return path
    return None


def each_process(lab, node, number):
    for pid in pids_in_namespace(lab.pid(node)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@contextlib.contextmanager
def agent_stops(lab, node):
    """slurmd replaces it after 5 s."""
    stopped = lab.kill(node, "agent", signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def host_stops(lab, node):
    """As a virtual machine that is paused. Its kernel still answers."""
    each_process(lab, node, signal.SIGSTOP)
    try:
        yield
    finally:
        each_process(lab, node, signal.SIGCONT)


def shape(lab, node, rate):
    """The node's link, in both directions; None: as fast as it can be."""
    net.shape(lab.pid(hosts.SWITCH), {node: lab.pid(node)}, rate)


@contextlib.contextmanager
def link_slow(lab, node, before=None):
    """`before`: the rate of all links."""
    shape(lab, node, SLOW)
    try:
        yield
    finally:
        shape(lab, node, before)


@contextlib.contextmanager
def disk_full(lab, node):
    """Room for 4 MB."""
    lab.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=1777", "full", PART],
            host=node, cwd="/", check=True)
    try:
        yield
    finally:
        lab.run(["umount", "-l", PART], host=node, cwd="/", check=True)


@contextlib.contextmanager
def disk_hangs(lab, node):
    """A file can be made, and no write is answered."""
    with lab.popen([sys.executable, str(HANG), PART], host=node, user="root",
                   cwd="/", stdin=subprocess.PIPE, text=True,
                   stdout=subprocess.PIPE) as hang:
        try:
            assert hang.stdout.readline() == "ready\n"
            threading.Thread(target=hang.stdout.read, daemon=True).start()
            yield
        finally:
            hang.stdin.write("\n")
            hang.stdin.close()
