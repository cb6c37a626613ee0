# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A rolling upgrade from Slurm 24.11 to 26.05, in Slurm's order: slurmctld, the
nodes one by one, and the host of the users' commands last. Jobs run over all of
it, and take turns before. After each host, steps over all nodes, over the old and
over the new ones, from commands of both releases, go by STORM, without a line.

The programs are Debian's, and so is the order of the tests: each one upgrades one
host more.
"""
import re

import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import LabError, stage_dir, until
from lab.cluster import check_stage
from lab.release import root_of, stage_of

OLD, NEW = "24.11", "26.05"

pytestmark = [
    pytest.mark.storm_only,
    pytest.mark.slurm_only(OLD, f"the upgrade begins with {OLD}, and runs once")]

NODES = ["n1", "n2", "n3"]
HOSTS = ["ctl", *NODES, "login"]
#: in a partition where jobs do not take turns, beside those that do
SRUN = "srun -pshared --mem=10"

#: each has a number that grows while the task runs, and ends when told to
BEATS = ("while ! test -e /home/user/stop; do i=$((i+1)); "
         "echo $i >/home/user/beat.$SLURM_JOB_ID.$SLURM_PROCID; sleep 0.05; "
         "done; echo bye")

#: a step for each host that is upgraded, and for none
BATCH = f"""\
#!/bin/sh
for step in none {" ".join(HOSTS)}; do
    until test -e /home/user/upgraded.$step; do sleep 0.05; done
    srun --mem=10 --launch=storm -l hostname >batch.$step 2>&1
    echo "code $?" >>batch.$step
    mv batch.$step done.$step
done
"""

#: the nodes are still busy with the last one
QUEUED = re.compile(r"srun: job \d+ (queued and waiting for|has been allocated) "
                    r"resources\n")

#: what slurmctld says where its records are not those of the source that STORM
#: was built with, as with Debian's 26.05.5
OTHER_RECORDS = (
    "storm: no job takes turns: slurmctld's records of jobs and partitions have "
    "other sizes",
    "storm: no step gets a network context: slurmctld's records of jobs and steps "
    "have other sizes")


def skip_without(release, stage):
    try:
        root_of(release)
        check_stage(stage, release)
    except LabError as e:
        pytest.skip(f"SKIP: {e}")


class Rolling:
    """A lab, the hosts that are upgraded, and jobs that run all the time."""

    def __init__(self, c):
        self.c = c
        self.new = []
        self.jobs = [c.start(["srun", "-pgang", "--mem=100", "-N3",
                              "--launch=storm", "-l", "sh", "-c", BEATS])
                     for _ in range(2)]
        c.until(lambda: len(c.jobs()) == 2, "two jobs")
        c.alternate()
        script = c.home / "batch"
        script.write_text(BATCH)
        c.lab.run(["sbatch", "-pshared", "-N3", "--mem=100", "-D", "/home/user",
                   "-o", "/dev/null", "batch"], user="user", cwd="/home/user",
                  check=True)
        self.steps_of_batch("none")

    def upgrade_to(self, last):
        """Upgrade the hosts up to this one that are not yet."""
        for host in HOSTS[len(self.new):HOSTS.index(last) + 1]:
            self.c.lab.upgrade(host, NEW)
            self.new.append(host)
            # Until a node has registered with a new slurmctld no step begins on
            # it, and Slurm says so.
            self.c.root("srun -pshared --mem=10 -N3 true", timeout=120)
            self.steps_of_batch(host)
            self.jobs_run()

    def steps_of_batch(self, host):
        """The batch job's next step, by the srun of the first node."""
        done = self.c.home / f"done.{host}"
        (self.c.home / f"upgraded.{host}").touch()
        until(done.exists, f"the batch job's step after {host}")
        lines = sorted(done.read_text().splitlines())
        assert lines == ["0: n1", "1: n2", "2: n3", "code 0"], lines

    def jobs_run(self):
        """Each task of the jobs that run all the time goes on."""
        def beats():
            return {p.name: p.read_text() for p in self.c.home.glob("beat.*")}

        first = beats()
        assert len(first) == 6 and all(j.running() for j in self.jobs)

        def go_on():
            now = beats()
            # a file is empty while its task writes it
            return all(now[name].strip() not in ("", first[name].strip())
                       for name in first)

        until(go_on, lambda: f"tasks to go on: {first}, {beats()}")

    def sets(self):
        """All nodes, the old ones, the new ones."""
        new = [n for n in NODES if n in self.new]
        old = [n for n in NODES if n not in self.new]
        return [s for s in (NODES, old, new) if s]

    def senders(self):
        """The login host, an old node and a new one: commands of each release."""
        return ["login"] + [s[0] for s in self.sets()[1:]]

    def release(self, host):
        return NEW if host in self.new else OLD

    def may_send_file(self, host, nodes):
        """A credential for files has the form of its host's release."""
        return self.release(host) == OLD or \
            all(self.release(n) == NEW for n in nodes)


