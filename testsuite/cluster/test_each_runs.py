# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm each -n: each command is a run of several tasks, on one node or more, and what else
storm each has is as without it. On 4 nodes of 2 CPUs."""
import os
import re
import signal

import pytest

from harness import until
from run_lab import (ENDED, STARTED, WAITS, batch, begin, end_run, lab, processes,  # noqa: F401
                     the_head, the_launcher)
from test_run_mpi import mpich, ring  # noqa: F401

pytestmark = pytest.mark.storm_only

EACH_ENDED = ENDED.replace("storm run", "storm each")


@pytest.mark.every_release
def test_runs(lab):
    """Each command has its tasks on its nodes, and variables of both. A command ends as its
    run does: with the highest status of its tasks, and after the last of them."""
    out = batch(lab, r"""
storm each -k -n2 'echo {} $SLURM_PROCID $SLURM_NTASKS $SLURM_NNODES $PARALLEL_SEQ' ::: a b c |
  sort | tr '\n' ' '; echo
storm each -N2 -n4 'echo $SLURMD_NODENAME #{}' ::: 1 2 | wc -l
storm each -n1 -c2 'echo $SLURM_CPUS_PER_TASK $SLURM_NTASKS #{}' ::: 1
storm each -n2 --joblog jobs 'test $SLURM_PROCID = 0 || exit {}; sleep 0.2' ::: 0 5 2>err
echo code $?; tail -n +2 jobs | sort | awk '{ print $1, $2, ($4 >= 0.1), $7, $8 }'
cat err
storm each -n2 'cat; echo end {}' ::: 1 <jobs
storm each -n2 'printf "%s\n" {}' ::: "a'b \$x  *"
storm each -n2 --wd /tmp 'pwd #{}' ::: 1
storm each -N2 -n2 -v 'echo {%} #{}' ::: 1
storm each -n2 --dry-run 'echo {}' ::: 1 2
""")
    assert out[0] == "a 0 2 2 1 a 1 2 2 1 b 0 2 2 2 b 1 2 2 2 c 0 2 2 3 c 1 2 2 3 ", out
    assert out[1:4] == ["8", "2 1", "code 1"], out
    assert re.match(r"1 n\[\d-\d\] 1 0 0$", out[4]), out
    assert re.match(r"2 n\[\d-\d\] 1 5 0$", out[5]), out
    assert re.match("storm each: error: n[1-4]: task 1: Exited with exit code 5$", out[6]), out
    assert out[7:] == ["end 1"] * 2 + ["a'b $x  *"] * 2 + ["/tmp"] * 2 + [
        "echo 1 #1", "1", "1", "echo 1", "echo 2"], out


def test_output(lab):
    """Lines of two ranks stay whole, and a command's output together; much of it comes, by
    the right descriptor, tagged and into files."""
    out = batch(lab, r"""
storm run true
storm each -N2 --tag --results dir 'for k in $(seq 4000); do echo {}$SLURM_PROCID$k-; done
  echo err{} >&2' ::: a b c 2>err |
  awk -F'\t' '$2 !~ "^" $1 "[01][0-9]+-$" { bad++ } $1 != last { last = $1; turns++ }
    END { print NR, bad + 0, turns }'
