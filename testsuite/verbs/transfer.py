# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Files across the machines by across.c, for tests and for contribs/bench."""
import hashlib
import json
import os
import pathlib

import vm
from vm import SECONDS, until

VALGRIND = bool(os.environ.get("STORM_VALGRIND"))
BUILD = pathlib.Path(os.environ.get("STORM_BUILD") or vm.TOP / "_build")


def program(folder, name):
    path = BUILD / "testsuite" / folder / name
    assert path.exists(), (f"{path} is not built: 'testsuite/run verbs' does "
                           "that, or STORM_BUILD says where it is")
    return path


def has_verbs(path):
    return b"ibv_" in path.read_bytes()


def sanitized(path):
    return b"__asan_init" in path.read_bytes()


def lines(command, word):
    """The rest of those lines of its output that begin with this word."""
    return [l.split(maxsplit=1)[1] for l in command.out.splitlines()
            if l.startswith(word + " ")]


def stat(command, name):
    return int(dict(s.split() for s in lines(command, "stat"))[name])


def counters(command):
    """The counters of its transport: {"udp": {...}, "verbs": {...}}."""
    return json.loads(lines(command, "counters")[0])


class Transfer:
    """Nodes on all machines, and an owner on the first of them."""

    def __init__(self, machines, transport, **settings):
        self.machines = machines
        self.dropped = [[machines.dropped(i, k) for k in range(vm.CARDS)]
                        for i in range(machines.count)]
        self.across = program("verbs", "across")
        # what a test that failed has left
        machines.run("pkill -9 -x across; rm -rf /tmp/across")
        words = {"transport": transport, "fallback": 0, **settings}
        self.words = " ".join(f"{k}={v}" for k, v in words.items())
        self.nodes = [machines.start(
            i, f"mkdir /tmp/across; "
            f"{self.across} node {self.words} root=/tmp/across")
            for i in range(machines.count)]
        for n in self.nodes:
            until(lambda: "ready" in n.out or n.code is not None, "a node")
            assert n.code is None, str(n)
        self.owner = machines.start(
            0, f"{self.across} owner {machines.inside}/payload {self.words}")

    def finish(self):
        """Wait for the owner's and the nodes' ends."""
        assert self.machines.wait([self.owner], SECONDS), str(self.owner)
        alive = [n for n in self.nodes if self.machines.up[n.machine]]
        assert self.machines.wait(alive, SECONDS), str(alive[0])
        for n in alive:
            assert n.code == 0, str(n)
        return self

    def strobes_shown(self, card=0):
        """All nodes received all strobes in order, except for at most as many
        as this host lost on its network card."""
        told = self.lines("strobe")
        assert len(told) == self.stat("strobes") > 0, str(self.owner)
        for n in self.nodes:
            came = lines(n, "strobe")
            assert came == [s for s in told if s in came], f"{self.owner}{n}"
            lost = (self.machines.dropped(n.machine, card)
                    - self.dropped[n.machine][card])
            assert len(told) - len(came) <= lost, \
                f"{lost} datagrams were lost by this host\n{self.owner}{n}"
        return told

    def lines(self, word):
        return lines(self.owner, word)

    def stat(self, name):
        return stat(self.owner, name)

    def digests(self):
        """{machine: SHA-256 of its file}, "" if there is none."""
        where = [i for i in range(self.machines.count) if self.machines.up[i]]
        return {c.machine: c.out[:64] for c in self.machines.run(
            "sha256sum </tmp/across/f 2>/dev/null", where)}

    def all_have(self, payload, but=()):
        whole = hashlib.sha256(payload.read_bytes()).hexdigest()
        assert self.digests() == {i: whole for i in range(self.machines.count)
                                  if i not in but}
