# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm metrics: what the agents say, as Prometheus reads it."""
import os
import re
import shutil
import stat

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
