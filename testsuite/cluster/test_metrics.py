# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm metrics: what the agents say, as Prometheus reads it."""
import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import threading
import time
from urllib.parse import quote

import pytest

from harness import LONG, Lab, until
from monitoring import GET, MONITORING, PORT, Listener, Prometheus, need, read, there_is

pytestmark = pytest.mark.storm_only

NODES = 3


@pytest.fixture(scope="module")
def lab():
    made = Lab(f"metrics{os.getpid()}")
    made.up(NODES, conf=["SchedulerType=sched/storm"], storm_conf=["Health=1s", "DeadTimeout=2s"])
    try:
        until(lambda: asked(made)["storm_strober_up"] == 1, "the strober")
        until(lambda: asked(made)['storm_agents_gang{state="member"}'] == NODES, "members")
        yield made
    finally:
        made.down()


def metrics(lab, *words, user="user"):
    return lab.run(["storm", "metrics", *words], cwd="/", user=user)


def asked(lab, *words, user="user"):
    done = metrics(lab, *words, user=user)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.endswith("\n# EOF\n"), done.stdout
    return read(done.stdout)


def launch(lab, *words, user="user"):
    done = lab.run(["srun", f"-N{NODES}", f"-n{NODES}", "--launch=storm", *words, "/bin/true"],
                   cwd="/tmp", user=user)
    assert done.returncode == 0, done.stderr


FILE = "/home/user/storm.prom"
BY_STORM = 'storm_launches_total{result="storm",reason="none"}'
ON_NODES = 'storm_node_launches_total{result="done"}'


TIMED = "storm_launch_duration_seconds_count"


