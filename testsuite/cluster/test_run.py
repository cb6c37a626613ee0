# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: launchers that stay in a job, what tasks see, how runs end, and what
becomes of them when a client, the head, a launcher, srun or a node dies."""
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from harness import until
from run_lab import (  # noqa: F401
    batch, begin, client, cmdline, CPUS, end_run, ENDED, ended, files,
    full, heads, held, HELD_START, lab, launchers, limit, listens,
    name_is_taken, NODES,
    nothing_left, printed, processes, runs_now, said, STARTED, stopped,
    the_head, the_keeper, the_launcher, the_srun, VERSION, WAITS)
from tree import TOP

pytestmark = pytest.mark.storm_only


# -- what tasks are ------------------------------------------------------------

@pytest.mark.every_release
def test_tasks(lab):
    """Ranks, nodes and directory, and the highest exit status; what is said of those
    that fail. A second run finds the launchers."""
    out = batch(lab, """
umask 027; ulimit -Sn 777; mkdir -p /tmp/w; export SHOWN='a  b'
storm run -N2 -n4 sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_NODEID/$SLURM_NNODES \\
  $SLURM_LOCALID $SLURMD_NODENAME $(hostname) $(basename $PWD) $(umask) $(ulimit -Sn) "$SHOWN"'
storm run -n4 sh -c 'exit $((SLURM_PROCID * 2))'; echo $?
storm run -N1 sh -c 'kill -TERM $$'; echo $?
storm run -N4 true; echo $?
storm run -N1 sh -c 'echo $SLURM_JOB_ID $SLURM_STEP_ID $#:"$*" $0' x '' 'a b' "c
d"; echo $SLURM_JOB_ID
squeue -h -s -j $SLURM_JOB_ID -o %i | grep -c '\\.[0-9]'
storm run -n4 sh -c 'echo $(ls /proc/self/fd) $(grep -E "Sig(Blk|Ign)" /proc/self/status)'
""")
    here = out[3].split()[5]
    assert sorted(out[:4]) == [
        f"{rank}/4 {rank // 2}/2 {rank % 2} n{rank // 2 + 1} n{rank // 2 + 1} "
        f"{here} 0027 777 a  b" for rank in range(4)]
    assert sorted(out[4:7]) == [
        f"storm run: error: n{k + 1}: task {k}: Exited with exit code {2 * k}"
        for k in (1, 2, 3)]
    assert out[7:11] == ["6", "storm run: error: n1: task 0: Terminated", "143",
                         "0"]
    job = out[13]
    assert out[11:15] == [f"{job} 0 3: a b c", "d x", job, "1"]
    # 3 is the directory itself; SIGPIPE, SIGQUIT and others are as at login
    assert out[15:19] == 4 * ["0 1 2 3 SigBlk: 0000000000000000 SigIgn: "
                              "0000000000000000"]
    assert not out[19:], out


def test_in_step(lab):
    """A client in an ordinary step says that the launchers end with it; then the next
    one starts anew, if proctrack has found the keeper."""
    one = begin(lab, """
srun -N1 -n1 --overlap sh -c 'storm run -N4 hostname; echo in $?'
storm run -N4 true; echo next $?
""")
    one.finish()
    log = one.log()
    assert re.search(r"^storm run: the launchers end with step \d+\.0, in which this is; "
                     "those that the batch script starts stay$", log, re.M), log
    assert {"in 0", "next 0", *lab.names} <= set(log.split("\n")), log


@pytest.mark.every_release
def test_salloc(lab):
    """All output comes to the login host, which is none of the job's: test_run_login.py."""
    done = lab.run(["salloc", "-Q", f"-N{NODES}", "sh", "-c",
                    "storm run -N4 hostname; echo $?; storm run -N4 true; echo $?"])
    assert done.code == 0, str(done)
    assert sorted(done.out.split()) == sorted(["0", "0", *lab.names])
    assert len(STARTED.findall(done.err)) == 1, str(done)


def test_queue(lab):
    """Runs wait for CPUs, in the order in which they came, and all of them end. One
    that the job can never hold is refused."""
    out = batch(lab, """
echo 0 >count
one() { storm run -N4 -n8 sh -c '[ $SLURM_PROCID = 0 ] || exit 0
  exec 9>lock; flock 9; echo $(($(cat count) + 1)) >count; echo in >>order.'$1; echo $? $1; }
for k in 1 2 3 4 5 6; do one $k & done; wait
cat count
storm run -n9 true; echo $?
storm run -N5 true; echo $?
storm run -N3 -n2 true; echo $?
""")
    assert sorted(out[:6]) == [f"0 {k}" for k in range(1, 7)]
    assert out[6:] == [
        "6", "storm run: 9 tasks on 4 nodes are asked for, the job has 8 CPUs on 4 "
        "nodes", "1", "storm run: 5 nodes are asked for, the job has 4", "1",
        "storm run: Warning: can't run 2 processes on 3 nodes, setting nnodes to 2",
        "0"]


