# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Gang scheduling on a lab: gang_tests.py, also with other means to stop
steps."""
import contextlib
import datetime
import glob
import os
import pathlib
import re
import resource
import subprocess
import time

import pytest

import gang_tests
from conftest import make, need_cgroup2
from gang import NODES, Gang, groups_below
from gang_tests import *  # noqa: F401, F403
from harness import EPILOG, HERE, LONG, until
from lab.host import REAL_TIME, daemon_command

pytestmark = pytest.mark.storm_only


def make_gang(what, **options):
    # so long that a test which had to wait for it would fail
    options.setdefault("storm_conf", {}).setdefault("DeadTimeout", "60s")
    return make(what, options.pop("nodes", NODES), kind=Gang, **options)


@pytest.fixture(scope="module")
def gang():
    need_cgroup2()
    c = make_gang("gang", conf=[f"Epilog={EPILOG}"])
    c.with_epilog()
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _named(request):
    if "gang" not in request.fixturenames:
        yield
        return
    c = request.getfixturevalue("gang")
    c.current = re.sub(r"\W+", "_", request.node.name)[:60]
    yield
    c.end_jobs()


def out_of_turn(cluster, node):
    """The stopped jobs according to the agent, and, by the states of their
    tasks on all nodes, according to the kernel: without groups of version 2
    there is no other source."""
    last = {(e["job"], e["step"]): e["what"] for e in cluster.trace(node)
            if e["what"] in ("stop", "continue", "gone")}
    return {job for (job, _), what in last.items() if what == "stop" and
            set(cluster.task_states(job)) in ({"T"}, {"D"})}


def signals_out_of_turn(cluster):
    """They do their work at once, as with groups of version 2."""
    for sig in ("TERM", "KILL"):
        job = gang_tests.stand_still(cluster, lambda n: out_of_turn(cluster, n))
        cluster.root(f"scancel -s {sig} {job}")
        cluster.gone(job)
        if sig == "TERM":
            gang_tests.caught_by_one(cluster)
        cluster.set_quantum(cluster.quantum)
        cluster.end_jobs()


def groups_left(c):
    """The nodes' groups that nobody has, after the lab's end. All labs of this
    machine share the tree of CPU time, of version 1: in a group of another lab's
    there are processes."""
    others = f"/stormlab\\.(?!{re.escape(c.lab.name)}/)"
    return [p for p in glob.glob("/sys/fs/cgroup/**/slurm-storm/n[12]",
                                 recursive=True)
            if not re.search(others, p) and not processes(p)]


def processes(group):
    found = ""
    for path in groups_below(group, "cgroup.procs"):
        with contextlib.suppress(OSError):      # it has just gone
            found += (path / "cgroup.procs").read_text()
    return found


@pytest.mark.parametrize("how, kind", [("signals", 2), ("freezer", 3)])
def test_other_ways(how, kind):
    """They end, and nothing is left of them."""
    if how == "freezer" and not any(
            " - cgroup " in line and line.rstrip().endswith("freezer")
            for line in open("/proc/self/mountinfo")):
        pytest.skip("SKIP: no freezer of version 1 here")
    c = make_gang("gang-" + how, storm_conf={"Freezer": how},
                  conf=["SlurmdDebug=verbose"])
    try:
        gang_tests.finish(c)
        for node in c.names:
            kinds = {e["a"] for e in c.trace(node) if e["what"] == "step"}
            assert kinds == {kind}
        signals_out_of_turn(c)
        if how == "signals" or LONG:
            gang_tests.debugger_left_alone(c)
            gang_tests.suspended_script_stays(c)
    finally:
        c.down()
    until(lambda: not groups_left(c), lambda: f"{groups_left(c)} to go")


def test_without_switch():
    """SwitchType is Slurm's: the site went from stage 5 of doc/install.md to
    stage 8."""
    c = make_gang("gang-none", switch="none", conf=["SlurmdDebug=verbose"])
    try:
        # from 23.11 on none is none
        assert re.search(r"SwitchType *= (switch/none|\(null\))\n",
                         c.root("scontrol show config"))
        gang_tests.test_two_jobs_take_turns(c)
        gang_tests.suspended_script_stays(c)
        c.two_jobs()
        c.end_jobs()
    finally:
        c.down()


@pytest.mark.every_release
def test_held_back_by_slurm(gang, still):  # noqa: F811
    """scontrol suspend: Slurm's order has precedence."""
    def states():
        return gang.task_states(still)

    gang.root(f"scontrol suspend {still}")
    gang.until(gang.all_run, "nothing of ours to stand still")
    gang.until(lambda: states() == ["T"] * NODES, "Slurm to stop its tasks")
    for _ in range(gang.looks):
        assert states() == ["T"] * NODES
    gang.root(f"scontrol resume {still}")
    gang.until(lambda: len(gang.jobs()) == 2, "both to run")
    gang.until(lambda: "T" not in states(), "Slurm to let it go on")
    for _ in range(gang.looks):
        now = states()
        assert len(now) == NODES and "T" not in now, now


