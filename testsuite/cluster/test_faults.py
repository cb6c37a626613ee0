# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""kill -9 of an agent, of slurmd, of srun during a launch: the node is named,
nothing is left, and running tasks are unharmed."""
import contextlib
import re
import signal
import time

import pytest

from firewall import dropped
from harness import agent_stands, sanitized, until

pytestmark = pytest.mark.storm_only

#: so that what waits for one that is silent, and for one that is gone, does not wait
#: long
HASTY, BRIEF = [pytest.mark.lab_with(**{} if sanitized() else options) for options in (
    {"storm_conf": {"DeadTimeout": "2s", "Heartbeat": "400ms"}},
    {"conf": ["MessageTimeout=4"]})]


def sessions(cluster, nodes=None):
    return sum(cluster.lab.agent_stats(n)["nm"]["sessions"]
               for n in nodes or cluster.names)


def begun(cluster, node):
    """Whether a broadcast has a temporary file on the node."""
    return [f for f in cluster.listing(node) if f.startswith(".")]


def slow(cluster):
    """12 MB take two seconds: time to see that all have begun, and to kill a
    daemon."""
    cluster.lab.shape("50mbit")


def slow_broadcast(cluster, **options):
    slow(cluster)
    s = cluster.start_srun("--bcast=/tmp/app -N4 -n4 {big} say ran",
                           **options)
    until(lambda: all(begun(cluster, n) for n in cluster.names),
          "the broadcast to begin")
    return s


def running(cluster, args="-N4 -n8 {do} touch up.%t wait {dir}/go say end "
            "@5 exit 6", **options):
    s = cluster.start_srun(args, **options)
    until(lambda: all((s.dir / f"up.{i}").exists() for i in range(8)),
          "the tasks to run")
    return s


@pytest.mark.every_release
def test_agent_killed_while_tasks_run(fresh):
    """Tasks continue; their exits reach srun on another path."""
    s = running(fresh)
    fresh.lab.kill("n3", "agent")
    assert len(fresh.lab.pids("n3", "taskdo")) == 2
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)
    assert "task 5: Exited with exit code 6" in run.err, str(run)
    until(lambda: fresh.lab.pids("n3", "agent"), "a new agent")
    until(lambda: "agent" in fresh.lab.log("n3", "slurmd"), "slurmd to say so")


def test_all_agents_killed_while_tasks_run(fresh):
    s = running(fresh)
    for node in fresh.names:
        fresh.lab.kill(node, "agent")
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)


@HASTY
def test_agent_killed_during_the_broadcast(fresh):
    """The message names the node; no node shows the file, no temporary file
    stays."""
    s = slow_broadcast(fresh)
    fresh.lab.kill("n2", "agent")
    fresh.lab.shape(None)
    run = s.finish()
    if run.code == 0:           # Slurm itself sent it again
        assert run.out == "ran\n" * 4 and "n2" in run.err, str(run)
        assert run.steps[0]["odd"] == "n2", str(run)
    else:
        assert "n2" in run.err, str(run)
        assert "ran" not in run.out, str(run)
        fresh.tidied()
    fresh.clean()
    until(lambda: fresh.lab.pids("n2", "agent"), "a new agent")
    run = fresh.srun("--bcast=/tmp/app -N4 -n4 {big} say again")
    assert run.code == 0 and run.out == "again\n" * 4, str(run)


@HASTY
def test_agent_stopped_during_the_broadcast(fresh):
    """Not dead, but unresponsive: the same, and slurmd replaces it."""
    s = slow_broadcast(fresh)
    old, = fresh.lab.kill("n2", "agent", signal.SIGSTOP)
    fresh.lab.shape(None)
    run = s.finish()
    until(lambda: fresh.lab.pids("n2", "agent") not in ([], [old]),
          "another agent")
    assert "n2" in run.err, str(run)
    if run.code:
        fresh.tidied()


def test_agent_stopped_for_a_while(fresh):
    """A slow node is not dead: one message when it is slow, one when it is
    back."""
    s = running(fresh, "-v -N4 -n8 {do} touch up.%t wait {dir}/go say end "
                "@5 exit 6")
    with agent_stands(fresh.lab, "n2"):
        until(lambda: "node n2 is overdue" in s.err(), "n2 to be missed")
    until(lambda: "node n2 is back" in s.err(), "n2 to be back")
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)
    # others, too, can be slow on a busy machine, and any of them again
    words = {}
    for node, word in re.findall(r"node (n\d+) is (overdue|back)", run.err):
        words.setdefault(node, []).append(word)
    assert all(said == (["overdue", "back"] * len(said))[:len(said)]
               for said in words.values()), str(run)


def test_slurmd_killed_while_tasks_run(fresh):
    """slurmstepd and the agent work without it."""
    s = running(fresh)
    fresh.lab.kill("n3", "slurmd")
    assert len(fresh.lab.pids("n3", "taskdo")) == 2
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)


def test_slurmd_killed_and_restarted_while_tasks_run(fresh):
    """The new slurmd adopts the agent, with the session."""
    s = running(fresh)
    agent = fresh.lab.pids("n3", "agent")
    fresh.lab.kill("n3", "slurmd")
    fresh.lab.restart("n3", "slurmd")
    assert fresh.lab.pids("n3", "agent") == agent, "not adopted"
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)
    run = fresh.srun("-N4 -n4 {do} say x")
    assert run.code == 0, str(run)
    fresh.by_storm(run)


@pytest.mark.every_release
@pytest.mark.lab_with(conf=["KillWait=1"])
@pytest.mark.parametrize("odd", [[], ["n1", "n2"]])
def test_node_loses_power_and_boots_while_tasks_run(fresh, odd):
    """Its tasks have no end that anybody can report, and no other task fails. Stock's
    srun leaves them out, and exits with 0: see chaos. So did ours if the
    broadcast had fallen back, as odd nodes were too many."""
    with contextlib.ExitStack() as walls:
        for node in odd:
            walls.enter_context(dropped(fresh.lab, node, "input", "tcp dport 8383"))
        s = fresh.start_srun(("--bcast=/tmp/app " if odd else "") +
                             "-N4 -n8 {do} touch up.%t @4-5 wait {dir}/never")
        until(lambda: all((s.dir / f"up.{i}").exists() for i in range(8)),
              "the tasks to run")
    assert ("falling back to Slurm's standard launch" in s.err()) == bool(odd), s.err()
    fresh.lab.fault("kill", "n3")
    fresh.lab.heal()
    run = s.finish()
    assert run.code == 137, str(run)
    assert "srun: error: n3: tasks 4-5: Killed" in run.err, str(run)


@BRIEF
def test_slurmd_killed_before_the_launch(fresh):
    """Its agent lives and cannot deliver. The message names the node, and srun
    ends as stock's does."""
    runs = []
    for launch in ("slurm", "storm"):
        fresh.lab.kill("n3", "slurmd")
        runs.append(fresh.srun("-N4 -n4 {do} say x", launch, timeout=150))
        fresh.clean()
        fresh.lab.restart("n3", "slurmd")
    stock, storm = runs
    assert stock.code != 0 and storm.code != 0, f"{stock}\n{storm}"
    assert "n3" in storm.err, str(storm)


