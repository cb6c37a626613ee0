# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Gang scheduling as a whole: jobs that share nodes take turns on all nodes at the
same time, and when a daemon dies, everything runs. The tests run on any cluster
with the fixture `gang` (a gang.Gang): test_gang.py has a lab, and
../hosts/test_gang.py has hosts with systemd.

They read the traces of the nodes (doc/gang-trace.md), which have every stop and
continue in order. No test depends on how long a thing took.
"""
import signal
import time

import pytest

import mpis
from gang import NODES
from harness import continue_agent, save_jobs
from lab import slurmconf

BATCH = 0xfffffffb


@pytest.fixture
def two(gang):
    """Two jobs that take turns on all nodes and run until they are ended."""
    gang.two_jobs()


def finish(cluster):
    """Two jobs that compute for some turns, at the same time, and then end."""
    ms = max(1500, 10 * cluster.quantum)
    runs = [cluster.begin("{do} touch {dir}/up.%t wait {dir}/go "
                          f"spin {ms} say bye") for _ in range(2)]
    cluster.until(lambda: all((r.dir / f"up.{i}").exists() for r in runs
                              for i in range(NODES)) or
                  not all(r.running() for r in runs), "two jobs")
    jobs = set(cluster.jobs())
    for run in runs:
        (run.dir / "go").touch()
    for run in runs:
        done = run.finish()
        assert done.code == 0, str(done)
        assert sorted(done.out.split()) == ["bye"] * NODES, str(done)
    cluster.nothing_left(jobs)
    return jobs


@pytest.mark.every_release
def test_two_jobs_take_turns(gang):
    since = {n: gang.mark(n) for n in gang.names}
    jobs = finish(gang)
    assert len(jobs) == 2
    for node in gang.names:
        stops = [e["job"] for e in gang.trace(node, since[node])
                 if e["what"] == "stop"]
        for job in jobs:
            assert stops.count(job) >= gang.enough, \
                f"{node}: job {job}: {stops}"


def test_one_job_alone_is_never_stopped(gang):
    since = {n: gang.mark(n) for n in gang.names}
    done = gang.begin("{do} spin 300 say bye").finish()
    assert done.code == 0, str(done)
    for node in gang.names:
        assert not [e for e in gang.trace(node, since[node])
                    if e["what"] == "stop"]


def test_mpi(gang):
    if not (name := mpis.first()):
        pytest.skip("SKIP: no MPI; apt-get install mpich libmpich-dev")
    runs = [gang.start(f"srun -pgang -N{NODES} {mpis.MPIS[name][1]} "
                       "--launch=storm {bin}/mpi_sum") for _ in range(2)]
    for run in runs:
        done = run.finish()
        assert done.code == 0, str(done)
        assert len(done.out.splitlines()) == NODES, str(done)


def test_batch_scripts_with_steps(gang):
    ms = max(300, 10 * gang.quantum)
    script = ("#!/bin/sh\nsrun --launch=storm /home/user/bin/taskdo spin 300 "
              f"say step\n/home/user/bin/taskdo touch up wait go spin {ms} "
              "say script\n")
    runs = [gang.start(f"sbatch -W -Q -pgang -N{NODES} -o {{dir}}/out script",
                       given={"script": script}) for _ in range(2)]
    # scripts that run at the same time stop each other
    gang.until(lambda: all((r.dir / "up").exists() for r in runs) or
               not all(r.running() for r in runs), "both steps to be over")
    for run in runs:
        (run.dir / "go").touch()
    for run in runs:
        done = run.finish()
        assert done.code == 0, str(done)
        out = (done.dir / "out").read_text().split()
        assert sorted(out) == ["script"] + ["step"] * NODES, out
    gang.nothing_left()
    stopped = {e["step"] for e in gang.trace("n1") if e["what"] == "stop"}
    assert BATCH in stopped, "a script that is alone takes turns, too"


# -- debuggers ----------------------------------------------------------------

def debugger_left_alone(cluster):
    """The tasks of a step that a debugger starts are stopped while another job
    takes its turns. Only the debugger may continue them."""
    since = {n: cluster.mark(n) for n in cluster.names}
    cluster.start(f"srun -pgang -N{NODES} --debugger-test {{do}} say ran block")
    job, = cluster.until(cluster.jobs, "the debugger's job")
    cluster.until(lambda: cluster.task_states(job) == ["T"] * NODES,
                  "its tasks to stop")
    cluster.begin("{do} block")
    cluster.alternate(job_count=1)
    assert cluster.task_states(job) == ["T"] * NODES
    for node in cluster.names:
        assert not [e for e in cluster.trace(node, since[node])
                    if e.get("job") == job and "step" in e]
    cluster.end_jobs()


def suspended_script_stays(cluster):
    """Also when a daemon dies. Slurm suspends a batch script with the signals
    that STORM uses, and does not notify the agent."""
    cluster.start("sbatch -Q -pgang -N1 -w n1 -o /dev/null script", given={
        "script": "#!/bin/sh\nexec /home/user/bin/taskdo block\n"})
    script, = cluster.until(cluster.jobs, "the script")
    cluster.begin("{do} block")
    cluster.until(lambda: len(cluster.jobs()) == 2, "the other job")
    since = cluster.mark("n1")

    def turn():
        return [e for e in cluster.trace("n1", since)
                if e["what"] == "stop" and e["job"] == script]

    cluster.until(turn, "the script's turns")
    cluster.root(f"scontrol suspend {script}")
    cluster.until(lambda: cluster.said("n1", "slurmd",
                                       f"Suspended StepId={script}.batch"),
                  "Slurm to suspend it")
    since = cluster.mark("n1")
    cluster.lab.kill("n1", "agent")
    cluster.until(lambda: [e for e in cluster.trace("n1", since)
                           if e["what"] == "begin"], "a new agent")
    for _ in range(cluster.looks):
        assert cluster.task_states(script) == ["T"]
    cluster.root(f"scontrol resume {script}")
    cluster.until(turn, "the script's turns")
    cluster.end_jobs()


@pytest.mark.every_release
def test_started_by_a_debugger(gang):
    debugger_left_alone(gang)


#: argv: a job. Attaches to a task of it here, as a debugger does.
TRACER = """
import ctypes, pathlib, signal, sys
PTRACE_SEIZE = 0x4206
for proc in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        comm, environ = ((proc / f).read_text() for f in ("comm", "environ"))
    except OSError:     # it has just ended
        continue
    if (comm == "taskdo\\n" and f"SLURM_JOB_ID={sys.argv[1]}\\0" in environ and
            not ctypes.CDLL(None).ptrace(PTRACE_SEIZE, int(proc.name), 0, 0)):
        print("traced", flush=True)
        signal.pause()
