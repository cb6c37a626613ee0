# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""ctrl-C once and twice, signals to srun, scancel of steps and jobs, signals
by scancel, time limits."""
import contextlib
import glob
import re
import signal
import time

import pytest

import normal
from firewall import dropped
from harness import compare, until

ONE_MORE = "interrupt (one more within 1 sec to abort)"


def all_up(s, tasks):
    try:
        until(lambda: all((s.dir / f"up.{i}").exists()
                          for i in range(tasks)), f"{tasks} tasks to start",
              interval=0.0003)
    except AssertionError as e:
        raise AssertionError(f"{e}: {s.argv}\n{s.out()}{s.err()}") from None


def computes(pid):
    """Whether a thread of the process runs, or waits for a processor."""
    for stat in glob.glob(f"/proc/{pid}/task/*/stat"):
        with contextlib.suppress(OSError), open(stat) as f:
            if f.read().rsplit(")", 1)[1].split()[0] in "RD":
                return True
    return False


def told_all(cluster):
    """Wait until srun knows all starts: its messages about tasks depend on it, in
    stock, too. It cannot be seen. But while a start is on its way one of these has
    work to do, or for a moment none, as a datagram is lost."""
    hosts = {"login": ["srun"],
             **{n: ["slurmstepd", "storm_agent"] for n in cluster.names}}
    pids = [p for host, names in hosts.items() for name in names
            for p in cluster.lab.pids(host, name)]
    for _ in range(30):
        until(lambda: not any(map(computes, pids)),
              "srun, slurmstepds and agents to rest")
        time.sleep(0.01)


def scenario(cluster, args, play, alone=False, storm=True, only=None,
             cancelled=False, **options):
    """Start, wait until every task has touched up.RANK, play, compare."""
    runs = []
    for launch in ("slurm", "storm"):
        s = cluster.start_srun(args, launch, alone=alone, **options)
        words = args.split()
        tasks = int(next(w for w in words if w.startswith("-n"))[2:])
        all_up(s, tasks)
        told_all(cluster)
        play(s)
        runs.append(s.finish())
    compare(*runs, only=only, cancelled=cancelled)
    if storm:
        cluster.by_storm(runs[1])
    return runs


def test_words_for_an_end():
    """Of a step that is cancelled either is right, but not none; of others each
    counts."""
    aborted = ("srun: Job step aborted: Waiting up to 7 seconds for job step to "
               "finish.\n")
    forced = "srun: Force Terminated StepId=13.0\n"
    both, none = aborted + forced, ""
    said = [normal.stderr(text, cancelled=True)
            for text in (aborted, forced, both, none)]
    assert said == [[normal.ENDED]] * 3 + [[]]
    assert normal.stderr(aborted) == ["srun: Job step aborted"]
    if normal.later():
        return
    assert normal.stderr(forced) == ["srun: Force Terminated StepId=J.S"]


def only_step(cluster):
    def one():
        steps = cluster.steps()
        return steps[0] if len(steps) == 1 else None
    return until(one, "one step")


def ctrl_c_twice(s):
    """Within a second: on a busy machine not always the first two are."""
    answers = 0
    while True:
        s.signal(signal.SIGINT)
        until(lambda: s.err().count(ONE_MORE) > answers
              or "sending Ctrl-C" in s.err(), "srun's answer", interval=0.0003)
        if s.err().count(ONE_MORE) == answers:
            return
        answers += 1    # the first, or this came later than in a second


@pytest.mark.every_mode
def test_ctrl_c_twice(cluster):
    """The second SIGINT within a second ends the step. (Which tasks are still
    reported is a race in stock.)"""
    for run in scenario(cluster, "-N4 -n8 {do} touch up.%t block", ctrl_c_twice,
                        only=["code", "out"]):
        assert "sending Ctrl-C to" in run.err
        assert "forcing job termination" in run.err


def test_ctrl_c_once_shows_state(cluster):
    """A single SIGINT only lists the tasks that run; the step continues."""
    def play(s):
        s.signal(signal.SIGINT)
        until(lambda: "tasks 0-7: running" in s.err(), "the state of tasks")
        (s.dir / "go").touch()

    scenario(cluster, "-N4 -n8 {do} touch up.%t wait {dir}/go", play)


def test_ctrl_c_once_quit_on_interrupt(cluster):
    """-q: one SIGINT is enough. (Which tasks are listed is a race in
    stock.)"""
    def play(s):
        s.signal(signal.SIGINT)

    scenario(cluster, "--quit-on-interrupt -N4 -n4 {do} touch up.%t block",
             play, only=["code", "out"])


def test_ctrl_c_twice_tasks_catch_it(cluster):
    # The tasks' ends race with the second ctrl-C.
    scenario(cluster, "-N2 -n2 {do} catch 2 touch up.%t await 2 exit 5",
             ctrl_c_twice, only=["code", "out"])


def aborted_by(cluster, sig):
    for run in scenario(cluster, "-N4 -n4 {do} touch up.%t block",
                        lambda s: s.signal(sig), cancelled=True):
        assert "srun: Job step aborted" in run.err, str(run)


def test_sigterm_to_srun(cluster):
    aborted_by(cluster, signal.SIGTERM)


def test_sighup_to_srun(cluster):
    aborted_by(cluster, signal.SIGHUP)


@pytest.mark.parametrize("sig", ["USR1", "USR2"])
def test_signal_to_srun_is_forwarded(cluster, sig):
    number = int(signal.Signals["SIG" + sig])

    def play(s):
        s.signal(number)

    scenario(cluster, f"-N4 -n4 {{do}} catch {number} touch up.%t "
             f"await {number}", play)


@pytest.mark.every_mode
def test_scancel_step(cluster):
    def play(s):
        cluster.root(f"scancel {only_step(cluster)}")

    scenario(cluster, "-N4 -n8 {do} touch up.%t block", play, cancelled=True)


@pytest.mark.parametrize("late, says", [
    (["login"], "Force Terminated"),
    (["n1", "n2", "n3", "n4"], "Job step aborted")])
def test_scancel_step_in_either_order(cluster, late, says):
    """What slurmctld sends to srun, or to the nodes, is lost at first. TCP sends it
    again a second later, and srun has the exits first, or last."""
    ctl = cluster.root("getent hosts ctl").split()[0]

    def play(s):
        with contextlib.ExitStack() as firewalls:
            for host in late:
                firewalls.enter_context(dropped(
                    cluster.lab, host, "input",
                    f"ip saddr {ctl} tcp flags & (syn | ack) == syn"))
            cluster.root(f"scancel {only_step(cluster)}")
            until(lambda: says in s.err(), lambda: f"{says}: {s.err()}")

    for run in scenario(cluster, "-N4 -n4 {do} touch up.%t block", play):
        assert len(normal.ENDS.findall(run.err)) == 1, str(run)


@pytest.mark.parametrize("sig", ["USR1", "INT", "TERM"])
def test_scancel_signal_to_step(cluster, sig):
    number = int(signal.Signals["SIG" + sig])

    def play(s):
        cluster.root(f"scancel -s {sig} {only_step(cluster)}")

    stock, storm = scenario(
        cluster, f"-N8 -n8 {{do}} catch {number} touch up.%t await {number}",
        play)
    assert storm.out.count(f"got signal {number}") == 8


def test_scancel_kill_step(cluster):
    def play(s):
        cluster.root(f"scancel -s KILL {only_step(cluster)}")

    scenario(cluster, "-N4 -n4 {do} touch up.%t block", play, cancelled=True)


def job_named(cluster, name):
    return until(lambda: cluster.root(
        f"squeue -h -n {name} -t R -o %i").strip(), "the job")


@pytest.mark.every_mode
def test_scancel_job(cluster):
    def play(s):
        job = job_named(cluster, "victim")
        cluster.root(f"scancel {job}")

    scenario(cluster, "-J victim -w n1,n2,n3,n4 -N4 -n4 {do} touch up.%t block",
             play, alone=True, cancelled=True)


def test_scancel_signal_to_job(cluster):
    def play(s):
        job = job_named(cluster, "target")
        cluster.root(f"scancel -s USR1 {job}")

    scenario(cluster, "-J target -w n1,n2,n3,n4 -N4 -n4 {do} catch 10 "
             "touch up.%t await 10",
             play, alone=True)


def test_tasks_ignore_sigterm(cluster):
    """KillWait later SIGKILL ends them."""
    def play(s):
        cluster.root(f"scancel {only_step(cluster)}")

    stock, storm = scenario(
        cluster, "-N2 -n2 {do} ignore 15 touch up.%t block", play,
        cancelled=True)
    assert storm.code == 137


def test_signal_at_the_end_by_time_limit_option(cluster):
    """srun --signal needs a time limit; here it only must not disturb."""
    def play(s):
        (s.dir / "go").touch()

    scenario(cluster, "--signal=USR1@60 -t5 -N2 -n2 {do} touch up.%t "
             "wait {dir}/go", play)


def test_scancel_during_the_launch(cluster):
    """A step cancelled during its launch leaves nothing running. (A kill that
    comes before the task is lost, in stock, too: repeat it.)"""
    for launch in ("slurm", "storm"):
        s = cluster.start_srun("-N8 -n8 {do} block", launch)
        step = only_step(cluster)

        def ended():
            cluster.lab.run(["scancel", "-s", "KILL", step], cwd="/")
            return not s.running()

        until(ended, "the end of the cancelled step", interval=0.2)
        run = s.finish()
        assert run.code != 0, str(run)
        until(lambda: not any(cluster.lab.pids(n, "taskdo")
                              for n in cluster.names), "the tasks to end")


@pytest.mark.storm_only
@pytest.mark.every_mode
def test_signals_as_soon_as_tasks_run(cluster):
    """srun may receive the starts a little later than the signal. When it acts
    it knows what runs. (Stock's srun receives them sooner, but not always.)"""
    for _ in range(4):
        s = cluster.start_srun("-N8 -n16 {do} touch up.%t wait {dir}/go")
        all_up(s, 16)
        s.signal(signal.SIGINT)
        until(lambda: re.search("tasks? .*: ", s.err()), "the state of tasks")
        assert "tasks 0-15: running" in s.err()
        (s.dir / "go").touch()
        assert s.finish().code == 0
    for sig, times, code in ((signal.SIGINT, 2, 130), (signal.SIGHUP, 1, 137),
                             (signal.SIGTERM, 1, 137)):
        for _ in range(4):
            s = cluster.start_srun("-N8 -n16 {do} touch up.%t block")
            all_up(s, 16)
            if times == 2:
                ctrl_c_twice(s)
            else:
                s.signal(sig)
            run = s.finish()
            assert run.code == code, str(run)
            assert "before step completely launched" not in run.err, str(run)
            assert "unknown" not in run.err, str(run)


@pytest.mark.storm_only
@pytest.mark.parametrize("sig", [signal.SIGHUP, signal.SIGTERM])
def test_ended_at_any_moment_of_the_launch(cluster, sig):
    """Before srun handles signals it dies of them. After that the step is
    launched and killed, or not launched (from 26.05 on not even created)."""
    for ms in range(2, 82, 4):
        s = cluster.start_srun("-N4 -n8 {do} block")
        time.sleep(ms / 1000)
        s.signal(sig)
        run = s.finish()
        assert run.code in (-sig, 128 + signal.SIGKILL) or \
            "No step_layout given" in run.err, f"{ms} ms: {run}"
        until(lambda: not any(cluster.lab.pids(n, "taskdo")
                              for n in cluster.names), "the tasks to end")
        if run.code < 0:
            cluster.clean()     # its step may stay, in stock, too


@pytest.mark.long
def test_time_limit_of_step(cluster):
    stock, storm = scenario(cluster, "-t1 -N2 -n4 {do} touch up.%t block",
                            lambda s: None, cancelled=True)
    assert "DUE TO TIME LIMIT" in storm.err


def test_stopped_and_continued(cluster):
    """SIGSTOP and SIGCONT by scancel."""
    def play(s):
        step = only_step(cluster)
        cluster.root(f"scancel -s STOP {step}")

        def states():
            found = []
            for node in cluster.names:
                for pid in cluster.lab.pids(node, "taskdo"):
                    with open(f"/proc/{pid}/stat") as f:
                        found.append(f.read().rsplit(")", 1)[1].split()[0])
            return found

        until(lambda: states() == ["T"] * 8, "stopped tasks")
        (s.dir / "go").touch()
        cluster.root(f"scancel -s CONT {step}")

    scenario(cluster, "-N8 -n8 {do} touch up.%t wait {dir}/go say on", play)
