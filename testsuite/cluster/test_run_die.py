# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A launcher or the head of a job's launchers is killed, stands for a while, or is told to
end: while launchers start, in a launch, amid input and output, while tasks run, at the end.

What always holds: the run does all that it should, or it fails and says why; the next one
does what it should, with these launchers or with new ones; and nothing is left. test_run_kills
has other victims by chance, test_daemons_die the daemons.
"""
import contextlib
import os
import re
import signal
import time

import pytest

from harness import LONG, until
from run_lab import (CPUS, ENDED, HELD_START, NODES, STARTED, WAITS, begin, end_run, held,  # noqa: F401
                     lab, launchers, processes, the_head, the_launcher)

pytestmark = pytest.mark.storm_only

KILL, STOP, END = "kill", "stop", "end-it"
#: s; DeadTimeout and what a node waits beside it are shorter than ten
STANDS = 10 if LONG else 2
TASKS = NODES * CPUS
#: ms from the client's start to the fault: before, in and behind a launch of some 10 ms
LAUNCHES = {"launch": 2, "launch-late": 8, "launch-later": 20}
#: bytes of a task's output and of its input
MUCH = 4_000_000

#: launchers are there already, but where their start is the moment
THERE = "storm run true\n"
SCRIPT = """
touch ready; until [ -e begin ]; do sleep 0.005; done
%s >out 2>err; echo $? >code
until [ -e on ]; do sleep 0.02; done
for k in 1 2 3; do
  storm run -N4 -n8 sh -c 'echo $SLURM_PROCID' >next.$k 2>err.$k; echo $? >>codes
done
"""
WHAT = {
    "start": "storm run -N4 -n8 echo end",
    "launch": "storm run -N4 -n8 echo end",
    "transfer": f"""head -c {MUCH} /dev/zero | storm run -N4 -n8 sh -c '
      head -c {MUCH} /dev/zero | tr "\\0" x; touch up.$SLURM_PROCID
      [ $(wc -c) = {MUCH} ] && echo end'""",
    "run": """storm run -N4 -n8 sh -c 'touch up.$SLURM_PROCID
      until [ -e go ]; do sleep 0.02; done; echo end'""",
}

CELLS = [("head", STOP, "transfer"), ("launcher", STOP, "run"), ("launcher", END, "transfer")]
EVERY_CELL = [(who, fault, moment) for who in ("head", "launcher", "first-launcher")
              for fault in (KILL, STOP, END)
              for moment in ("start", *LAUNCHES, "transfer", "run", "end")]


def kind(moment):
    return "launch" if moment in LAUNCHES else "run" if moment == "end" else moment


def began(lab, who, moment):
    """A job, at this moment of its first run; and the victim."""
    start = HELD_START if moment == "start" else THERE
    one = begin(lab, start + SCRIPT % WHAT[kind(moment)])
    if moment == "start":
        (one.dir / "begin").touch()
        held(lab, one)
        return one, victim(lab, who, moment)
    until((one.dir / "ready").exists, lambda: "the launchers: " + one.log())
    assert STARTED.search(one.log()), one.log()
    pid = victim(lab, who, moment)
    (one.dir / "begin").touch()
    if moment in LAUNCHES:
        until((one.dir / "err").exists, "the client", interval=0.001)
        time.sleep(LAUNCHES[moment] / 1000)     # the moment itself
    else:
        until(lambda: list(one.dir.glob("up.*")) if moment == "transfer" else
              len(list(one.dir.glob("up.*"))) == TASKS, lambda: "tasks: " + text(one, "err"))
    if moment == "end":
        (one.dir / "go").touch()
    return one, pid


def text(one, name):
    path = one.dir / name
    return path.read_text(errors="replace") if path.exists() else ""


def victim(lab, who, moment):
    if who == "head":
        return the_head(lab)
    # n3's is kept from its start by HELD_START
    node = "n1" if who == "first-launcher" else "n2" if moment == "start" else "n3"
    return launchers(lab, node)[0] if moment == "start" else the_launcher(lab, node)


def strike(pid, fault):
    if fault == STOP:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STANDS)      # its length is the fault itself
    with contextlib.suppress(ProcessLookupError):   # Slurm has ended it meanwhile
        os.kill(pid, {KILL: signal.SIGKILL, STOP: signal.SIGCONT, END: signal.SIGTERM}[fault])


def whole(one, moment):
    """Long lines of two tasks mix."""
    out = text(one, "out")
    return out.count("end\n") == TASKS and \
        out.count("x") == (TASKS * MUCH if moment == "transfer" else 0)


#: why a run fails
WHY = re.compile(ENDED + r"|^storm run: error: the launcher on node n\d is lost: |"
                 r"^storm run: the launchers cannot be started: .|"
                 # a launcher that is told to end passes it on to its tasks
                 r"^storm run: error: n\d: tasks? \d(-\d)?: Terminated$", re.M)


@pytest.mark.parametrize("who,fault,moment", EVERY_CELL if LONG else CELLS, ids=lambda v: v)
def test_cell(lab, who, fault, moment):
    one, pid = began(lab, who, moment)
    strike(pid, fault)
    (one.dir / "go").touch()
    if fault == END:    # with its last task, and until then it begins no others
        until(lambda: not os.path.exists(f"/proc/{pid}"), f"the end of {who}")
    (one.dir / "on").touch()
    assert one.finish().code == 0, one.log()
    code, err = text(one, "code").strip(), WAITS.sub("", text(one, "err"))
    if code == "0":
        assert whole(one, moment), (len(text(one, "out")), err)
    else:
        assert WHY.search(err), (code, err)
    # nobody has missed one yet that died when it had nothing to do
    codes = text(one, "codes").split()
    if codes[0] != "0":
        assert WHY.search(text(one, "err.1")), (codes, text(one, "err.1"))
    assert codes[1:] == ["0", "0"], (codes, text(one, "err.2"))
    for k in range(1 + (codes[0] != "0"), 4):
        assert sorted(text(one, f"next.{k}").split()) == [str(n) for n in range(TASKS)]
    until(lambda: not processes(lab), lambda: f"{processes(lab)} to end")