def written(lab):
    """What --textfile has written now."""
    done = metrics(lab, f"--textfile={FILE}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr
    with open(lab.dir + FILE) as f:
        assert stat.S_IMODE(os.fstat(f.fileno()).st_mode) == 0o644
        return read(f.read())


def test_a_user_that_nobody_knows(lab):
    """as the unit's user is one that nodes do not know"""
    done = lab.run(["setpriv", "--reuid=61999", "--regid=61999", "--clear-groups", "storm",
                    "metrics"], cwd="/")
    assert read(done.stdout)['storm_agents{state="up"}'] == NODES, done


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
    # nobody waits for srun's word of how long it took
    until(lambda: asked(lab)[TIMED] == before[TIMED] + 1, "the launch to be timed")
    took = asked(lab)[TIMED.replace("count", "sum")] - before[TIMED.replace("count", "sum")]
    assert 0 < took < 30
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
    until(lambda: written(lab)[TIMED] == 1, "the launch to be timed")
    # the state ends in .prom no more than a file that is being written
    assert [p for p in os.listdir(lab.dir + "/home/user") if p.endswith(".prom")] == ["storm.prom"]
    lab.fault("stop", "n2")
    try:
        launch(lab)   # on n2 by Slurm's own messages
        now = written(lab)
        assert now['storm_agents{state="silent"}'] == 1
        assert now['storm_agents_unanswered{reason="no-answer"}'] == 1
        # n2's launches are missing: what the two others have more shows if it is more
        assert now[BY_STORM] == 2 and NODES <= (on := now[ON_NODES]) < 2 * NODES, now
        # an agent that is late on a busy host is one more
        assert (gaps := now["storm_count_gaps_total"]) >= 1, now
    finally:
        lab.heal()
    until(lambda: asked(lab)['storm_agents_gang{state="member"}'] == NODES, "members again")
    now = written(lab)
    assert (now[BY_STORM], now[ON_NODES]) == (2, on), now
    assert now["storm_count_gaps_total"] > gaps, now
    launch(lab)
    now = written(lab)
    # srun goes round n2 for a while
    assert now[BY_STORM] == 3 and now[ON_NODES] - on in (NODES - 1, NODES), now


def no_strober(lab):
    """Returns what lets slurmctld start another one."""
    pid = lab.pids("ctl", "slurmctld")[0]
    os.kill(pid, signal.SIGSTOP)
    os.kill(lab.pids("ctl", "storm_strober")[0], signal.SIGKILL)
    return lambda: os.kill(pid, signal.SIGCONT)


def test_no_strober(lab):
    """Nodes are members without it, too, and say that they do not hear it."""
    go_on = no_strober(lab)
    try:
        now = until(lambda: not (got := asked(lab))["storm_strober_up"] and got,
                    "the strober to be missed")
        assert now['storm_agents_gang{state="strober-silent"}'] == NODES
        told = lab.run(["storm", "status"], cwd="/", user="user")
        assert told.returncode == 1 and "n[1-3]: strober silent\n" in told.stdout, told.stdout
    finally:
        go_on()
    until(lambda: asked(lab)['storm_agents_gang{state="member"}'] == NODES, "members again")


def test_it_cannot_be_written(lab):
    """A reader keeps the old file; and no other file is left."""
    lab.run(["install", "-d", "-m", "755", "/home/user/kept"], cwd="/")
    lab.run(["sh", "-c", "echo old >/home/user/kept/storm.prom"], cwd="/")
    done = metrics(lab, "--textfile=/home/user/kept/storm.prom")
    assert done.returncode == 1 and "must be able to write" in done.stderr, done.stderr
    assert os.listdir(lab.dir + "/home/user/kept") == ["storm.prom"]
    # where the state cannot be kept, no total is shown that a later one would be below
    lab.run(["mkdir", "-p", "/home/user/held/.storm.prom.state"], user="user", cwd="/")
    done = metrics(lab, "--textfile=/home/user/held/storm.prom")
    assert done.returncode == 1 and "must be able to write" in done.stderr, done.stderr
    assert os.listdir(lab.dir + "/home/user/held") == [".storm.prom.state"]
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

@pytest.fixture(scope="module")
def listener(lab):
    one = Listener(lab)
    try:
        assert "GET /metrics at 9838" in one.says
        until(one.get, "the first answer")
        yield one
    finally:
        code = one.end()
    assert code == 0


@pytest.fixture(scope="module")
def server(lab, listener):
    """Prometheus, if there is one.  It looks at its targets 5 s after its begin: so it
    begins before the tests that do not need it."""
    one = there_is("prometheus") and Prometheus(lab)
    try:
        yield one
    finally:
        if one:
            one.end()


@pytest.mark.usefixtures("server")
def test_listen(lab, listener):
    """Counters begin with 0 and rise; the answers stay while nobody asks."""
    before = listener.get()
    assert before['storm_agents{state="up"}'] == NODES
    launch(lab)
    now = until(lambda: (got := listener.get())[BY_STORM] > before[BY_STORM] and got, "the launch")
    assert now[BY_STORM] == before[BY_STORM] + 1
    done = metrics(lab, f"--listen={PORT}")
    assert done.returncode == 2 and "Address already in use" in done.stderr, done.stderr


def test_listen_cannot_ask(listener):
    """It says when it has tried, and of how many nodes."""
    before = listener.get()
    listener.forks(False)
    try:
        now = until(lambda: not (got := listener.get())["storm_query_success"] and got, "a failure")
    finally:
        listener.forks(True)
    assert now["storm_nodes"] == NODES and now["storm_query_duration_seconds"] > 0, now
    when = "storm_query_timestamp_seconds"
    assert before[when] <= now[when] <= time.time(), now
    assert now[TIMED] >= before[TIMED], now
    until(lambda: listener.get()["storm_query_success"], "an answer")


def test_listen_query_dies(listener):
    """A query that is killed before its answer is one that failed."""
    now = until(lambda: listener.kill_query() or not (got := listener.get())["storm_query_success"]
                and got, "a query to be killed in time")
    assert now["storm_nodes"] == NODES, now
    assert abs(now["storm_query_timestamp_seconds"] - time.time()) < 60, now
    until(lambda: listener.get()["storm_query_success"], "an answer")


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
    until(lambda: listener.sockets() == 1, "all of them to be gone")


# -- Prometheus ----------------------------------------------------------------

def expressions():
    """Those of the dashboard, as Grafana asks them."""
    panels = json.loads((MONITORING / "storm-dashboard.json").read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(found) > 20
    return [e.replace("$instance", ".*").replace("$__rate_interval", "1m") for e in found]


def names_of(expression):
    return set(re.findall(r"storm_[a-z_]+", expression))


def test_alerts_by_promtool():
    need("promtool")
    done = subprocess.run(["promtool", "test", "rules", "storm.rules.test.yml"], cwd=MONITORING,
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_dashboard_and_alerts_know_the_metrics(lab):
    """Each name that they have is a metric, and each metric is on the dashboard."""
    there = {re.match(r"\w+", series)[0] for series in asked(lab)} | {"storm_count_gaps_total"}
    shown = set.union(*map(names_of, expressions()))
    assert shown == there
    assert names_of((MONITORING / "storm.rules.yml").read_text()) <= there


def test_prometheus_shows_the_dashboard(server):
    need("prometheus")
    paths = {"/api/v1/query?query=" + quote(e): e for e in expressions()}
    got = server.ask(paths)
    assert not [e for path, e in paths.items() if path not in got]
    assert not [(paths[path], data) for path, data in got.items() if isinstance(data, str)]
    assert until(lambda: len(rules := server.rules()) == 6 and rules, "the alerts")
    assert set(server.rules().values()) == {"inactive"}


# -- alerts that come and go: ten minutes ---------------------------------------

#: minutes become seconds: the faults below last for seconds, too
SHORT = [(r"(for: \d+)[mh]", r"\1s"), (r"\[15m\]", "[15s]"), (r"> 300", "> 10"),
         (r"\[1d\]", "[10m]")]
TEN_MINUTES = 600


@contextlib.contextmanager
def watched(lab):
    """Prometheus with short alerts, on a host that has no other one."""
    listener, server = Listener(lab, "ctl"), None
    try:
        server = Prometheus(lab, "ctl", SHORT)
        until(lambda: len(server.rules()) == 6, "the alerts")
        yield server
    finally:
        if server:
            server.end()
        listener.end()


def steps_by_slurm(lab):
    lab.fault("stop", "n2")
    lab.fault("stop", "n3")
    for _ in range(4):
        launch(lab, user="other")   # whose sruns then go round them for a while
    return lab.heal


def a_fault(lab, *what):
    lab.fault(*what)
    return lab.heal


#: alert: a fault that it tells; the function ends the fault
FAULTS = {
    "StormQueryFails": lambda lab: a_fault(lab, "stop", "ctl", "munged"),
    "StormAgentsAway": lambda lab: a_fault(lab, "cut", "n3"),
    "StormNodesUnwell": lambda lab: a_fault(lab, "fill", "n3"),
    "StormFallsBack": steps_by_slurm,
    "StormStroberGone": no_strober,
}


@pytest.mark.skipif(not LONG, reason="SKIP: it takes ten minutes: --long")
def test_alerts_come_and_go(lab):
    """Each fault is told by its alert, which goes with it. (Versions that differ need nodes
    with another build: promtool tests that one.) Between faults, and while steps are
    launched, there is none."""
    need("prometheus")
    end, launched = time.monotonic() + TEN_MINUTES, 0
    with watched(lab) as server:
        def firing():
            return {name for name, state in server.rules().items() if state == "firing"}

        for alert, begin in FAULTS.items():
            heal = begin(lab)
            try:
                told = until(lambda: alert in (now := firing()) and now, alert)
            finally:
                heal()
            print(f"{alert}: fired with {sorted(told - {alert})}")
            until(lambda: not firing(), lambda: f"{firing()} to go after {alert}")
        while time.monotonic() < end:
            launch(lab)
            launched += 1
            assert not firing()
            time.sleep(1)   # an event is not to be: no alert
    assert launched > 100
