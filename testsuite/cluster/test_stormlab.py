# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""stormlab, which all other cluster tests use. Most labs here run stock Slurm:
stormlab must work without STORM's plugins."""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from harness import HERE, TOP, Lab, LabError, stage_dir, until
from lab import cgroups, machine

PROGRAM = str(TOP / "contribs" / "stormlab" / "stormlab")


def stormlab(*args, **options):
    return subprocess.run([PROGRAM, *map(str, args)], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, **options)


def recorded(lab):
    try:
        return json.loads(pathlib.Path(lab.dir, "lab.json").read_text())
    except (OSError, ValueError):
        return {"pids": {}}


def assert_gone(lab, record):
    """Check that nothing of the lab is left: no process, directory or
    cgroup."""
    assert record["pids"], "the test saw no host"
    for pid, started in record["pids"].values():
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        fields = stat.rsplit(")", 1)[1].split()
        assert fields[0] in "ZX" or int(fields[19]) != started
    assert not os.path.exists(lab.dir)
    found = subprocess.run(
        ["find", "/sys/fs/cgroup", "-name", f"stormlab.{lab.name}"],
        capture_output=True, text=True, check=False)
    assert found.stdout == ""
    with open("/proc/self/mountinfo") as f:
        assert f"stormlab/{lab.name}/" not in f.read()


@pytest.fixture
def name(request):
    short = f"lab{os.getpid()}-{request.function.__name__[5:21]}"
    yield short
    Lab(short).down()


@pytest.fixture(scope="module")
def lab():
    """One lab of stock Slurm for tests that do not change it."""
    made = Lab(f"lab{os.getpid()}-shared")
    try:
        made.up(4, stock=True)
        yield made
    finally:
        made.down()


def test_up_down_leaves_nothing(name):
    before = set(socket.if_nameindex())
    done = stormlab("up", 2, "--stock", "--name", name)
    assert done.returncode == 0 and "2 nodes idle" in done.stdout
    lab = Lab(name)
    record = recorded(lab)
    assert set(record["pids"]) == {"sw", "ctl", "login", "n1", "n2"}
    assert set(socket.if_nameindex()) == before
    assert stormlab("down", "--name", name).returncode == 0
    assert_gone(lab, record)
    assert stormlab("down", "--name", name).returncode == 0
    assert set(socket.if_nameindex()) == before


@pytest.mark.parametrize("sig", ["INT", "TERM", "HUP"])
@pytest.mark.parametrize("hosts", [1, 4, 10])
def test_interrupted_up_leaves_nothing(name, sig, hosts):
    number = signal.Signals["SIG" + sig]
    lab = Lab(name)
    with subprocess.Popen(
            [PROGRAM, "up", "7", "--stock", "--name", name], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        until(lambda: len(recorded(lab)["pids"]) >= hosts, "no hosts")
        record = recorded(lab)
        process.send_signal(number)
        output = process.communicate(timeout=60)[0]
    assert "Traceback" not in output
    assert process.returncode in (-number, 0)
    if process.returncode == 0:         # it was ready before the signal
        lab.down()
    assert_gone(lab, record)


def test_second_interrupt_does_not_stop_the_clearing_up(name):
    lab = Lab(name)
    with subprocess.Popen(
            [PROGRAM, "up", "7", "--stock", "--name", name],
            text=True, stderr=subprocess.PIPE) as process:
        until(lambda: len(recorded(lab)["pids"]) >= 3, "no hosts")
        record = recorded(lab)
        for _ in range(5):
            process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=60)[1]
    assert process.returncode == -signal.SIGINT
    assert error == "stormlab: interrupted\n"
    assert_gone(lab, record)


@pytest.mark.parametrize("hosts", [1, 6, 10])
def test_killed_up_is_removed_by_down(name, hosts):
    lab = Lab(name)
    with subprocess.Popen([PROGRAM, "up", "7", "--stock", "--name", name],
                          stdout=subprocess.DEVNULL) as process:
        until(lambda: len(recorded(lab)["pids"]) >= hosts, "no hosts")
        process.kill()
    record = recorded(lab)
    assert name in stormlab("list").stdout
    assert stormlab("down", "--name", name).returncode == 0
    assert_gone(lab, record)


