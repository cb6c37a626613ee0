# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Processes whose memory is small, on a machine that has more: a control group
with a limit, and a swap file."""
import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

from .result import NotRun


def controller():
    """(directory of the memory controller, name of a group's limit)"""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, options = line.split()[:4]
        if kind == "cgroup" and "memory" in options.split(","):
            return pathlib.Path(where), "memory.limit_in_bytes"
        control = pathlib.Path(where, "cgroup.subtree_control")
        if kind == "cgroup2" and "memory" in control.read_text().split():
            return pathlib.Path(where), "memory.max"
    raise NotRun("this machine has no control groups with a memory controller")


@contextlib.contextmanager
def small_group(limit):
    """A function that puts processes into a group that has so many bytes of
    memory, shared by all of them."""
    top, name = controller()
    group = pathlib.Path(tempfile.mkdtemp(prefix="storm_bench-", dir=top))
    try:
        (group / name).write_text(str(limit))

        def put(pids):
            for pid in pids:
                (group / "cgroup.procs").write_text(str(pid))
        yield put
    finally:
        end = time.monotonic() + 30
        while (group / "cgroup.procs").read_text():
            if time.monotonic() > end:
                raise NotRun(f"processes stay in {group}")
            time.sleep(0.02)
        group.rmdir()


@contextlib.contextmanager
def swap_file(size, directory="/var/tmp"):
    """A swap file of the machine, on a disk."""
    fd, path = tempfile.mkstemp(prefix="storm_bench.swap.", dir=directory)
    try:
        os.posix_fallocate(fd, 0, size)
        os.close(fd)
        for argv in ["mkswap", path], ["swapon", path]:
            done = subprocess.run(argv, capture_output=True, text=True)
            if done.returncode:
                raise NotRun(f"no swap file: {done.stderr.strip()}")
        try:
            yield
        finally:
            subprocess.run(["swapoff", path], check=True)
    finally:
        os.unlink(path)