"""


@pytest.fixture
def no_debug(gang):
    """GangDebug=no: agents that start afterwards ignore debuggers."""
    set_debug(gang, "no")
    yield
    set_debug(gang, "yes")


def set_debug(cluster, value):
    pairs = [p for p in slurmconf.read_storm_conf(cluster.lab.dir)
             if p[0] != "GangDebug"]
    slurmconf.write_storm_conf(cluster.lab.dir, pairs + [("GangDebug", value)])
    for node in cluster.names:
        mark = cluster.mark(node)
        cluster.lab.kill(node, "agent")
        cluster.until(lambda: [e for e in cluster.trace(node, mark)
                               if e["what"] == "begin"],
                      f"{node}'s new agent")


def test_debuggers_take_turns_too(gang, no_debug):
    """A step that a debugger starts takes turns like others. So does a step
    that is traced: it stays stopped until its turn comes."""
    since = {n: gang.mark(n) for n in gang.names}
    run = gang.start(f"srun -pgang -N{NODES} --debugger-test {{do}} block")
    job, = gang.until(gang.jobs, "the debugger's job")
    for node in gang.names:
        gang.until(lambda: [e for e in gang.trace(node, since[node])
                            if e.get("job") == job and e["what"] == "step"],
                   f"its step on {node}")
    gang.begin("{do} block")
    gang.alternate()
    tracer = gang.start(["python3", "-c", TRACER, str(job)], user="root",
                        host="n1")
    gang.until(lambda: "traced" in tracer.out(), "a tracer")
    mark = gang.mark("n1")
    gang.alternate()
    assert not [e for e in gang.trace("n1", mark)
                if e.get("why") == "debugger"]
    tracer.signal(signal.SIGKILL)


# -- when a daemon dies, everything runs --------------------------------------

def test_agent_killed(gang, two):
    since = {n: gang.mark(n) for n in gang.names}
    gang.lab.kill("n1", "agent")
    gang.until(lambda: gang.said("n1", "slurmd",
                                 "the agent is gone, 2 steps continue"),
               "slurmd to let them go on")
    # and with the next agent they take turns again
    gang.until(lambda: [e for e in gang.trace("n1", since["n1"])
                        if e["what"] == "begin"], "a new agent")
    gang.alternate()


def test_agent_stopped(gang, two):
    gang.lab.kill("n1", "agent", signal.SIGSTOP)
    try:
        gang.until(lambda: not gang.stand("n1"), "all of n1 to run")
        gang.until(lambda: gang.said("n1", "slurmd", "does not respond"),
                   "slurmd to say so")
        # or it replaces the agent after 5 s, and there are turns again
        gang.lab.kill("n1", "slurmd", signal.SIGSTOP)
        gang.goes_on("n1")
    finally:
        continue_agent(gang.lab, "n1")
    gang.alternate()


def test_slurmd_stopped(gang, two):
    since = gang.mark("n2")
    gang.lab.kill("n2", "slurmd", signal.SIGSTOP)
    try:
        gang.until(lambda: [e for e in gang.trace("n2", since)
                            if e.get("why") == "no-slurmd"],
                   "all of n2 to run")
        gang.goes_on("n2")
    finally:
        gang.lab.kill("n2", "slurmd", signal.SIGCONT)
    gang.alternate()


def test_slurmd_killed(gang, two):
    gang.lab.kill("n2", "slurmd")
    gang.goes_on("n2")
    gang.lab.restart("n2", "slurmd")
    gang.alternate()


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_agent_and_slurmd(gang, two, sig):
    """At once, because slurmstepd survives, even if it is older than the
    agent."""
    gang.lab.kill("n1", "agent")
    gang.until(lambda: not gang.stand("n1"), "all of n1 to run")
    gang.alternate()
    gang.signal_all("n1", ["slurmd", "agent"], sig)
    begun = time.monotonic()
    gang.until(lambda: not gang.stand("n1"), "all of n1 to run", interval=0.002)
    print(f"{sig.name}: all run after {(time.monotonic() - begun) * 1e3:.0f} ms")
    gang.goes_on("n1")
    if sig == signal.SIGKILL:
        gang.lab.restart("n1", "slurmd")
    else:
        gang.signal_all("n1", ["agent", "slurmd"], signal.SIGCONT)
    gang.alternate()


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_strober(gang, two, sig):
    since = {n: gang.mark(n) for n in gang.names}
    pids = gang.lab.kill("ctl", "storm_strober", sig)
    for node in gang.names:
        gang.until(lambda: [e for e in gang.trace(node, since[node])
                            if e["what"] == "open"], f"all of {node} to run")
    if sig == signal.SIGSTOP:
        # slurmctld may have given up on it meanwhile
        if set(pids) & set(gang.lab.pids("ctl", "storm_strober")):
            gang.lab.kill("ctl", "storm_strober", signal.SIGCONT)
    gang.alternate()


def test_slurmctld_killed(gang, two):
    save_jobs(gang.lab, gang.jobs()[0])
    gang.lab.kill("ctl", "slurmctld")
    for node in gang.names:
        gang.goes_on(node)
    gang.lab.restart("ctl", "slurmctld")
    gang.alternate()


# -- out of its turn -----------------------------------------------------------

def stand_still(cluster, standing):
    """Two jobs whose tasks catch SIGTERM. Then turns become minutes long, so
    that one job stays stopped for the whole test. Returns its id. `standing`
    returns the stopped jobs of a node."""
    verbs = "{do} catch 15 say ready await 15 say caught exit 3"
    runs = [cluster.begin(verbs) for _ in range(2)]
    cluster.until(lambda: all(r.out().count("ready") == NODES for r in runs),
                  "two jobs to be ready")
    cluster.set_quantum(300000)
    seen = []

    def stands():
        jobs = [standing(n) for n in cluster.names]
        if not jobs[0] or jobs != [jobs[0]] * NODES or seen[-1:] != jobs[:1]:
            seen.clear()
        seen.append(jobs[0])
        return len(seen) > cluster.looks

    cluster.until(stands, "a job to stand still on all nodes")
    job, = seen[-1]
    return job


@pytest.fixture
def still(gang):
    yield stand_still(gang, lambda n: {int(s.split(".")[0])
                                       for s in gang.stand(n)})
    gang.set_quantum(gang.quantum)


def caught_by_one(cluster):
    """Of the last two jobs' tasks, those that received the signal."""
    texts = [one.out() for one in cluster.started[-2:]]
    assert sorted(t.count("caught") for t in texts) == [0, NODES], texts


