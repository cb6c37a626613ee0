# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""srun's signals go to all nodes by one cast, and none is lost or comes twice: not if a
node stands or its agent dies, and not where datagrams are lost. Nobody signals another
step by it."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

from harness import until
from test_signals import all_up, only_step, told_all

pytestmark = pytest.mark.storm_only

HERE = pathlib.Path(__file__).resolve().parent
USR1 = signal.SIGUSR1
LINE = re.compile(rf"(\d+): signal {int(USR1)} from uid 0$", re.M)


class Tally:
    """srun whose tasks print a line for each USR1."""

    def __init__(self, cluster, args="-N8 -n8", tasks=8, **options):
        self.cluster, self.tasks, self.sent = cluster, tasks, 0
        self.run = cluster.start_srun(
            f"{args} {{do}} tally {int(USR1)} up.%t {{dir}}/go", **options)
        all_up(self.run, tasks)
        told_all(cluster)

    def lines(self):
        return sorted(map(int, LINE.findall(self.run.out())))

    def signal(self):
        self.run.signal(USR1)
        self.sent += 1
        expected = sorted(list(range(self.tasks)) * self.sent)
        until(lambda: len(self.lines()) >= len(expected),
              lambda: f"{self.sent} signals at each task: {self.run.out()}"
              f"{self.run.err()}")
        assert self.lines() == expected

    def end(self):
        """Each has as many as were sent, and srun has nothing to say."""
        (self.run.dir / "go").touch()
        done = self.run.finish()
        assert done.code == 0, str(done)
        assert self.lines() == sorted(list(range(self.tasks)) * self.sent), str(done)
        return done


def passed_on(cluster):
    """How many signals agents have passed to their slurmds, by node."""
    return {n: cluster.agent(n, "signals") for n in cluster.names}


def more(cluster, before):
    now = passed_on(cluster)
    return {n: now[n] - before[n] for n in now}


@pytest.mark.every_mode
def test_one_cast(cluster):
    before = passed_on(cluster)
    one = Tally(cluster)
    for _ in range(3):
        one.signal()
    done = one.end()
    assert done.err == "", str(done)
    assert more(cluster, before) == dict.fromkeys(cluster.names, 3)


def test_only_where_tasks_run(cluster):
    """Nothing is said of nodes whose tasks have ended. (srun tells those, too, of whose
    ends it has not heard yet.)"""
    run = cluster.start_srun(
        f"-N8 -n8 {{do}} @0-3 exit 0 tally {int(USR1)} up.%t {{dir}}/go")
    until(lambda: all((run.dir / f"up.{i}").exists() for i in range(4, 8)),
          "four tasks")
    told_all(cluster)
    run.signal(USR1)
    until(lambda: len(LINE.findall(run.out())) == 4,
          lambda: f"four signals: {run.out()}{run.err()}")
    (run.dir / "go").touch()
    done = run.finish()
    assert done.code == 0 and done.err == "", str(done)
    assert sorted(map(int, LINE.findall(done.out))) == [4, 5, 6, 7], str(done)


@pytest.mark.parametrize("odd", ["n1", "n8"])
def test_agent_stands(cluster, odd):
    """Slurm tells all: no agent does, also when it goes on."""
    before = passed_on(cluster)
    one = Tally(cluster)
    cluster.lab.kill(odd, "agent", signal.SIGSTOP)
    try:
        one.signal()
    finally:
        cluster.lab.kill(odd, "agent", signal.SIGCONT)
    assert more(cluster, before) == dict.fromkeys(cluster.names, 0)
    one.signal()
    one.end()


def test_agent_dies(cluster):
    """slurmd starts another one, which has never heard of the step."""
    one = Tally(cluster)
    cluster.lab.kill("n3", "agent", signal.SIGKILL)
    one.signal()
    cluster.lab.wait_agents(["n3"])
    one.signal()
    one.end()


def unread(cluster, node):
    """Bytes that the node's slurmd has not read yet."""
    text = cluster.root("ss -Htn state established sport = :6818", host=node)
    return sum(int(line.split()[0]) for line in text.splitlines())


def test_agent_dies_before_it_reports(cluster):
    """It has passed the signal on to slurmd, and nobody will say so. srun cannot know,
    so Slurm tells this node: its task may have the signal twice, and no other may."""
    one = Tally(cluster, "-vv -N8 -n8")
    cluster.lab.kill("n3", "slurmd", signal.SIGSTOP)
    try:
        one.run.signal(USR1)
        until(lambda: unread(cluster, "n3"),
              lambda: f"the agent to pass it on: {one.run.err()}")
        cluster.lab.kill("n3", "agent", signal.SIGKILL)
    finally:
        cluster.lab.kill("n3", "slurmd", signal.SIGCONT)
    until(lambda: set(one.lines()) == set(range(8)),
          lambda: f"a signal at each task: {one.run.out()}{one.run.err()}")
    says = f"storm: signal {int(USR1)} to n3 is Slurm's"
    until(lambda: says in one.run.err(), one.run.err, 30)
    until(lambda: one.lines().count(2) == 2, one.run.out)
    assert one.lines() == sorted([*range(8), 2])
    cluster.lab.wait_agents(["n3"])
    one.run.signal(USR1)
    until(lambda: len(one.lines()) == 17, one.run.out)
    (one.run.dir / "go").touch()
    done = one.run.finish()
    assert done.code == 0 and one.lines() == sorted([*range(8), *range(8), 2]), str(done)


