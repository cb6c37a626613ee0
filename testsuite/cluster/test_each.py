# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm each: many tasks over all CPUs of a job. What commands it makes, testsuite/unit's
each_as_parallel holds against GNU parallel; here they run, on 4 nodes of 2 CPUs."""
import os
import re
import signal

import pytest

from harness import until
from run_lab import (NODES, STARTED, WAITS, batch, begin, end_run, lab,  # noqa: F401
                     printed, processes, said)

pytestmark = pytest.mark.storm_only


@pytest.mark.every_release
def test_all_once(lab):
    """Each of 2,000 tasks runs once, on all nodes, with its number and its slot."""
    out = batch(lab, """
seq 2000 | storm each --joblog jobs 'echo {} $PARALLEL_SEQ $SLURMD_NODENAME {%}' >out
echo code $?
sort -n out | awk '$1 != NR || $2 != NR || $4 < 1 || $4 > 8 { bad++ }
  { on[$3]++ } END { print NR, bad + 0, length(on) }'
wc -l <jobs
awk 'NR > 1 && ($7 || $8) { bad++ } END { print bad + 0 }' jobs
cut -f2 jobs | sort -u | tr '\\n' ' '
""")
    assert out == ["code 0", "2000 0 4", "2001", "0", "Host n1 n2 n3 n4 "], out


def test_output(lab):
    """Grouped by default, in order with -k, tagged; standard error by its own way. Much of
    it, more than pipes and windows hold, comes whole."""
    out = batch(lab, r"""
storm each -k 'echo a{}; sleep 0.0{}; echo b{}' ::: 5 4 3 2 1 0 | tr '\n' ' '; echo
storm each 'echo a{}; sleep 0.1; echo b{}' ::: 1 2 3 4 5 6 7 8 |
  awk 'NR % 2 { a = substr($0, 2) } !(NR % 2) && substr($0, 2) != a { bad++ }
    END { print NR, bad + 0 }'
storm each -k --tag 'echo x{}; echo y{} >&2' ::: 1 2 2>err; sort err
storm each 'head -c 3000000 /dev/zero | tr "\0" {}' ::: a b c d | wc -c
storm each --line-buffer 'for k in 1 2 3; do echo {}$k; done' ::: a b c d | sort | cksum
printf '%s\n' a1 a2 a3 b1 b2 b3 c1 c2 c3 d1 d2 d3 | cksum
storm each --results dir 'echo {}; exit 1' ::: u v >/dev/null; echo code $?
cat dir/1/u/stdout dir/1/v/stdout
storm each -u yes ::: a b | head -n1
""")
    assert out[0] == "a5 b5 a4 b4 a3 b3 a2 b2 a1 b1 a0 b0 ", out
    assert out[1] == "16 0", out
    assert out[2:6] == ["1\tx1", "2\tx2", "1\ty1", "2\ty2"], out
    assert out[6] == "12000000" and out[7] == out[8], out
    assert out[9:12] == ["code 2", "u", "v"] and out[12] in "ab", out


def test_results_as_it_comes(lab):
    """--results beside --line-buffer and -u: what is printed is in files, too."""
    out = batch(lab, r"""
