# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm metrics: what the agents say, as Prometheus reads it."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import threading
import time

import pytest

from harness import Lab, until

pytestmark = pytest.mark.storm_only

NODES = 3


def need(program):
    if not shutil.which(program):
        pytest.skip(f"SKIP: no {program}: install the package prometheus")


@pytest.fixture(scope="module")
def lab():
    made = Lab(f"metrics{os.getpid()}")
    made.up(NODES, conf=["SchedulerType=sched/storm"])
    try:
        until(lambda: asked(made)["storm_strober_up"] == 1, "the strober")
        until(lambda: asked(made)['storm_agents_gang{state="member"}'] == NODES, "members")
        yield made
    finally:
        made.down()


def metrics(lab, *words, user="user"):
    return lab.run(["storm", "metrics", *words], cwd="/", user=user)


def read(text):
    """{series: value}; each is there once, and has a head before it."""
    found, heads = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            heads.add(line.split()[2])
        elif not line.startswith("#"):
            series, value = line.rsplit(" ", 1)
            name = re.match(r"\w+", series)[0]
            assert {name, re.sub("_(total|info)$", "", name)} & heads, line
            assert series not in found, line
            found[series] = float(value)
    return found


def asked(lab, *words, user="user"):
    done = metrics(lab, *words, user=user)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.endswith("\n# EOF\n"), done.stdout
    return read(done.stdout)


def launch(lab, *words):
    done = lab.run(["srun", f"-N{NODES}", f"-n{NODES}", "--launch=storm", *words, "/bin/true"],
                   cwd="/tmp", user="user")
    assert done.returncode == 0, done.stderr


FILE = "/home/user/storm.prom"
BY_STORM = 'storm_launches_total{result="storm",reason="none"}'
ON_NODES = 'storm_node_launches_total{result="done"}'


def written(lab):
    """What --textfile has written now."""
    done = metrics(lab, f"--textfile={FILE}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr
    with open(lab.dir + FILE) as f:
        assert stat.S_IMODE(os.fstat(f.fileno()).st_mode) == 0o644
        return read(f.read())


@pytest.mark.every_release
def test_a_launch_and_a_broadcast(lab):
    before = asked(lab)
    launch(lab, "--bcast=/tmp/metrics")
    now = asked(lab)
    size = int(lab.run(["stat", "-c", "%s", "/bin/true"], cwd="/").stdout)
    more = {name: now[name] - before[name] for name in now if name.split("{")[0].endswith("_total")}
    assert {name: n for name, n in more.items() if n} == {
        BY_STORM: 1, ON_NODES: NODES,
        'storm_node_files_total{result="done"}': NODES,
        "storm_node_written_bytes_total": NODES * size}
    assert now["storm_nodes"] == now['storm_agents{state="up"}'] == NODES
    assert now['storm_agents_health{health="well"}'] == NODES
    assert now["storm_strober_epoch"] > 0 and now["storm_agents_behind"] == 0
    assert [n for name, n in now.items() if name.startswith("storm_build_agents")] == [NODES]
    assert 0 < now["storm_query_duration_seconds"] < 60


def test_promtool(lab):
    need("promtool")
    for words in ([], ["-w", "n1,nobody"]):
        done = metrics(lab, "--plain", *words)
        told = lab.run(["promtool", "check", "metrics"], cwd="/", input=done.stdout)
        assert (told.returncode, told.stdout, told.stderr) == (0, "", ""), told


def test_textfile_counts_on(lab):
    """A node that does not answer, and begins anew, makes no launch that was not."""
    assert written(lab)[BY_STORM] == 0
    launch(lab)
    first = written(lab)
    assert (first[BY_STORM], first["storm_count_gaps_total"]) == (1, 0)
    # the state ends in .prom no more than a file that is being written
    assert [p for p in os.listdir(lab.dir + "/home/user") if p.endswith(".prom")] == ["storm.prom"]
    lab.fault("stop", "n2")
    try:
        launch(lab)   # on n2 by Slurm's own messages
        now = written(lab)
        assert now['storm_agents{state="silent"}'] == 1
        assert now['storm_agents_unanswered{reason="no-answer"}'] == 1
        assert (now[BY_STORM], now[ON_NODES], now["storm_count_gaps_total"]) == (2, NODES, 1), now
    finally:
        lab.heal()
    until(lambda: asked(lab)['storm_agents_gang{state="member"}'] == NODES, "members again")
    now = written(lab)
    assert (now[BY_STORM], now[ON_NODES], now["storm_count_gaps_total"]) == (2, NODES, 2), now
    launch(lab)
    now = written(lab)
    # srun goes round n2 for a while
    assert now[BY_STORM] == 3 and now[ON_NODES] - NODES in (NODES - 1, NODES), now


def test_it_cannot_be_written(lab):
    """A reader keeps the old file; and no other file is left."""
    lab.run(["install", "-d", "-m", "755", "/home/user/kept"], cwd="/")
    lab.run(["sh", "-c", "echo old >/home/user/kept/storm.prom"], cwd="/")
    done = metrics(lab, "--textfile=/home/user/kept/storm.prom")
    assert done.returncode == 1 and "must be able to write" in done.stderr, done.stderr
    assert os.listdir(lab.dir + "/home/user/kept") == ["storm.prom"]
    assert metrics(lab, "--textfile=/home/user/").returncode == 1
    assert metrics(lab, "everything").returncode == 2


def test_nobody_can_be_asked(lab):
    """It is told as a metric, and by the exit status."""
    done = metrics(lab, "-w", "")
    assert done.returncode == 1 and "no nodes" in done.stderr, done.stderr
    found = read(done.stdout)
    assert found["storm_query_success"] == 0
    assert not [name for name in found if "agents" in name or "_total" in name]
    found = asked(lab, "-w", "nobody")
    assert (found["storm_query_success"], found['storm_agents{state="up"}']) == (1, 0)
    assert found['storm_agents_unanswered{reason="no-address"}'] == 1


# -- storm metrics --listen ----------------------------------------------------

#: in the host's network: sends each of these to the port, and says what came back
TALK = """
import json, socket, sys, time
port, asked = json.load(sys.stdin)
def talk(text):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        s.sendall(text.encode("latin-1"))
        got = b""
        try:
            while more := s.recv(65536):
                got += more
        except ConnectionResetError:
            pass
    return got.decode(), time.monotonic() - began
held = []
for text in asked.get("held", ()):
    s = socket.create_connection(("127.0.0.1", port), 20)
    s.sendall(text.encode())
    held.append(s)
answers = [talk(text) for text in asked["said"]]
left = []
for s in held:
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass
    left.append(0)
print(json.dumps([answers, time.monotonic()]))
"""
GET = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
PORT = 9838


class Listener:
    def __init__(self, lab, *words):
        self.lab = lab
        self.process = lab.popen(["storm", "metrics", f"--listen={PORT}", *words], host="login",
                                 user="user", cwd="/", text=True, stderr=subprocess.PIPE)
        self.says = self.process.stderr.readline()
        self.pid = lab.pids("login", "storm_metrics")[0]

    def talk(self, *said, held=()):
        """[(answer, s)], when the held connections have been closed, too"""
        done = self.lab.run(["python3", "-c", TALK], host="login", cwd="/",
                            input=json.dumps([PORT, {"said": said, "held": held}]))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)[0]

    def get(self):
        """{series: value} of the last answer; None: there is none yet."""
        (answer, _), = self.talk(GET)
        head, body = answer.split("\r\n\r\n", 1)
        assert f"Content-Length: {len(body)}" in head
        if head.startswith("HTTP/1.1 503 "):
            return None
        assert head.startswith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), head
        return read(body)

    def sockets(self):
        links = [os.readlink(f"/proc/{self.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{self.pid}/fd")]
        return sum(link.startswith("socket:") for link in links)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        self.process.stderr.close()
        return code