def test_queued_interrupted(lab):
    """A run that waits says so, and ^C ends it; the one before goes on."""
    one = begin(lab, """
storm run -N4 -n8 sh -c 'touch up$SLURM_PROCID; until [ -e go ]; do sleep 0.1; done' & first=$!
until [ -e up0 -a -e up7 ]; do sleep 0.1; done
env --default-signal=INT storm run -n1 echo never & second=$!
wait $second; echo second $?; touch go; wait $first; echo first $?
""")
    said(one, "storm run: waits for CPUs: other runs of this job have them")
    waits, = [pid for pid in lab.lab.pids("n1", "storm")
              if b"never" in cmdline(pid)]
    os.kill(waits, signal.SIGINT)
    said(one, "second 130")
    one.finish()
    assert "first 0" in one.log() and "never" not in one.log(), one.log()


def test_output(lab):
    """All of it comes, from all nodes, also by a pipe whose reader is slow, and before
    the end. A reader that is gone stops those alone that write more."""
    one = begin(lab, """
storm run true
storm run -N4 sh -c 'head -c 3000000 /dev/zero | tr "\\0" $SLURM_PROCID; echo err >&2' \\
  2>err | (until [ -e read ]; do sleep 0.05; done; cat >got); echo ${PIPESTATUS[0]}
for k in 0 1 2 3; do tr -cd $k <got | wc -c; done; wc -l <err
storm run -N4 sh -c 'yes | head -c 1000000; exit 4' 2>/dev/null | true; echo ${PIPESTATUS[0]}
storm run -N4 hostname >&-; echo $?
storm run -N4 hostname >/dev/full 2>err; echo $? $(grep -c 'standard output: No space' err)
timeout 60 storm run -N4 yes 2>err | head -n1; echo ${PIPESTATUS[0]}; cat err
""")
    until(lambda: [p for p in lab.lab.pids("n1", "storm") if full(p)],
          lambda: "the reader's pipe to be full: " + one.log())
    (one.dir / "read").touch()
    out = printed(one)
    assert out[:6] == ["0"] + 4 * ["3000000"] + ["4"]
    assert out[6:] == ["4", "0", "1 1", "y", "141", "storm run: error: n1,n2,n3,n4: "
                       "tasks 0-3: Broken pipe"]


def test_stuck_reader(lab):
    """A reader that has stopped keeps no signal from the tasks."""
    one = begin(lab, """
storm run true
(storm run -N4 yes; echo code $? >&2) | (touch stuck; exec sleep 1000) &
wait $!
""")
    until(lambda: len(processes(lab, "yes")) == NODES,
          lambda: "the tasks: " + one.log())
    os.kill(client(lab), signal.SIGTERM)
    said(one, "code 143")


def test_output_lost(lab):
    """A node whose output does not come fails the run, and is named."""
    one = begin(lab, """
storm run true; touch ready; until [ -e go ]; do sleep 0.05; done
storm run -N4 hostname; echo code $?
storm run -N4 true; echo quiet $?; until [ -e end ]; do sleep 0.05; done
""")
    until((one.dir / "ready").exists, lambda: "the launchers: " + one.log())
    lab.lab.end("n3", "munged")
    try:
        (one.dir / "go").touch()
        said(one, "quiet 0")
    finally:
        lab.lab.restart("n3", "munged")
        (one.dir / "end").touch()
    one.finish()
    out = STARTED.sub("", WAITS.sub("", one.log())).split("\n")
    assert sorted(filter(None, out)) == [
        "code 1", "n1", "n2", "n4", "quiet 0",
        "storm run: error: n3: task 2: output is lost: Required key not available"]


def test_slow_munged(lab):
    """Only output waits for munged: on the head's host, and on another one."""
    one = begin(lab, """
storm run true; touch ready; until [ -e go ]; do sleep 0.05; done
storm run -N4 sh -c 'echo out; touch out$SLURM_PROCID' & first=$!
until [ -e out0 -a -e out1 -a -e out2 -a -e out3 ]; do sleep 0.05; done
# munge(1) gives up after more seconds
SECONDS=0; for k in 1 2 3; do storm run -N4 true || break; done; echo quiet $? $SECONDS
touch quiet; wait $first; echo first $?
""")
    until((one.dir / "ready").exists, lambda: "the launchers: " + one.log())
    go_on = stopped(lab, "munged", "n1", "n3")
    try:
        (one.dir / "go").touch()
        until((one.dir / "quiet").exists, lambda: "quiet runs: " + one.log())
    finally:
        go_on()
    out = printed(one)
    assert sorted(out) == ["first 0", *4 * ["out"],
                           *[line for line in out if re.fullmatch("quiet 0 [0-4]", line)]]
    assert len(out) == 6, out


