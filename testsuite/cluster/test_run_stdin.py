# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: input of tasks, and clients that talk with each task by itself."""
import json
import os
import shlex
import signal

import pytest

from harness import until
from run_lab import (batch, begin, client, end_run, ended, lab,  # noqa: F401
                     listens, processes, said, the_head, the_launcher, VERSION)
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
exec 9>say; until [ $(grep -c 'on n' out) = 4 ]; do sleep 0.05; done; touch up
(storm run -N1 true; echo other $?) &
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


def test_all(lab):
    """All tasks have the same input, from a pipe, a file and a terminal, and its end; so
    they have on nodes other than the client's, and through a run inside a run."""
    out = batch(lab, """
head -c 5000000 /dev/urandom >in; sha256sum <in
cat in | storm run -N4 -n8 sha256sum
storm run -N4 -n4 -i all sha256sum <in
storm run -N1 -n1 -w n3 storm run -N4 -n4 sha256sum <in
python3 -c '
import os, pty
pid, fd = pty.fork()
if not pid:
    os.execlp("storm", "storm", "run", "-N4", "-n4", "cat")
os.write(fd, b"typed\\n\\4")
try:
    while piece := os.read(fd, 4096):
        os.write(1, piece)
except OSError:
    pass
print("code", os.waitpid(pid, 0)[1])'
""")
    assert len(out) == 17 + 5 + 1 and set(out[:17]) == {out[0]}, out
    assert [line.strip() for line in out[17:]] == [*5 * ["typed"], "code 0"], out


def test_background(lab):
    """In the background of a terminal a run neither stops nor reads: what is typed is the
    shell's. Its output comes all the same. In the foreground it reads on, to ^D."""
    steps = [["$ ", "PS1=; stty -echo; echo shell$((1 + 1))\n"],
             ["shell2", "storm run -N2 -n2 sh -c 'echo begun$((1 + 1)); exec cat' &\n"],
             ["begun2", ""], ["begun2", "echo typed$((1 + 1)); jobs\n"],
             ["typed2", ""], ["Running", "fg\n"],
             ["storm run", "for both\n"], ["for both", ""], ["for both", "\x04"],
             ["", "echo code $?\n"], ["code 0", "exit 5\n"]]
    one = begin(lab, f"""
storm run true
TERM=dumb timeout 100 python3 {TOP}/testsuite/cluster/run_terminal.py \
  {shlex.quote(json.dumps(steps))} bash --norc --noprofile
""")
    assert one.finish().code == 0, one.log()
    log = one.log().replace("\r\n", "\n")
    assert "Stopped" not in log and log.count("for both\n") == 2, log
    assert "ended 5, " in log, log


def test_one(lab):
    """-i names the task that has input, a file, or nothing; others have /dev/null."""
    out = batch(lab, """
head -c 300000 /dev/urandom >in; wc -c >out <in
what='echo $SLURM_PROCID $(readlink /proc/self/fd/0 | sed "s/:.*//") $(wc -c)'
cat in | storm run -N4 -n4 -i 2 sh -c "$what" | sort
cat in | storm run -N4 -n4 -i none sh -c "$what" | sort
cat in | SLURM_STDINMODE=none storm run -N4 -n4 sh -c "$what" | sort
echo | storm run -N4 -n4 -i in sh -c "$what" | sort
echo | storm run -N4 -n4 -i 4 true; echo code $?
pwd
""")
    file = f"{out[-1]}/in"
    null = [f"{k} /dev/null 0" for k in range(4)]
    assert out[:4] == [*null[:2], "2 pipe 300000", null[3]], out
    assert out[4:12] == 2 * null, out
    assert out[12:16] == [f"{k} {file} 300000" for k in range(4)], out
    assert out[16:18] == ["storm run: task 4 is named, the run has 4 tasks", "code 1"], out


def test_own(lab):
    """One task on the client's host, by whatever node, has the client's descriptor, and
    leaves in it what it does not read."""
    out = batch(lab, """
printf '1\\n2\\n3\\n' >in; pwd; exec 5<in
storm run -N1 -n1 -w n1 sh -c 'read x; echo own $x' <&5; read x <&5; echo next $x
storm run -N4 -n4 -i 0 readlink /proc/self/fd/0 <in | sort
for n in n1 n3; do
  storm run -N1 -n1 -w $n sh -c "storm run -N1 -n1 -w $n readlink /proc/self/fd/0 <in"
done
storm run -N1 -n1 -w n3 sh -c 'readlink /proc/self/fd/0 | grep -c pipe' <in
while read k; do echo line $k; storm run -N1 -n1 -w n1 true; done <in
""")
    file = f"{out[0]}/in"
    assert out[1:3] == ["own 1", "next 2"], out
    assert out[3:7] == sorted([*3 * ["/dev/null"], file]), out
    assert out[7:10] == [file, file, "1"], out
    assert out[10:] == ["line 1", "line 2", "line 3"], out