def test_two_labs_share_nothing(lab, name):
    """A second lab beside the module's: same host names, separate network,
    files and processes."""
    other = Lab(name).up(2, stock=True)
    lab.exec("n1", "echo first >/tmp/mine", check=True)
    assert other.exec("n1", ["cat", "/tmp/mine"]).returncode != 0
    done = other.run(["srun", "-N2", "hostname"])
    assert sorted(done.stdout.split()) == ["n1", "n2"]
    before = lab.counters("n1")
    assert other.run(["srun", "-N2", "true"]).returncode == 0
    assert lab.counters("n1")["accepted"] == before["accepted"]
    record = recorded(other)
    other.down()
    assert_gone(other, record)
    assert lab.run(["srun", "-N4", "true"]).returncode == 0


def thresholds():
    return [int(pathlib.Path(machine._path(limit)).read_text())
            for limit in machine.LIMITS]


def test_neighbours_of_many_hosts(name):
    """Two large labs: each adds what it needs, whichever goes first."""
    one, other = Lab(name), Lab(name + "-2")
    made = []
    try:
        for lab in (one, other):
            before = thresholds()
            lab.up(machine.FEW, stock=True)
            made.append(lab.record["machine"]["more"])
            assert all(now >= was + made[-1]
                       for was, now in zip(before, thresholds()))
        before = thresholds()
        one.down()
        assert thresholds() == [was - made[0] for was in before]
    finally:
        other.down()
    assert min(thresholds()) <= min(before) - sum(made)


def test_no_room_for_so_many(name):
    done = subprocess.run(
        ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh", PROGRAM, "up", "300",
         "--stock", "--name", name], text=True, capture_output=True,
        timeout=120, check=False)
    assert done.returncode == 1
    assert re.search("descriptors.*ulimit", done.stderr), done.stderr


def test_up_twice_is_refused(lab):
    with pytest.raises(LabError, match="is up already, with 4 nodes"):
        lab.up(2, stock=True)
    assert lab.alive()


def test_daemons_run_as_whom_they_should(lab):
    def owners(host, daemon):
        return {os.stat(f"/proc/{p}").st_uid
                for p in lab.pids(host, daemon)}

    slurm = int(lab.exec("ctl", ["id", "-u", "slurm"]).stdout)
    assert owners("ctl", "slurmctld") == {slurm}
    assert owners("n1", "slurmd") == {0}
    assert owners("login", "slurmd") == set()
    assert owners("login", "munged") == {0}


@pytest.mark.parametrize("user,uid", [("root", 0), ("user", 20001),
                                      ("other", 20002)])
def test_users(lab, user, uid):
    done = lab.run(["srun", "-N4", "id", "-u"], user=user)
    assert (done.returncode, done.stdout) == (0, f"{uid}\n" * 4)
    assert lab.run("echo $HOME $USER; cd", user=user).stdout.split() == [
        "/root" if uid == 0 else f"/home/{user}", user]


def test_users_are_not_the_machines(lab):
    assert "stormlab" not in pathlib.Path("/etc/passwd").read_text()
    assert lab.exec("n1", ["getent", "passwd", "user"]).returncode == 0


def test_home_is_common_and_tmp_is_not(lab):
    assert lab.run("echo hello >~/common; echo hello >/tmp/own",
                   user="user").returncode == 0
    assert lab.exec("n2", "cat /home/user/common").stdout == "hello\n"
    assert lab.exec("n2", "cat /tmp/own").returncode != 0


def test_a_checkout_with_a_tests_name_is_refused():
    """Hosts show it in their /tmp, where a test writes that name."""
    def collect(name):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q",
             HERE / "test_counting.py"], text=True, capture_output=True,
            env={**os.environ, "STORM_STAGE": f"/tmp/{name}/_stage"}, check=False)

    done = collect("app")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "/tmp/app/_stage: tests write /tmp/app in" in done.stderr, str(done)
    assert not collect("new").returncode


def devices(of="/dev"):
    """(file system, node, owner, mode, time of its last change) of each"""
    found = {}
    for name in os.listdir(of):
        st = os.lstat(f"{of}/{name}")
        if stat.S_ISDIR(st.st_mode):    # shm changes with each file there
            continue
        found[name] = (st.st_dev, st.st_ino, st.st_uid, st.st_gid, st.st_mode,
                       st.st_ctime_ns)
    return found