@pytest.fixture(scope="module")
def rolling():
    need_cgroup2()
    skip_without(OLD, stage_dir())
    skip_without(NEW, stage_of(NEW))
    c = make("rolling", len(NODES), kind=Gang, slurm=OLD, quantum=20)
    try:
        yield Rolling(c)
    finally:
        c.down()


@pytest.fixture(scope="module", params=["none", *HOSTS])
def upgraded(rolling, request):
    """Upgraded are the hosts up to this one; the tests run for each in turn."""
    if request.param != "none":
        rolling.upgrade_to(request.param)
    return rolling


def run(r, host, nodes, args, code=0):
    """A step by STORM over these nodes, without a message but those of the end."""
    c = r.c
    one = c.run(f"{SRUN} --launch=storm -l -N{len(nodes)} -w {','.join(nodes)} "
                + args, host=host)
    what = f"by {host} of {r.release(host)}, upgraded are {r.new}: {one}"
    assert one.code == code, what
    c.by_storm(one)
    assert not QUEUED.sub("", one.err) or code and "storm" not in one.err, what
    return one


def test_steps(upgraded):
    r = upgraded
    for host in r.senders():
        for nodes in r.sets():
            one = run(r, host, nodes, "{do} say x")
            assert sorted(one.out.splitlines()) == \
                [f"{i}: x" for i in range(len(nodes))], str(one)
        one = run(r, host, NODES, "{do} say x @1 exit 3", code=3)
        assert "task 1: Exited with exit code 3" in one.err, str(one)
        assert one.out.count("x\n") == 3, str(one)


def test_files(upgraded):
    """By --bcast, to nodes whose Slurm is not older."""
    r = upgraded
    for host in r.senders():
        for nodes in r.sets():
            if r.may_send_file(host, nodes):
                one = run(r, host, nodes, "--bcast=/tmp/sent {do} say x")
                assert one.out.count("x\n") == len(nodes), str(one)
                sent = (r.c.bin / "taskdo").read_bytes()
                for node in nodes:
                    assert r.c.file(node, "/tmp/sent") == sent
                r.c.remove("/tmp/sent", nodes)
            else:
                to_an_older_slurm(r, host, nodes)


def to_an_older_slurm(r, host, nodes):
    """Slurm's own broadcast fails. STORM's says why, and falls back to it."""
    older = [n for n in nodes if r.release(n) == OLD]
    args = f"{SRUN} -N{len(nodes)} -w {','.join(nodes)} --bcast=/tmp/sent "
    stock = r.c.run(args + "--launch=slurm {do} say x", host=host)
    assert stock.code == 1, f"stock itself can do it now: {stock}"
    storm = r.c.run(args + "--launch=storm {do} say x", host=host)
    assert storm.code == stock.code, str(storm)
    (line,) = [t for t in storm.err.splitlines() if "storm:" in t]
    names = "|".join(older)
    assert re.fullmatch(
        rf"srun: warning: storm: nodes? ({names}|n\[.*\]): its Slurm is older than "
        "this host's, and cannot read the credential for the file; upgrade slurmd "
        "there first; falling back to Slurm's (standard launch|own messages there, and "
        r"not for the other \d+ nodes)", line), str(storm)


def test_jobs_end(rolling):
    """The jobs that ran all the time end well, and nothing is left of them."""
    r = rolling
    r.upgrade_to(HOSTS[-1])
    (r.c.home / "stop").touch()
    for job in r.jobs:
        one = job.finish()
        assert one.code == 0, str(one)
        assert sorted(one.out.splitlines()) == ["0: bye", "1: bye", "2: bye"]
        for line in one.err.splitlines():
            assert re.fullmatch(
                r"srun: warning: storm: node n\d: node was lost; if that host "
                "lives its tasks continue and report directly to srun, else .*",
                line), str(one)
    until(lambda: not r.c.root("squeue -h"), "an empty queue")
    r.c.wait_until_empty()
    assert not r.c.frozen() and not r.c.stopped_processes()


def test_logs(rolling):
    """What is wrong is said once; in a rolling upgrade that is little."""
    r = rolling
    r.upgrade_to(HOSTS[-1])
    for node in NODES:
        log = r.c.lab.log(node, "slurmd")
        assert f"its version is 0.1.0 for Slurm {OLD}" in log
        assert not re.findall(r"error: storm.*", log)
    bad = re.findall(r"error: (storm.*)", r.c.lab.log("ctl", "slurmctld"))
    for line in bad:
        assert line.startswith(OTHER_RECORDS) and bad.count(line) == 1, bad