@pytest.mark.every_release
def test_slurmd_restarted_by_the_administrator(fresh):
    s = running(fresh)
    fresh.lab.restart("n2", "slurmd")
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)


@HASTY
def test_srun_killed_during_the_broadcast(fresh):
    """The agents notice, and remove the files and sessions."""
    s = slow_broadcast(fresh)
    s.signal(signal.SIGKILL)
    s.process.wait(60)
    fresh.lab.shape(None)
    fresh.tidied()
    until(lambda: sessions(fresh) == 0, "the sessions' end")


@HASTY
def test_sbcast_storm_killed(fresh):
    slow(fresh)
    s = fresh.start("sbcast_storm {big} /tmp/app",
                    env={"SLURM_JOB_ID": str(fresh.job)})
    until(lambda: all(begun(fresh, n) for n in fresh.names), "the begin")
    s.signal(signal.SIGKILL)
    s.process.wait(60)
    fresh.lab.shape(None)
    fresh.tidied()


@HASTY
def test_sbcast_storm_interrupted(fresh):
    """ctrl-C: no file, no temporary."""
    slow(fresh)
    s = fresh.start("sbcast_storm {big} /tmp/app",
                    env={"SLURM_JOB_ID": str(fresh.job)})
    until(lambda: all(begun(fresh, n) for n in fresh.names), "the begin")
    s.signal(signal.SIGINT)
    run = s.finish()
    fresh.lab.shape(None)
    assert run.code != 0, str(run)
    fresh.tidied()