sort err | uniq -c | awk '{ print $1, $2, $3 }'; cat dir/1/*/stdout | wc -l
storm each -N2 --line-buffer 'echo a{}; sleep 0.1; echo b{}' ::: 1 2 | sort | tr '\n' ' '; echo
storm each -n2 -u 'yes #{}' ::: 1 2 2>err | head -n1; echo code ${PIPESTATUS[0]}
storm run -N4 true; echo next $?
""")
    assert out[0] == "24000 0 3", out
    assert out[1:4] == ["2 a erra", "2 b errb", "2 c errc"] and out[4] == "24000", out
    assert out[5] == "a1 a1 a2 a2 b1 b1 b2 b2 ", out
    assert out[6] == "y" or out[6].startswith("#"), out
    assert out[7:] == ["code 141", "next 0"], out


def test_ends(lab):
    """--retries, --timeout, --halt, --resume, -j, --delay and --journal."""
    out = batch(lab, r"""
storm run true
storm each -n2 --retries 3 'echo >>tried.{}.$SLURM_PROCID; test $(wc -l <tried.{}.$SLURM_PROCID) = 3' \
  ::: 1 2 2>/dev/null; echo retries $?; cat tried.* | wc -l
storm each -n2 --timeout 0.5 --joblog jobs sleep ::: 600 0 2>err; echo timeout $?
grep -c '^storm each: task 1: ended by --timeout$' err; cut -f1,7,8 jobs | sort | head -n2
storm each -n2 --halt now,fail=1 --joblog halt 'test {} = 1 && exit 7; sleep 600' ::: 1 2 3 4 2>/dev/null
echo halt $?
storm each -n2 --joblog jobs --resume-failed 'echo again {}' ::: 1 2 3 | sort | uniq -c |
  awk '{ print $1, $2, $3 }'
storm each -n2 -j2 'test $SLURM_PROCID = 0 || exit 0; echo >in.{}; ls | grep -c ^in. >>most
  sleep 0.2; rm in.{}' ::: 1 2 3 4 5 6; sort -n most | tail -n1
begun=${EPOCHREALTIME/./}; storm each -n2 --delay 0.3 : ::: 1 2 3
echo delay $? $(((${EPOCHREALTIME/./} - begun) / 600000))
storm each -n2 --journal runs : ::: 1 2 3; wc -l <runs
storm each -n2 true </dev/null; echo nothing $?
""")
    assert out[:2] == ["retries 0", "12"], out
    assert out[2:6] == ["timeout 1", "1", "1\t-1\t15", "2\t0\t0"], out
    assert out[6] == "halt 7", out
    assert out[7:9] == ["2 again 1", "2 again 3"], out
    assert out[9] == "2", out
    assert re.match("delay 0 [1-9]", out[10]), out
    assert out[11:] == ["3", "nothing 0"], out


def test_cannot(lab):
    """What the job can never hold is said once, with both numbers, and no command begins; a
    program that one node does not have, once for its command."""
    out = batch(lab, r"""
storm run true
storm each -N5 'touch begun.{}' ::: 1 2 3 2>err; echo code $?; cat err
storm each -n9 'touch begun.{}' ::: 1 2 3 2>err; echo code $?; cat err
storm each -n1 -c3 'touch begun.{}' ::: 1 2 3 2>err; echo code $?; cat err
storm each -n0 true ::: 1; storm each -Nx true ::: 1; storm each --mpi=pmi2 true ::: 1 2>&1 | head -c 30; echo
ls begun.* 2>/dev/null | wc -l
mkdir there; ln -s /bin/true there/own
storm each -N4 -n4 'test $SLURMD_NODENAME = n3 || PATH=$PWD/there:$PATH; own {}' ::: 1 2 2>err
echo code $?; grep -c 'own: .*not found' err; grep -c 'error: n3: task 2: Exited with exit code 127$' err
storm each -N3 -n2 'echo $SLURM_NNODES #{}' ::: 1
""")
    assert out[:2] == ["code 255", "storm each: 5 nodes are asked for, the job has 4"], out
    assert out[2] == "code 255" and "9" in out[3] and "8" in out[3], out
    assert out[4] == "code 255" and "3 CPUs" in out[5] and "8 CPUs" in out[5], out
    assert out[6:9] == ['storm each: "0" is no number of tasks',
                        'storm each: "x" is no number of nodes',
                        "storm each: --mpi=pmi2: storm "], out
    assert out[9:13] == ["0", "code 2", "2", "2"], out
    assert out[13] == "storm each: Warning: can't run 2 processes on 3 nodes, setting nnodes " \
        "to 2" and out[14:] == ["2", "2"], out


def test_many(lab):
    """Of thousands of commands some are under way, and no more have a connection."""
    commands = 10000 if os.environ.get("STORM_LONG") else 1000
    one = begin(lab, f"""
storm run true
seq {commands} | /usr/bin/env python3 -c 'import os, resource, subprocess, sys
p = subprocess.Popen(["storm", "each", "-n2", "echo {{%}} #{{}}"], stdin=sys.stdin)
most = 0
while p.poll() is None:
    try:
        most = max(most, len(os.listdir(f"/proc/{{p.pid}}/fd")))
    except OSError:
        pass
print("end", p.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, most)' >out
grep end out; grep -v end out | sort -n | tail -n1; grep -vc end out
""")
    assert one.finish().code == 0, one.log()
    rc, peak, files, slot, lines = map(int, re.search(
        r"^end (\d+) (\d+) (\d+)\n(\d+)\n(\d+)$", one.log(), re.M).groups())
    # 4 fit into the job, and 4 wait, beside 4 of which the end is not yet heard
    assert rc == 0 and lines == 2 * commands and 4 <= slot <= 12, one.log()
    assert peak < 20000 and files < 30, one.log()


def going(lab, options="-n2"):
    """Commands that wait for a file, 6 of them, 4 at once."""
    one = begin(lab, f"""
env --default-signal=INT storm each {options} --joblog jobs 'echo >there.{{}}.$SLURM_PROCID
  until [ -e go ]; do sleep 0.05; done; echo >>done; echo {{}}' ::: $(seq 6) >out 2>err & each=$!
wait $each; echo code $?; sort -n out | uniq -c | awk '{{ print $1 $2 }}' | tr '\\n' ' '; echo; cat err
echo lines $(wc -l <done)
storm run -N4 true; echo next $?
""")
    until(lambda: len(list(one.dir.glob("there.*"))) == 8,
          lambda: "eight tasks: " + one.log() + (one.dir / "err").read_text())
    return one


def each_pid(lab):
    pid, = lab.lab.pids("n1", "storm_each")
    return pid


@pytest.mark.parametrize("sig, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(lab, sig, code):
    """^C starts no more and waits, a second one ends all; so does SIGTERM. The joblog has no
    line of these."""
    one = going(lab)
    os.kill(each_pid(lab), sig)
    if sig == signal.SIGINT:
        until(lambda: "run on, ^C again ends them" in (one.dir / "err").read_text(),
              "the client to say so")
        os.kill(each_pid(lab), sig)
    assert one.finish().code == 0, one.log()
    assert f"code {code}\n" in one.log() and "next 0" in one.log(), one.log()
    assert "lines 0" in one.log() or "done: No such file" in one.log(), one.log()
    assert len(list(one.dir.glob("there.*"))) == 8
    assert len((one.dir / "jobs").read_text().splitlines()) == 1


def test_interrupted_once(lab):
    """Those that wait in the head's queue do not begin, and have no line in the joblog."""
    one = going(lab)
    os.kill(each_pid(lab), signal.SIGINT)
    until(lambda: "no more tasks begin" in (one.dir / "err").read_text(), "the client to say so")
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert "code 130\n21 22 23 24 \n" in one.log() and "lines 8\n" in one.log(), one.log()
    assert len((one.dir / "jobs").read_text().splitlines()) == 5


def test_client_killed(lab):
    """No run of it stays."""
    one = going(lab)
    os.kill(each_pid(lab), signal.SIGKILL)
    assert one.finish().code == 0, one.log()
    assert "code 137\n" in one.log() and "next 0" in one.log(), one.log()
    until(lambda: not processes(lab, "sleep", "storm_each"), "tasks to end")


def test_waits(lab):
    """A run of others has the CPUs: it is said, and the commands run behind it."""
    out = begin(lab, """
storm run -n8 sh -c '>there; until [ -e go ]; do sleep 0.05; done' &
until [ -e there ]; do sleep 0.05; done
storm each -n2 'echo {}' ::: 1 2 2>err | sort -u | tr '\\n' ' ' & each=$!
until grep -q 'waits for CPUs: other runs of this job have them' err; do sleep 0.05; done
touch go; wait
""")
    assert out.finish().code == 0 and "1 2 " in out.log(), out.log()


def test_head_killed(lab):
    """All tasks end, and the client says why."""
    one = going(lab)
    os.kill(the_head(lab), signal.SIGKILL)
    assert one.finish().code == 0, one.log()
    assert re.search("^code 255\n", one.log(), re.M), one.log()
    assert re.search(EACH_ENDED, one.log(), re.M) and "next 0" in one.log(), one.log()


def test_stopped(lab):
    """By storm run --stop, too; those that wait start no new launchers."""
    out = begin(lab, """
storm each -n2 --joblog jobs 'echo >there.{}; sleep 600' ::: 1 2 3 4 5 6 2>err & each=$!
until [ "$(ls there.* 2>/dev/null | wc -l)" = 4 ]; do sleep 0.05; done
storm run --stop; wait $each; echo code $?; ls there.* | wc -l; cat err
""")
    assert out.finish().code == 0, out.log()
    assert "code 255\n4\n" in out.log() and re.search(EACH_ENDED, out.log(), re.M), out.log()


@pytest.mark.parametrize("tasks", [1, 2])
def test_step_signalled(lab, tasks):
    """SIGTERM for the launchers' step ends what runs, and nothing more begins: the client says
    so. The joblog has no line of these, so that --resume begins them again."""
    one = begin(lab, f"""
storm each -n{tasks} --joblog jobs 'echo >there.{{}}.$SLURM_PROCID; sleep 600' ::: $(seq 12) 2>err
echo code $?; ls there.* | wc -l; cat err; echo lines $(wc -l <jobs)
storm each -n{tasks} --resume --joblog jobs 'echo {{}}' ::: $(seq 12) >out
echo code $?; sort -n out | uniq -c | awk '{{ print $1 }}' | uniq -c; echo lines $(wc -l <jobs)
""")
    until(lambda: len(list(one.dir.glob("there.*"))) == 8,
          lambda: "eight tasks: " + one.log() + (one.dir / "err").read_text())
    step, = re.findall(r"^(\d+\.\d+)$", lab.root("squeue -h -s -o %i"), re.M)
    # scancel asks node by node, and fails where the step has ended by then
    lab.lab.run(["scancel", "-s", "TERM", step], host="login", cwd="/")
    assert one.finish().code == 0, one.log()
    first, rest = one.log().split("lines 1\n")
    assert "code 255\n8\n" in first and re.search(EACH_ENDED, first, re.M), one.log()
    assert not STARTED.findall(first.split("8\n", 1)[1])[1:], one.log()
    assert re.search(rf"^code 0\n *12 {tasks}\nlines 13$", rest, re.M), one.log()


def test_node_lost(lab):
    """Commands that had it begin again, when the others have ended, by new launchers: each is
    said. All of them end."""
    one = going(lab, "-N2 -n2")
    os.kill(the_launcher(lab, "n3"), signal.SIGKILL)
    again = re.compile(r"^storm each: task \d was begun on n\[?[-,1-4]+\]?, of which one is lost; "
                       "it begins again$", re.M)
    until(lambda: again.search((one.dir / "err").read_text()),
          lambda: "a line: " + (one.dir / "err").read_text())
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert "code 0\n21 22 23 24 25 26 \n" in one.log() and "next 0" in one.log(), one.log()
    assert "error: the launcher on node n3 is lost: " in one.log(), one.log()
    assert len(STARTED.findall(one.log())) == 2, one.log()
    assert len((one.dir / "jobs").read_text().splitlines()) == 7


def test_crash_limit(lab):
    """A command that takes a node down twice is given up; others end."""
    one = begin(lab, """
storm each -N4 --crash-limit 2 'if [ {} = 2 ]; then
  if [ $SLURMD_NODENAME = n3 ]; then kill -9 $PPID; exit; fi; exec sleep 600; fi; echo {}' ::: 1 2 3 >out 2>err
echo code $?; sort out | uniq -c | awk '{ print $1 $2 }' | tr '\\n' ' '; echo; cat err
""")
    assert one.finish().code == 0, one.log()
    log = STARTED.sub("", WAITS.sub("", one.log()))
    assert "code 1\n41 43 \n" in log, log
    assert "error: task 2 is given up: 2 times what runs tasks was lost with it, on n[1-4] " \
        "last\n" in log, log


def test_mpi(lab, mpich):
    """Ranks of MPI of each command find each other, and no others."""
    out = batch(lab, f"""
storm each -k -N2 -n4 --mpi=pmi1 '{mpich} #{{}}' ::: 1 2 3 | sort
storm each --mpi=pmi1 '{mpich} #{{}}' ::: 1
""")
    assert out == sorted(3 * ring(4)) + ring(1), out
