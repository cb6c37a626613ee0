# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run --pty: a task with the client's terminal."""
import json
import os
import shlex
import signal

import pytest

from run_lab import begin, client, end_run, lab, said, the_head  # noqa: F401
from tree import TOP

pytestmark = pytest.mark.storm_only

ENDS = {True: "terminal as before", False: "terminal changed"}


def terminal(steps, command):
    """The line of a script that runs it and types."""
    return (f"TERM=dumb python3 {TOP}/testsuite/cluster/run_terminal.py "
            f"{shlex.quote(json.dumps(steps))} {command}\n")


def test_shell(lab):
    """A shell on another node: job control, its size and a new one, ^C and ^D by the terminal,
    and the exit status. Likewise on the client's own host."""
    one = begin(lab, "storm run true\n" + terminal([
        ["$ ", "PS1=; echo on $SLURMD_NODENAME $(stty size) $(($(ps -o sid= $$) == $$)) "
               "$SLURM_NTASKS $(test -t 0 -a -t 2 && echo all)\n"],
        ["on n3 30 90 1 1 all", "echo ready$((1 + 1))\n"],
        ["ready2", [40, 120]],
        ["", "until [ \"$(stty size)\" = '40 120' ]; do sleep 0.02; done; echo it$((1 + 1))\n"],
        # a shell that has not started what is to be interrupted would get it itself
        ["it2", "sh -c 'echo begun$((1 + 1)); exec sleep 1000'\n"],
        ["begun2", "\x03"],
        ["", "echo code $?\n"],
        ["code 130", "sleep 1001 & jobs; kill %1; wait; exit 7\n"]],
        "storm run --pty -w n3 bash --norc --noprofile")
        + terminal([["now", "typed\n\x04"]], "storm run --pty -w n1 sh -c 'echo now; cat'")
        + terminal([["no", "x\n"]], "storm run --pty -n1 -x n1 sh -c '"
                   "head -c 100000 /dev/zero | tr \"\\0\" y; echo; echo now; read x'")
        + "echo last\n")
    assert one.finish().code == 0, one.log()
    log = one.log().replace("\r\n", "\n")
    ends = [line for line in log.splitlines() if line.startswith("ended ")]
    assert ends == [f"ended {code}, {ENDS[True]}" for code in (7, 0, 0)], log
    for text in ("\n[1]+  Running ", "now\ntyped\ntyped\n", "\n" + 100000 * "y" + "\nnow\n"):
        assert text in log, log


@pytest.mark.parametrize("victim, code", [("head", 1), ("client", 143)])
def test_terminal_is_restored(lab, victim, code):
    """The terminal is as it was when the head dies, or the client gets a signal."""
    one = begin(lab, "storm run true\n" + terminal(
        [], "storm run --pty -w n3 sh -c 'echo begun; exec sleep 1000'")
        + "storm run true; echo next $?\n")
    said(one, "begun")
    if victim == "head":
        os.kill(the_head(lab), signal.SIGKILL)
    else:
        os.kill(client(lab), signal.SIGTERM)
    assert one.finish().code == 0, one.log()
    assert f"ended {code}, {ENDS[True]}\n" in one.log() and "next 0" in one.log(), one.log()


def test_refused(lab):
    """What --pty does not go with, each by name."""
    for argv, text in (
            ([], "--pty: standard input is no terminal"), (["-n2"], "--pty is for one task"),
            (["-N2"], "--pty is for one task"),
            (["-l"], "--pty goes with none of -i, -o, -e, -l and --fold"),
            (["-o", "file"], "--pty goes with none of -i, -o, -e, -l and --fold")):
        done = lab.run(["storm", "run", "--pty", *argv, "true"])
        assert (done.code, done.err) == (2, f"storm run: {text}\n")