def test_devices_are_not_the_machines(lab):
    """Whatever a user or root does to a host's."""
    before = devices()
    theirs = devices(lab.path("n2", "/dev"))
    assert not {d[:2] for d in before.values()} & {d[:2] for d in
                                                   theirs.values()}
    script = """
        exec 2>&1
        [ "$(head -c 4 /dev/zero | wc -c)" = 4 ] || echo zero
        [ "$(head -c 4 /dev/urandom | wc -c)" = 4 ] || echo urandom
        (echo x > /dev/full) 2> /dev/null && echo full
        echo x > /dev/null || echo null
        echo x > /dev/shm/x && rm /dev/shm/x || echo shm
        # stock srun loses the output of a task that ends at once, now and then
        terminal() {
            for try in 1 2 3; do
                script -qec "$*" /dev/null < /dev/null | grep -q ^/dev/pts/ && return
            done
            echo "$*"
        }
        terminal tty
        terminal srun -w n2 --pty tty
        salloc -Q -w n2 sbcast -f /etc/hostname /dev/null
        exit 0"""
    done = lab.run(["sh", "-c", script], user="user", cwd="/")
    assert done.returncode == 0 and not done.stdout, str(done)
    lab.run(["sh", "-c", "chmod 600 /dev/tty; chown 1 /dev/full; "
             "rm /dev/zero"], host="n2", cwd="/", check=True)
    assert devices(lab.path("n2", "/dev")) != theirs and devices() == before


def test_working_directory(lab, tmp_path):
    assert lab.run(["pwd"], cwd="/usr/share").stdout == "/usr/share\n"
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    if str(hidden).startswith("/tmp/"):
        assert lab.run(["pwd"], cwd=str(hidden)).stdout == "/root\n"
    assert lab.run(["pwd"], cwd="/root", user="user").stdout == \
        "/home/user\n"


def test_exit_status_and_signals_pass_through(lab):
    def run(*argv):
        return stormlab("run", "--name", lab.name, *argv).returncode

    assert run("sh", "-c", "exit 7") == 7
    assert run("sh", "-c", "kill -TERM $$") == -signal.SIGTERM
    assert run("no-such-command") == 127
    with subprocess.Popen([PROGRAM, "run", "--name", lab.name, "sleep",
                           "1001"]) as process:
        until(lambda: lab.pids("login", "sleep"), "no sleep")
        process.send_signal(signal.SIGUSR1)
        assert process.wait(30) == -signal.SIGUSR1
    assert lab.pids("login", "sleep") == []
    process = lab.popen(["sleep", "1002"])
    until(lambda: lab.pids("login", "sleep"), "no sleep")
    process.send_signal(signal.SIGUSR2)
    assert process.wait(30) == -signal.SIGUSR2


def test_ctrl_c_arrives_once(lab):
    """The terminal signals the whole foreground group: stormlab must not
    signal its command again."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(PROGRAM, [PROGRAM, "run", "--name", lab.name, "srun", "-N2",
                           "sleep", "1003"])
    until(lambda: all(lab.pids(n, "sleep") for n in ("n1", "n2")), "no sleep")
    seen, asked = b"", 0
    while b": running" not in seen:
        # On a busy machine srun may hear of its tasks later than this test.
        time.sleep(2 if asked else 0)
        os.write(terminal, b"\x03")
        asked += 1
        answer = b"one more within 1 sec to abort"
        while not re.search(b": (running|unknown)", seen.rpartition(answer)[2]) \
                or seen.count(answer) < asked:
            seen += os.read(terminal, 4096)
    assert seen.count(answer) == asked
    assert b"sending Ctrl-C" not in seen
    while b"forcing job termination" not in seen:
        # On a busy machine a second can pass: then srun asks again.
        os.write(terminal, b"\x03")
        while (b"forcing job termination" not in seen and
               seen.count(b"one more within") == asked):
            seen += os.read(terminal, 4096)
        asked = seen.count(b"one more within")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    assert status == 130
    lab.wait_idle()


RECEIVER = """
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 8399))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
             socket.inet_aton("239.192.83.9") + bytes(4))
print("ready", flush=True)
print(s.recv(100).decode(), flush=True)
"""
SENDER = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"multicast", ("239.192.83.9", 8399))
s.sendto(b"unicast", ("n1", 8399))
"""


