# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What a daemon of ours does not survive, or does not do in time, hurts nobody for
long: an agent that hangs, one that cannot die, a port that a user wants, a nursery
that is killed, files of ours that are damaged or do not fit."""
import ctypes
import os
import re
import signal
import subprocess

import pytest

from harness import until

pytestmark = pytest.mark.storm_only

PORT = 8383

#: A user's program that takes the port as soon as it is free, in every way that
#: the kernel offers. It writes what it has got, and keeps it.
GRAB = f"""\
import itertools, socket, sys, time
SO = [socket.SO_REUSEADDR, socket.SO_REUSEPORT]
print("ready", flush=True)
got = []
while not got:
    for kind, reuse in itertools.product(
            (socket.SOCK_DGRAM, socket.SOCK_STREAM), ([], SO[:1], SO[1:], SO)):
        s = socket.socket(socket.AF_INET, kind)
        for option in reuse:
            s.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            s.bind(("", {PORT}))
            if kind == socket.SOCK_STREAM:
                s.listen(5)
            got.append(s)
            break
        except OSError:
            s.close()
print("got", got, flush=True)
time.sleep(3600)
"""


def by_storm(c, args="-N4 -n4 --bcast=/tmp/app {do} say x"):
    """An srun that STORM launches, as soon as all agents are there again."""
    c.lab.wait_agents()
    run = c.srun(args)
    assert run.code == 0 and run.out == "x\n" * 4, str(run)
    c.by_storm(run)


def agent_of(c, node, old=None):
    """Wait for an agent that is not `old`, and for its answers."""
    until(lambda: [p for p in c.lab.pids(node, "agent") if p != old],
          "a new agent")
    c.lab.wait_agents([node])


def grabber(c, node):
    one = c.start(["python3", "-c", GRAB], host=node, user="user")
    until(lambda: "ready" in one.out(), "the user's program")
    return one


def said(c, node, text):
    return re.findall(text, c.lab.log(node, "slurmd"))


# -- an agent that does not answer --------------------------------------------

def test_agent_that_stands_still_is_replaced(fresh):
    """slurmd misses its pings; its death was all that it saw."""
    old, = fresh.lab.kill("n2", "agent", signal.SIGSTOP)
    until(lambda: said(fresh, "n2", rf"the agent \(pid \d+\) has not answered "
                       r"for \d+ s: replacing it"), "slurmd to miss it", 20)
    agent_of(fresh, "n2", old)
    assert not os.path.exists(f"/proc/{old}")
    by_storm(fresh)


class Traced:
    """A process that does not die by SIGKILL: a tracer that is told of its exit
    (PTRACE_O_TRACEEXIT) holds it there. It then behaves as one that waits for
    a disk in state D: dead to all that it serves, with open descriptors."""
    SEIZE, DETACH, TRACEEXIT, WALL = 0x4206, 17, 0x40, 0x40000000

    def __init__(self, pid):
        self.pid = pid
        self.ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p,
                                ctypes.c_void_p]
        self.call(self.SEIZE, self.TRACEEXIT)

    def call(self, what, data=0):
        if self.ptrace(what, self.pid, None, data):
            raise OSError(ctypes.get_errno(), "ptrace")

    def let_go(self):
        until(lambda: os.waitpid(self.pid, os.WNOHANG | self.WALL)[0],
              "the process to reach its end")
        self.call(self.DETACH)


def test_agent_that_cannot_die_is_left_behind(fresh):
    """It is named, the next one has its port, and it is buried when it ends."""
    old, = fresh.lab.pids("n2", "agent")
    held = Traced(old)
    try:
        os.kill(old, signal.SIGKILL)
        until(lambda: said(fresh, "n2", r"the agent \(pid \d+\) does not die by "
                           r"SIGKILL: it hangs in the kernel, in state \w"),
              "slurmd to leave it behind", 30)
        agent_of(fresh, "n2", old)
        assert os.path.exists(f"/proc/{old}")
        by_storm(fresh)
    finally:
        held.let_go()
    until(lambda: said(fresh, "n2", r"the agent that was left behind \(pid \d+\) "
                       "has ended"), "slurmd to bury it", 20)
    until(lambda: not os.path.exists(f"/proc/{old}"), "its end")


# -- the port -------------------------------------------------------------------

def test_user_never_gets_the_port(fresh):
    """slurmd keeps it while no agent runs, also after a restart of slurmd."""
    one = grabber(fresh, "n2")
    for restart in (False, True):
        if restart:
            fresh.lab.restart("n2", "slurmd")
        for sig in (signal.SIGKILL, signal.SIGTERM):
            old, = fresh.lab.kill("n2", "agent", sig)
            agent_of(fresh, "n2", old)
    assert one.out() == "ready\n", one.out()
    by_storm(fresh)


def test_user_who_has_the_port_is_named(fresh):
    """No slurmd ran, so nobody kept it."""
    fresh.lab.end("n2", "slurmd")
    fresh.lab.end("n2", "agent")
    one = grabber(fresh, "n2")
    until(lambda: "got" in one.out(), "the user to get the port")
    line = fresh.lab.command("n2", ["slurmd"], cwd="/")[0]
    subprocess.run(line, stdin=subprocess.DEVNULL, check=True, timeout=60)
    until(lambda: said(fresh, "n2", rf"port {PORT} is in use by process \d+ "
                       r"\(python3[^)]*\) of uid 20001"), "its name", 30)
    assert not fresh.lab.pids("n2", "agent")
    one.signal(signal.SIGKILL)
    one.process.wait(30)
    agent_of(fresh, "n2")
    assert said(fresh, "n2", f"port {PORT} is free again")
    assert len(said(fresh, "n2", f"port {PORT} is in use")) == 1
    by_storm(fresh)