def test_bad_programs(lab):
    """One line, with the nodes."""
    out = batch(lab, """
PATH=/bin:/usr/bin:$HOME/only:$PATH
storm run -N4 nosuchprogram; echo $?
storm run -N4 /etc/passwd; echo $?
storm run -N4 sh -c '[ $SLURM_PROCID = 0 ] || mkdir /tmp/here'
mkdir /tmp/here /tmp/alone; cd /tmp/alone; storm run -N4 true; echo $?
cd /tmp/here; storm run -N4 pwd; echo $?
storm run -N4 sh -c 'rmdir /tmp/here'
cd /tmp; X=$(head -c 100000 /dev/zero | tr '\\0' x); export X; storm run -N4 true; echo $?
for k in $(seq 50); do export X$k=$X; done; storm run -N4 true; echo $?
""".replace("PATH=/bin:/usr/bin:$HOME/only:$PATH", "PATH=$(dirname $(command -v storm)):/bin:/usr/bin"))
    assert out[:4] == [
        "storm run: error: n1,n2,n3,n4: tasks 0-3: cannot execute nosuchprogram: No "
        "such file or directory", "2",
        "storm run: error: n1,n2,n3,n4: tasks 0-3: cannot execute /etc/passwd: "
        "Permission denied", "13"]
    assert out[4:6] == [
        "storm run: error: n2,n3,n4: tasks 1-3: cannot change to directory "
        "/tmp/alone: No such file or directory", "2"]
    assert out[6:11] == 4 * ["/tmp/here"] + ["0"]
    assert out[11] == "0"
    assert len(out) == 13 or re.search(
        r"have \d+ bytes, 4194304 are possible|Argument list too long", out[12])


def test_no_job(lab):
    for argv, text, code in (
            (["storm", "run", "true"],
             "storm run: not inside a job: use salloc or sbatch first\n", 1),
            (["storm", "run"], "storm run: no program is given; see storm run "
             "--help\n", 2),
            (["storm", "run", "-n0", "true"],
             'storm run: "0" is no number of tasks\n', 2)):
        done = lab.run(argv)
        assert (done.code, done.err) == (code, text)


# -- how it begins ---------------------------------------------------------------

SLOW_START = HELD_START + """
storm run true; echo first $?
storm run -N4 true; echo next $?
"""


@pytest.mark.parametrize("victim", ["keeper", "srun", "head", "launcher"])
def test_death_at_the_start(lab, victim):
    """Before all launchers are there: the client says so, and the next one starts
    anew."""
    one = begin(lab, SLOW_START)
    until(lambda: all(launchers(lab, n) for n in ("n1", "n2", "n4")) and heads(lab),
          lambda: "the other launchers: " + one.log())
    if victim == "launcher":    # those that have no head yet hear Slurm all the same
        other, = launchers(lab, "n2")
        os.kill(other, signal.SIGTERM)
        until(lambda: other not in launchers(lab, "n2"), "a launcher's end", timeout=30)
    os.kill({"keeper": the_keeper, "srun": the_srun, "head": the_head,
             "launcher": lambda lab: launchers(lab, "n1")[0]}[victim](lab),
            signal.SIGKILL)
    (one.dir / "go").touch()
    ended(lab, one, "^first 1$", "^storm run: the launchers cannot be started: .")
    assert len(STARTED.findall(one.log())) == 1, one.log()


def test_no_descriptors(lab):
    """With few of them a head lets clients wait, and all of them end. A launcher without
    any fails a run by name, on the client's host as elsewhere; the next one succeeds."""
    none = 7    # the first ones are in use; poll(2) takes no more entries than this
    one = begin(lab, """
storm run true; touch ready; until [ -e go ]; do sleep 0.05; done
for k in $(seq 24); do (storm run -N4 hostname; echo code $?) & done; wait
touch many; until [ -e none ]; do sleep 0.05; done
storm run -N4 hostname; echo none $?; touch failed; until [ -e more ]; do sleep 0.05; done
storm run -N4 hostname; echo next $?; touch next; until [ -e last ]; do sleep 0.05; done
storm run -N1 hostname; echo last $?
""")
    until((one.dir / "ready").exists, lambda: "the launchers: " + one.log())
    limit(lab, "n1", "storm_launcher --[h]ead", 64)
    (one.dir / "go").touch()
    until((one.dir / "many").exists, lambda: "24 runs: " + one.log())
    limit(lab, "n3", "[s]torm_launcher ", none)
    (one.dir / "none").touch()
    until((one.dir / "failed").exists, lambda: "a run: " + one.log())
    limit(lab, "n3", "[s]torm_launcher ", 1000)
    (one.dir / "more").touch()
    until((one.dir / "next").exists, lambda: "a run: " + one.log())
    limit(lab, "n1", "^[^ ]*storm_launcher /tmp", none)
    (one.dir / "last").touch()
    *out, why, last = printed(one)
    assert (why, last) == ("storm run: error: n1: task 0: cannot start a task: Too many "
                           "open files", "last 24")
    assert out.count("code 0") == 24 and [out.count(n) for n in lab.names] == \
        [26, 26, 25, 26], out
    assert out[-5:].count("next 0") == 1 and "none 24" in out, out
    assert "storm run: error: n3: task 2: cannot start a task: Too many open files" \
        in out, out


# -- how it ends -----------------------------------------------------------------

LOOP = """
storm run -N4 true
# a shell starts what is in the background with SIGINT ignored
env --default-signal=INT storm run -N4 sh -c 'echo task $SLURM_PROCID; exec sleep 1000' & run=$!
wait $run; echo code $?
storm run -N4 true; echo next $?
"""


