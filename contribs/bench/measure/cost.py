# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What a transfer costs besides time: bytes that the root sends, processor time,
memory."""
import contextlib
import os
import pathlib
import threading
import time

from lab import sysdep

PAGE = os.sysconf("SC_PAGE_SIZE")
#: where the kernel tells nanoseconds of all its tasks; else there are ticks
USAGE = [pathlib.Path(p) for p in ("/sys/fs/cgroup/cpuacct/cpuacct.usage",
                                   "/sys/fs/cgroup/cpu/cpuacct.usage")]


def cpu_seconds():
    """Processor time of this machine's tasks so far, of all hosts of a lab and
    of whatever else runs here."""
    for path in USAGE:
        with contextlib.suppress(OSError):
            return int(path.read_text()) / 1e9
    with contextlib.suppress(OSError, IndexError):
        words = pathlib.Path("/sys/fs/cgroup/cpu.stat").read_text().split()
        if words[0] == "usage_usec":
            return int(words[1]) / 1e6
    words = pathlib.Path("/proc/stat").read_text().split()[1:9]
    user, nice, system, _, _, irq, softirq, _ = map(int, words)
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def sent_bytes(where):
    """What the login host has sent."""
    if where.lab:
        return where.lab.counters("login")["tx_bytes"]
    return sum(int(path.read_text()) for path in pathlib.Path(
        "/sys/class/net").glob("[!l]*/statistics/tx_bytes"))


@contextlib.contextmanager
def counted(where, found):
    """Puts into `found` what the body costs: bytes that the login host sends,
    and in a lab CPU seconds of all hosts."""
    had, used = sent_bytes(where), cpu_seconds()
    yield
    found["bytes"] = sent_bytes(where) - had
    if where.lab:
        found["cpu"] = cpu_seconds() - used


def own_memory(pids):
    """Bytes that these processes have for themselves, without what is mapped
    from files."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/statm").read_text().split()
            total += (int(words[1]) - int(words[2])) * PAGE
    return total


class Peak:
    """By how much the memory of each host's processes grows, at most, while the
    body of a `with` runs. It costs processor time, so such a run's time does
    not count."""

    def __init__(self, lab, hosts):
        self.roots = {host: lab.pid(host) for host in hosts}
        self.before = {host: self.now(host) for host in hosts}
        self.grown = dict.fromkeys(hosts, 0)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def now(self, host):
        return own_memory(sysdep.pids_in_namespace(self.roots[host]))

    def watch(self):
        while not self.over.is_set():
            for host in self.roots:
                self.grown[host] = max(self.grown[host], self.now(host)
                                       - self.before[host])
            time.sleep(0.005)

    def __enter__(self):
        self.thread.start()
        return self.grown

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
