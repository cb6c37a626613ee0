# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Gang scheduling as a whole: jobs that share nodes take turns, all nodes at
once, and whatever dies, everything runs.

What happened is read from the traces of the nodes (doc/gang-trace.md), which
have every stop and continue in order: nothing here depends on how long a thing
took.
"""
import os
import pathlib
import re
import shutil
import signal
import sys
import time

import pytest

from conftest import make
from gang import NODES, Gang
from harness import until
from lab import slurmconf

pytestmark = pytest.mark.storm_only

BATCH = 0xfffffffb


@pytest.fixture(scope="module")
def gang():
    if "cgroup2" not in pathlib.Path("/proc/self/mounts").read_text():
        pytest.skip("SKIP: no control groups of version 2 here")
    c = make_gang("gang")
    yield c
    c.down()


def make_gang(what, **options):
    # so long that whoever had to wait for it would fail
    options.setdefault("storm_conf", {}).setdefault("DeadTimeout", "60s")
    return make(what, options.pop("nodes", NODES), kind=Gang, **options)


@pytest.fixture(autouse=True)
def _named(request):
    if "gang" not in request.fixturenames:
        yield
        return
    c = request.getfixturevalue("gang")
    c.current = re.sub(r"\W+", "_", request.node.name)[:60]
    yield
    c.end_jobs()


@pytest.fixture
def two(gang):
    """Two jobs that take turns on all nodes and would go on for ever."""
    runs = [gang.begin("{do} block") for _ in range(2)]
    until(lambda: len(gang.jobs()) == 2, "two jobs")
    gang.alternate()
    return runs


def finish(cluster, verbs="{do} spin 1500 say bye"):
    runs = [cluster.begin(verbs) for _ in range(2)]
    until(lambda: len(cluster.jobs()) == 2 or
          not all(r.running() for r in runs), "two jobs")
    jobs = set(cluster.jobs())
    for run in runs:
        done = run.finish()
        assert done.code == 0, str(done)
        assert sorted(done.out.split()) == ["bye"] * NODES, str(done)
    cluster.nothing_left(jobs)
    return jobs


def test_two_jobs_take_turns(gang):
    since = {n: gang.mark(n) for n in gang.names}
    jobs = finish(gang)
    assert len(jobs) == 2
    for node in gang.names:
        stops = [e["job"] for e in gang.trace(node, since[node])
                 if e["what"] == "stop"]
        for job in jobs:
            assert stops.count(job) >= 5, f"{node}: job {job}: {stops}"


@pytest.mark.parametrize("how", ["signals"])
def test_without_control_groups(how):
    c = make_gang("gang-" + how, storm_conf={"Freezer": how},
                  conf=["SlurmdDebug=verbose"])
    try:
        finish(c)
        for node in c.names:
            kinds = {e["a"] for e in c.trace(node) if e["what"] == "step"}
            assert kinds == {2}
        debugger_left_alone(c)
        suspended_script_stays(c)
    finally:
        c.down()


def test_one_job_alone_is_never_stopped(gang):
    since = {n: gang.mark(n) for n in gang.names}
    done = gang.begin("{do} spin 300 say bye").finish()
    assert done.code == 0, str(done)
    for node in gang.names:
        assert not [e for e in gang.trace(node, since[node])
                    if e["what"] == "stop"]


def test_mpi(gang):
    if not shutil.which("mpicc"):
        pytest.skip("SKIP: no mpicc")
    runs = [gang.start(f"srun -pgang -N{NODES} --mpi=pmi2 --launch=storm "
                       "{bin}/mpi_sum") for _ in range(2)]
    for run in runs:
        done = run.finish()
        assert done.code == 0, str(done)
        assert len(done.out.splitlines()) == NODES, str(done)


def test_batch_scripts_with_steps(gang):
    script = ("#!/bin/sh\nsrun --launch=storm /home/user/bin/taskdo spin 300 "
              "say step\n/home/user/bin/taskdo spin 300 say script\n")
    runs = [gang.start(f"sbatch -W -Q -pgang -N{NODES} -o {{dir}}/out script",
                       given={"script": script}) for _ in range(2)]
    for run in runs:
        done = run.finish()
        assert done.code == 0, str(done)
        out = (done.dir / "out").read_text().split()
        assert sorted(out) == ["script"] + ["step"] * NODES, out
    gang.nothing_left()
    stopped = {e["step"] for e in gang.trace("n1") if e["what"] == "stop"}
    assert BATCH in stopped, "a script that is alone takes turns, too"


# -- debuggers ----------------------------------------------------------------

def states(cluster, job):
    """The state letters of the tasks of a job, on all nodes."""
    found = []
    for node in cluster.names:
        for pid in cluster.lab.pids(node, "taskdo"):
            try:
                proc = pathlib.Path(f"/proc/{pid}")
                if f"SLURM_JOB_ID={job}\0" in (proc / "environ").read_text():
                    stat = (proc / "stat").read_text()
                    found.append(stat[stat.rindex(")") + 2])
            except OSError:
                pass
    return found


def debugger_left_alone(cluster):
    """The tasks of a step that a debugger starts are stopped, for it alone to
    let them go, while another job has its turns."""
    since = {n: cluster.mark(n) for n in cluster.names}
    cluster.start(f"srun -pgang -N{NODES} --debugger-test {{do}} say ran block")
    job, = until(cluster.jobs, "the debugger's job")
    until(lambda: states(cluster, job) == ["T"] * NODES, "its tasks to stop")
    cluster.begin("{do} block")
    cluster.alternate(job_count=1)
    assert states(cluster, job) == ["T"] * NODES
    for node in cluster.names:
        assert not [e for e in cluster.trace(node, since[node])
                    if e.get("job") == job and "step" in e]
    cluster.end_jobs()


def suspended_script_stays(cluster):
    """Whatever dies.  Slurm suspends a script by the very signals that we use,
    and tells nobody on the node."""
    cluster.start("sbatch -Q -pgang -N1 -w n1 -o /dev/null script", given={
        "script": "#!/bin/sh\nexec /home/user/bin/taskdo block\n"})
    script, = until(cluster.jobs, "the script")
    cluster.begin("{do} block")
    until(lambda: len(cluster.jobs()) == 2, "the other job")
    since = cluster.mark("n1")

    def turn():
        return [e for e in cluster.trace("n1", since)
                if e["what"] == "stop" and e["job"] == script]

    until(turn, "the script's turns")
    cluster.root(f"scontrol suspend {script}")
    until(lambda: f"Suspended StepId={script}.batch" in
          cluster.lab.log("n1", "slurmd"), "Slurm to suspend it")
    since = cluster.mark("n1")
    cluster.lab.kill("n1", "agent")
    until(lambda: [e for e in cluster.trace("n1", since)
                   if e["what"] == "begin"], "a new agent")
    for _ in range(20):
        assert states(cluster, script) == ["T"]
        time.sleep(0.01)
    cluster.root(f"scontrol resume {script}")
    until(turn, "the script's turns")
    cluster.end_jobs()


def test_started_by_a_debugger(gang):
    debugger_left_alone(gang)


#: argv: a job. Traces a task of it here, as a debugger does that attaches.
TRACER = """
import ctypes, pathlib, signal, sys
PTRACE_SEIZE = 0x4206
for proc in pathlib.Path("/proc").glob("[0-9]*"):
    if ((proc / "comm").read_text() == "taskdo\\n" and
            f"SLURM_JOB_ID={sys.argv[1]}\\0" in (proc / "environ").read_text()):
        if not ctypes.CDLL(None).ptrace(PTRACE_SEIZE, int(proc.name), 0, 0):
            print("traced", flush=True)
            signal.pause()