def going(lab):
    """A job whose run has its four tasks."""
    one = begin(lab, LOOP)
    until(lambda: len(processes(lab, "sleep")) == NODES,
          lambda: "four tasks: " + one.log())
    return one


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_signal(lab, sig):
    """The client passes it to all tasks; the launchers stay."""
    one = going(lab)
    before = [launchers(lab, n) for n in lab.names]
    os.kill(client(lab), sig)
    said(one, "next 0")
    ended(lab, one, f"^code {128 + sig}$", "n1,n2,n3,n4: tasks 0-3: ")
    assert len(STARTED.findall(one.log())) == 1 and all(before)


def killed(lab, victim, *lines):
    """A process is killed while a run has its four tasks: the job ends with these lines,
    and its next run has started launchers anew."""
    one = going(lab)
    os.kill(victim(lab), signal.SIGKILL)
    ended(lab, one, *lines)
    assert len(STARTED.findall(one.log())) == 2


def test_client_killed(lab):
    """Nothing of its run goes on, and the next run finds the launchers."""
    one = going(lab)
    os.kill(client(lab), signal.SIGKILL)
    until(lambda: not processes(lab, "sleep"), "the tasks' end")
    ended(lab, one, "^code 137$")
    assert len(STARTED.findall(one.log())) == 1


def test_head_killed(lab):
    """Tasks and launchers end, the client says so, and the next run starts anew."""
    killed(lab, the_head, "^code 1$", ENDED)


def test_head_killed_before_a_run(lab):
    """A run that the head has not heard of is the next one's."""
    one = begin(lab, """
storm run true; touch ready; until [ -e go ]; do sleep 0.05; done
storm run -N4 true; echo next $?
""")
    until((one.dir / "ready").exists, lambda: "the launchers: " + one.log())
    head = the_head(lab)
    os.kill(head, signal.SIGSTOP)
    (one.dir / "go").touch()
    until(lambda: [fd for pid in lab.lab.pids("n1", "storm")
                   for fd in os.listdir(f"/proc/{pid}/fd")
                   if "signalfd" in os.readlink(f"/proc/{pid}/fd/{fd}")],
          lambda: "the client to have a connection: " + one.log())
    said(one, "storm run: waits for the launchers: they do not answer while ")
    os.kill(head, signal.SIGKILL)
    ended(lab, one)
    assert len(STARTED.findall(one.log())) == 2, one.log()


def test_keeper_killed(lab):
    """With it goes srun, and so the step; the next run starts anew."""
    killed(lab, the_keeper, "^code 1$", ENDED)


def test_first_launcher_killed(lab):
    """The head is its child, and does not outlive it."""
    killed(lab, lambda lab: the_launcher(lab, "n1"), "^code 1$", ENDED)


def test_launcher_killed(lab):
    """The client names the node, and ends; so do all tasks of the run."""
    killed(lab, lambda lab: the_launcher(lab, "n3"), "^code 137$",
           "^storm run: error: the launcher on node n3 is lost: ")


def test_srun_killed(lab):
    killed(lab, the_srun, "^code 1$", ENDED)


def test_suspended(lab):
    """Head and launchers stand together, for longer than the silence after which a node
    closes its domain: 5 s of DeadTimeout and three heartbeats. Launchers go on first."""
    one = going(lab)
    job = lab.root("squeue -h -o %i").strip()
    head = the_head(lab)
    others = [pid for node in lab.names for pid in launchers(lab, node)]
    assert len(others) == NODES
    lab.root(f"scontrol suspend {job}")
    until(lambda: not any(map(runs_now, [head, *others])), "all of them to stand")
    time.sleep(9)       # nothing happens that could be seen
    for pid in others:
        os.kill(pid, signal.SIGCONT)
    until(lambda: all(map(runs_now, others)), "the launchers to go on")
    time.sleep(0.5)     # here, too
    assert not runs_now(head)
    lab.root(f"scontrol resume {job}")
    until(lambda: runs_now(head), "the head to go on")
    os.kill(client(lab), signal.SIGTERM)
    ended(lab, one, "^code 143$")
    assert len(STARTED.findall(one.log())) == 1, one.log()
    assert "lost" not in one.log()


#: argv: pid. Its first thread stands, as if it waited for a file system; others go on
STAND = """import ctypes, os, sys
ptrace, pid, SEIZE, INTERRUPT, WALL = \
    ctypes.CDLL(None).ptrace, int(sys.argv[1]), 0x4206, 0x4207, 0x40000000
ptrace.argtypes = 4 * [ctypes.c_long]
assert not ptrace(SEIZE, pid, 0, 0) and not ptrace(INTERRUPT, pid, 0, 0)
os.waitpid(pid, WALL)
print("stands", flush=True)
os.waitpid(pid, WALL)
"""