def test_loop(lab):
    """A run in a loop that reads takes what is left of the loop's input; with -i none it
    takes nothing."""
    out = batch(lab, """
seq 3 >in
while read k; do echo line $k; storm run -N2 -n2 wc -l; done <in
while read k; do echo line $k; storm run -i none -N2 -n2 wc -l; done <in
""")
    assert out == ["line 1", "2", "2", "line 1", "0", "0", "line 2", "0", "0", "line 3",
                   "0", "0"], out


def test_nothing(lab):
    """Input that is closed, empty or over at once is the end for each task."""
    out = batch(lab, """
storm run -N4 -n4 wc -c <&-
storm run -N4 -n4 wc -c </dev/null
: | storm run -N4 -n4 wc -c
: >empty; storm run -N4 -n4 wc -c <empty; storm run -N1 -n1 wc -c <&-
storm run -N4 -n4 wc -c </; echo code $?
""")
    assert [line for line in out if "error" in line] == \
        ["storm run: error: standard input: Is a directory"], out
    assert [line for line in out if "error" not in line] == [*21 * ["0"], "code 0"], out


def test_readers_differ(lab):
    """A task that ends early and one that reads nothing keep no input from others: a
    little they have at once, and all when it ends. Input without an end ends no later
    than its readers."""
    out = batch(lab, """
head -c 30000 /dev/urandom >few; head -c 3000000 /dev/urandom >many
sha256sum <few; sha256sum <many
cat few | storm run -N4 -n4 sh -c 'case $SLURM_PROCID in 0) exit;;
  1) until [ -e has2 ] && [ -e has3 ]; do sleep 0.05; done;;
  *) sha256sum; touch has$SLURM_PROCID;; esac'
cat many | storm run -N4 -n4 sh -c 'case $SLURM_PROCID in 0) exit;; 1) sleep 1;;
  2) head -c 1 >early;; *) sha256sum;; esac'
echo code $?
yes | storm run -N4 -n4 head -n1; echo code $?
yes | storm run -N4 -n4 sh -c 'exit $SLURM_PROCID'; echo code ${PIPESTATUS[*]}
""")
    assert out[2:4] == 2 * [out[0]] and out[4:6] == [out[1], "code 0"], out
    assert out[6:11] == [*4 * ["y"], "code 0"], out
    assert out[-1] == "code 141 3", out


def test_client_killed(lab):
    """Tasks that wait for input, and one that reads none, end with their client."""
    one = begin(lab, """
storm run true; mkfifo say
storm run -N4 -n8 sh -c '[ $SLURM_PROCID != 5 ] || exec sleep 1000; exec cat' <say >out &
exec 9>say; echo come >&9; until [ $(grep -c come out) = 7 ]; do sleep 0.05; done; touch up
wait $!; echo killed $?; storm run -N4 true; echo next $?
""")
    until((one.dir / "up").exists, lambda: "input: " + one.log())
    assert len(processes(lab, "cat")) == 7
    os.kill(client(lab), signal.SIGKILL)
    ended(lab, one, "^killed 137$")
    until(lambda: not processes(lab, "cat", "sleep"),
          lambda: f"{processes(lab, 'cat', 'sleep')} to end")


#: argv: port. INPUT for all tasks and for one, and its end, as a client sends it; the same
#: behind a door and a proof that are none
STRANGER = """import socket, struct, sys
def frame(kind, body):
    return struct.pack(">IB", len(body), kind) + body
evil = frame(30, struct.pack(">I", 2**32 - 1) + b"evil\\n") + \\
    frame(30, struct.pack(">I", 0) + b"evil\\n") + frame(30, struct.pack(">I", 2**32 - 1))
for first in (b"", frame(22, bytes(24)), frame(4, b"none\\0")):
    s = socket.create_connection(("n1", int(sys.argv[1])))
    got = b""
    try:
        s.sendall(first + evil)
        while piece := s.recv(4096):
            got += piece
    except ConnectionError:
        pass
    print("closed", b"good" in got, flush=True)
"""


def test_stranger(lab):
    """What another user sends to the head's port is no input, and no input comes out."""
    one = begin(lab, """
storm run true; mkfifo say
storm run -N4 -n4 cat <say >out & exec 9>say; echo good one >&9
until [ $(grep -c one out) = 4 ]; do sleep 0.05; done; touch up
until [ -e go ]; do sleep 0.05; done; echo good two >&9; exec 9>&-; wait; echo code $?
""")
    until((one.dir / "up").exists, lambda: "input: " + one.log())
    port, = listens(the_head(lab))
    done = lab.lab.run(["python3", "-c", STRANGER, str(port)], host="n2", user="other",
                       cwd="/")
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert done.stdout.split("\n") == 3 * ["closed False"] + [""], done
    assert sorted((one.dir / "out").read_text().splitlines()) == \
        4 * ["good one"] + 4 * ["good two"]
