# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm stack: where the tasks of a job are, with equal stacks in one line."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from harness import HERE, stage_dir, until
from run_lab import end_run, lab  # noqa: F401

pytestmark = [
    pytest.mark.storm_only,
    pytest.mark.skipif(
        not (pathlib.Path(stage_dir()) / "libexec/slurm-storm/storm_unwind").exists(),
        reason="SKIP: this build has no storm_unwind: install libdw-dev")]

SOLVE = "pause < wait_here < solve < solve < main"
ODD = "pause < wait_here < odd_one < main"


@pytest.fixture(scope="module", autouse=True)
def stand(run_lab):
    """The program stands in known functions."""
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
                    HERE.parent / "programs/stand.c", "-o", run_lab.bin / "stand"],
                   check=True)


def stands(lab, *words, nodes=4, tasks=8):
    """A job whose tasks stand in their functions. Returns (job, what runs)."""
    before = set(lab.root("squeue -h -o %i").split())
    one = lab.start(["srun", "-N", str(nodes), "-n", str(tasks), "--launch=slurm",
                     "{bin}/stand", *words])
    until(lambda: len(list(one.dir.glob("up.*"))) == tasks,
          lambda: f"the tasks to stand: {one.err()}")
    job, = set(lab.root("squeue -h -o %i").split()) - before
    return job, one


def stack(lab, *words, code=0, user="user"):
    """What storm stack prints: (its lines, what it says)."""
    done = lab.run(["storm", "stack", *words], user=user)
    assert done.code == code, str(done)
    return done.out.splitlines(), done.err


@pytest.mark.every_release
def test_one_hangs(lab):
    """All ranks but one are in solve(): two lines, and the job runs on."""
    job, one = stands(lab, "5")
    for what in (job, f"{job}.0"):
        lines, said = stack(lab, what)
        assert re.fullmatch(r"8 processes on 4 nodes stood for [\d.]+ ms", lines[0]), lines
        assert lines[1:] == [f"ranks 0-4,6-7: {starts(lines[1])}{SOLVE}{ends(lines[1])}",
                             f"rank 5: {starts(lines[2])}{ODD}{ends(lines[2])}"]
    assert one.running()
    assert not any("t" in state for state in states(lab))


def starts(line):
    """What libc has above its pause()."""
    return re.match(r".*?: (.*?)pause < ", line)[1]


def ends(line):
    """What libc has below main()."""
    return re.search(r" < main(.*)", line)[1]


def states(lab):
    """The kernel's letters for the tasks' states."""
    found = []
    for node in lab.names:
        for pid in lab.lab.pids(node, "stand"):
            found.append(pathlib.Path(f"/proc/{pid}/stat").read_text()
                         .rsplit(")", 1)[1].split()[0])
    return found