def test_task_that_stays(lab):
    """A task that has left its process group is killed all the same. One that is not
    is named, and keeps neither its client nor the launchers' end."""
    one = begin(lab, """
storm run -N1 python3 -c "import os, time
child = os.fork()
if not child: time.sleep(1000)
os.setpgid(child, child)
os.setpgid(0, child)
os.execvp('sleep', ['sleep', '1000'])"; echo left $?
storm run -N4 sh -c 'touch up$SLURM_PROCID; exec sleep 1000' & run=$!
until [ -e go ]; do sleep 0.05; done
storm run --stop; echo stop $?; wait $run; echo code $?
storm run -N4 true; echo next $?
""")
    task = until(lambda: lab.lab.pids("n1", "sleep"), lambda: "the task: " + one.log())[0]
    os.kill(client(lab), signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{task}"), lambda: "its end: " + one.log())
    until(lambda: all((one.dir / f"up{k}").exists() for k in range(NODES)),
          lambda: "the next run: " + one.log())
    stands, = launchers(lab, "n3")
    holder = subprocess.Popen([sys.executable, "-c", STAND, str(stands)],
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"stands\n"
        (one.dir / "go").touch()
        said(one, "storm run: error: the launchers end, and leave these tasks to Slurm")
    finally:
        holder.kill()
        holder.wait()
    ended(lab, one, "^left 137$", "^stop 0$", "^code 137$", "^storm run: error: n3: task 2: "
          "no end is reported 10 s after SIGKILL$")


@pytest.mark.every_release
def test_job_ends(lab):
    """Nothing outlives it, also if it is cancelled. Its script begins no other run: a
    start in whose middle Slurm kills all leaves an empty file."""
    begin(lab, "storm run -N4 true; exec storm run -N4 sleep 1000")
    until(lambda: len(processes(lab, "sleep")) == NODES, "four tasks")
    lab.root("scancel -u user")
    nothing_left(lab)


#: Names of jobs that have ended: a keeper and a launcher that were killed, one whose start
#: failed, one that lives, and a launcher that begins
LEFT = """
left() {
cat >left.py <<'END'
import fcntl, os, socket, time
def name(job, part):
    return f"/tmp/storm-{os.getuid()}/{job}.{os.uname()[1]}.{part}"
def made(job, part):
    return open(name(job, part), "w")
def bound(job, age):
    socket.socket(socket.AF_UNIX).bind(name(job, "sock"))
    os.utime(name(job, "sock"), (time.time() - age,) * 2)
os.makedirs(os.path.dirname(name(0, "")), 0o700, exist_ok=True)
bound(7001, 100); made(7001, "keep"); made(7001, "log")
bound(7002, 100); made(7002, "lock")
made(7003, "log")
bound(7004, 100); lives = made(7004, "keep")
fcntl.flock(lives, fcntl.LOCK_EX)
bound(7005, 0)
open(os.uname()[1], "w").close()
time.sleep(1000)
END
srun --launch=slurm --overlap -N2 -n2 --ntasks-per-node=1 python3 left.py &
until [ -e n1 ] && [ -e n2 ]; do sleep 0.05; done
}
"""


def test_sweep(lab):
    """What killed processes of other jobs have left goes with the next launchers on that
    host; what somebody has does not."""
    one = begin(lab, LEFT + """left
storm run -N2 true; touch swept; until [ -e go ]; do sleep 0.05; done
kill %1; wait; storm run --stop
""", nodes=2)
    until(lambda: (one.dir / "swept").exists(), one.log)
    try:
        for n in "n1", "n2":
            assert sorted(name for name in lab.listing(n, "/tmp/storm-20001")
                          if name.startswith("700")) == [
                f"7003.{n}.log", f"7004.{n}.keep", f"7004.{n}.sock", f"7005.{n}.sock"]
    finally:
        (one.dir / "go").touch()
        one.finish()
        for name in files(lab):
            if ":700" in name:
                lab.remove("/tmp/storm-20001/" + name[3:], [name[:2]])
    assert one.finish().code == 0, one.log()


def test_stop(lab):
    """The launchers end, and all tasks; then there are none to stop."""
    one = begin(lab, """
storm run --stop; echo none $?
storm run -N4 sleep 1000 & run=$!
until [ -e go ]; do sleep 0.05; done
SECONDS=0; storm run --stop; echo stop $? $SECONDS
wait $run; echo code $?
storm run -N1 true; echo next $?
""")
    until(lambda: len(processes(lab, "sleep")) >= NODES, "the tasks")
    before = the_head(lab)
    (one.dir / "go").touch()
    ended(lab, one, "^none 0$", "^stop 0 [0-4]$", "^code 137$")
    assert not os.path.exists(f"/proc/{before}")
    assert len(STARTED.findall(one.log())) == 2


# -- others ------------------------------------------------------------------------

#: argv: port, then credentials to begin with; says what the head answers
FORGE = """import socket, sys
def frame(kind, body):
    return len(body).to_bytes(4, "big") + bytes([kind]) + body
for begin in [b""] + [frame(4, c.encode() + bytes(1)) for c in sys.argv[2:]]:
    s = socket.create_connection(("n1", int(sys.argv[1])))
    got = b""
    try:
        if begin:
            s.sendall(begin)
            got = s.recv(100)
        s.sendall(frame(8, b"\\1forged\\n"))
        got += s.recv(100)
    except OSError:
        pass
    print(got)
"""


def test_other_user(lab):
    """No way in by the socket; and no output by the port that takes it, by
    another user's credential, or without one."""
    one = going(lab)
    path, = [p for p in lab.listing("n1", "/tmp/storm-20001")
             if p.endswith(".sock")]
    tried = lab.lab.run(["python3", "-c", "import socket, sys\n"
                         "socket.socket(socket.AF_UNIX).connect(sys.argv[1])",
                         f"/tmp/storm-20001/{path}"], host="n1", user="other",
                        cwd="/")
    assert "PermissionError" in tried.stderr, tried.stderr
    port, = listens(the_head(lab))
    made = []
    for run in (1, 2, 3):       # one of them has the client that waits
        text = run.to_bytes(8, "big") + bytes(16 + 16)
        (lab.home.parent / "payload").write_bytes(text)
        done = lab.lab.run(["munge", "--input", "/home/payload",
                            "--restrict-uid", "20001"], host="n2",
                           user="other", cwd="/")
        assert done.returncode == 0, done.stderr
        made.append(done.stdout.strip())
    tried = lab.lab.run(["python3", "-c", FORGE, str(port), *made], host="n2",
                        user="other", cwd="/")
    assert tried.stdout.split() == 4 * ["b''"], tried.stdout + tried.stderr
    os.kill(client(lab), signal.SIGTERM)
    ended(lab, one)
    assert "forged" not in one.log()


#: argv: the directory of run_framed.py, the program, a launcher's job, address and port, a
#: file, RUN_VERSION. Has a head of its own, and this one has that launcher run touch(1)
ATTACK = """import socket, struct, subprocess, sys, time
sys.path.insert(0, sys.argv.pop(1))
from run_framed import ask, frame, text
def connect(path):
    s = socket.socket(socket.AF_UNIX)
    while s.connect_ex(path):
        time.sleep(0.05)
    return s
program, job, name, port, target, version = sys.argv[1:]
child, parent = socket.socketpair()
assert child.fileno() == 3
head = subprocess.Popen([program, "--head", "/tmp/attack.sock", "3"], pass_fds=[3])
keeper = connect("/tmp/attack.new")
keeper.sendall(frame(3, struct.pack(">II", int(version), int(job)) + bytes(16)
    + struct.pack(">3IQ", 1, 1, 0, 0) + text(name) + bytes(10) + bytes([255, 255])
    + socket.inet_aton(socket.gethostbyname(name)) + struct.pack(">H", int(port))))
print(keeper.recv(1000), flush=True)
client = connect("/tmp/attack.sock")
client.sendall(frame(1, ask(version, False, False, 1, 1, ["touch", target])))
print(client.recv(1000)[4], flush=True)
time.sleep(1000)
"""


def test_another_job(lab):
    """A process of the same user that is not the head opens a domain with a launcher,
    before the head does: nothing that it says counts, and the head's does."""
    def attacked():
        return "attacked" in lab.listing("n4")

    one = begin(lab, SLOW_START)
    until(lambda: all(launchers(lab, n) for n in ("n1", "n2", "n4")) and heads(lab),
          lambda: "the other launchers: " + one.log())
    program, _, port = cmdline(launchers(lab, "n4")[0]).decode().split("\0")[:3]
    job = lab.root("squeue -h -o %i").strip()
    holder = lab.lab.popen(["python3", "-c", ATTACK, str(TOP / "testsuite/cluster"),
                            program, job, "n4", port, "/tmp/attacked", VERSION],
                           host="n2", user="user", stdout=-1, cwd="/")
    try:
        assert holder.stdout.readline() == b"b'\\x00\\x00\\x00\\x00\\x11'\n"
        # its own head takes the run: RUN_QUEUED
        assert holder.stdout.readline() == b"6\n"
        log = lab.lab.path("n1", f"/tmp/storm-20001/{job}.n1.log")
        until(lambda: "n4: a message is refused" in open(log).read()
              or attacked(), lambda: "an answer: " + open(log).read())
        assert not attacked()
        (one.dir / "go").touch()
        ended(lab, one, "^first 0$")
    finally:
        holder.kill()
        holder.wait()
        done = attacked()
        lab.remove("/tmp/attacked")
    assert len(STARTED.findall(one.log())) == 1 and not done


#: argv: port. Sends a launcher a frame without end, and says whether that was read; then
#: tells one what a head would, and says what it sends
PRETEND = """import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", int(sys.argv[1])))
s.listen()
s.settimeout(60)
print("listens", flush=True)
c = s.accept()[0]
c.settimeout(60)
try:
    c.sendall(b"\\xff" * (64 << 20))
    print("read")
except OSError:
    print("not read")
c = s.accept()[0]
c.settimeout(60)
taken, got = bytes([0, 0, 0, 8, 13]) + bytes(8), b""
try:
    c.recv(4096)
    c.sendall(bytes([0, 0, 0, 16, 19]) + bytes(16) + taken)
    while data := c.recv(4096):
        got += data
        c.sendall(taken)
except OSError:
    pass
print("got", got, flush=True)
"""


def test_port_of_a_dead_head(lab):
    """Another user takes it, and gets no output of a launcher that has not ended yet:
    none knows what only the head can read. Nor do launchers keep what that one says."""
    lab.set_key("DeadTimeout", "60s")
    one = begin(lab, """
storm run -N4 sh -c 'touch up$SLURM_PROCID; until [ -e go ]; do sleep 0.05; done
  echo secret; exec sleep 1000'; echo code $?; until [ -e end ]; do sleep 0.05; done
""")
    until(lambda: all((one.dir / f"up{k}").exists() for k in range(NODES)),
          lambda: "the tasks: " + one.log())
    head = the_head(lab)
    port, = listens(head)
    # they would end the step at once
    for pid in (the_keeper(lab), the_srun(lab)):
        os.kill(pid, signal.SIGSTOP)
    os.kill(head, signal.SIGKILL)
    holder = lab.lab.popen(["python3", "-c", PRETEND, str(port)], host="n1",
                           user="other", stdout=-1, cwd="/")
    try:
        assert holder.stdout.readline() == b"listens\n"
        (one.dir / "go").touch()
        read = holder.stdout.readline()
        got = holder.stdout.readline().decode()
    finally:
        for pid in (the_keeper(lab), the_srun(lab)):
            os.kill(pid, signal.SIGCONT)
        holder.kill()
        holder.wait()
        lab.set_key("DeadTimeout", "5s")
        (one.dir / "end").touch()
    assert (read, got.strip()) == (b"not read\n", "got b''")
    one.finish()
    assert "code 1" in one.log(), one.log()


#: argv: port. More connections than the head has room for, which say nothing
STRANGERS = """import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
held = [socket.create_connection(("n1", int(sys.argv[1]))) for k in range(100)]
print("held", flush=True)
time.sleep(1000)
"""


def test_strangers(lab):
    """Connections that say nothing keep nobody's output away for long."""
    one = begin(lab, """
storm run true; touch ready; until [ -e go ]; do sleep 0.05; done
storm run -N4 hostname; echo code $?
""")
    until((one.dir / "ready").exists, lambda: "the launchers: " + one.log())
    port, = listens(the_head(lab))
    holder = lab.lab.popen(["python3", "-c", STRANGERS, str(port)], host="n2",
                           user="other", stdout=-1, cwd="/")
    try:
        assert holder.stdout.readline().strip() in (b"held", "held")
        (one.dir / "go").touch()
        one.finish()
    finally:
        holder.kill()
        holder.wait()
    assert sorted(STARTED.sub("", WAITS.sub("", one.log())).split()) == \
        ["0", "code", "n1", "n2", "n3", "n4"], one.log()


def test_name_is_taken(lab):
    """Another user has made the directory first: its owner is named."""
    name_is_taken(lab, "n1", "storm run true")


def test_port_is_taken(lab):
    """On one node: the launchers take the next one of LauncherPorts. If all are taken, a
    message has their numbers and the node."""
    holder = lab.lab.popen(
        ["python3", "-c", "import socket, time\n"
         "held = [socket.socket() for k in range(3)]\n"
         "for k in range(3): held[k].bind(('', 31000 + k)); held[k].listen()\n"
         "print('held', flush=True)\n"
         "time.sleep(1000)"], host="n3", stdout=-1)
    try:
        assert holder.stdout.readline().strip() in (b"held", "held")
        lab.set_key("LauncherPorts", "31000-31003")
        assert batch(lab, "storm run -N4 echo fine\n") == 4 * ["fine"]
        lab.set_key("LauncherPorts", "31000-31002")
        one = begin(lab, "storm run true; echo code $?\n"
                    "rm /tmp/storm-$UID/$SLURM_JOB_ID.*.log\n")
        one.finish()
    finally:
        lab.set_key("LauncherPorts", "63001-65000")
        holder.kill()
        holder.wait()
    assert re.search(r"^storm run: the launchers cannot be started: ports 3100\d to "
                     r"3100\d of LauncherPorts=31000-31002 are taken, the last on n3: ",
                     one.log(), re.M) and "code 1" in one.log(), one.log()


# -- what is said, and to whom -----------------------------------------------------

def test_client_killed_at_the_start(lab):
    """It says what srun says, if that takes long. The launchers that it has begun to
    start are the next one's."""
    one = begin(lab, HELD_START.replace("--task-prolog", "-v --task-prolog") + """
storm run true; echo first $?
storm run -N4 true; echo next $?
""")
    held(lab, one)
    said(one, "storm run: waits for srun to start the launchers: srun: ")
    os.kill(client(lab), signal.SIGKILL)
    said(one, "storm run: waits for launchers that another storm run starts")
    (one.dir / "go").touch()
    said(one, "next ")
    ended(lab, one, "^first 137$")
    assert not STARTED.search(one.log()), one.log()


def test_stop_while_they_start(lab):
    """It ends also launchers that are not there yet; on any node, and with them the run
    in which it is."""
    one = begin(lab, HELD_START + """
storm run true; storm run --stop; echo stop $?; touch stopped; until [ -e on ]; do sleep 0.05; done
storm run -N2 sh -c '[ $SLURM_NODEID = 0 ] || storm run --stop'; echo elsewhere $?
storm run -N4 true; echo next $?
""")
    held(lab, one)
    os.kill(client(lab), signal.SIGKILL)
    said(one, "storm run: waits for launchers that another storm run starts")
    (one.dir / "go").touch()
    until((one.dir / "stopped").exists, lambda: "the stop: " + one.log())
    assert not processes(lab, "storm_launcher"), one.log()
    (one.dir / "on").touch()
    ended(lab, one, "^stop 0$", "^elsewhere 137$")
    assert len(STARTED.findall(one.log())) == 2, one.log()


def asks(lab):
    """The client whose request is on its way, once there is just one."""
    def one():
        found = [pid for pid in lab.lab.pids("n1", "storm")
                 if b"second" in cmdline(pid) and
                 any("signalfd" in os.readlink(f"/proc/{pid}/fd/{fd}")
                     for fd in os.listdir(f"/proc/{pid}/fd"))]
        return found[0] if len(found) == 1 else None
    return until(one, "the client to have asked")


def pending(pid):
    with open(f"/proc/{pid}/status") as f:
        return re.search(r"^ShdPnd:\s*0*([0-9a-f]*)$", f.read(), re.M)[1]


def test_signal_while_launchers_end(lab):
    """A node is lost, and a run elsewhere goes on: the next one says that it waits. A
    signal ends it, also one that meets the head's refusal."""
    one = begin(lab, """
(storm run -N1 sh -c 'touch up; until [ -e go ]; do sleep 0.1; done'; echo first $?) &
until [ -e up ]; do sleep 0.05; done
storm run -N4 sleep 1000; echo lost $?; until [ -e on ]; do sleep 0.05; done
for k in 1 2; do
  env --default-signal=INT,TERM storm run -n1 echo second; echo second $?
done
touch go; wait; storm run -N4 true; echo next $?
""")
    until(lambda: lab.lab.pids("n3", "sleep"), lambda: "four tasks: " + one.log())
    pid, = launchers(lab, "n3")
    os.kill(pid, signal.SIGKILL)
    said(one, "lost 137")
    head = the_head(lab)
    os.kill(head, signal.SIGSTOP)
    (one.dir / "on").touch()
    pid = asks(lab)
    os.kill(pid, signal.SIGTERM)
    until(lambda: not pending(pid), "the client to pass SIGTERM on")
    os.kill(head, signal.SIGCONT)
    said(one, "second 143")
    said(one, "storm run: waits for the end of this job's launchers: ")
    os.kill(asks(lab), signal.SIGINT)
    said(one, "second 130")
    ended(lab, one, "^first 0$")
    assert len(STARTED.findall(one.log())) == 2, one.log()


def test_output_dropped(lab):
    """Tasks go on after a signal, but output is dropped: the run fails."""
    one = begin(lab, """
storm run true
(storm run -N2 sh -c 'trap "" TERM; touch up$SLURM_PROCID; yes | head -c 300000'
 echo code $? >&2) | (until [ -e read ]; do sleep 0.05; done; cat >got)
""")
    until(lambda: (one.dir / "up0").exists() and (one.dir / "up1").exists() and
          full(client(lab)), lambda: "the reader's pipe to be full: " + one.log())
    os.kill(client(lab), signal.SIGTERM)
    said(one, "storm run: error: output is lost: nobody reads it")
    (one.dir / "read").touch()
    one.finish()
    assert re.search("^code 1$", one.log(), re.M), one.log()


def test_environment(lab):
    """What is said of a node's GPUs and CPUs is what slurmstepd has made there, and
    nothing leads to the srun around a client."""
    out = batch(lab, """
echo '#!/bin/sh
echo export ROCR_VISIBLE_DEVICES=of-$SLURMD_NODENAME
echo export SLURM_CPUS_ON_NODE=$SLURM_CPUS_ON_NODE-$SLURMD_NODENAME' >gpus
mkdir bin; echo '#!/bin/sh
exec '$(command -v srun) --task-prolog=$PWD'/gpus "$@"' >bin/srun
chmod +x gpus bin/srun; PATH=$PWD/bin:$PATH
export CUDA_VISIBLE_DEVICES=own ROCR_VISIBLE_DEVICES=first SLURM_STEP_GPUS=first
export PMI_RANK=1 PMIX_RANK=1 SLURM_PMIX_X=1 SLURM_SRUN_COMM_PORT=1 SLURM_LAUNCH_NODE_IPADDR=1
all='$SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR $CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES'
all="$all "'$SLURM_CPUS_ON_NODE ${SLURM_STEP_GPUS-none} $(env | grep -cE "PMI|SRUN_COMM|IPADDR")'
storm run -N4 sh -c "echo $all"
SLURM_GPUS_ON_NODE=1 storm run sh -c 'echo ${CUDA_VISIBLE_DEVICES-none} ${SLURM_GPUS_ON_NODE-none}'
""")
    assert sorted(out[:4]) == [f"{n} {n} own of-{n} {CPUS}-{n} none 0" for n in lab.names]
    assert out[4:] == NODES * ["none none"]
