# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Policy=flexible: on each node others fill the gaps of a job that sleeps in
its turns, and nothing is left behind: no step stands, and none gives way (cpu.idle)
once it has no reason to.
"""
import contextlib
import os
import signal

import pytest

import mpis
from conftest import make, need_cgroup2, need_cpu_idle
from gang import NODES, Gang, cpu_mount, groups_below
from harness import sanitized, until
from test_insider_files import Hang

pytestmark = pytest.mark.storm_only

ENOUGH = 10


class Flexible(Gang):
    def cpu_groups(self, node):
        # other labs have nodes of these names
        mine = self.mine(node)
        return {step: idle for step, idle in super().cpu_groups(node).items()
                if step in mine}

    def mine(self, node):
        return set(self.records(node)) | set(self.groups(node))

    def fills(self, since, job=None):
        """Whether fillers, of this job, were seen often enough on all nodes."""
        return all(len([e for e in self.trace(n, since[n])
                        if e["what"] == "continue" and e["why"] == "fills" and
                        job in (None, e["job"])]) >= ENOUGH
                   for n in self.names)

    def wait_for_fillers(self, job=None):
        since = {n: self.mark(n) for n in self.names}
        self.until(lambda: self.fills(since, job), "steps that fill gaps", 0.1)

    def all_as_without_us(self, node):
        """Nothing stands, and nothing gives way."""
        groups = self.cpu_groups(node)
        return groups and not any(groups.values()) and not self.stand(node)


@pytest.fixture(scope="module")
def flexible():
    need_cgroup2()
    need_cpu_idle()
    c = make("flexible", NODES, kind=Flexible, gang=3,
             storm_conf={"Partition": "gang Policy=flexible"})
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _end(flexible):
    yield
    flexible.end_jobs()

    def left():
        return [p for p in groups_below(cpu_mount(), "cgroup.procs")
                if p.parent.parts[-2] == "slurm-storm" and
                p.parent.name in flexible.names and p.name in ours]

    until(lambda: not left(), lambda: f"{left()} to go")


#: the steps of this test, in all nodes
ours = set()


def sleeper_and_spinner(c):
    """Returns the second one's job."""
    c.begin("{do} block")
    sleeper, = c.until(c.jobs, "the job that sleeps")
    c.begin("{do} spin 10000000")
    spinner, = c.until(lambda: set(c.jobs()) - {sleeper}, "the other one")
    c.wait_for_fillers(spinner)
    ours.clear()
    ours.update(*(c.mine(n) for n in c.names))
    return spinner


def test_gaps_are_filled(flexible):
    """The job that computes runs in the turns of the one that sleeps, giving way;
    the latter has its turns all the same."""
    spinner = sleeper_and_spinner(flexible)
    flexible.alternate()
    for node in flexible.names:
        assert len(flexible.cpu_groups(node)) == 2
        gives_way = [s for s, idle in flexible.cpu_groups(node).items() if idle]
        assert all(s.startswith(f"{spinner}.") for s in gives_way)
        assert flexible.agent(node, "gang_fills") >= ENOUGH


def test_two_that_compute_fill_nothing(flexible):
    """From when they are known: both began with some turns asleep, maybe."""
    for _ in range(2):
        flexible.begin("{do} spin 10000000")
    flexible.until(lambda: len(flexible.jobs()) == 2, "two jobs")
    ours.clear()

    def strict():
        since = {n: flexible.mark(n) for n in flexible.names}
        flexible.alternate(since)
        return not any(e.get("why") == "fills" for n in flexible.names
                       for e in flexible.trace(n, since[n]))

    flexible.until(strict, "strict turns")


@pytest.fixture
def sleeper(flexible):
    flexible.begin("{do} block")
    return flexible.until(flexible.jobs, "the job that sleeps")[0]


def other_job(c, known):
    """The job that begins now. The groups of all of them are to go."""
    job, = c.until(lambda: set(c.jobs()) - set(known), "another job")
    c.until(lambda: all(len(c.records(n)) == len(known) + 1 for n in c.names),
            "its records")
    ours.clear()
    ours.update(*(c.mine(n) for n in c.names))
    return job


@pytest.mark.skipif(sanitized(), reason="SKIP: the programs of MPI are not built "
                    "with the sanitizers")
@pytest.mark.parametrize("name", list(mpis.MPIS))
def test_mpi_leaves_gaps_to_one_that_computes(flexible, sleeper, name):
    """A program that meets every 100 us fills gaps, until another job could use
    all of them."""
    mpis.need(name)
    mpis.build(name, "bsp.c", flexible.bin / f"bsp.{name}")
    flexible.begin(f"-n{NODES} {mpis.MPIS[name][1]} --storm-wait=spin "
                   f"{{bin}}/bsp.{name} 1000000000 {{dir}}/go",
                   given={"go": ""})
    mpi = other_job(flexible, [sleeper])
    flexible.wait_for_fillers(mpi)
    flexible.begin("{do} spin 10000000")
    spinner = other_job(flexible, [sleeper, mpi])

    def left():
        since = {n: flexible.mark(n) for n in flexible.names}
        flexible.until(lambda: flexible.fills(since, spinner), "its fills", 0.1)
        return not any(e.get("why") == "fills" and e["job"] == mpi
                       for n in flexible.names
                       for e in flexible.trace(n, since[n]))

    flexible.until(left, "gaps that MPI leaves")
    flexible.root(f"scancel {spinner}")
    flexible.wait_for_fillers(mpi)


