# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: input of tasks, and clients that talk with each task by itself."""
import os
import signal

import pytest

from harness import until
from run_lab import (begin, end_run, lab, processes, said,  # noqa: F401
                     the_launcher, VERSION)
from tree import TOP

pytestmark = pytest.mark.storm_only

FRAMED = f"framed() {{ python3 {TOP}/testsuite/cluster/run_framed.py {VERSION} \"$@\"; }}\n"


def of(out, rank):
    """What was heard of a task."""
    return [line for line in out if line.split()[:2] in (["output", str(rank)],
                                                         ["gone", str(rank)])]


def test_framed(lab):
    """Each task has its own input, on the client's host, too. All of its output, and whose
    it is, comes before its end."""
    one = begin(lab, FRAMED + """
storm run true
printf '%s\\n' '0 for 0' '1 for 1' 3 '2 for 2' | framed end tasks 4 8 sh -c '
  [ $SLURM_PROCID -lt 4 ] || exit 0
  read x; echo got $x; [ $SLURM_PROCID != 2 ] || head -c 300000 /dev/zero >&2
  exit $SLURM_PROCID' >out; tail -n1 out
""")
    assert one.finish().code == 0, one.log()
    out = (one.dir / "out").read_text(errors="replace").splitlines()
    assert out[0] == "room all 0" and out[-1] == "end 3", out[-5:]
    for rank in range(8):
        heard = [line for line in of(out, rank) if line.split()[2] != "2"]
        code = rank if rank < 4 else 0
        assert heard[-1] == f"gone {rank} 0 {code}" == of(out, rank)[-1], heard
        assert heard[:-1] == {0: ["output 0 1 got for 0"], 1: ["output 1 1 got for 1"],
                              2: ["output 2 1 got for 2"],
                              3: ["output 3 1 got"]}.get(rank, []), heard
    assert sum(len(line[len("output 2 2 "):]) for line in of(out, 2)
               if line.startswith("output 2 2 ")) == 300000


def test_framed_window(lab):
    """A client that sends more than the window is cut off, and its run ends."""
    one = begin(lab, FRAMED + """
storm run true; mkfifo say
framed end tasks 4 4 sleep 1000 <say >out & exec 9>say
until [ -s out ]; do sleep 0.05; done
(for k in 1 2 3 4; do echo 'much 2' >&9; done); wait; tail -n1 out
storm run -N4 true; echo next $?
""")
    assert one.finish().code == 0, one.log()
    assert "closed\n" in one.log() and "next 0" in one.log(), one.log()
    until(lambda: not processes(lab, "sleep"), lambda: f"{processes(lab, 'sleep')} to end")


def test_framed_keeps(lab):
    """One task on each node with all of its CPUs. A node that is lost ends its task alone
    if the client says so, and is told as such."""
    one = begin(lab, FRAMED + """
storm run true; mkfifo say
framed keep whole 0 0 sh -c 'echo on $SLURMD_NODENAME; read x; echo $x; read x; exit 5' <say >out &
exec 9>say; (sleep 0.1; storm run -N1 true; echo other $?) &
until [ $(grep -c 'on n' out) = 4 ]; do sleep 0.05; done; touch up
until grep -q '^gone 2' out; do sleep 0.05; done
for k in 0 1 3; do echo "$k more $k" >&9; done
until [ $(grep -c ' more ' out) = 3 ]; do sleep 0.05; done
for k in 0 1 3; do echo "$k" >&9; done; wait; cat out
""")
    said(one, "waits for CPUs")
    until((one.dir / "up").exists, lambda: "the tasks: " + one.log())
    os.kill(the_launcher(lab, "n3"), signal.SIGKILL)
    one.finish()
    out = (one.dir / "out").read_text().splitlines()
    assert [line for line in out if "lost" in line][0].endswith("; its tasks end"), out
    for rank in (0, 1, 3):
        assert of(out, rank) == [f"output {rank} 1 on n{rank + 1}",
                                 f"output {rank} 1 more {rank}", f"gone {rank} 0 5"], out
    assert of(out, 2) == ["output 2 1 on n3", "gone 2 10 0"], out
    assert out[-1] == "end 5", out
