# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""stormlab fault: each fault does what it says, and heal undoes it."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from harness import Lab, LabError, TOP, until
from lab import fault_kinds
from lab.sysdep import pids_in_namespace, start_time
from test_stormlab import assert_gone, recorded, stormlab

pytestmark = pytest.mark.storm_only

ASK = str(TOP / "testsuite/programs/udp_ask.py")
GROUP = "239.83.1.1"


@pytest.fixture(scope="module")
def shared():
    made = Lab(f"fault{os.getpid()}")
    try:
        yield made.up(4)
    finally:
        made.down()


@pytest.fixture
def lab(shared):
    assert shared.faults() == []
    yield shared
    if shared.faults():
        shared.heal()


@pytest.fixture
def answers(lab):
    """n1 and n3 answer datagrams, also those to the group."""
    running = []
    for node in ("n1", "n3"):
        one = lab.popen(["python3", ASK, "answer", GROUP], host=node, cwd="/",
                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.append(one)
        assert one.stdout.readline() == "ready\n"
    yield running
    for one in running:
        one.kill()
        one.communicate()


def ask(lab, address="n3", count=5, pause=0.01, host="login"):
    done = lab.run(["python3", ASK, "ask", address, str(count), str(pause)],
                   host=host, cwd="/", check=True)
    return json.loads(done.stdout)


def came(lab, *given, **options):
    return ask(lab, *given, **options)["came"]


def hears(lab, *given, **options):
    """All is heard again. A host that did not answer who has its address is asked
    again after a second."""
    until(lambda: came(lab, *given, **options) == [0, 1, 2, 3, 4],
          lambda: f"five answers: {came(lab, *given, **options)}")


def state(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def works(lab):
    lab.wait_idle()
    done = lab.run(["srun", "-N4", "-n4", "--launch=storm", "hostname"], cwd="/")
    assert sorted(done.stdout.split()) == ["n1", "n2", "n3", "n4"], done


# -- the links ------------------------------------------------------------------

@pytest.mark.parametrize("kind,arrive,leave", [
    ("cut", 0, 0), ("cut-in", 0, 5), ("cut-out", 5, 0)])
def test_cut(lab, answers, kind, arrive, leave):
    """`arrive` of 5 datagrams reach n3, `leave` of 5 that it sends reach n1."""
    def got(node):
        return lab.counters(node)["udp_in"]

    lab.fault(kind, "n3")
    before, others = got("n3"), got("n1")
    assert came(lab) == []
    assert got("n3") - before == arrive
    # its agent may also send
    assert came(lab, "n1", host="n3") == []
    assert (got("n1") - others >= leave) if leave else got("n1") == others
    hears(lab, "n1")
    lab.heal("n3")
    hears(lab)
    hears(lab, "n1", host="n3")


def test_delay(lab, answers):
    lab.fault("delay", "n3", ms=30)
    late = ask(lab)
    assert late["came"] == [0, 1, 2, 3, 4] and late["least"] >= 0.06
    works(lab)
    lab.heal()
    assert ask(lab)["least"] < 0.06


def test_delay_beside_other_settings(lab, answers):
    """The port that a delay makes has what the others have, and the old one after
    it."""
    lab.multicast(False)
    try:
        for settle in (lambda: lab.fault("delay", "n3", ms=1), lab.heal):
            settle()
            assert came(lab, GROUP) == []
            hears(lab)
        lab.fault("delay", "n3", ms=1)
        lab.multicast(True)
        lab.fault("cut-in", "n3")
        assert len(came(lab, GROUP)) == 5 and came(lab) == []
        lab.heal()
    finally:
        lab.multicast(True)


def test_loss(lab, answers):
    """Each way loses 30 %, so about half of the answers come, in their order."""
    lab.fault("delay", "n3", ms=0, loss=30)
    some = came(lab, "n3", 400, 0.001)
    assert 120 < len(some) < 280 and some == sorted(some)
    lab.heal()
    assert len(came(lab, "n3", 100, 0.001)) == 100


def test_jitter_and_duplicates(lab, answers):
    lab.fault("delay", "n3", ms=1, jitter=20, duplicate=20, seed=7)
    some = came(lab, "n3", 100, 0.002)
    assert some != sorted(some) and len(some) > len(set(some)) > 90
    lab.heal()
    assert came(lab, "n3", 100, 0.001) == list(range(100))


def test_age(lab, answers):
    """Of the group n3 hears nothing any more, all else as before; when it joins
    again, it hears. heal brings back all."""
    assert len(came(lab, GROUP)) >= 5
    lab.fault("age", "n3", seconds=0.5)

    def heard(nodes):
        before = [lab.counters(n)["udp_in"] for n in nodes]
        lab.run(["python3", ASK, "ask", GROUP, "1", "0"], cwd="/", check=True)
        return [lab.counters(n)["udp_in"] > b for n, b in zip(nodes, before)]

    until(lambda: heard(["n1", "n3"]) == [True, False], "n3 to be forgotten")
    assert came(lab) == [0, 1, 2, 3, 4]
    answers[1].stdin.write("join\n")
    answers[1].stdin.flush()
    assert answers[1].stdout.readline() == "joined\n"
    assert heard(["n1", "n3"]) == [True, True]
    lab.heal()
    assert heard(["n1", "n3"]) == [True, True]


def test_flood(lab):
    """Bounded in count and time, and it ends by itself."""
    before = lab.counters("n3")["udp_in"] + lab.counters("n3")["udp_lost"]
    lab.fault("flood", "n3", rate=2000, seconds=0.5)
    until(lambda: not lab.faults(), "the flood to end")
    after = lab.counters("n3")["udp_in"] + lab.counters("n3")["udp_lost"]
    assert 900 < after - before < 1100
    works(lab)
    lab.fault("flood", "n3", seconds=500)
    helper = lab.faults()[0]["helper"][0]
    lab.heal()
    assert not os.path.exists(f"/proc/{helper}")
    with pytest.raises(LabError, match="must be from 1 to 100000"):
        lab.fault("flood", "n3", rate=1_000_000)


# -- processes ------------------------------------------------------------------

def test_stop(lab):
    """The agent stands, no other; then slurmd, too."""
    agent, = lab.pids("n3", "agent")
    slurmd, = lab.pids("n3", "slurmd")
    lab.fault("stop", "n3", "slurmd")
    assert (state(slurmd), state(agent)) == ("T", "S")
    lab.fault("stop", "n3")
    assert state(agent) == "T"
    lab.heal()
    until(lambda: state(slurmd) == state(agent) == "S", "both to go on")
    assert lab.pids("n3", "agent") == [agent]
    works(lab)


def stopped_sleeps(lab):
    """Those of n3 that stand. Another one may end while it is looked at."""
    found = []
    for pid in lab.pids("n3", "sleep"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if state(pid) == "T":
                found.append(pid)
    return found


def test_pause(lab):
    """No process of the host goes on, one that stops itself stands behind the heal,
    too, and the kernel still accepts connections."""
    count = lab.popen("while :; do echo >>/home/ticks; sleep 0.01; done", host="n3",
                      cwd="/")
    held = lab.popen("sleep 1000 & until [ $(cat /proc/$!/comm) = sleep ]; do :; done; "
                     "kill -STOP $!; wait", host="n3", cwd="/")
    ticks = pathlib.Path(lab.dir, "home/ticks")
    until(lambda: ticks.exists() and stopped_sleeps(lab), "both to run")
    stands, = stopped_sleeps(lab)
    agent, = lab.pids("n3", "agent")
    lab.fault("pause", "n3")
    group = pathlib.Path(lab.faults()[0]["group"])
    inside = {int(p) for path in group.rglob("cgroup.procs")
              for p in path.read_text().split()}
    assert {agent, count.child(), stands, *lab.pids("n3", "slurmd")} <= inside
    size = ticks.stat().st_size
    assert came(lab, "n1", 1) == []         # nobody answers there: a second passes
    assert ticks.stat().st_size == size
    assert lab.run(["python3", "-c", "import socket; socket.create_connection("
                    "('n3', 6818), 5)"], cwd="/").returncode == 0
    lab.heal("n3")
    until(lambda: ticks.stat().st_size > size, "it to go on")
    assert state(stands) == "T"
    os.kill(stands, signal.SIGKILL)
    for one in (count, held):
        one.kill()
        one.wait(60)
    works(lab)


CONNECTED = """
import socket, sys
s = socket.create_connection((sys.argv[1], 9178))
s.recv(1)
print("connected", flush=True)
sys.stdin.readline()
s.setblocking(False)
try:
    print("heard", s.recv(10), flush=True)
except BlockingIOError:
    print("silence", flush=True)
sys.stdin.readline()
s.setblocking(True)
s.send(b"x")
try:
    print(s.recv(10))
except ConnectionResetError:
    print("reset")
"""
LISTEN = """
import socket
s = socket.create_server(("", 9178))
print("ready", flush=True)
c, _ = s.accept()
c.send(b"x")
c.recv(1)
"""


def test_kill(lab):
    """All processes end, and nobody hears of it, neither then nor when the host is
    back. It comes back with empty temporary directories."""
    listener = lab.popen(["python3", "-c", LISTEN], host="n3", cwd="/", text=True,
                         stdout=subprocess.PIPE)
    assert listener.stdout.readline() == "ready\n"
    peer = lab.popen(["python3", "-c", CONNECTED, "n3"], cwd="/", text=True,
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert peer.stdout.readline() == "connected\n"
    lab.run("echo >/tmp/file; echo >/home/stays", host="n3", check=True, cwd="/")
    lab.fault("hang", "n3", "/var/tmp")
    lab.fault("kill", "n3")
    assert [f["kind"] for f in lab.faults()] == ["kill"]
    assert [p for p in pids_in_namespace(lab.pid("n3")) if start_time(p)] == [
        lab.pid("n3")]
    assert listener.wait(60) == 137 or listener.returncode == -9
    with pytest.raises(LabError, match="n3 has no power"):
        lab.fault("pause", "n3")
    lab.heal()
    peer.stdin.write("look\n")
    peer.stdin.flush()
    assert peer.stdout.readline() == "silence\n"
    assert peer.communicate("send\n")[0] == "reset\n"
    assert "file" not in os.listdir(lab.path("n3", "/tmp"))
    assert os.path.exists(lab.path("n3", "/home/stays"))
    works(lab)


# -- files ----------------------------------------------------------------------

def test_fill(lab):
    def room():
        st = os.statvfs(lab.path("n3", "/tmp"))
        return st.f_blocks, st.f_bfree

    def write(size):
        return lab.run(f"head -c {size} /dev/zero >/tmp/more", host="n3", cwd="/")

    before, names = room(), os.listdir(lab.path("n3", "/tmp"))
    for kept in (0, 100_000):
        lab.run(f"head -c {kept} /dev/zero >/tmp/kept", host="n3", cwd="/",
                check=True)
        lab.fault("fill", "n3")
        assert "No space left" in write(1).stderr
        lab.heal()
        assert write(20_000).returncode == 0
        lab.run("rm /tmp/more", host="n3", cwd="/", check=True)
    lab.fault("fill", "n3", left=40960)
    assert write(40_000).returncode == 0 and write(90_000).returncode != 0
    lab.heal()
    lab.run("rm -f /tmp/more /tmp/kept", host="n3", cwd="/", check=True)
    assert room() == before and os.listdir(lab.path("n3", "/tmp")) == names
    with pytest.raises(LabError, match="no file system of the host's own"):
        lab.fault("fill", "n3", "/home")
    for left in (-1, 1 << 62):      # neither leaves the disk full
        with pytest.raises(LabError, match=rf"{left} bytes left: must be from 0 to \d+"):
            lab.fault("fill", "n3", left=left)
    assert lab.faults() == []


def waiting(one):
    """Whether a process waits in a file system."""
    child = one.child()
    return child and re.search("request_wait|fuse", pathlib.Path(
        f"/proc/{child}/wchan").read_text())


@pytest.mark.parametrize("path", ["/tmp", "/home"])
def test_hang(lab, path):
    """What touches it waits until the heal, on this host alone; it can be killed."""
    lab.run(f"echo here >{path}/file", host="n3", cwd="/", check=True)
    lab.fault("hang", "n3", path)
    reads = [lab.popen(["/bin/cat", path + "/file"], host="n3", cwd="/",
                       stderr=subprocess.PIPE) for _ in "12"]
    until(lambda: all(waiting(one) for one in reads), "both to wait")
    assert lab.run(["/bin/ls", path], host="n1", cwd="/").returncode == 0
    reads[0].kill()
    assert reads[0].wait(60) != 0 and waiting(reads[1])
    lab.heal()
    assert reads[1].wait(60) == 1
    done = lab.run(["/bin/cat", path + "/file"], host="n3", cwd="/")
    assert done.stdout == "here\n"
    for one in reads:
        one.stderr.close()
    lab.run(f"rm {path}/file", host="n3", cwd="/", check=True)


# -- the record -----------------------------------------------------------------

def test_words_and_codes(lab):
    def fault(*args):
        done = stormlab("fault", *args, "--name", lab.name)
        return done.returncode, done.stderr

    assert fault("heal")[0] == 3
    assert "no fault is in force" in fault("heal")[1]
    code, error = fault("cut", "n9")
    assert code == 1 and "no host 'n9'; it has ctl, login, n1 to n4" in error
    assert fault("cut", "sw")[0] == 1
    assert fault("break", "n3")[0] == 2
    assert fault("delay", "n3", "50", "5%") == (0, "")
    assert fault("cut-in", "n1") == (0, "")
    code, error = fault("delay", "n3", "20")
    assert code == 3 and "is in force already" in error
    code, error = fault("heal", "n2")
    assert code == 3 and "no fault is in force on n2" in error
    said = stormlab("status", "--name", lab.name).stdout
    assert re.search(r"^fault +delay n3 \(50 ms, jitter 0 ms, loss 5 %, duplicates "
                     r"0 %\), for \d+ s$", said, re.M), said
    shown = json.loads(stormlab("status", "--json", "--name", lab.name).stdout)
    assert [(f["kind"], f["host"]) for f in shown["faults"]] == [
        ("delay", "n3"), ("cut-in", "n1")]
    assert fault("heal", "n3") == (0, "")
    assert [f["kind"] for f in lab.faults()] == ["cut-in"]
    assert fault("heal") == (0, "")
    assert stormlab("fault", "--name", "nowhere", "heal").returncode == 1


GIVEN = {"delay": {"ms": 5}, "stop": {"what": "munged"}}


def test_heal_after_a_crash(lab, monkeypatch):
    """The record is there before anything happens: heal undoes what has not begun,
    and what is half done, as helpers that were killed."""
    names = os.listdir(lab.path("n2", "/tmp"))
    for kind, what in fault_kinds.KINDS.items():
        if kind != "flood":
            monkeypatch.setattr(what, "begin", staticmethod(lambda *_: None))
            lab.fault(kind, "n2", **GIVEN.get(kind, {}))
            monkeypatch.undo()
            lab.heal()
    for kind in ("delay", "hang"):
        lab.fault(kind, "n2", **GIVEN.get(kind, {}))
        record, = lab.faults()
        for pid, _ in record.get("helpers") or [record["helper"]]:
            os.kill(pid, signal.SIGKILL)
        lab.heal()
    assert os.listdir(lab.path("n2", "/tmp")) == names
    works(lab)


def test_one_that_fails_is_undone(lab, answers, monkeypatch):
    def fails(*_args, **_more):
        raise LabError("no helper")

    monkeypatch.setattr(fault_kinds, "start_helper", fails)
    with pytest.raises(LabError, match="no helper"):
        lab.fault("delay", "n3", ms=5)
    assert lab.faults() == [] and came(lab) == [0, 1, 2, 3, 4]


def test_down_with_faults_in_force():
    made = Lab(f"fault{os.getpid()}-down")
    try:
        made.up(2, stock=True)
        for kind in ("pause", "fill", "hang", "delay", "age", "cut-out"):
            made.fault(kind, "n1", **GIVEN.get(kind, {}))
        made.fault("flood", "n2", seconds=500)
        made.fault("kill", "n2")
        record = recorded(made)
        helpers = [f["helper"][0] for f in made.faults() if f.get("helper")]
    finally:
        made.down()
    assert_gone(made, record)
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{p}") for p in helpers):
        assert time.monotonic() < deadline, helpers


def test_help_of_every_kind():
    for kind in [*fault_kinds.KINDS, "heal"]:
        done = stormlab("fault", kind, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith(f"usage: stormlab fault {kind}")
