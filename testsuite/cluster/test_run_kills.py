# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run and storm each while something is killed at any moment: at the start of launchers,
in a launch, amid output and input, at the end. Whatever it is, the client ends, the next run
does what it should, and nothing is left."""
import contextlib
import os
import random
import signal
import time

import pytest

from harness import until
from run_lab import (WAITS, begin, cmdline, end_run, heads, lab, launchers,  # noqa: F401
                     nothing_left)

pytestmark = pytest.mark.storm_only

ROUNDS = 100 if os.environ.get("STORM_LONG") else 8

#: Rounds: one of WHAT, and a run that nobody disturbs
SCRIPT = """
for k in $(seq 0 %d); do
  until [ -e go.$k ]; do sleep 0.02; done
  %s >out.$k 2>err.$k; echo $? >code.$k
  storm run -N4 -n8 sh -c 'echo $SLURM_PROCID' >next.$k 2>>err.$k; echo $? >over.$k
done
"""
WHAT = {
    "run": """head -c 1000000 /dev/zero | tr '\\0' x |
      storm run -N4 -n8 -l sh -c 'seq 20000; wc -c; sleep 0.1'""",
    "each": "seq 300 | storm each --joblog jobs.$k 'seq 200; sleep 0.01; : {}'",
    # the launchers' own start is part of each round
    "start": "storm run --stop; storm run -N4 -n8 true",
}
#: s within which a kill comes
SPAN = {"run": 0.8, "each": 1.5, "start": 0.8}


def victims(lab):
    """{what: its pids}"""
    of = lab.lab.pids
    return {"client": [p for p in of("n1", "storm") + of("n1", "storm_each")
                       if b"--pull" not in cmdline(p)],
            "head": heads(lab),
            "keeper": [p for p in of("n1", "storm_launcher") if b"--keep" in cmdline(p)],
            "srun": of("n1", "srun"),
            "first launcher": launchers(lab, "n1"),
            "another launcher": launchers(lab, "n3"),
            "puller": [p for p in of("n2", "storm_each") if b"--pull" in cmdline(p)],
            "task": of("n4", "sleep") + of("n4", "seq")}


def kill_one(lab, dice):
    """What was killed; None: nothing was there to kill."""
    with contextlib.suppress(OSError):      # one that has ended meanwhile
        there = {what: pids for what, pids in victims(lab).items() if pids}
        if there:
            what = dice.choice(sorted(there))
            os.kill(dice.choice(there[what]), signal.SIGKILL)
            return what
    return None


@pytest.mark.parametrize("kind", list(WHAT))
def test_at_any_moment(lab, kind):
    """By chance, with a seed that a failure shows."""
    seed = int(os.environ.get("STORM_SEED", "0")) or random.randrange(1, 1 << 30)
    dice, done = random.Random(seed), []
    one = begin(lab, SCRIPT % (ROUNDS - 1, WHAT[kind]))

    def text(name, k):
        path = one.dir / f"{name}.{k}"
        return path.read_text() if path.exists() else ""
    for k in range(ROUNDS):
        (one.dir / f"go.{k}").touch()
        time.sleep(dice.uniform(0, SPAN[kind]))     # any moment is one
        what = None if text("code", k) else kill_one(lab, dice)
        late = text("code", k)      # so it may have met the next run
        done.append(what)
        until(lambda k=k: text("over", k), lambda k=k: f"the next run, seed {seed}, {done}: "
              + one.log() + text("err", k))
        shown = (seed, k, done[-3:], WAITS.sub("", text("err", k)))
        # nobody has missed a launcher yet that was killed when it had no task left
        unseen = "launcher" in str(what) and " is lost: " in text("err", k)
        if not (what and late) and not unseen:
            assert text("over", k) == "0\n", shown
            assert sorted(text("next", k).split()) == [str(n) for n in range(8)], shown
        if not what:
            assert text("code", k) == "0\n", shown
    assert one.finish().code == 0, one.log()
    nothing_left(lab)