def test_forged_account(flexible, sleeper):
    """A task writes what it likes into its account, cannot change its size, and
    harms nobody: it fills gaps as before, and the same agents go on."""
    agents = {n: flexible.lab.pids(n, "agent") for n in flexible.names}
    forger = flexible.begin(
        "--storm-wait=spin sh -c 'fd=${STORM_WAIT_PAGE%%:*}; "
        "true 2>/dev/null >/proc/self/fd/$fd || echo refused; "
        "head -c 64 /dev/zero | tr \\\\0 \\\\377 >&$fd; exec {do} spin 10000000'")
    job = other_job(flexible, [sleeper])
    flexible.wait_for_fillers(job)
    assert agents == {n: flexible.lab.pids(n, "agent")
                      for n in flexible.names}
    flexible.root(f"scancel {job}")
    done = forger.finish()
    assert done.out.count("refused") == NODES, str(done)


#: Let / be DIR for this process, in a user namespace of its own.
ELSEWHERE = """\
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
where, uid, gid = sys.argv[1].encode(), os.getuid(), os.getgid()
if libc.unshare(0x10020000):            # CLONE_NEWUSER | CLONE_NEWNS
    sys.exit("SKIP")
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"),
                   ("gid_map", f"0 {gid} 1")):
    with open(f"/proc/self/{name}", "w") as f:
        f.write(text)
assert not libc.mount(None, b"/", None, 0x44000, None)      # private
assert not libc.mount(where, where, None, 0x5000, None)     # bind
os.chdir(where)
assert not libc.syscall(155, b".", b".")                    # pivot_root
assert not libc.umount2(b".", 2)
os.chdir("/")
print("pid", os.getpid(), flush=True)
time.sleep(1000)
"""


def test_file_that_is_named_as_an_account(flexible, sleeper):
    """A step's output goes to a user's file system, which root must not wait for.
    Its name in /proc is that of an account. The agent opens nothing of it."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("SKIP: there is no /dev/fuse here")
    hang = Hang(flexible, "n1", "root")
    try:
        other = flexible.start(["python3", "-c", ELSEWHERE, "/tmp/hang"],
                               host="n1", cwd="/tmp", label="elsewhere")
        until(lambda: "pid" in other.out() or not other.running(),
              "another root")
        if "SKIP" in other.err():
            pytest.skip("SKIP: users may make no namespaces here")
        # srun leaves a file with %t in its name to slurmstepd
        flexible.root(f"ln -s /proc/{other.out().split()[1]}/root /tmp/d0",
                      host="n1")
        since = flexible.mark("n1")
        flexible.begin("--label -wn1 --output='/tmp/d%t/memfd:storm_wait "
                       "(deleted)' {do} spin 10000000", nodes=1)
        job, = flexible.until(lambda: set(flexible.jobs()) - {sleeper},
                              "the job")
        ours.clear()
        flexible.until(
            lambda: ENOUGH < len([e for e in flexible.trace("n1", since)
                                  if e.get("why") == "fills" and
                                  e["job"] == job]), "fills", 0.1)
        assert "hung" not in hang.run.out(), "root has asked it"
    finally:
        hang.answer()
        flexible.end_jobs()
        other.signal(signal.SIGKILL)
        flexible.remove("/tmp/d0")
        hang.end()


def test_agent_killed(flexible):
    """Its guards take cpu.idle back, and the next agent goes on."""
    sleeper_and_spinner(flexible)
    since = flexible.mark("n1")
    flexible.lab.kill("n1", "agent")
    flexible.until(lambda: [e for e in flexible.trace("n1", since)
                            if e["what"] == "begin"], "a new agent")
    flexible.wait_for_fillers()


def test_agent_stopped(flexible):
    """slurmd's guard lets everything run as without us, while the agent stands."""
    sleeper_and_spinner(flexible)
    agents = flexible.lab.pids("n1", "storm_agent")
    flexible.signal_all("n1", ["storm_agent"], signal.SIGSTOP)
    try:
        until(lambda: flexible.all_as_without_us("n1"), "the guard")
        for _ in range(flexible.looks):
            assert flexible.all_as_without_us("n1")
    finally:
        for pid in agents:
            with contextlib.suppress(ProcessLookupError):   # slurmd ended it
                os.kill(pid, signal.SIGCONT)
    flexible.wait_for_fillers()


def test_no_strober(flexible):
    """Without strobes nothing gives way."""
    sleeper_and_spinner(flexible)
    flexible.signal_all("ctl", ["storm_strober"], signal.SIGSTOP)
    try:
        for node in flexible.names:
            until(lambda n=node: flexible.all_as_without_us(n), "silence")
    finally:
        flexible.signal_all("ctl", ["storm_strober"], signal.SIGCONT)
    flexible.wait_for_fillers()


def test_killed_while_it_fills(flexible):
    """The step ends at once, and leaves no group."""
    spinner = sleeper_and_spinner(flexible)
    flexible.root(f"scancel -s KILL {spinner}")
    flexible.until(lambda: spinner not in flexible.jobs(), "its end")
    for node in flexible.names:
        flexible.until(lambda n=node: len(flexible.groups(n)) == 1,
                       "its group to go")
        flexible.until(lambda n=node: flexible.all_as_without_us(n),
                       "the other one to run")