def first_heard(lab):
    """What reaches n1 first: a multicast or a later unicast datagram."""
    python = ["/usr/bin/python3", "-c"]
    with lab.popen(python + [RECEIVER], host="n1", text=True, cwd="/",
                   stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        lab.run(python + [SENDER], cwd="/", check=True)
        return process.stdout.readline().strip()


def test_multicast_on_and_off(lab):
    def forwards():
        # two datagrams from two processors can overtake each other
        until(lambda: first_heard(lab) == "multicast", "a multicast", timeout=60)

    forwards()
    lab.multicast(False)
    try:
        assert first_heard(lab) == "unicast"
    finally:
        lab.multicast(True)
    forwards()


def seconds_for_a_transfer(lab):
    """8 MB from login to n1 by TCP, without Slurm."""
    python = ["/usr/bin/python3", "-c"]
    script = """
import socket
l = socket.create_server(("", 8398)); print("ready", flush=True)
s = l.accept()[0]
while s.recv(1 << 20): pass
s.send(b"x")
"""
    with lab.popen(python + [script], host="n1", text=True, cwd="/",
                   stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        return float(lab.run(python + ["""
import socket, time
t = time.monotonic()
s = socket.create_connection(("n1", 8398))
s.sendall(bytes(8000000)); s.shutdown(1); s.recv(1)
print(time.monotonic() - t)
"""], cwd="/", check=True).stdout)


def test_shape(lab):
    lab.shape("100mbit")
    try:
        assert 0.55 < seconds_for_a_transfer(lab)       # 0.64 s on the wire
    finally:
        lab.shape("none")       # as "off"
    # a busy machine may need more, but not each time
    until(lambda: seconds_for_a_transfer(lab) < 0.5, "a quick transfer")
    with pytest.raises(LabError, match="is not a rate"):
        lab.shape("fast")


def test_counters(lab):
    before = lab.counters("login")
    assert seconds_for_a_transfer(lab) > 0
    after = lab.counters("login")
    grown = {k: after[k] - before[k] for k in before}
    assert 8000000 <= grown["tx_bytes"] < 8800000
    assert grown["opened"] == 1 and grown["accepted"] == 0
    assert json.loads(stormlab("counters", "--name", lab.name, "login")
                      .stdout).keys() == after.keys()


def test_disk(lab):
    stormlab("disk", "--name", lab.name, "n3", "1m")
    fill = "dd if=/dev/zero of=/small/x bs=1M count=2 2>&1"
    assert "No space left on device" in lab.exec("n3", fill).stdout
    lab.disk("n3", "4m")
    assert lab.exec("n3", fill).returncode == 0
    assert not os.path.exists("/small")
    assert lab.exec("n2", ["test", "-e", "/small"]).returncode == 1


def test_put(lab, tmp_path):
    source = tmp_path / "file"
    source.write_bytes(bytes(range(256)) * 1000)
    source.chmod(0o751)
    lab.put(source, "n2", "/tmp/put")
    inside = pathlib.Path(lab.path("n2", "/tmp/put"))
    assert inside.read_bytes() == source.read_bytes()
    assert inside.stat().st_mode & 0o777 == 0o751
    with pytest.raises(LabError, match="n2:/nowhere/x"):
        lab.put(source, "n2", "/nowhere/x")
    with pytest.raises(LabError, match="n2:/tmp: it is a directory: end the path with a /"):
        lab.put(source, "n2", "/tmp")
    inside.unlink()
    source.rename(tmp_path / "put")
    assert stormlab("put", "--name", lab.name, tmp_path / "put", "n2:/tmp/").returncode == 0
    assert inside.stat().st_size == 256000


def test_kill_and_restart(name):
    lab = Lab(name).up(2, stock=True)
    old = lab.pids("n1", "slurmd")
    assert lab.kill("n1", "slurmd") == old
    assert lab.pids("n1", "slurmd") == []
    with pytest.raises(LabError, match="n1 runs no slurmd"):
        lab.kill("n1", "slurmd")
    lab.restart("n1", "slurmd")
    new = lab.pids("n1", "slurmd")
    assert len(new) == 1 and new != old
    lab.restart("ctl", "slurmctld")
    lab.wait_idle()
    assert lab.run(["srun", "-N2", "hostname"]).returncode == 0


CONNECT = """
import socket, sys
def connect():
    while True:
        try:
            return socket.create_connection(("n1", int(sys.argv[1])))
        except ConnectionRefusedError:
            pass
connect().close()
print("it listens", flush=True)
sys.stdin.readline()
connect().close()
print("connected", flush=True)
"""


def stop_slurmd(lab, port):
    """Stop n1's slurmd when it listens. Returns a process that then connects,
    when it is told to."""
    peer = lab.popen(["python3", "-c", CONNECT, port], cwd="/", text=True,
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert peer.stdout.readline() == "it listens\n"
    lab.kill("n1", "slurmd", signal.SIGSTOP)
    return peer


@pytest.mark.slurm_only("24.11", "its slurmd ends")
def test_end_slurmd_while_a_node_connects(name):
    """slurmd of 24.11 hangs in some of these cases. A slurmd that hangs
    otherwise is an error."""
    lab = Lab(name).up(1, stock=True)
    port = re.search(r"SlurmdPort\s*= (\d+)",
                     lab.run(["scontrol", "show", "config"]).stdout)[1]
    for _ in range(12):
        peer = stop_slurmd(lab, port)
        assert peer.communicate("connect\n", 120)[0] == "connected\n"
        lab.kill("n1", "slurmd", signal.SIGTERM)
        lab.kill("n1", "slurmd", signal.SIGCONT)
        lab.end("n1", "slurmd", timeout=2)
        assert not lab.pids("n1", "slurmd")
        lab.restart("n1", "slurmd")
    peer = stop_slurmd(lab, port)
    with pytest.raises(LabError, match="slurmd still runs 1 s"):
        lab.end("n1", "slurmd", timeout=1)
    peer.kill()


def test_conf(name):
    lab = Lab(name).up(2, stock=True, conf=[
        "TreeWidth=3", "MaxStepCount=7",
        "PartitionName=short Nodes=n1 MaxTime=2"])
    shown = lab.run(["scontrol", "show", "config"]).stdout
    assert "TreeWidth               = 3" in shown
    assert "MaxStepCount            = 7" in shown
    part = lab.run(["scontrol", "show", "partition", "short"]).stdout
    assert "MaxTime=00:02:00" in part and "Nodes=n1\n" in part


def test_control_groups_of_two_labs(lab, name):
    mine = Lab(name).up(2, stock=True,
                        conf={"ProctrackType": "proctrack/cgroup"})
    record = recorded(mine)
    assert record["cgroups"]
    done = mine.run(["srun", "-N2", "cat", "/proc/self/cgroup"])
    assert done.returncode == 0 and "/slurm_n2/uid_0/job_" in done.stdout
    mine.down()
    assert_gone(mine, record)


def test_down_removes_groups_of_steps(name):
    """Agents that die with their lab leave them, and the next lab has nodes of
    the same names."""
    trees = cgroups.idle_trees()
    if not trees:
        pytest.skip("SKIP: no control groups of version 1 with cpu here")
    mine = Lab(name).up(2, stock=True)
    left = pathlib.Path(trees[0], "n2/7.0.1")
    left.mkdir(parents=True)
    mine.down()
    assert not left.exists()


@pytest.mark.storm_only
def test_agents_are_there_after_up_kill_and_restart(name):
    lab = Lab(name).up(3)
    for node in lab.nodes:
        assert lab.agent_stats(node)["node"] == node
    old = lab.pids("n2", "agent")
    assert len(old) == 1
    lab.restart("n2", "agent")
    assert lab.pids("n2", "agent") not in ([], old)
    lab.restart("n3", "slurmd")
    lab.wait_idle()
    done = lab.run(["srun", "--launch=storm", "-v", "-N3", "hostname"])
    assert sorted(done.stdout.split()) == ["n1", "n2", "n3"]


def test_a_copy_of_an_installation_runs_its_own_programs(name, tmp_path):
    """The plugins know the agent's path by configure's prefix."""
    copy = tmp_path / "stage"
    shutil.copytree(stage_dir(), copy, symlinks=True)
    lab = Lab(name).up(1, stage=str(copy))
    agent = os.stat(f"/proc/{lab.pids('n1', 'agent')[0]}/exe")
    mine = os.stat(copy / "libexec/slurm-storm/storm_agent")
    assert (agent.st_dev, agent.st_ino) == (mine.st_dev, mine.st_ino)


@pytest.mark.storm_only
@pytest.mark.parametrize("nodes", [1, 2])
def test_gang(name, nodes):
    """The quantum is the requested one, and nodes have separate cores if there
    are more cores than nodes."""
    done = stormlab("up", nodes, "--gang", 2, "--quantum", 5, "--name", name)
    assert done.returncode == 0, done.stderr
    lab = Lab(name)
    conf = lab.exec("n1", "cat /etc/slurm/storm.conf").stdout
    assert "Quantum=5" in conf.splitlines()
    part = lab.run(["scontrol", "show", "partition", "gang"]).stdout
    assert "OverSubscribe=FORCE:2" in part

    def cores(host, daemon):
        pid, = lab.pids(host, daemon)
        return os.sched_getaffinity(pid)

    here = os.sched_getaffinity(0)
    own = [cores(n, "slurmd") for n in lab.nodes]
    others = cores("ctl", "slurmctld")
    assert all(len(c) == 1 and c <= here for c in own), own
    if len(here) >= nodes:
        assert len(set.union(*own)) == nodes, own
    if len(here) > nodes:
        assert others and not others & set.union(*own), (own, others)
    else:
        assert others == here


@pytest.mark.storm_only
def test_drop(name, tmp_path):
    """Receivers drop independently of each other; 0 turns it off."""
    lab = Lab(name).up(3)
    source = tmp_path / "file"
    source.write_bytes(os.urandom(2000000))
    lab.put(source, "login", "/tmp/file")
    job = "salloc -Q -N3 sbcast_storm -f /tmp/file /tmp/got"

    def lost():
        return [lab.agent_stats(n)["udp"]["dropped_by_test"]
                for n in lab.nodes]

    lab.run(job, check=True)
    assert lost() == [0, 0, 0]
    lab.drop(20, seed=3)
    assert "DropPercent=20\n" in lab.run("cat /etc/slurm/storm.conf").stdout
    lab.run(job, check=True)
    losses = lost()
    assert min(losses) > 0 and len(set(losses)) > 1
    for node in lab.nodes:
        assert pathlib.Path(lab.path(node, "/tmp/got")).read_bytes() \
            == source.read_bytes()
    lab.drop(0)
    assert "Drop" not in lab.run("cat /etc/slurm/storm.conf").stdout
    lab.run(job, check=True)
    assert lost() == losses


@pytest.mark.storm_only
def test_refused_storm_conf_is_told(name):
    done = stormlab("up", 2, "--name", name, "--storm-conf", "Window=foo")
    assert done.returncode == 1
    assert "Window=foo is invalid" in done.stderr
    assert "timed out" not in done.stderr
    assert not os.path.exists(Lab(name).dir)


@pytest.mark.storm_only
def test_demo(name):
    done = stormlab("demo", "--no-prepare", "--nodes", 4, "--name", name)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("12000000 bytes, whole") == 4
    assert "launched by storm, multicast yes" in done.stdout
    assert "fallback: none" in done.stdout
    assert "login host sent, MB" in done.stdout
    assert not os.path.exists(Lab(name).dir)


@pytest.mark.parametrize("args,error", [
    (["up", "2", "--plugins", "/nowhere"], "with contribs/prepare"),
    (["up", "2", "--stock", "--conf", "Foo=bar"], "unrecognized key: Foo"),
    (["up", "2", "--stock", "--conf", "Foo"], "expected Key=Value"),
    (["up", "2", "--stock", "--conf", "SelectType=select/foo"],
     "for select/foo"),
    (["up", "2", "--stock", "--mtu", "100"], "must be from 576"),
    (["up", "2", "--stock", "--gang", "2"], "--gang cannot be used with --stock"),
    (["up", "2", "--quantum", "5"], "--quantum requires --gang"),
    (["run", "true"], "there is no lab"),
    (["status"], "there is no lab"),
    (["kill", "n1", "slurmd", "--signal", "FOO"], "--signal 'FOO': no such"),
])
def test_clear_errors(name, args, error):
    done = stormlab(args[0], "--name", name, *args[1:])
    assert done.returncode == 1
    assert done.stderr.startswith("stormlab: ") and error in done.stderr
    assert not os.path.exists(Lab(name).dir)


def test_bad_host_is_named(lab):
    with pytest.raises(LabError, match="has no host 'n5'; it has ctl, "
                       "login, n1 to n4"):
        lab.counters("n5")


def test_not_root(name):
    done = stormlab("up", 2, "--stock", "--name", name, user=65534,
                    extra_groups=[])
    assert done.returncode == 1
    assert done.stderr == "stormlab: only root can create and enter " \
        "namespaces; run it with sudo\n"


def test_no_namespaces(name):
    """As in an unprivileged container."""
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", PROGRAM, "up", "2",
         "--stock", "--name", name], text=True, capture_output=True,
        timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot create namespaces" in done.stderr
    assert not os.path.exists(Lab(name).dir)


def test_help_of_every_command():
    overview = stormlab("--help").stdout
    for command in ("up", "run", "exec", "put", "shape", "drop", "multicast",
                    "kill", "fault", "restart", "disk", "counters", "log", "wait",
                    "status", "list", "down", "demo"):
        assert f"    {command}" in overview
        done = stormlab(command, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith(f"usage: stormlab {command}")