def other_record(text, job):
    """The record of a step (src/gang/gang_step.c) as another job's, whose control group
    is gone; and its name."""
    words = text.split()
    words[4], words[10], words[11] = str(job), words[10] + "/gone", "-"
    body, total = " ".join(words[:-1]) + " ", 0xcbf29ce484222325
    for byte in body[14:].encode():     # what is after the mark
        total = (total ^ byte) * 0x100000001b3 % 2 ** 64
    return f"{job}.0.{words[7]}", f"{body}{total:016x}\n"


def test_step_that_cannot_be_watched(gang):
    """The log has it once, and anew if it happens again."""
    steps = pathlib.Path(gang.lab.path("n1", "/run/slurm-storm/n1/steps"))

    def said():
        return gang.lab.log("n1", "slurmd").count("cannot watch step 9999.0.")

    for times in (1, 2):
        gang.begin("{do} spin 10000000")
        record = gang.until(lambda: [p for p in steps.glob("[1-9]*")],
                            "a record")[0]
        name, text = other_record(record.read_text(), 9999)
        (steps / ".new").write_text(text)
        (steps / ".new").rename(steps / name)
        gang.until(lambda n=times: said() >= n, f"the agent to say it ({times})")
        (steps / name).unlink()
        # a listing that has a new step does not have that one any more
        since = gang.mark("n1")
        gang.begin("{do} spin 10000000")
        gang.until(lambda at=since: [e for e in gang.trace("n1", at)
                                     if e["what"] == "step"], "another step")
        gang.end_jobs()
    assert said() == 2


def test_agent_without_descriptors(gang):
    """It cannot read which steps there are. Those that it knows go on taking turns, and
    later ones do so as soon as it can."""
    lab = gang.lab
    steps = pathlib.Path(lab.path("n1", "/run/slurm-storm/n1/steps"))

    def said():
        return lab.log("n1", "slurmd").count("cannot read the records of steps in ")

    def takes_them():
        """It may have had some more for a moment."""
        used = {int(fd) for fd in os.listdir(f"/proc/{agent}/fd")}
        resource.prlimit(agent, resource.RLIMIT_NOFILE,
                         (min(set(range(len(used) + 1)) - used), limits[1]))
        (steps / ".new").touch()        # so it looks at them
        (steps / ".new").unlink()
        return said()

    gang.two_jobs()
    agent, = lab.pids("n1", "agent")
    limits = resource.prlimit(agent, resource.RLIMIT_NOFILE)
    try:
        gang.until(takes_them, "the agent to say it")
        gang.alternate()
    finally:
        resource.prlimit(agent, resource.RLIMIT_NOFILE, limits)
    gang.end_jobs()
    gang.two_jobs()


