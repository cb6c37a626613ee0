# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What a lab of many hosts needs of the machine.

The kernel has one table of neighbours (ARP) for all network namespaces. Where
it is full, packets to further neighbours are discarded: nodes lose each other.
`up` raises its limits, and the last `down` restores them. A lab's record has
what it has added and what there was before.
"""
import contextlib
import fcntl
import os
import resource
import sys

from .sysdep import LabError

#: Above the first limit the kernel clears the table all the time, above the
#: second one it discards packets.
LIMITS = ("net.ipv4.neigh.default.gc_thresh2",
          "net.ipv4.neigh.default.gc_thresh3")

#: With so many hosts the table is large enough by default.
FEW = 24

#: what a node with an agent takes while it runs a step, in bytes and threads
NODE_BYTES = 12 << 20
NODE_THREADS = 30

#: descriptors of `up`, beside a pipe for each host
OWN_FILES = 64


def _path(limit):
    return "/proc/sys/" + limit.replace(".", "/")


def _number(path):
    with open(path) as f:
        return int(f.read())


def _meminfo(key):
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) * 1024 for line in f
                    if line.startswith(key + ":"))


def _threads():
    with open("/proc/loadavg") as f:
        return int(f.read().split()[3].split("/")[1])


@contextlib.contextmanager
def _alone(directory):
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def check(nodes):
    """Raise LabError if the machine has no room for so many nodes."""
    hosts = nodes + 3
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hosts + OWN_FILES <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    needs = (
        ("bytes of memory", nodes * NODE_BYTES, _meminfo("MemAvailable"),
         "start fewer nodes"),
        ("processes and threads", nodes * NODE_THREADS,
         min(_number("/proc/sys/kernel/pid_max"),
             _number("/proc/sys/kernel/threads-max")) - _threads(),
         "raise kernel.pid_max and kernel.threads-max with sysctl"),
        ("descriptors", hosts + OWN_FILES, hard, "raise it with ulimit -Hn"))
    for what, need, there, remedy in needs:
        if need > there:
            raise LabError(f"{nodes} nodes take {need} {what}, and there is "
                           f"room for {there}: {remedy}")


def _set(values):
    for limit, value in values.items():
        with open(_path(limit), "w") as f:
            f.write(str(value))


def _together(before, labs):
    added = sum(lab["more"] for lab in labs)
    return {limit: value + added for limit, value in before.items()}


def make_room(directory, hosts, others):
    """Let each host have each other one as a neighbour. `others` returns what
    this function has returned for the labs that are up in the directory of
    labs. None: the limits stay."""
    if hosts <= FEW:
        return None
    more = hosts * hosts
    with _alone(directory):
        labs = [lab for lab in others() if lab]
        try:
            before = labs[0]["before"] if labs else \
                {limit: _number(_path(limit)) for limit in LIMITS}
            mine = {"before": before, "more": more}
            _set(_together(before, labs + [mine]))
            return mine
        except OSError:
            print("stormlab: cannot raise the limits of the kernel's table of "
                  "neighbours; if nodes lose each other, have root run on the "
                  "machine itself: sysctl -w "
                  + " ".join(f"{limit}={more}" for limit in LIMITS),
                  file=sys.stderr)
            return None


def give_back(directory, mine, others):
    """The lab is gone that has made room. What somebody has changed meanwhile
    stays."""
    if not mine:
        return
    with _alone(directory), contextlib.suppress(OSError):
        labs = [lab for lab in others() if lab]
        was = _together(mine["before"], labs + [mine])
        if all(_number(_path(limit)) == was[limit] for limit in LIMITS):
            _set(_together(mine["before"], labs))
