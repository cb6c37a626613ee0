# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run on a login host, under salloc: the head is in the launchers' step and calls
the keeper there, by a port that the site has opened for srun."""
import contextlib
import os
import re
import signal
import time

import pytest

from firewall import dropped
from harness import until
from run_lab import (CPUS, cmdline, end_run, ENDED, files, lab,  # noqa: F401
                     launchers, listens, NODES, processes, runs_now, STARTED,
                     the_head, VERSION, WAITS)
from test_run_nodes import SNIFF

pytestmark = pytest.mark.storm_only

KEEP = {"keeper": ("storm_launcher", b"--keep"), "srun": ("srun", b"storm-launcher")}


def begin(lab, script, nodes=NODES, prefix="", **options):
    """A script under salloc on the login host; log() is what it prints."""
    one = lab.start(["salloc", "-Q", f"-N{nodes}", f"--ntasks-per-node={CPUS}", "bash",
                     "job.sh"], given={"job.sh": f"exec 2>&1\n{prefix}{script}"},
                    **options)
    one.log = one.out
    return one


def lines(one, code=0):
    done = one.finish()
    assert done.code == code, str(done)
    log, times = STARTED.subn("", WAITS.sub("", done.out))
    assert times == 1, str(done)
    return [line for line in log.splitlines() if line]


def the(lab, what):
    """The pid of the keeper, or of its srun, on the login host."""
    name, word = KEEP[what]
    pids = [pid for pid in lab.lab.pids("login", name) if word in cmdline(pid)]
    assert pids, f"no {what}"
    return pids[0]      # srun has a child of its name


def login_is_clean(lab):
    until(lambda: not [p for name in ("storm", "storm_launcher", "srun", "salloc")
                       for p in lab.lab.pids("login", name)], "the login host's processes")
    until(lambda: not files(lab), lambda: f"{files(lab)} to be removed")


def test_runs(lab):
    """Output of all nodes, exit codes and messages come to the login host; the head is a
    process of the first node, and its clients there have their own descriptors."""
    one = begin(lab, """
storm run -N4 hostname | sort; echo code ${PIPESTATUS[0]}
storm run -n4 sh -c 'exit $((SLURM_PROCID * 2))'; echo code $?
storm run -N1 sh -c 'kill -TERM $$'; echo code $?
storm run -N4 sh -c 'head -c 3000000 /dev/zero | tr "\\0" $SLURM_PROCID' >got; echo code $?
for k in 0 1 2 3; do tr -cd $k <got | wc -c; done
storm run -N1 yes | head -n1; echo code ${PIPESTATUS[0]}
echo >own; storm run -N1 -w n1 sh -c 'storm run -N4 hostname | sort; \\
  storm run -N1 -w n1 stat -Lc %F /proc/self/fd/1 >>own'; cat own
touch ready; until [ -e go ]; do sleep 0.05; done
""")
    until((one.dir / "ready").exists, lambda: "the runs: " + one.log())
    assert the_head(lab) and not [p for p in lab.lab.pids("login", "storm_launcher")
                                  if b"--head" in cmdline(p)]
    names = sorted(file for file in files(lab) if file.endswith(".sock"))
    assert [name.split(":")[0] for name in names] == ["login", "n1", "n2", "n3", "n4"], names
    (one.dir / "go").touch()
    out = lines(one)
    assert out[:5] == ["n1", "n2", "n3", "n4", "code 0"], out
    assert sorted(out[5:8]) == [f"storm run: error: n{k + 1}: task {k}: Exited with exit "
                                f"code {2 * k}" for k in (1, 2, 3)], out
    assert out[8:12] == ["code 6", "storm run: error: n1: task 0: Terminated", "code 143",
                         "code 0"], out
    assert out[12:16] == 4 * ["3000000"], out
    out = [line for line in out[16:] if "Broken pipe" not in line]
    assert out[0] == "y" and out[1].startswith("code "), out
    assert out[2:] == ["n1", "n2", "n3", "n4", "regular file"], out
    login_is_clean(lab)


def test_sealed(lab):
    """No packet at the login host has a word of a run's arguments or environment, or of
    its output from the head's node."""
    sniff = lab.lab.popen(["python3", "-c", SNIFF, "argument", "environs", "said-so"],
                          host="login", stdin=-1, stdout=-1, text=True)
    try:
        assert sniff.stdout.readline() == "listens\n"
        one = begin(lab, """
storm run true; export WORD=environs-of-it
storm run -N1 -w n1 sh -c 'echo said-so; echo $WORD; head -c 500000 /dev/zero; : argument' >out
wc -c <out
""")
        assert lines(one) == ["500023"]
        out, _ = sniff.communicate("")
    finally:
        sniff.kill()
    *seen, total = map(int, out.split())
    assert total > 500000 and seen == [0, 0, 0], out