def short_timeout(cluster):
    """The environment of an srun that waits 2 s for answers."""
    path = pathlib.Path(cluster.lab.path("login", "/etc/slurm/slurm.conf"))
    path.with_name("short.conf").write_text(path.read_text() + "MessageTimeout=2\n")
    return {"SLURM_CONF": "/etc/slurm/short.conf"}


def test_slurmd_answers_late(cluster):
    """It has the signal, so nobody tells it again: srun says what stock says."""
    one = Tally(cluster, env=short_timeout(cluster))
    cluster.lab.kill("n3", "slurmd", signal.SIGSTOP)
    try:
        one.run.signal(USR1)
        until(lambda: "Failure sending signal" in one.run.err(), one.run.err)
    finally:
        cluster.lab.kill("n3", "slurmd", signal.SIGCONT)
    until(lambda: 2 in one.lines(), one.run.out)
    one.sent += 1
    one.signal()
    done = one.end()
    assert re.fullmatch(rf"srun: error: Failure sending signal {int(USR1)} to StepId=\S+ on "
                        "node n3: Socket timed out on send/recv operation\n", done.err), str(done)


def test_datagrams_are_lost(cluster):
    """Three of ten, at each receiver."""
    one = Tally(cluster)
    cluster.lab.drop(30, seed=11)
    try:
        for _ in range(3):
            one.signal()
    finally:
        cluster.lab.drop(5 if cluster.mode == "drop" else 0, seed=7)
    one.end()


def test_pty(cluster):
    """Slurm launches it, and signals it."""
    before = passed_on(cluster)
    Tally(cluster, "--pty -N1 -n1", tasks=1).signal()
    assert not sum(more(cluster, before).values())


def test_components(cluster):
    """Both of a heterogeneous step, each by its own domain."""
    words = f"{{do}} tally {int(USR1)} up.%t {{dir}}/go"
    before = passed_on(cluster)
    run = cluster.start_srun(f"-N2 -n2 {words} : -N3 -n3 {words}")
    all_up(run, 5)
    told_all(cluster)
    for times in (1, 2):
        run.signal(USR1)
        until(lambda n=times: len(LINE.findall(run.out())) == 5 * n,
              lambda: f"signals: {run.out()}{run.err()}")
    (run.dir / "go").touch()
    done = run.finish()
    assert done.code == 0 and done.err == "", str(done)
    assert sum(more(cluster, before).values()) == 10


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    to = tmp_path_factory.mktemp("otherstep") / "otherstep.so"
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared",
                    "-fPIC", HERE.parent / "programs/otherstep.c", "-o", to], check=True)
    return to


@contextlib.contextmanager
def victim(cluster):
    run = cluster.start_srun(f"-w n1,n2 -N2 -n2 {{do}} tally {int(USR1)} up.%t {{dir}}/go")
    all_up(run, 2)
    yield run, only_step(cluster)
    (run.dir / "go").touch()
    assert run.finish().code == 0


def attack(cluster, preload, step, nodes):
    """An srun of which the signal names another step; and what it says in the end."""
    (cluster.bin / "otherstep.so").write_bytes(preload.read_bytes())
    run = cluster.start_srun(
        f"-w {nodes} -N2 -n2 {{do}} tally {int(USR1)} up.%t {{dir}}/go",
        env={"LD_PRELOAD": "{bin}/otherstep.so", "FORGE_STEP": step,
             "FORGE_WHILE": "{dir}/forge"})
    all_up(run, 2)
    told_all(cluster)
    (run.dir / "forge").touch()
    before = {n: len(cluster.lab.log(n, "slurmd")) for n in cluster.names}
    run.signal(USR1)

    def refused():
        return [n for n in cluster.names if re.search(
            r"uid \d+ sent an invalid signal for step",
            cluster.lab.log(n, "slurmd")[before[n]:])]
    until(lambda: len(refused()) == 2, lambda: f"two agents to refuse: {refused()}")
    return run


def test_another_step_of_the_user(cluster, preload):
    """An agent signals the session's own step alone. (Slurm lets users signal all of
    their steps, and srun asks it next.)"""
    with victim(cluster) as (_, step):
        run = attack(cluster, preload, step, "n3,n4")
        os.unlink(run.dir / "forge")
        (run.dir / "go").touch()
        assert run.finish().code == 0


def test_step_of_another_user(cluster, preload):
    """Nor does slurmd let a user signal it, whom srun asks next."""
    other = cluster.start(["srun", "-w", "n1,n2", "-n2", "sleep", "600"], user="other",
                          cwd="/tmp", label="victim")

    def steps():
        return [x for x in cluster.root("squeue -h -s -u other -o %i").split()
                if x.endswith(".0")]
    step, = until(steps, lambda: f"another user's step: {other.err()}")
    run = attack(cluster, preload, step, "n1,n2")
    until(lambda: "Failure sending signal" in run.err(), lambda: run.err())
    os.unlink(run.dir / "forge")
    (run.dir / "go").touch()
    assert run.finish().code == 0
    assert other.running() and steps() == [step]
    other.signal(signal.SIGTERM)
    other.finish()
