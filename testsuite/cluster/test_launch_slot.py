# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A step's tasks wait before exec until their job's turn begins. What they see
first falls into a turn of their job, on every node."""
import os
import signal

import pytest

import mpis
from conftest import make, need_cgroup2
from gang import NODES, Gang
from harness import until

pytestmark = pytest.mark.storm_only

BATCH = 0xfffffffb
LONG = 10000        # ms: a test's steps are over before a turn is
BEGAN = "{do} node began"
TOUCH = "{do} touch {dir}/began block"


@pytest.fixture(scope="module")
def gang():
    need_cgroup2()
    c = make("slot", kind=Gang, nodes=NODES, gang=3)
    yield c
    c.down()


@pytest.fixture(autouse=True)
def _end(gang):
    gang.long = False
    yield
    gang.end_jobs()
    if gang.long:
        gang.set_quantum(gang.quantum)


def two_compute(gang):
    for _ in range(2):
        gang.begin("{do} spin 100000000 block")
    until(lambda: len(gang.jobs()) == 2, "two jobs")
    # their steps run: a slurmctld that is reconfigured drops a request for one
    gang.alternate(times=1)


def beside_two(gang):
    """Beside two jobs a third has its turns, and no step yet. Returns its id."""
    two_compute(gang)
    job = gang.allocate(NODES, "-pgang")
    has_turns(gang, job)
    return job


def has_turns(gang, job):
    """Wait until strobes name a map with the job on all nodes. A step that begins
    before that goes on at once."""
    def named(node):
        trace = gang.trace(node)
        maps = [e["version"] for e in trace
                if e["what"] == "job" and e["job"] == job]
        return maps and [e for e in trace if e["what"] == "slot" and
                         e["version"] >= maps[0]]

    for node in gang.names:
        until(lambda: named(node), f"turns of job {job} on {node}")


def of_step(trace, job, step):
    return [e for e in trace if (e.get("job"), e.get("step")) == (job, step)]


def start_of(trace, job, step):
    """Its event, or None: the tasks did not wait, or still do."""
    found = [e for e in of_step(trace, job, step) if e["what"] == "start"]
    assert len(found) < 2, found
    return found[0] if found else None


def falls_into_turn(trace, job, step, at):
    """Whether the moment lies in a turn that the step had. A turn begins with
    its strobe (slot), a moment before the step continues."""
    runs = slot = False
    for e in trace:
        if e["at"] > at:
            break
        if e["what"] == "slot":
            slot = e["slot"]
        elif (e.get("job"), e.get("step")) == (job, step):
            if e["what"] in ("start", "continue"):
                runs = e["why"] == "slot"
            elif e["what"] in ("stop", "gone"):
                runs = False
    after = [e for e in of_step(trace, job, step) if e["at"] > at]
    return runs or bool(after) and after[0]["what"] == "continue" and \
        after[0]["why"] == "slot" and after[0]["slot"] == slot


def began(out):
    """{node: when its task began} of `srun -l taskdo node began`"""
    node, at = {}, {}
    for line in out.splitlines():
        rank, text = line.split(": ", 1)
        if text.isdigit():
            at[rank] = int(text)
        else:
            node[rank] = text.split()[2]
    return {node[rank]: at[rank] for rank in node}


def interrupted(gang, since):
    """Strobes were late, as on a busy machine: meanwhile everything ran."""
    return any(e["what"] == "open" for n in gang.names
               for e in gang.trace(n, since[n]))


def check_step(gang, since, job, step, times):
    """All of its tasks began in turns of its job. Returns how long each node's
    waited, in us."""
    waits = []
    assert set(times) == set(gang.names)
    for node, at in times.items():
        trace = gang.trace(node, since[node])
        event = start_of(trace, job, step)
        assert event and event["why"] == "slot", of_step(trace, job, step)
        assert event["at"] < at, (event, at)
        assert falls_into_turn(trace, job, step, at), \
            (node, at, [e for e in trace if abs(e["at"] - at) < 100e6])
        waits.append(event["b"])
    return waits


def check_timeline(run, waits):
    """The longest wait of all nodes, in whole milliseconds."""
    ms = round(max(waits) / 1000)
    slot = run.steps[0]["phases"]["slot"]
    assert ms < 2 if slot is None else abs(slot["ms"] - ms) <= 1, \
        f"{waits} {run}"


@pytest.mark.every_release
def test_first_instruction(gang):
    job = beside_two(gang)
    steps, checked, longest = 0, 0, 0
    while checked < 20 or longest < 2000:
        assert steps < 100, "no task has ever waited"
        since = {n: gang.mark(n) for n in gang.names}
        run = gang.run(f"srun --jobid={job} -l -N{NODES} --launch=storm "
                       f"{BEGAN}")
        assert run.code == 0, str(run)
        if not interrupted(gang, since):
            waits = check_step(gang, since, job, steps, began(run.out))
            check_timeline(run, waits)
            longest = max(longest, *waits)
            checked += 1
        steps += 1
    gang.cancel(job)


def script(gang):
    """Run a script of three steps. False: strobes were late."""
    since = {n: gang.mark(n) for n in gang.names}
    step = f"srun -l -N{NODES} --launch=storm /home/user/bin/taskdo node began"
    batch = gang.start(
        f"sbatch --parsable -W -pgang -N{NODES} -o /dev/null script",
        given={"script": "#!/bin/sh\nuntil [ -e go ]; do sleep 0.02; done\n" +
               "".join(f"{step} >out.{i}\n" for i in range(3))})
    job = int(until(batch.out, batch.err))
    has_turns(gang, job)
    (batch.dir / "go").touch()
    run = batch.finish()
    assert run.code == 0, str(run)
    if interrupted(gang, since):
        return False
    for i in range(3):
        check_step(gang, since, job, i, began((run.dir / f"out.{i}").read_text()))
    for node in gang.names:
        assert not start_of(gang.trace(node, since[node]), job, BATCH)
    return True


def test_of_script(gang):
    """The script itself does not wait, and its steps do."""
    two_compute(gang)
    assert any(script(gang) for _ in range(5)), "strobes are late"


def test_alone_no_wait(gang):
    """Where nothing is shared no task waits, and nobody is told of it."""
    since = {n: gang.mark(n) for n in gang.names}
    run = gang.run(f"srun -pgang -l -N{NODES} --launch=storm {BEGAN}")
    assert run.code == 0 and len(began(run.out)) == NODES, str(run)
    assert run.steps[0]["phases"]["slot"] is None
    for node in gang.names:
        gang.wait_until_empty()
        events = gang.trace(node, since[node])
        assert [e for e in events if e["what"] == "step"]
        assert not [e for e in events if e["what"] == "start"], events


def in_others_turn(gang, job):
    trace = gang.trace("n1")
    slots = {e["job"]: e["a"] for e in trace if e["what"] == "job"}
    last = [e for e in trace if e["what"] == "slot"][-1]
    version = [e for e in trace if e["what"] == "map"][-1]["version"]
    return last["version"] == version and not slots[job] >> last["slot"] & 1


class Waiting:
    """A step on n1 whose task waits, long before its turn."""

    def __init__(self, gang, verbs):
        self.gang, self.verbs = gang, verbs
        self.job, self.step = beside_two(gang), -1
        gang.long = True
        gang.set_quantum(LONG)
        while not self.tries():
            gang.lab.run(["scancel", f"{self.job}.{self.step}"], host="login",
                         cwd="/")
            self.srun.finish()

    def events(self):
        return of_step(self.gang.trace("n1", self.since), self.job, self.step)

    def start(self):
        return start_of(self.events(), self.job, self.step)

    def tries(self):
        """False: the others' turn was just over, or the first by the new
        quantum, which can be a short one."""
        self.gang.until(lambda: in_others_turn(self.gang, self.job),
                        "another's turn")
        self.since = self.gang.mark("n1")
        self.step += 1
        self.srun = self.gang.start(f"srun --jobid={self.job} -N1 -w n1 "
                                    f"--launch=storm {self.verbs}")
        self.gang.until(lambda: {e["what"] for e in self.events()} &
                        {"stop", "start"}, "the step to wait")
        return not self.start()

    def has_begun(self):
        return (self.srun.dir / "began").exists()


def agent(gang):
    pid, = gang.lab.pids("n1", "storm_agent")
    return pid


def test_agent_dies(gang):
    """A task that waits goes on at once."""
    waits = Waiting(gang, TOUCH)
    since = gang.mark("n1")
    os.kill(agent(gang), signal.SIGKILL)
    gang.until(waits.has_begun, "the task to begin")
    assert not waits.start(), waits.events()
    # only it can write that the steps go on
    gang.until(lambda: [e for e in gang.trace("n1", since) if e["what"] == "begin"],
               "a new agent")
    gang.cancel(waits.job)


def test_agent_stands(gang):
    """slurmd's guard lets the step go on, and the task waits no longer than the
    limit of its own."""
    waits = Waiting(gang, TOUCH)
    pid = agent(gang)
    os.kill(pid, signal.SIGSTOP)
    try:
        gang.until(waits.has_begun, "the task to begin")
    finally:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:      # slurmd has replaced it
            pass
    gang.cancel(waits.job)


@pytest.mark.parametrize("sig", ["TERM", "KILL", "USR1"])
def test_signal(gang, sig):
    """It ends a task that waits, as one that has just begun."""
    waits = Waiting(gang, TOUCH)
    # it may complain that the step is gone by now
    gang.lab.run(["scancel", "-s", sig, f"{waits.job}.{waits.step}"],
                 host="login", cwd="/")
    run = waits.srun.finish()
    assert run.code == 128 + getattr(signal, f"SIG{sig}"), str(run)
    gang.until(lambda: waits.events()[-1]["what"] == "gone", "the step's end")
    # its turn, if that came sooner than the signal
    assert not waits.has_begun() or waits.start()["why"] == "slot", waits.events()
    gang.cancel(waits.job)


def test_cancel_job(gang):
    """It is in no map then, so its task goes on, and is killed."""
    waits = Waiting(gang, "{do} block")
    gang.cancel(waits.job)
    run = waits.srun.finish()
    assert run.code, str(run)
    assert not waits.start() or waits.start()["why"] == "not-in-map"


def test_mpi(gang):
    """PMI2's processes wait for each other, but not before exec."""
    mpis.need("mpich")
    mpis.build("mpich", "wait_suite.c", gang.bin / "suite")
    job = beside_two(gang)
    since = {n: gang.mark(n) for n in gang.names}
    for step in range(3):
        run = gang.run(f"srun --jobid={job} -N{NODES} --mpi=pmi2 "
                       "--launch=storm {bin}/suite 1")
        assert run.code == 0 and run.out.count("--- rank") == NODES, str(run)
        for node in gang.names:
            assert start_of(gang.trace(node, since[node]), job, step)
    gang.cancel(job)
