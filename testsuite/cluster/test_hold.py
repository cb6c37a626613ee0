# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm hold and storm release: a job without turns, which is proven to stand on
all of its nodes."""
import os
import re
import signal
import time

import pytest

from conftest import make, need_cgroup2
from gang import NODES, Gang
from harness import agent_stands, until

pytestmark = pytest.mark.storm_only

SCRIPT = {"script": "#!/bin/sh\nsrun --launch=storm /home/user/bin/taskdo spin "
          "1000000\n"}


@pytest.fixture(scope="module")
def gang():
    need_cgroup2()
    c = make("hold", NODES, kind=Gang, gang=3)
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _end(gang):
    yield
    gang.end_jobs()


def begin(c, nodes=NODES):
    """A job whose tasks compute. Returns its id."""
    before = set(c.jobs())
    c.begin("{do} spin 1000000", nodes=nodes)
    job, = until(lambda: set(c.jobs()) - before, "the job")
    until(lambda: len(tasks(c, job)) == nodes, "its tasks")
    return job


def tasks(c, job):
    """{(node, pid): ticks of CPU time} of a job's tasks"""
    found = {}
    for node in c.names:
        for line in c.on(node, "for p in $(pgrep -x taskdo); do "
                         f"! grep -zqx SLURM_JOB_ID={job} /proc/$p/environ || "
                         "echo $p $(sed 's/.*) //' /proc/$p/stat | "
                         "cut -d' ' -f12,13); done 2>/dev/null").splitlines():
            pid, *ticks = map(int, line.split())
            found[node, pid] = sum(ticks)
    return found


def goes_on(c, *jobs):
    """On each node."""
    before = {j: tasks(c, j) for j in jobs}
    for job in jobs:
        until(lambda: all(now >= before[job].get(task, 0) + 3
                          for task, now in tasks(c, job).items()),
              f"job {job} to go on")


def stands(c, job, *beside):
    """It makes no progress while others do, and stands by the kernel's word."""
    before = tasks(c, job)
    assert before
    for _ in range(3):
        goes_on(c, *beside)
        for node in c.names:
            assert all(still for step, still in c.groups(node).items()
                       if step.startswith(f"{job}."))
    assert tasks(c, job) == before


def word(c, job):
    """(stands, nodes, loose) from SystemComment, or None"""
    found = re.search(r"storm:turns=\S*,held=(\d+)/(\d+)(?:,loose=(\S+))?",
                      c.root(f"scontrol -o show job {job}"))
    return found and (int(found[1]), int(found[2]), found[3])


def comment(c, job):
    return re.search(r"^ +Comment=(.*?) *$", c.root(f"scontrol show job {job}"),
                     re.MULTILINE)[1]


def proven(c, job, nodes=NODES):
    until(lambda: word(c, job) == (nodes, nodes, None),
          lambda: f"job {job} to be held, not {word(c, job)}")


def order(c, what, *jobs, code=0, user="user", options=()):
    """What storm hold or storm release says."""
    done = c.run(["storm", what, *options, ",".join(map(str, jobs))], user=user)
    assert done.code == code, str(done)
    return done.out + done.err


def hold(c, job, nodes=NODES):
    assert order(c, "hold", job) == \
        f"storm: job {job} is held on {nodes} node{'s' * (nodes > 1)}\n"
    proven(c, job, nodes)       # a node's report may be late since


def release(c, job):
    assert order(c, "release", job) == f"storm: job {job} is released\n"
    assert not word(c, job)


@pytest.mark.every_release
def test_two_jobs(gang):
    """The other one has all turns. What else is in the Comment stays."""
    first, second = begin(gang), begin(gang)
    gang.root(f"scontrol update jobid={first} comment='my  own storm:holder'")
    gang.alternate()
    hold(gang, first)
    assert comment(gang, first) == "my  own storm:holder storm:hold"
    stands(gang, first, second)
    mark = {n: gang.mark(n) for n in gang.names}
    goes_on(gang, second)
    for node in gang.names:
        assert not [e for e in gang.trace(node, mark[node])
                    if e["what"] in ("stop", "continue")]
    hold(gang, first)       # as it is already
    release(gang, first)
    assert comment(gang, first) == "my  own storm:holder"
    gang.alternate()
    goes_on(gang, first, second)


BATCH = str(0xfffffffb)

LAUNCHERS = """#!/bin/sh
storm run -N2 /home/user/bin/taskdo spin 1000000 & run=$!
until [ -e go ]; do sleep 0.05; done
kill $run; wait $run; echo first $?
storm run -N2 hostname; echo next $?
"""