def test_no_inotify_instance_is_left(gang):
    """Containers use them up: 128 for each user. Nothing here needs one."""
    lab, daemons = gang.lab, {"n1": "slurmd", "ctl": "slurmctld"}
    for host, daemon in daemons.items():
        lab.end(host, daemon)
        if host == "n1":
            lab.kill(host, "agent")
        lab.put(HERE / "no_inotify.py", host, "/tmp/no_inotify.py")
        gang.root(["python3", "/tmp/no_inotify.py",
                   *daemon_command(host, daemon)], host=host)
    try:
        lab.wait_attached("n1")
        lab.wait_idle()
        gang_tests.test_two_jobs_take_turns(gang)
    finally:
        for host, daemon in daemons.items():
            lab.restart(host, daemon)
        lab.restart("n1", "agent")
        lab.wait_idle()


def threads(pid):
    """[(name, scheduling policy)] of a process's threads"""
    found = []
    for t in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):      # it has just ended
            policy = os.sched_getscheduler(int(t)) & ~os.SCHED_RESET_ON_FORK
            name = pathlib.Path(f"/proc/{pid}/task/{t}/comm").read_text()
            found.append((name.strip(), policy))
    return found


def real_time(pid):
    """The names of a process's threads with a real-time priority."""
    return [name for name, policy in threads(pid)
            if policy == os.SCHED_FIFO]


def locked(pid):
    """Whether the process has locked memory."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmLck:\s*(\d+)", status)[1]) > 0


def need_real_time():
    """A lab's strober has real-time priority if it can be given and no limit
    forbids it."""
    status = pathlib.Path("/proc/self/status").read_text()
    bound = int(re.search(r"CapBnd:\s*(\w+)", status)[1], 16)
    if not all(bound >> bit & 1 for bit in REAL_TIME.values()) or \
            subprocess.run(["chrt", "-f", "20", "true"], check=False,
                           capture_output=True).returncode:
        pytest.skip("SKIP: this machine gives no real-time priority")


def test_real_time(gang, two):  # noqa: F811
    """The strober has priority over the jobs and never waits for a page, but
    for its threads that read what anybody may send. So has an agent's thread
    that takes strobes, but only while there are turns, and the thread of signs of
    life, at both ends; the kernel lets nothing else to its socket."""
    need_real_time()
    agents = [gang.lab.pids(n, "agent") for n in gang.names]
    strober, = gang.lab.pids("ctl", "storm_strober")
    assert sorted(real_time(strober)) == ["storm_clock", "storm_pulse", "storm_strober"]
    assert locked(strober)
    for pid, in agents:
        assert sorted(real_time(pid)) == ["storm_pulse", "storm_strobe"] and locked(pid)
    gang.end_jobs()
    for pid, in agents:
        gang.until(lambda: real_time(pid) == ["storm_pulse"] and not locked(pid),
                   "an agent like others again")
    gang.two_jobs()
    for pid, in agents:
        gang.until(lambda: "storm_strobe" in real_time(pid) and locked(pid),
                   "it to go first again")


def test_trace_tells_the_time(gang):
    """The wall clock time of each event."""
    since = gang.mark("n1")
    begun = time.time()
    gang.begin("{do} say bye").finish()
    gang.until(lambda: [e for e in gang.trace("n1", since)
                        if e["what"] == "gone"], "its end")
    events = gang.trace("n1", since)
    ended = time.time()
    times = [datetime.datetime.fromisoformat(e["time"]) for e in events]
    # they are truncated to microseconds
    assert begun - 1e-5 <= times[0].timestamp(), (begun, events)
    assert times[-1].timestamp() <= ended, (ended, events)
    assert times == sorted(times)
    assert all(t.utcoffset() == t.astimezone().utcoffset() for t in times)
    for e, t in zip(events, times):
        off = (e["at"] - events[0]["at"]) / 1e9 - \
            (t - times[0]).total_seconds()
        assert abs(off) < 1e-5, (events[0], e)
