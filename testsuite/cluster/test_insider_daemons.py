# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What a daemon of ours does not survive, or does not do in time, hurts nobody for
long: an agent that hangs, one that cannot die, a port that a user wants, a nursery
that is killed, files of ours that are damaged or do not fit."""
import contextlib
import ctypes
import os
import re
import signal
import subprocess

import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import until
from test_bcast import GREET, put_greet

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
                       r"for \d+ s: replacing it"), "slurmd to miss it")
    agent_of(fresh, "n2", old)
    until(lambda: not os.path.exists(f"/proc/{old}"), "the end of the old one")
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
              "slurmd to leave it behind")
        agent_of(fresh, "n2", old)
        assert os.path.exists(f"/proc/{old}")
        by_storm(fresh)
    finally:
        held.let_go()
    until(lambda: said(fresh, "n2", r"the agent \(pid \d+\), which was left "
                       "behind, has ended"), "slurmd to bury it")
    until(lambda: not os.path.exists(f"/proc/{old}"), "its end")


# -- the port -------------------------------------------------------------------

def test_user_never_gets_the_port(fresh):
    """slurmd keeps it while no agent runs, also after a restart of slurmd."""
    one = grabber(fresh, "n2")
    for restart in (False, True):
        if restart:
            fresh.lab.restart("n2", "slurmd")
            # until then an agent that ends leaves the port to anybody
            until(lambda: said(fresh, "n2", "adopted the agent, pid"),
                  "the new slurmd to get the sockets")
        for sig in (signal.SIGKILL, signal.SIGTERM):
            old, = fresh.lab.kill("n2", "agent", sig)
            agent_of(fresh, "n2", old)
    assert one.out() == "ready\n", one.out()
    by_storm(fresh)


def test_port_of_storm_conf_has_changed(fresh):
    """The next slurmd keeps the new one, and the old one is free."""
    with open(fresh.lab.path("ctl", "/etc/slurm/storm.conf"), "a") as f:
        f.write(f"Port={PORT + 1}\n")
    for node in fresh.names:
        fresh.lab.restart(node, "slurmd")
    one = grabber(fresh, "n2")
    until(lambda: "got" in one.out(), "the old port to be free")
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
                       r"\(python3[^)]*\) of uid 20001"), "its name")
    until(lambda: not fresh.lab.pids("n2", "agent"), "no agent")
    one.signal(signal.SIGKILL)
    one.process.wait(120)
    agent_of(fresh, "n2")
    until(lambda: said(fresh, "n2", f"port {PORT} is free again"), "its end")
    assert len(said(fresh, "n2", f"port {PORT} is in use")) == 1
    by_storm(fresh)


# -- helpers ----------------------------------------------------------------------

def helper(c, node, name):
    """Its pid, as soon as there is one."""
    until(lambda: c.lab.pids(node, name), f"{name} on {node}")
    return c.lab.pids(node, name)[0]


def test_nursery_killed(fresh):
    """As the kernel does when memory is short. Every --bcast on the node failed
    for ever; now the next one works, and no session is lost."""
    s = fresh.start_srun("-N4 -n4 --bcast=/tmp/one {do} touch up.%t wait "
                         "{dir}/go say x")
    until(lambda: all((s.dir / f"up.{i}").exists() for i in range(4)),
          "the tasks to run")
    agent = fresh.lab.pids("n2", "agent")
    for i in range(3):
        old = helper(fresh, "n2", "storm_nursery")
        os.kill(old, signal.SIGKILL)
        until(lambda: [p for p in fresh.lab.pids("n2", "storm_nursery")
                       if p != old], "another nursery")
        by_storm(fresh, f"--overlap -N4 -n4 --bcast=/tmp/two.{i} {{do}} say x")
    # slurmd writes what its agent says, a moment later
    until(lambda: len(said(fresh, "n2", r"storm_nursery, pid \d+\) was killed by "
                           "signal 9")) == 3, "a word for each")
    assert fresh.lab.pids("n2", "agent") == agent
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 0 and run.out == "x\n" * 4, str(run)
    fresh.by_storm(run)


def test_nursery_hangs(fresh):
    """It is stopped, or stands in the kernel. Every --bcast on the node failed for
    ever; now another one is there within seconds, before a broadcast gives up."""
    agent = fresh.lab.pids("n2", "agent")
    old = helper(fresh, "n2", "storm_nursery")
    os.kill(old, signal.SIGSTOP)
    by_storm(fresh, "-N4 -n4 --bcast=/tmp/one {do} say x")
    assert helper(fresh, "n2", "storm_nursery") != old

    def late():
        return said(fresh, "n2", r"storm_nursery, pid (\d+)\) has not answered for "
                    "5 s: replacing it")
    pids = until(late, "the words")
    # one line for each that hangs
    assert len(set(pids)) == len(pids), pids
    assert fresh.lab.pids("n2", "agent") == agent


def test_nursery_that_does_not_stay(fresh):
    """Then the agent ends, and slurmd starts all anew."""
    agent, = fresh.lab.pids("n2", "agent")

    def kill():
        for pid in fresh.lab.pids("n2", "storm_nursery"):
            with contextlib.suppress(ProcessLookupError):   # it ends with its agent
                os.kill(pid, signal.SIGKILL)
        return agent not in fresh.lab.pids("n2", "agent")

    until(kill, "the agent to end", interval=0)
    agent_of(fresh, "n2", agent)
    until(lambda: said(fresh, "n2", "storm_agent: the process that starts storm_file "
                       "does not stay: the agent ends"), "its last words")
    by_storm(fresh)


def test_no_child_without_files(fresh):
    """A step that runs for days after its --bcast holds no process beside it."""
    s = fresh.start_srun("-N4 -n4 --bcast=/tmp/one {do} touch up.%t wait "
                         "{dir}/go say x")
    until(lambda: all((s.dir / f"up.{i}").exists() for i in range(4)),
          "the tasks to run")
    until(lambda: not any(fresh.lab.pids(n, "storm_file") for n in fresh.names),
          "the children to end")
    assert fresh.agent("n2", "sessions") == 1
    (s.dir / "go").touch()
    fresh.by_storm(s.finish())


def test_children_of_a_user(fresh):
    """So many broadcasts at once as a job can begin: 32 children at most, and
    each broadcast succeeds."""
    fresh.lab.shape("200mbit")
    before = fresh.agent("n2", "sessions_total")
    runs = [fresh.start_srun(f"--overlap -N1 -w n2 -n1 --bcast=/tmp/f.{i} {{big}} "
                             "say x") for i in range(40)]
    most, slow = 0, True
    while any(r.running() for r in runs):
        most = max(most, len(fresh.lab.pids("n2", "storm_file")))
        # when all have begun, nobody needs to wait for the network
        if slow and fresh.agent("n2", "sessions_total") >= before + len(runs):
            fresh.lab.shape(None)
            slow = False
    for r in runs:
        run = r.finish()
        assert run.code == 0 and run.out == "x\n", str(run)
    print(f"{most} children at once")
    assert 0 < most <= 32, most


@pytest.mark.long       # the agents check every half minute
def test_directories_of_a_job_are_removed_by_one_process(fresh):
    """The nursery stands still, so what the agent asks it for can be counted:
    each child is a socket. Its keeper, too: it would replace the nursery."""
    put_greet(fresh)
    job = fresh.allocate(1, "-w", "n2")
    for i in range(24):
        run = fresh.run(f"srun --launch=storm --jobid={job} --send-libs "
                        f"--bcast=/tmp/u.{i} {{bin}}/uselib", env=GREET)
        assert run.code == 0, str(run)
    agent, = fresh.lab.pids("n2", "agent")
    until(lambda: not fresh.lab.pids("n2", "storm_file"), "the children to end")
    for name in ("storm_keeper", "storm_nursery"):
        fresh.lab.kill("n2", name, signal.SIGSTOP)
    before = len(os.listdir(f"/proc/{agent}/fd"))
    fresh.cancel(job)
    until(lambda: len(os.listdir(f"/proc/{agent}/fd")) > before, "the removal")
    assert fresh.agent("n2", "sessions") == 0       # it has asked for all
    asked = len(os.listdir(f"/proc/{agent}/fd")) - before
    for name in ("storm_nursery", "storm_keeper"):
        fresh.lab.kill("n2", name, signal.SIGCONT)
    until(lambda: not any(f.endswith("_libs") for f in fresh.listing("n2")),
          "the directories to go")
    assert asked <= 2, asked


# -- files of ours ----------------------------------------------------------------

def tear(path):
    """Half of a file, with a byte changed."""
    with open(path, "r+b") as f:
        data = f.read()
        assert data, path
        f.seek(len(data) // 4)
        f.write(bytes([data[len(data) // 4] ^ 1]))
        f.truncate((len(data) + 1) // 2)


@pytest.fixture
def gang():
    need_cgroup2()
    c = make("torn", 2, kind=Gang, quantum=20)
    yield c
    c.down()


def test_torn_files(gang):
    """Each daemon starts clean, and names the file in one line."""
    state = "/var/lib/slurm/slurmctld/"
    run = "/run/slurm-storm/n2/"
    gang.two_jobs()
    gang.alternate()
    for job in gang.jobs():
        gang.cancel(job)
    gang.lab.end("n2", "slurmd")
    gang.lab.kill("n2", "agent")
    gang.lab.end("ctl", "slurmctld")
    torn = [("n2", run + "domain"), ("n2", run + "gang"), ("n2", run + "trace"),
            ("ctl", state + "storm_gang")]
    for host, path in torn:
        tear(gang.lab.path(host, path))
    for name in ("libdirs", "steps/9.0.99"):
        with open(gang.lab.path("n2", run + name), "w") as f:
            f.write("storm step 4 0 9 0 0 99 1 cgroup2 /sys/fs/cgr")
    gang.lab.restart("ctl", "slurmctld")
    gang.lab.restart("n2", "slurmd")
    gang.two_jobs()
    gang.alternate()
    log = gang.lab.log("ctl", "slurmctld")
    assert len(re.findall(r"storm_gang is damaged: the cluster domain goes on in "
                          r"epoch \d+, after the one before", log)) == 1
    assert len(said(gang, "n2", f"cannot use {run}domain, so this node waits")) == 1
    assert len(said(gang, "n2", f"cannot use {run}libdirs, so libraries")) == 1


def test_full_disk(gang):
    """/run has no room: the node does not take turns, and everything else
    works. The agent tries again."""
    gang.lab.end("n2", "slurmd")
    gang.lab.end("n2", "agent")
    done = gang.lab.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=755", "none",
                         "/run/slurm-storm"], host="n2")
    assert done.returncode == 0, done.stderr
    gang.lab.restart("n2", "slurmd")
    until(lambda: said(gang, "n2", "gang scheduling cannot start, jobs on this "
                       "node take no turns, trying again: No space left on "
                       "device"), "the agent to say so")
    run = gang.srun("-p gang -N2 -n2 --bcast=/tmp/app {do} say x", alone=True)
    assert run.code == 0 and run.out == "x\n" * 2, str(run)
    gang.by_storm(run)