def test_launchers(gang):
    """Those of storm run take turns and are held as a whole: for longer than DeadTimeout
    and three heartbeats, and no node is lost. The next run finds them."""
    one = gang.start(f"sbatch -Q -pgang -N{NODES} -o {{dir}}/log job.sh",
                     given={"job.sh": LAUNCHERS})
    first, = until(gang.jobs, "the job")
    until(lambda: len(tasks(gang, first)) == NODES, "its tasks")
    second = begin(gang)
    gang.alternate()
    hold(gang, first)
    end = time.monotonic() + 10     # there is nothing to see
    before = tasks(gang, first)
    while time.monotonic() < end:
        goes_on(gang, second)
        for node in gang.names:     # the script's own group runs, for its srun
            assert [still for step, still in gang.groups(node).items()
                    if step.startswith(f"{first}.") and BATCH not in step] == [True]
    assert tasks(gang, first) == before
    release(gang, first)
    goes_on(gang, first, second)
    (one.dir / "go").touch()
    log = until(lambda: re.search("^.*^next .*$", (one.dir / "log").read_text(),
                                  re.M | re.S), "the next run")[0]
    lines = log.splitlines()
    assert [line[:25] for line in lines if "started" in line] == \
        ["storm run: started launch"], log
    assert lines[-1] == "next 0" and sorted(lines[-1 - NODES:-1]) == \
        sorted(gang.names) and "first 143" in lines and "lost" not in log, log


def test_alone(gang):
    """Nothing else shares its cores, or that of one node only."""
    job = begin(gang)
    hold(gang, job)
    other = begin(gang, nodes=1)
    stands(gang, job, other)
    release(gang, job)
    goes_on(gang, job, other)
    hold(gang, other, 1)
    hold(gang, job)
    assert {len(gang.stand(n)) for n in gang.names} == {1, 2}
    release(gang, job)
    goes_on(gang, job)
    release(gang, other)
    goes_on(gang, job, other)


def test_refusals(gang):
    """Each says why."""
    job = begin(gang)
    said = order(gang, "hold", job, code=1, user="other")
    assert "not permitted: its owner, an operator or root can" in said
    assert "storm:hold" not in gang.root(f"scontrol show job {job}")
    assert "there is no such job" in order(gang, "hold", 99999, code=1)
    assert "is no job" in order(gang, "hold", "x7", code=2)
    assert "is no job" in order(gang, "hold", "7_", code=2)
    assert "storm: hold or release" in gang.run(["storm", "hold"]).err
    gang.start("srun -pshared -N1 -w n1 {do} block")
    local, = until(lambda: set(gang.jobs()) - {job}, "the other job")
    said = order(gang, "hold", local, code=1)
    assert "partition shared takes no turns" in said
    assert "storm:hold" not in gang.root(f"scontrol show job {local}")
    gang.root(f"scontrol suspend {job}")
    assert "it does not run" in order(gang, "hold", job, code=1)
    gang.root("scancel -p shared")


def test_by_comment(gang):
    """A word in the Comment is what counts: a job that is submitted with it starts
    held. So does each step that a held job starts."""
    gang.start("sbatch -Q -pgang -N2 -n2 --comment=storm:hold -o /dev/null script",
               given=SCRIPT)
    job, = until(gang.jobs, "the job")
    # its script stands and starts nothing, or has an srun, whose step stands
    proven(gang, job)
    before = tasks(gang, job)
    other = begin(gang)
    goes_on(gang, other)
    assert tasks(gang, job) == before
    gang.root(f"scancel {other}")
    gang.gone(other)
    release(gang, job)
    until(lambda: len(tasks(gang, job)) == NODES, "its tasks")
    goes_on(gang, job)
    hold(gang, job)
    gang.start(f"srun --jobid={job} --overlap -N2 -n2 --launch=storm "
               "{do} spin 1000000")
    # its tasks stand before exec; the script's group runs, for its srun
    until(lambda: all(len(gang.stand(n)) >= 2 for n in gang.names),
          "the next step to stand")
    proven(gang, job)
    other = begin(gang)
    before = tasks(gang, job)
    goes_on(gang, other)
    assert tasks(gang, job) == before
    gang.root(f"scontrol update jobid={job} comment=")
    until(lambda: not word(gang, job), "the word to be seen")
    until(lambda: len(tasks(gang, job)) == 2 * NODES, "the tasks of both steps")
    goes_on(gang, job)


def test_signals(gang):
    """They are handled, and then it stands again."""
    run = gang.begin("{do} catch 10 say ready await 10 say caught spin 1000000")
    job, = until(gang.jobs, "the job")
    until(lambda: run.out().count("ready") == NODES, "its tasks")
    hold(gang, job)
    gang.root(f"scancel -s USR1 {job}")
    until(lambda: run.out().count("caught") == NODES, "the signal")
    until(lambda: all(map(gang.stand, gang.names)), "it to stand again")
    other = begin(gang)
    proven(gang, job)
    stands(gang, job, other)
    gang.root(f"scancel {job}")
    gang.gone(job)
    goes_on(gang, other)


def test_deaths(gang):
    """When one dies everything runs, and the job stands again with the next one."""
    job = begin(gang)
    hold(gang, job)
    # the next one comes at once, so look at what the nodes have noted
    mark = {n: gang.mark(n) for n in gang.names}

    def stands_again(*nodes):
        for node in nodes:
            until(lambda: [e for e in gang.trace(node, mark[node])
                           if e["what"] in ("open", "begin")],
                  f"{node} to let it run")
        proven(gang, job)
        other = begin(gang)
        proven(gang, job)
        stands(gang, job, other)
        gang.root(f"scancel {other}")
        gang.gone(other)
        mark.update((n, gang.mark(n)) for n in gang.names)

    gang.lab.kill("ctl", "storm_strober")
    stands_again(*gang.names)
    gang.lab.restart("ctl", "slurmctld")
    stands_again(*gang.names)
    gang.lab.kill("n1", "agent")
    stands_again("n1")
    gang.root("scontrol reconfigure")
    proven(gang, job)
    release(gang, job)
    goes_on(gang, job)