def going(lab, script="echo code $?\nstorm run -N4 true; echo next $?\n"):
    """A run whose tasks are on all nodes."""
    one = begin(lab, "storm run -N4 sh -c 'touch up$SLURM_PROCID; exec sleep 1000'\n"
                + script)
    until(lambda: all((one.dir / f"up{k}").exists() for k in range(NODES)),
          lambda: "the tasks: " + one.log())
    return one


def the_client(lab):
    pid, = lab.lab.pids("login", "storm")
    return pid


def ended(lab, one, *patterns):
    done = one.finish()
    for line in (*patterns, "^next 0$"):
        assert re.search(line, done.out, re.M), str(done)
    until(lambda: not processes(lab, "sleep"), "the end of all tasks")
    login_is_clean(lab)


def test_interrupted(lab):
    """^C is the tasks' SIGINT, and the launchers stay."""
    one = going(lab)
    os.kill(the_client(lab), signal.SIGINT)
    ended(lab, one, "^code 130$")
    assert len(STARTED.findall(one.log())) == 1, one.log()


@pytest.mark.parametrize("victim", ["client", "keeper", "srun", "head", "launcher"])
def test_killed(lab, victim):
    """Its tasks end, the client says why, and the next run starts anew."""
    one = going(lab)
    pid = the_client(lab) if victim == "client" else the_head(lab) if victim == "head" \
        else launchers(lab, "n1")[0] if victim == "launcher" else the(lab, victim)
    os.kill(pid, signal.SIGKILL)
    ended(lab, one, *(["^code 137$"] if victim == "client" else ["^code 1$", ENDED]))
    assert len(STARTED.findall(one.log())) == (1 if victim == "client" else 2), one.log()


def test_suspended(lab):
    """The head stands with its job, and no node is lost. A client on the login host, which
    does not stand, says that it waits."""
    one = going(lab)
    job = lab.root("squeue -h -o %i").strip()
    all_of_it = [the_head(lab), *(pid for node in lab.names for pid in launchers(lab, node))]
    lab.root(f"scontrol suspend {job}")
    until(lambda: not any(map(runs_now, all_of_it)), "all of them to stand")
    more = lab.start(["sh", "-c", f"SLURM_JOB_ID={job} exec storm run -N1 echo later"])
    until(lambda: "waits for the launchers: they do not answer while their job is "
          "suspended" in more.err(), lambda: "the client: " + more.err())
    time.sleep(9)       # DeadTimeout and three heartbeats; nothing is to be seen
    assert the(lab, "keeper")
    lab.root(f"scontrol resume {job}")
    done = more.finish()
    assert (done.code, done.out) == (0, "later\n"), str(done)
    os.kill(the_client(lab), signal.SIGTERM)
    ended(lab, one, "^code 143$")
    assert len(STARTED.findall(one.log())) == 1 and "lost" not in one.log(), one.log()


def test_stop(lab):
    """And launchers that are asked for by themselves."""
    one = begin(lab, """
storm run --start; echo start $?
storm run -N4 true; echo run $?
storm run --stop; echo stop $?
storm run --stop; echo none $?
""")
    out = lines(one)
    assert [line for line in out if not line.startswith("storm run: ")] == \
        ["start 0", "run 0", "stop 0", "none 0"], out
    login_is_clean(lab)


def test_cancelled(lab):
    """With the job all ends, on each host."""
    one = going(lab)
    lab.root("scancel -u user")
    one.finish()
    until(lambda: not processes(lab), lambda: f"{processes(lab)} to end")
    login_is_clean(lab)


def test_other_user(lab):
    """Nobody else opens the socket there, and no port is open once the head has called."""
    one = going(lab)
    assert not listens(the(lab, "keeper"))
    path, = [p for p in lab.listing("login", "/tmp/storm-20001") if p.endswith(".sock")]
    tried = lab.lab.run(["python3", "-c", "import socket, sys\n"
                         "socket.socket(socket.AF_UNIX).connect(sys.argv[1])",
                         f"/tmp/storm-20001/{path}"], host="login", user="other", cwd="/")
    assert "PermissionError" in tried.stderr, tried.stderr
    os.kill(the_client(lab), signal.SIGTERM)
    ended(lab, one, "^code 143$")


# -- how it begins ---------------------------------------------------------------

#: One launcher is kept from its start by a TaskProlog, until there is a file
HELD = """
echo '#!/bin/sh
[ $SLURM_PROCID != %d ] || until [ -e '$PWD'/go ]; do sleep 0.05; done' >hold
mkdir bin; echo '#!/bin/sh
exec '$(command -v srun) --task-prolog=$PWD'/hold "$@"' >bin/srun
chmod +x hold bin/srun; PATH=$PWD/bin:$PATH
"""
RUNS = "storm run -N4 hostname | sort; echo code ${PIPESTATUS[0]}\n"
ALL = ["n1", "n2", "n3", "n4", "code 0"]