def test_srun_interrupted_during_the_broadcast(fresh):
    s = slow_broadcast(fresh)
    s.signal(signal.SIGINT)
    run = s.finish()
    fresh.lab.shape(None)
    assert run.code != 0 or run.out == "ran\n" * 4, str(run)
    if run.code:
        until(lambda: not any(begun(fresh, n) for n in fresh.names),
              "no temporaries")


@HASTY
def test_srun_killed_while_tasks_run(fresh):
    """Its step and its sessions end (by a shepherd process, as for stock's
    srun). The tasks of another step are unharmed."""
    other = running(fresh, "--overlap -N4 -n8 {do} touch up.%t wait {dir}/go "
                    "say end @5 exit 6")
    for launch in ("slurm", "storm"):
        s = running(fresh, "--overlap -onone -enone -inone -N4 -n8 {do} "
                    "touch up.%t block", launch=launch)
        s.signal(signal.SIGKILL)
        s.process.wait(60)
        until(lambda: sum(len(fresh.lab.pids(n, "taskdo"))
                          for n in fresh.names) == 8,
              f"the end of the step of the killed srun, {launch}")
    until(lambda: sessions(fresh) == 4, "the end of its session")
    (other.dir / "go").touch()
    run = other.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)
    until(lambda: sessions(fresh) == 0, "the end of all sessions")


@HASTY
def test_srun_killed_at_any_moment(fresh):
    """During the launch, a little later each time: no session stays, and the
    next srun works."""
    for ms in range(5, 105, 12):
        # the steps of those that were killed need not be over
        s = fresh.start(fresh.srun_argv("--overlap --bcast=/tmp/app -N4 -n8 "
                                        "{do} sleep 0.1", "storm"))
        time.sleep(ms / 1000)
        s.signal(signal.SIGKILL)
        s.process.wait(60)
    until(lambda: sessions(fresh) == 0, "the sessions' end")
    until(lambda: not any(begun(fresh, n) for n in fresh.names),
          "no temporaries")
    fresh.clean()
    run = fresh.srun("--bcast=/tmp/app -N4 -n8 {do} say x")
    assert run.code == 0, str(run)
    fresh.by_storm(run)


def test_slurmctld_restarted_while_tasks_run(fresh):
    s = running(fresh)
    fresh.lab.restart("ctl", "slurmctld")
    (s.dir / "go").touch()
    run = s.finish()
    assert run.code == 6 and run.out == "end\n" * 8, str(run)
    until(lambda: fresh.lab.node_states(), "slurmctld")


def test_agent_restarts_are_counted_in_the_log(fresh):
    fresh.lab.kill("n1", "agent")
    until(lambda: fresh.lab.pids("n1", "agent"), "a new agent")
    until(lambda: re.search(r"agent.*(died|killed|ended|signal)",
                            fresh.lab.log("n1", "slurmd")),
          lambda: "slurmd to say why: " + fresh.lab.log("n1", "slurmd")[-2000:])