def test_signal_with_a_handler(gang, still):
    gang.root(f"scancel -s TERM {still}")
    gang.gone(still)
    caught_by_one(gang)


@pytest.mark.parametrize("sig", ["KILL", "INT", None])
def test_cancelled(gang, still, sig):
    gang.root(f"scancel {'-s ' + sig if sig else ''} {still}")
    gang.gone(still)


def test_debugger_attaches(gang, still):
    """A job need not wait for its turn to end; afterwards turns are as
    before."""
    since = gang.mark("n1")
    tracer = gang.start(["python3", "-c", TRACER, str(still)], user="root",
                        host="n1")
    gang.until(lambda: "traced" in tracer.out(), "a tracer")
    gang.until(lambda: [e for e in gang.trace("n1", since)
                        if e.get("why") == "debugger"],
               "the one that is traced to run")
    if gang.by_groups:      # a stopped task with a signal waits for the tracer
        gang.until(lambda: not gang.stand("n1"), "it to run")
    tracer.signal(signal.SIGKILL)
    gang.until(lambda: gang.stand("n1"), "it to stand still again")


def test_the_other_one_ends(gang, still):
    """Its turn comes early."""
    other, = set(gang.jobs()) - {still}
    gang.root(f"scancel {other}")
    gang.until(gang.all_run, "the one that is left to run")