def held(lab, proc, script=RUNS):
    """Its launchers do not start before all are there; returns the keeper's port, too."""
    one = begin(lab, script, prefix=HELD % proc)
    until(lambda: [n for n in lab.names if launchers(lab, n)] ==
          [n for k, n in enumerate(lab.names) if k != proc],
          lambda: "the other launchers: " + one.log())
    port, = listens(the(lab, "keeper"))
    return one, port


#: argv: port, version, uid. Calls of all kinds by one that is not the head: what becomes of each
STRANGER = """import os, socket, struct, subprocess, sys, time
version, victim = int(sys.argv[2]), sys.argv[3]
def munge(text, *more):
    return subprocess.run(["munge", "-u", victim, *more], input=text,
                          capture_output=True, check=True).stdout.strip() + b"\\0"
def frame(cred, kind=25, v=version):
    body = struct.pack(">I", v) + cred
    return struct.pack(">IB", len(body), kind) + body
calls = {"noise": b"\\xff" * 100,
         "none": frame(b"MUNGE:AAAA:\\0"),
         "proof": frame(munge(os.urandom(80))),
         "short": frame(munge(b"x")),
         "version": frame(munge(os.urandom(80)), v=1),
         "answer": frame(bytes(12), kind=23),
         "door": frame(bytes(20), kind=22)}
socks = {}
for name, what in calls.items():
    socks[name] = s = socket.create_connection(("login", int(sys.argv[1])))
    s.sendall(what)
idle = [socket.create_connection(("login", int(sys.argv[1]))) for _ in range(20)]
print("called", flush=True)
for name, s in socks.items():
    got = b""
    try:
        while piece := s.recv(4096):
            got += piece
    except ConnectionResetError:
        pass
    print(name, len(got), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("user", ["other", "user"])
def test_strangers(lab, user):
    """They call before the head does: by noise, by a credential that hides no proof of this
    start, or by silence. None is answered, and the head's call comes."""
    one, port = held(lab, 0)
    stranger = lab.lab.popen(["python3", "-c", STRANGER, str(port), VERSION, "20001"],
                             host="n2", user=user, stdin=-1, stdout=-1, text=True, cwd="/")
    try:
        assert stranger.stdout.readline() == "called\n"
        (one.dir / "go").touch()
        assert lines(one) == ALL
        heard = [stranger.stdout.readline().split() for _ in range(7)]
        assert heard == [[name, "0"] for name in (
            "noise", "none", "proof", "short", "version", "answer", "door")], heard
    finally:
        stranger.kill()
        stranger.wait()
    login_is_clean(lab)


@pytest.mark.parametrize("victim", ["keeper", "srun", "head"])
def test_death_at_the_start(lab, victim):
    """Before the last launcher is there: the client says so, and the next one starts
    anew."""
    one, _ = held(lab, 2, "storm run true; echo first $?\n"
                  "storm run -N4 true; echo next $?\n")
    os.kill(the_head(lab) if victim == "head" else the(lab, victim), signal.SIGKILL)
    (one.dir / "go").touch()
    # the keeper does not wait for a call of a head that has died
    why = ".*n1 cannot begin: the head was killed" if victim == "head" else "."
    ended(lab, one, "^first 1$", f"^storm run: the launchers cannot be started: {why}")
    assert len(STARTED.findall(one.log())) == 1, one.log()


def test_firewall(lab):
    """It closes the keeper's port: one line says what, where, and the remedy."""
    one, port = held(lab, 0, "storm run -N4 true; echo code $?\n"
                     "rm /tmp/storm-$UID/$SLURM_JOB_ID.*.log\n")
    with dropped(lab.lab, "login", "input", f"tcp dport {port}"):
        (one.dir / "go").touch()
        done = one.finish()
    why = [line for line in done.out.splitlines() if "waits for srun" not in line]
    assert len(why) == 2 and why[1] == "code 1", str(done)
    assert re.search(rf"^storm run: the launchers cannot be started: .*n1 cannot begin: "
                     rf"port {port} of the host of storm run, [\d.]+, cannot be reached "
                     r"from here: Connection timed out: .*SrunPortRange", why[0]), why
    login_is_clean(lab)


RANGE = "21000-21019"


@contextlib.contextmanager
def only_range(cluster):
    """A site that has opened SrunPortRange for its nodes alone."""
    with dropped(cluster.lab, "login", "input", "tcp flags & (syn | ack) == syn "
                 f"tcp dport != {RANGE}"):
        yield


@pytest.mark.lab_with(conf=[f"SrunPortRange={RANGE}"])
def test_port_range(fresh):
    """The keeper listens in SrunPortRange, and nothing else is needed there."""
    one, port = held(fresh, 0)
    shown = fresh.root(["ss", "-Hltn", f"sport = :{port}"])
    assert 21000 <= port <= 21019 and f":{port} " in shown, shown
    with only_range(fresh):
        (one.dir / "go").touch()
        assert lines(one) == ALL
