# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm each where what it needs dies, stands or is full: its client says what, and nothing of
a task is left."""
import os
import re
import signal

import pytest

from harness import until
from run_lab import (ENDED, STARTED, batch, begin, end_run, lab, nothing_left,  # noqa: F401
                     processes, runs_now, said, the_head, the_keeper, the_launcher, the_srun)

pytestmark = pytest.mark.storm_only

EACH_ENDED = ENDED.replace("storm run", "storm each")


def going(lab, more=""):
    """Eight tasks of 12 that wait for a file, on 8 CPUs."""
    one = begin(lab, f"""
storm each --joblog jobs 'touch there.{{}}; until [ -e go ]; do sleep 0.05; done; echo {{}}' \\
  ::: $(seq 12); echo code $?
{more}""")
    until(lambda: len(list(one.dir.glob("there.*"))) == 8,
          lambda: "eight tasks: " + one.log())
    return one


@pytest.mark.parametrize("victim", [the_head, the_keeper, the_srun,
                                    lambda lab: the_launcher(lab, "n1")],
                         ids=["head", "keeper", "srun", "first-launcher"])
def test_launchers_end(lab, victim):
    """All tasks end with the launchers, and the client says so. --resume goes on with new
    ones: what has not ended runs again, once."""
    one = going(lab, """touch lost; until [ -e on ]; do sleep 0.05; done
rm -f there.*; storm each --resume --joblog jobs 'touch there.{}; echo {}' ::: $(seq 12)
echo code $?; ls there.* | wc -l
""")
    os.kill(victim(lab), signal.SIGKILL)
    until((one.dir / "lost").exists, lambda: "its end: " + one.log())
    until(lambda: not processes(lab, "sleep"), "the tasks to end")
    (one.dir / "go").touch()
    (one.dir / "on").touch()
    assert one.finish().code == 0, one.log()
    first, rest = re.split(r"^code 255\n", one.log(), flags=re.M)
    assert re.search(EACH_ENDED, first, re.M), one.log()
    assert sorted(map(int, re.findall(r"^\d+$", rest, re.M))) == sorted([*range(1, 13), 12])
    assert "code 0\n" in rest and len(STARTED.findall(one.log())) == 2, one.log()


def test_node_stands_alone(lab):
    """A launcher that is stopped is a lost node: others have its tasks, each of which is
    said. What it has begun ends when it goes on."""
    one = going(lab)
    pid = the_launcher(lab, "n3")
    os.kill(pid, signal.SIGSTOP)
    until(lambda: one.log().count("begins again") == 2, lambda: "two lines: " + one.log())
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert "code 0\n" in one.log(), one.log()
    log = (one.dir / "jobs").read_text().splitlines()[1:]
    assert sorted(int(line.split("\t")[0]) for line in log) == [*range(1, 13)], log
    assert not [line for line in log if line.split("\t")[1] == "n3"], log


def test_suspended(lab):
    """While the job is suspended nothing is lost; it goes on where it was."""
    one = going(lab)
    job = lab.root("squeue -h -o %i").strip()
    head = the_head(lab)
    lab.root(f"scontrol suspend {job}")
    until(lambda: not runs_now(head), "the head to stand")
    (one.dir / "go").touch()
    lab.root(f"scontrol resume {job}")
    assert one.finish().code == 0, one.log()
    assert "code 0\n" in one.log() and "lost" not in one.log(), one.log()
    assert len((one.dir / "jobs").read_text().splitlines()) == 13


def test_cancelled(lab):
    """With the job all tasks end, on each node."""
    going(lab)
    lab.root("scancel -u user")
    nothing_left(lab)


def test_full(lab):
    """Where the joblog, a result or output cannot be written it says so and starts no more
    tasks; its exit status is that of its own failures. A reader that is gone ends it, too."""
    out = batch(lab, r"""
storm run true
to=/dev/null
run() {
  timeout 100 storm each "$@" 2>err >$to
  echo code $? $(sed 's/^storm each: //' err | sort -u | head -n1)
}
run --joblog /dev/full true ::: $(seq 100)
run --results /proc/none true ::: $(seq 100)
to=/dev/full; run echo ::: $(seq 100)
storm each -u yes ::: 1 2 2>err | head -n1; echo code ${PIPESTATUS[0]}
storm run -N4 true; echo next $?
""")
    full = "No space left on device"
    assert out[0] == f"code 255 /dev/full: {full}", out
    assert out[1].startswith("code 255 error: /proc/none: "), out
    assert out[2] == f"code 255 error: output is lost: standard output: {full}", out
    assert out[3] in ("1", "2") and out[4:] == ["code 141", "next 0"], out
