# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Many jobs with launchers on one node, and many runs in one: what that takes from others."""
import os

import pytest

from conftest import lab_name, make, need_cgroup2
from flood import Flooded, Part
from harness import until
from run_lab import STARTED, nothing_left

pytestmark = pytest.mark.storm_only

JOBS = 256 if os.environ.get("STORM_LONG") else 24

#: One of an array of jobs. All have their run at the same time
ONE = """#!/bin/bash
storm run -n1 sh -c 'touch up.$1; until [ -e go ]; do sleep 0.5; done; exit $(($1 % 100))' \\
  x $SLURM_ARRAY_TASK_ID
echo $? >code.$SLURM_ARRAY_TASK_ID
storm run -n1 true; echo $? >next.$SLURM_ARRAY_TASK_ID
"""


@pytest.fixture
def node():
    """n1 has a CPU for each of the jobs. An agent has sessions for four of a user's."""
    c = make("jobs", 2, cpus=JOBS + 4, standing=False,
             storm_conf={"MaxUserSessions": "4"})
    yield c
    c.down()


def test_jobs_on_a_node(node):
    """Launchers of so many jobs take no session of the agent: all keep theirs, and what the
    user and another one launch goes by STORM all the same."""
    one = node.start(["sbatch", "-Q", "-N1", "-n1", "-w", "n1", f"--array=1-{JOBS}", "-o",
                      "{dir}/log.%a", "job.sh"], given={"job.sh": ONE})

    def there(what):
        return {int(p.name.split(".")[1]) for p in one.dir.glob(what + ".*")}
    everyone = set(range(1, JOBS + 1))
    until(lambda: there("up") == everyone, lambda: "runs of jobs "
          f"{sorted(everyone - there('up'))[:9]}: {node.root('squeue -r')}", timeout=600)
    assert len(node.lab.pids("n1", "storm_launcher")) == 3 * JOBS
    assert node.agent("n1", "sessions") <= 1
    run = node.run(["srun", "-N2", "-n2", "--launch=storm", "hostname"])
    assert run.code == 0 and sorted(run.out.split()) == ["n1", "n2"], str(run)
    node.by_storm(run)
    other = node.lab.run(["srun", "-v", "-N2", "-n2", "--launch=storm", "hostname"],
                         user="other", cwd="/", env={"STORM_TIMELINE": "/tmp/line"})
    assert other.returncode == 0, other.stderr
    line = node.file("login", "/tmp/line").decode()
    assert '"fallback": null' in line or '"fallback":null' in line, line + other.stderr
    (one.dir / "go").touch()
    until(lambda: there("next") == everyone, lambda: "ends of jobs "
          f"{sorted(everyone - there('next'))[:9]}", timeout=600)
    for k in everyone:
        log = (one.dir / f"log.{k}").read_text()
        assert (one.dir / f"code.{k}").read_text() == f"{k % 100}\n", log
        assert (one.dir / f"next.{k}").read_text() == "0\n", log
        assert len(STARTED.findall(log)) == 1, log
    until(lambda: not node.root("squeue -h").strip(), "the jobs to end", timeout=600)
    nothing_left(node)


#: Four loops of runs, or of as many programs without, as files say
LOOPS = """#!/bin/bash
storm run --start; touch ready
for k in 1 2 3 4; do (while [ ! -e end ]; do
  if [ -e runs ]; then storm run -n1 true && echo >>count
  elif [ -e decoy ]; then /bin/true; else sleep 0.05; fi; done) & done; wait
"""


class Runs(Flooded):
    """The flood is a user's job on the same node, which takes no turns."""

    def begin_runs(self):
        self.loops = self.start("sbatch -Q -pshared -N1 -n1 -o {dir}/log job.sh",
                                given={"job.sh": LOOPS})
        self.until((self.loops.dir / "ready").exists, "the launchers")

    def done(self):
        path = self.loops.dir / "count"
        return path.stat().st_size if path.exists() else 0

    def part(self, kind, strobes, decoy):
        word = self.loops.dir / ("decoy" if decoy else "runs")
        before = self.done()
        word.touch()
        self.until(lambda: decoy or self.done() > before, "runs")
        before = self.done()
        found = self.measure(strobes)
        runs = self.done() - before
        word.unlink()
        assert decoy or runs > strobes / 4, runs
        return Part(*found[:4], runs)


@pytest.fixture
def turns():
    need_cgroup2()
    c = Runs(lab_name("runs"))
    try:
        c.begin_jobs()
        c.begin_runs()
        yield c
        (c.loops.dir / "end").touch()
        c.end_jobs()
    finally:
        c.down()


def test_runs_delay_no_strobe(turns):
    """As many runs as a node can do, one after the other and four at once, are no more to
    strobes than so many programs: test_insider_flood.py has the same bounds."""
    pairs = turns.compare("runs", 5, 150)
    print(pairs)
    # the best of the rounds: the others met other users of this machine
    assert min(f.late99 / q.late99 for q, f in pairs) < 3, pairs
    assert min(f.agent - q.agent for q, f in pairs) < 0.05, pairs