"""


@pytest.fixture
def no_debug(gang):
    """GangDebug=no: agents that begin hence take debuggers for nothing special."""
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
        until(lambda: [e for e in cluster.trace(node, mark)
                       if e["what"] == "begin"], f"{node}'s new agent", 120)


def test_debuggers_take_turns_too(gang, no_debug):
    """A step that a debugger starts is one like others; so is one that is
    traced, which stands still until its turn comes."""
    since = {n: gang.mark(n) for n in gang.names}
    run = gang.start(f"srun -pgang -N{NODES} --debugger-test {{do}} block")
    job, = until(gang.jobs, "the debugger's job")
    for node in gang.names:
        until(lambda: [e for e in gang.trace(node, since[node])
                       if e.get("job") == job and e["what"] == "step"],
              f"its step on {node}")
    gang.begin("{do} block")
    gang.alternate()
    tracer = gang.start([sys.executable, "-c", TRACER, str(job)], user="root",
                        host="n1")
    until(lambda: "traced" in tracer.out(), "a tracer")
    mark = gang.mark("n1")
    gang.alternate()
    assert not [e for e in gang.trace("n1", mark)
                if e.get("why") == "debugger"]
    tracer.signal(signal.SIGKILL)


# -- whatever dies, everything runs -------------------------------------------

def test_agent_killed(gang, two):
    since = {n: gang.mark(n) for n in gang.names}
    gang.lab.kill("n1", "agent")
    until(lambda: re.search(r"the agent is gone, 2 steps go on",
                            gang.lab.log("n1", "slurmd")),
          "slurmd to let them go on")
    # and with the next agent they take turns again
    until(lambda: [e for e in gang.trace("n1", since["n1"])
                   if e["what"] == "begin"], "a new agent")
    gang.alternate()


def test_agent_stopped(gang, two):
    gang.lab.kill("n1", "agent", signal.SIGSTOP)
    try:
        until(lambda: not gang.stand("n1"), "all of n1 to run")
        until(lambda: "gives no sign of life" in gang.lab.log("n1", "slurmd"),
              "slurmd to say so")
        for _ in range(20):
            assert not gang.stand("n1")
            time.sleep(0.01)
    finally:
        gang.lab.kill("n1", "agent", signal.SIGCONT)
    gang.alternate()


def test_slurmd_stopped(gang, two):
    since = gang.mark("n2")
    gang.lab.kill("n2", "slurmd", signal.SIGSTOP)
    try:
        until(lambda: [e for e in gang.trace("n2", since)
                       if e.get("why") == "no-slurmd"], "all of n2 to run")
        for _ in range(20):
            assert not gang.stand("n2")
            time.sleep(0.01)
    finally:
        gang.lab.kill("n2", "slurmd", signal.SIGCONT)
    gang.alternate()


def test_slurmd_killed(gang, two):
    gang.lab.kill("n2", "slurmd")
    until(lambda: not gang.stand("n2"), "all of n2 to run")
    for _ in range(20):
        assert not gang.stand("n2")
        time.sleep(0.01)
    gang.lab.restart("n2", "slurmd")
    gang.alternate()


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_agent_and_slurmd(gang, two, sig):
    """At once: slurmstepd is left, even of steps that are older than the
    agent."""
    gang.lab.kill("n1", "agent")
    until(lambda: not gang.stand("n1"), "all of n1 to run")
    gang.alternate()
    pids = [p for what in ("slurmd", "agent") for p in gang.lab.pids("n1", what)]
    for pid in pids:
        os.kill(pid, sig)
    begun = time.monotonic()
    until(lambda: not gang.stand("n1"), "all of n1 to run", interval=0.002)
    print(f"{sig.name}: all run after {(time.monotonic() - begun) * 1e3:.0f} ms")
    for _ in range(20):
        assert not gang.stand("n1")
        time.sleep(0.01)
    if sig == signal.SIGKILL:
        gang.lab.restart("n1", "slurmd")
    else:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)
    gang.alternate()


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_strober(gang, two, sig):
    since = {n: gang.mark(n) for n in gang.names}
    pids = gang.lab.kill("ctl", "storm_strober", sig)
    for node in gang.names:
        until(lambda: [e for e in gang.trace(node, since[node])
                       if e["what"] == "open"], f"all of {node} to run")
    if sig == signal.SIGSTOP:
        # slurmctld may have given up on it meanwhile
        if set(pids) & set(gang.lab.pids("ctl", "storm_strober")):
            gang.lab.kill("ctl", "storm_strober", signal.SIGCONT)
    gang.alternate()


def test_slurmctld_killed(gang, two):
    # it saves its jobs every few seconds; those that it has not are lost
    state = gang.lab.path("ctl", "/var/lib/slurm/slurmctld/job_state")
    begun = time.time()
    gang.root(f"scontrol update jobid={gang.jobs()[0]} comment=saved")
    until(lambda: os.path.exists(state) and os.stat(state).st_mtime > begun,
          "slurmctld to save its jobs")
    gang.lab.kill("ctl", "slurmctld")
    until(gang.all_run, "everything to run")
    for _ in range(20):
        assert gang.all_run()
        time.sleep(0.01)
    gang.lab.restart("ctl", "slurmctld")
    gang.alternate()


# -- out of its turn -----------------------------------------------------------

@pytest.fixture
def still(gang):
    """Two jobs whose tasks catch SIGTERM; then turns become minutes long, so
    that one of them stands still as long as a test takes. Its id."""
    verbs = "{do} catch 15 say ready await 15 say caught exit 3"
    runs = [gang.begin(verbs) for _ in range(2)]
    until(lambda: all(r.out().count("ready") == NODES for r in runs),
          "two jobs to be ready")
    gang.set_quantum(300000)
    seen = []

    def stands():
        jobs = [{int(s.split(".")[0]) for s in gang.stand(n)}
                for n in gang.names]
        if not jobs[0] or jobs != [jobs[0]] * NODES or seen[-1:] != jobs[:1]:
            seen.clear()
        seen.append(jobs[0])
        return len(seen) > 20

    until(stands, "a job to stand still on all nodes")
    job, = seen[-1]
    yield job
    gang.set_quantum(10)


def gone(cluster, job):
    until(lambda: not cluster.root(f"squeue -h -t R,CG -j {job}").strip(),
          f"the end of job {job}")


def test_signal_with_a_handler(gang, still):
    gang.root(f"scancel -s TERM {still}")
    gone(gang, still)
    texts = [p.read_text() for p in gang.home.glob(f"t/{gang.current}*/stdout")]
    assert sorted(t.count("caught") for t in texts) == [0, NODES], texts


@pytest.mark.parametrize("sig", ["KILL", "INT", None])
def test_cancelled(gang, still, sig):
    gang.root(f"scancel {'-s ' + sig if sig else ''} {still}")
    gone(gang, still)


def test_debugger_attaches(gang, still):
    """It need not wait for a turn; when it goes, turns are as before."""
    tracer = gang.start([sys.executable, "-c", TRACER, str(still)], user="root",
                        host="n1")
    until(lambda: "traced" in tracer.out(), "a tracer")
    until(lambda: not gang.stand("n1"), "the one that is traced to run")
    assert [e for e in gang.trace("n1") if e.get("why") == "debugger"]
    tracer.signal(signal.SIGKILL)
    until(lambda: gang.stand("n1"), "it to stand still again")


def test_the_other_one_ends(gang, still):
    """Its turn comes early."""
    other, = set(gang.jobs()) - {still}
    gang.root(f"scancel {other}")
    until(gang.all_run, "the one that is left to run")


def test_held_back_by_slurm(gang, still):
    """scontrol suspend: Slurm's word counts, and ours no more."""
    gang.root(f"scontrol suspend {still}")
    until(gang.all_run, "nothing of ours to stand still")
    gang.root(f"scontrol resume {still}")
    until(lambda: len(gang.jobs()) == 2, "both to run")