def test_no_strober(gang):
    """It is not said to be held while nobody keeps it standing."""
    job = begin(gang)
    hold(gang, job)
    gang.signal_all("ctl", ["storm_strober"], signal.SIGSTOP)
    until(lambda: word(gang, job) == (0, 2, None),
          lambda: f"no proof, not {word(gang, job)}")
    goes_on(gang, job)
    gang.signal_all("ctl", ["storm_strober"], signal.SIGCONT)
    proven(gang, job)


def test_lost_node(gang):
    """It is named, and the job stands there again when it is back."""
    job = begin(gang)
    hold(gang, job)
    with agent_stands(gang.lab, "n2"):
        until(lambda: word(gang, job) == (1, 2, "n2"),
              lambda: f"n2 to be named, not {word(gang, job)}")
        said = order(gang, "hold", job, code=3, options=["-t0.5"])
        assert f"job {job} stands on 1 of 2 nodes only, not on n2" in said
    proven(gang, job)


def test_suspend_and_requeue(gang):
    """A job that is resumed is held again; one that is requeued is not."""
    gang.start("sbatch -Q -pgang -N2 -n2 --requeue -o /dev/null script",
               given=SCRIPT)
    job, = until(gang.jobs, "the job")
    until(lambda: len(tasks(gang, job)) == NODES, "its tasks")
    hold(gang, job)
    gang.root(f"scontrol suspend {job}")
    until(lambda: not word(gang, job), "Slurm to have it")
    gang.root(f"scontrol resume {job}")
    proven(gang, job)
    gang.root(f"scontrol requeue {job}")
    until(lambda: "storm:hold" not in gang.root(f"scontrol show job {job}"),
          "the word to be gone")
    gang.root(f"scancel {job}")


def test_array_and_components(gang):
    """One task of an array, all of it, and all components of a job."""
    gang.start("sbatch -Q -pgang -N1 -n1 -w n1 --array=1-2 -o /dev/null script",
               given=SCRIPT)
    until(lambda: len(gang.jobs()) == 2, "its tasks")
    array = int(gang.root("squeue -h -o %F").split()[0])
    assert order(gang, "hold", f"{array}_2") == \
        f"storm: job {array}_2 is held on 1 node\n"
    said = gang.root("squeue -h -o '%K %k'").split("\n")
    assert "1 (null)" in said and "2 storm:hold" in said, said
    said = order(gang, "hold", array).splitlines()
    assert sorted(said) == [f"storm: job {array}_{i} is held on 1 node"
                            for i in (1, 2)]
    order(gang, "release", array)
    gang.root("scancel -p gang")
    until(lambda: not gang.root("squeue -h"), "their end")
    gang.start("srun -pgang -N1 -n1 -w n1 {do} spin 1000000 : "
               "-pgang -N1 -n1 -w n2 {do} spin 1000000")
    until(lambda: len(gang.jobs()) == 2, "both components")
    first = min(gang.jobs())
    until(lambda: all(map(gang.groups, gang.names)), "their tasks")
    assert order(gang, "hold", first) == \
        f"storm: job {first}+0 is held on 1 node\n"
    proven(gang, first + 1, 1)
    until(lambda: all(map(gang.stand, gang.names)), "both to stand")
    order(gang, "release", first)
    until(gang.all_run, "both to run")


DEBUGGER = """
import ctypes, os, pathlib, sys
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
for proc in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        comm, environ = ((proc / f).read_text() for f in ("comm", "environ"))
    except OSError:     # it has just ended
        continue
    if comm == "taskdo\\n" and f"SLURM_JOB_ID={sys.argv[1]}\\0" in environ:
        pid = int(proc.name)
        assert not ptrace(PTRACE_ATTACH, pid, 0, 0), os.strerror(ctypes.get_errno())
        os.waitpid(pid, 0x40000000)
        print("attached", flush=True)
        sys.stdin.readline()
        ptrace(PTRACE_DETACH, pid, 0, 0)
"""


def test_debugger(gang):
    """As gdb does, it attaches to a task that stands, looks at it, and leaves it
    so."""
    job = begin(gang)
    hold(gang, job)
    read, write = os.pipe()
    debugger = gang.start(["python3", "-c", DEBUGGER, str(job)], user="root",
                          host="n1", stdin=read)
    os.close(read)
    gang.until(lambda: "attached" in debugger.out(), "it to attach")
    until(lambda: all(map(gang.stand, gang.names)), "all to stand again")
    other = begin(gang)
    proven(gang, job)
    stands(gang, job, other)
    os.close(write)
    debugger.finish()
    proven(gang, job)
    stands(gang, job, other)
    release(gang, job)
    goes_on(gang, job, other)