@pytest.fixture(scope="module")
def listener(lab):
    one = Listener(lab, "--interval=1")
    try:
        assert "GET /metrics at 9838" in one.says
        until(one.get, "the first answer")
        yield one
    finally:
        code = one.end()
    assert code == 0


def test_listen(lab, listener):
    """Counters begin with 0 and rise; the answers stay while nobody asks."""
    before = listener.get()
    assert before['storm_agents{state="up"}'] == NODES
    launch(lab)
    now = until(lambda: (got := listener.get())[BY_STORM] > before[BY_STORM] and got, "the launch")
    assert now[BY_STORM] == before[BY_STORM] + 1
    done = metrics(lab, f"--listen={PORT}")
    assert done.returncode == 2 and "Address already in use" in done.stderr, done.stderr


def test_listen_hears_loopback_alone(lab):
    address = lab.run("hostname -I", host="login", cwd="/").stdout.split()[0]
    for where in (f"{address}:9839", "0.0.0.0:9839", "[::]:9839", "login:9839"):
        done = metrics(lab, f"--listen={where}")
        assert done.returncode == 2 and f"--listen={where}: " in done.stderr, done
    assert metrics(lab, "--listen=9839", "--interval=0").returncode == 2


def test_listen_answers_nothing_else(listener):
    answers = listener.talk(
        "GET / HTTP/1.1\r\n\r\n", "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nx=1",
        "HEAD /metrics HTTP/1.1\r\n\r\n", "\x16\x03\x01\n", "GET /metrics HTTP/1.1\r\nX: " + "x" * 8192,
        "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n" + "x" * 60000)
    assert [answer.split()[1] for answer, _ in answers[:-1]] == ["404", "405", "405", "400", "431"]
    assert "\r\nAllow: GET\r\n" in answers[1][0]
    assert "application/openmetrics-text; version=1.0.0" in answers[-1][0]
    assert answers[-1][0].endswith("# EOF\n")
    assert all(s < 4 for _, s in answers), answers


def test_listen_holds_out(listener):
    """Readers that are slow keep no other one waiting, and end; more than ten of them
    are not there at once."""
    began = time.monotonic()
    talk = threading.Thread(target=lambda: said.extend(listener.talk(
        *[GET] * 5, held=["GET /met"] * 30 + [GET] * 8)))
    said, most = [], 0
    talk.start()
    while talk.is_alive():
        most = max(most, listener.sockets())
        talk.join(0.02)
    assert [answer.split()[1] for answer, _ in said] == ["200"] * 5
    assert all(s < 4 for _, s in said), said
    assert 2 < most <= 1 + 10, most
    assert 4 < time.monotonic() - began < 30
    assert listener.sockets() == 1