storm run true
for how in --line-buffer -u; do
  storm each $how --tag --results files 'for k in 1 2 3; do echo {}$k; done; echo x{} >&2
    printf {}' ::: a b >out 2>err; echo code $?
  for f in files/1/*/*; do cat $f | tr '\n' ' '; echo; done
  cat out err | tr -d '\t\n' | fold -w1 | sort | tr -d '\n'; echo
  rm -r files
done
""")
    files = ["1", "2", "a1 a2 a3 a", "b1 b2 b3 b", "xa ", "xb "]
    assert out[0] == out[8] == "code 0", out
    assert sorted(out[1:7]) == sorted(out[9:15]) == files, out
    # --line-buffer has tags before lines
    assert out[7] == "112233" + 10 * "a" + 10 * "b" + "xx", out
    assert out[15] == "112233" + 5 * "a" + 5 * "b" + "xx", out


@pytest.mark.parametrize("room", ["TMPDIR=/none", "trap '' XFSZ; ulimit -f 1000; TMPDIR=/tmp"])
def test_no_room_below_tmpdir(lab, room):
    """Output that cannot be kept is printed as whole lines, and said; none is lost."""
    out = batch(lab, "storm run true; " + room + r""" storm each -k --tag 'seq -f {}%.0f 300000' ::: a b c d 2>err |
  awk '{ n = ++seen[$1] } $2 != $1 n { bad++ } END { print NR, bad + 0 }'
echo code ${PIPESTATUS[0]}; cat err
""")
    assert out[:2] == ["1200000 0", "code 0"], out
    assert len(out) == 3 and out[2].startswith(
        "storm each: output of tasks comes as lines are written, and no more as a whole: a "
        "file below TMPDIR: "), out


#: Runs a command on a terminal of 80 columns, which has 40 when all tasks run. They may
#: end when that is seen. It writes all bytes into a file.
TERMINAL = r"""
cat >term.py <<'EOF'
import fcntl, os, pty, re, signal, struct, sys, termios
signal.alarm(100)
size = lambda columns: fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
pid, fd = pty.fork()
if not pid:
    while os.get_terminal_size(1).columns != 80:
        pass
    os.execvp(sys.argv[1], sys.argv[1:])
size(80)
raw, small = b"", 0
while True:
    try:
        got = os.read(fd, 65536)
    except OSError:
        break
    raw += got
    drawn = re.findall(rb"\033\[J[^\r\n]*\r+\n([^\r\n]*)\r\033\[A", raw[small:])
    columns = len(drawn[-1].decode()) if drawn else 0
    if not small and b"8 run" in raw and columns == 79:
        small = len(raw)
        size(40)
    elif small and columns == 39:
        open("go", "w").close()
open("raw", "wb").write(raw)
print("code", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
EOF
"""


def screen(raw):
    """The lines that a terminal shows after these bytes."""
    rows, row, column = [""], 0, 0
    for word in re.findall("\033\\[[0-9;]*[A-Za-z]|[\r\n]|[^\033\r\n]+|\033", raw):
        if word == "\r":
            column = 0
        elif word == "\n":
            row += 1
            rows += [""] * (row == len(rows))
        elif word == "\033[A":
            row -= 1
        elif word == "\033[J":
            rows[row:] = [rows[row][:column]]
        else:
            assert word[0] != "\033", f"{word!r} in {raw!r}"
            rows[row] = rows[row][:column].ljust(column) + word \
                + rows[row][column + len(word):]
            column += len(word)
    return rows


@pytest.mark.parametrize("option", ["", "-n1"])
def test_bar(lab, option):
    """On a terminal a bar, counts and the slowest task, as wide as that is. Output of tasks
    is not mixed up with them, and nothing of them stays."""
    one = begin(lab, TERMINAL + r"""
storm run true
TERM=xterm LC_ALL=C.UTF-8 python3 term.py storm each """ + option + r""" --bar --line-buffer ': {2}; echo {1}a
  until [ -e go ]; do sleep 0.05; done; echo {1}b; test {1} != 3' ::: $(seq 8) ::: $'\e]0;x\aäöü'
""")
    assert printed(one) == ["code 1"], one.log()
    raw = (one.dir / "raw").read_bytes().decode()
    shown = WAITS.sub("", "\n".join(screen(raw)))
    # what storm run says of a task
    shown = re.sub(r"^storm each: error: n\d: task 0: Exited with exit code 1\n", "", shown,
                   flags=re.M) if option else shown
    want = sorted(f"{k}{c}" for k in range(1, 9) for c in "ab")
    assert sorted(shown.split("\n")) == ["", *want], raw
    assert re.search(r"\[ +\]   0% 0 of 8 done, 0 failed, 8 run\r+\n"
                     r"slowest: task \d on n[1-4], \d s: : \S*\?\]0;x\?\S*äöü", raw), raw
    assert re.search(r" \d of 8 done, [01] failed", raw) and "\033]" not in raw, raw


def test_ends(lab):
    """Exit status, --halt, --retries, --timeout, signals, what cannot be executed, the
    joblog and --resume-failed."""
    out = batch(lab, r"""
storm each 'exit {}' ::: 0 1 2 3; echo three $?
storm each --halt now,fail=1 'test {} = 1 && exit 7; sleep 600' ::: 1 2 3 4 2>err; echo halt $?
storm each --retries 3 'echo >>tried.{}; test $(wc -l <tried.{}) = 3' ::: 1 2; echo retries $?
cat tried.1 tried.2 | wc -l
storm each --timeout 1 sleep ::: 600 0 2>err; echo timeout $?; grep -c 'task 1: ended by --timeout' err
storm each --joblog jobs 'test {} != 2 || kill -9 $$' ::: 1 2 3; echo signal $?
cut -f1,7,8 jobs | sort
storm each --joblog jobs --resume-failed 'echo again {}' ::: 1 2 3; echo resumed $?
storm each --joblog jobs --resume 'echo again {}' ::: 1 2 3 4; echo resumed $?
wc -l <jobs
storm each no-such-program ::: 1 2>err; echo code $?; cat err
storm each 'cat; echo end' ::: 1 </dev/null
storm each --wd /tmp pwd ::: 1
storm each -j2 'echo >in.{}; ls | grep -c ^in. >>most; sleep 0.2; rm in.{}' ::: 1 2 3 4 5 6
sort -n most | tail -n1
storm each true </dev/null; echo nothing $?
""")
    assert out[:2] == ["three 3", "halt 7"], out
    assert out[2:4] == ["retries 0", "6"], out
    assert out[4:6] == ["timeout 1", "1"], out
    assert out[6] == "signal 1", out
    assert out[7:11] == ["1\t0\t0", "2\t0\t9", "3\t0\t0", "Seq\tExitval\tSignal"], out
    assert out[11:13] == ["again 2", "resumed 0"], out
    assert out[13:16] == ["again 4", "resumed 0", "6"], out
    assert out[16] == "code 1" and "no-such-program" in out[17], out
    assert out[18:] == ["end 1", "/tmp", "2", "nothing 0"], out


def going(lab, options=""):
    """storm each whose tasks wait for a file, 12 of them on 8 CPUs."""
    one = begin(lab, f"""
env --default-signal=INT storm each {options} 'echo >there.{{}}; until [ -e go ]; do
  sleep 0.05; done; echo >>done; echo {{}}' ::: $(seq 12) >out 2>err & each=$!
wait $each; echo code $?; sort -n out | tr '\\n' ' '; echo; cat err
echo lines $(wc -l <done)
storm run -N4 true; echo next $?
""")
    until(lambda: len(list(one.dir.glob("there.*"))) == 8,
          lambda: "eight tasks: " + one.log() + (one.dir / "err").read_text())
    return one


def each_pid(lab):
    pid, = [pid for pid in lab.lab.pids("n1", "storm_each")
            if b"--pull" not in open(f"/proc/{pid}/cmdline", "rb").read()]
    return pid


def pullers(lab, node):
    return [pid for pid in lab.lab.pids(node, "storm_each")
            if b"--pull" in open(f"/proc/{pid}/cmdline", "rb").read()]


def lost(lab, victim):
    """What runs tasks on a node is killed while two of them run there: each is said, and all
    of them end elsewhere. The job, when it has ended."""
    one = going(lab)
    pid, = victim()
    os.kill(pid, signal.SIGKILL)
    until(lambda: (one.dir / "err").read_text().count("begins again") == 2,
          lambda: "two lines: " + (one.dir / "err").read_text())
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert "code 0\n1 2 3 4 5 6 7 8 9 10 11 12 \n" in one.log(), one.log()
    assert "next 0" in one.log(), one.log()
    return one


def test_puller_killed(lab):
    """Tasks that it had begun begin again elsewhere, each is said, and all of them end. The
    old ones end with it."""
    one = lost(lab, lambda: pullers(lab, "n3"))
    assert len(re.findall(r"^storm each: task \d+ was begun on n3, which is lost; it "
                          "begins again$", one.log(), re.M)) == 2, one.log()
    assert "lines 12\n" in one.log(), one.log()


def test_killed_before_its_puller(lab):
    """Slurm signals what it ends one after the other: what is killed just before its puller
    has not ended by itself, it begins again."""
    out = batch(lab, r"""
storm run true
storm each --joblog jobs 'if mkdir first; then
    (kill -s {} $$; sleep 0.05; kill -9 $PPID) & wait; fi' ::: KILL 2>err; echo code $?
rmdir first
storm each --joblog more 'if mkdir first; then
    (kill -s {} $$; sleep 0.05; kill -9 $PPID) & wait; fi' ::: TERM 2>>err; echo code $?
grep -c 'task 1 was begun on n., which is lost; it begins again' err; cut -f7,8 jobs more
""")
    assert out[:3] == ["code 0", "code 0", "2"], out
    assert [line for line in out[3:] if line[0].isdigit()] == 2 * ["0\t0"], out


def test_launcher_killed(lab):
    """As if a node were lost: others get its tasks."""
    lost(lab, lambda: lab.lab.pids("n2", "storm_launcher"))


def test_crash_limit(lab):
    """A task that takes its puller down three times is given up; all others end."""
    out = batch(lab, """
storm each --joblog jobs 'if [ {} = 3 ]; then kill -9 $PPID; sleep 600; fi; echo {}' \
  ::: 1 2 3 4 5 6 >out 2>err
echo code $?; sort out | tr '\\n' ' '; echo
grep -c 'begins again' err; grep 'given up' err; wc -l <jobs; cat err
""")
    assert out[:2] == ["code 1", "1 2 4 5 6 "] and int(out[2]) >= 2, "\n".join(out)
    assert re.match("storm each: error: task 3 is given up: 3 times what runs tasks was "
                    "lost with it, on n[1-4] last$", out[3]) and out[4] == "7", out


def test_crash_limit_of_one(lab):
    out = batch(lab, """
storm each --crash-limit 1 'kill -9 $PPID; sleep 600; : {}' ::: 1 2>err; echo code $?; cat err
storm each --crash-limit x true ::: 1; echo code $?
""")
    assert out[0] == "code 1", out
    assert re.match("storm each: error: task 1 is given up: 1 times what runs tasks was lost with "
                    "it, on n[1-4] last$", out[1]), out
    assert out[-2:] == ['storm each: "x" is no number of crashes', "code 255"], out


@pytest.mark.parametrize("sig, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(lab, sig, code):
    """^C starts no more and waits, a second one ends all; so does SIGTERM. The joblog has no
    line of what they end, so that --resume begins it again."""
    one = going(lab, "--joblog jobs")
    os.kill(each_pid(lab), sig)
    if sig == signal.SIGINT:
        until(lambda: "no more tasks begin; 8 run on, ^C again ends them"
              in (one.dir / "err").read_text(), "the client to say so")
        os.kill(each_pid(lab), sig)
    assert one.finish().code == 0, one.log()
    assert f"code {code}\n" in one.log() and "next 0" in one.log(), one.log()
    assert "lines 0" in one.log() or "done: No such file" in one.log(), one.log()
    assert len((one.dir / "jobs").read_text().splitlines()) == 1


def test_interrupted_once(lab):
    one = going(lab, "--joblog jobs")
    os.kill(each_pid(lab), signal.SIGINT)
    until(lambda: "no more tasks begin" in (one.dir / "err").read_text(), "the client to say so")
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert "code 130\n" in one.log() and "lines 8\n" in one.log(), one.log()
    assert len((one.dir / "jobs").read_text().splitlines()) == 9


def test_client_killed(lab):
    """All of its tasks end, and the next run begins."""
    one = going(lab)
    os.kill(each_pid(lab), signal.SIGKILL)
    assert one.finish().code == 0, one.log()
    assert "code 137\n" in one.log() and "next 0" in one.log(), one.log()
    until(lambda: not processes(lab, "sleep") and not any(pullers(lab, n) for n in lab.names),
          "tasks and pullers to end")


def test_many(lab):
    """The client's memory does not grow with the tasks: there are 100,000, and in the
    quick form 10,000. Where standard error is no terminal, --progress has a line each 10 s."""
    tasks = 100000 if os.environ.get("STORM_LONG") else 10000
    out = batch(lab, f"""
storm run true
seq {tasks} | /usr/bin/env python3 -c 'import resource, subprocess, sys, time
begun = time.monotonic()
rc = subprocess.call(["storm", "each", "--progress", ":"], stdin=sys.stdin)
print(rc, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
      int(time.monotonic() - begun))' 2>err
grep -c ' done, 0 failed, ' err; tail -n1 err
""")
    rc, peak, seconds = out[0].split()
    assert rc == "0" and int(peak) < 20000, out
    assert int(seconds) // 10 - 1 <= int(out[1]) <= int(seconds) // 10, out
    assert int(out[1]) == 0 or re.match(
        rf"storm each: \d+( of {tasks})? done, 0 failed, \d run, ", out[2]), out


def test_one_at_a_time(lab):
    """-j1: no word waits for the acknowledgement of the one before, which takes 40 ms."""
    out = batch(lab, """
storm run true; begun=${EPOCHREALTIME/./}
storm each -j1 : ::: $(seq 100); echo code $? $(((${EPOCHREALTIME/./} - begun) / 1000))
""")
    assert out[0].startswith("code 0 ") and int(out[0].split()[2]) < 3000, out


def test_ps(lab):
    """storm ps counts all CPUs of the nodes for storm each, while it runs and while it
    waits."""
    out = batch(lab, """
storm each 'echo >in.{}; until [ -e go ]; do sleep 0.05; done' ::: 1 2 3 4 5 6 7 8 &
until [ -e in.8 ]; do sleep 0.05; done
storm each true ::: 1 &
until storm ps | grep -q waits; do sleep 0.05; done
storm ps | awk '{ print $1, $2, $4, $6 }'; touch go; wait
""")
    assert out == ["CPUs: 8, which are", "RUN STATE TASKS CPUS", "1 runs 4 8", "2 waits 4 8"], \
        out


def test_no_job(lab):
    done = lab.lab.run(["storm", "each", "true", ":::", "1"], host="n1", user="user", cwd="/")
    assert (done.returncode, done.stderr) == (
        255, "storm each: not inside a job: use salloc or sbatch first\n"), done
