# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A flood at a node whose jobs take turns, and what it costs: how late strobes
are, the jobs' CPU time, and the agent's. What is compared is measured by turns,
quiet and flooded, as others use the machine, too.
"""
import contextlib
import os
import pathlib
import statistics
import subprocess
import time
import typing

from gang import Gang
from harness import HERE, until
from lab import net

KINDS = ["garbage", "header", "copy", "connect", "owner"]
#: datagrams, or connections, in a second
RATES = {"connect": 2000}
RATE = 93_000
QUANTUM = 4     # ms
NEAR = 10       # strobes


class Part(typing.NamedTuple):
    """What a part of a run has measured."""
    late50: float   # seconds
    late99: float
    jobs: float     # CPU seconds of the jobs in a second
    agent: float    # ... and of the agent
    rate: float     # datagrams that the node got in a second


def run_time(pid):
    """The CPU seconds of a process's threads."""
    total = 0
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):      # it has just ended
            total += int(path.read_text().split()[0])
    return total / 1e9


class Flooded(Gang):
    """A node of one core, on which two jobs take turns all the time."""

    def __init__(self, name, **options):
        super().__init__(name, 1, gang=3, quantum=QUANTUM, **options)
        flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["cc", *flags, HERE.parent / "programs/flood.c", "-o",
                        self.bin / "flood"], check=True)

    def begin_jobs(self):
        for _ in range(2):
            self.begin("{do} spin 1000000", nodes=1)
        self.until(lambda: len(self.jobs()) == 2, "two jobs")
        self.alternate()
        self.last = self.mark("n1") - 1     # of the trace's events, as read

    def seen_from_here(self):
        """The pids of the tasks, outside of the lab's namespaces."""
        found = []
        space = os.stat(f"/proc/{self.lab.pid('n1')}/ns/pid").st_ino
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (proc / "comm").read_text() == "taskdo\n" and \
                        os.stat(proc / "ns/pid").st_ino == space:
                    found.append(int(proc.name))
            except OSError:
                pass
        return found

    def flood(self, kind, seconds, decoy=False):
        """decoy: as much, but to the sender's own host, where nobody
        listens."""
        address = self.root("getent hosts n1").split()[0]
        if decoy:
            kind, address = "garbage" if kind != "connect" else kind, \
                "127.0.0.1"
        one = self.start(["{bin}/flood", kind, str(RATES.get(kind, RATE)),
                          str(seconds), address], user="root" if kind == "spoof" else "user",
                         cwd="/tmp", label="flood")
        until(lambda: "ready" in one.out(), lambda: f"the flood: {one.err()}")
        return one

    def measure(self, strobes):
        """For so many strobes of the node."""
        agent, = self.lab.pids("n1", "storm_agent")
        jobs = self.seen_from_here()
        came, begun = self.received(), time.monotonic_ns()
        before = [run_time(p) for p in [agent, *jobs]]
        found = []

        def enough():
            new = self.trace("n1", self.last + 1)
            self.last = new[-1]["n"] if new else self.last
            found.extend(e for e in new if e["what"] == "slot" and
                         e["at"] > begun)
            return len(found) >= strobes

        self.until(enough, f"{strobes} strobes", 0.2)
        spent = [b - a for a, b in zip(before, [run_time(p)
                                                for p in [agent, *jobs]])]
        seconds = (time.monotonic_ns() - begun) / 1e9
        late = self.lateness(found)
        return Part(statistics.median(late),
                    statistics.quantiles(late, n=100)[98],
                    sum(spent[1:]) / seconds, spent[0] / seconds,
                    (self.received() - came) / seconds)

    def received(self):
        return net.counters(self.lab.pid("n1"), "eth0")["rx_packets"]

    @staticmethod
    def lateness(slots):
        """How much later than the earliest of its neighbours each strobe was
        obeyed, by its number. (A strober that is late puts off all that
        follow.)"""
        at = [e["at"] - e["strobe"] * QUANTUM * 1_000_000 for e in slots]
        return [(t - min(at[max(0, i - NEAR):i + NEAR + 1])) / 1e9
                for i, t in enumerate(at)]

    def part(self, kind, strobes, decoy):
        flood = self.flood(kind, 60, decoy)
        found = self.measure(strobes)
        flood.signal(9)
        flood.process.wait(60)
        return found

    def compare(self, kind, rounds, strobes):
        """[(quiet, flooded)]: in the quiet parts somebody floods nobody, so
        that other users of the machine have as much of it."""
        return [tuple(self.part(kind, strobes, decoy) for decoy in (True, False))
                for _ in range(rounds)]
