# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A wrong line in storm.conf ends no daemon, at no time: each goes on with the
last good file, and its log has the line and the remedy. And keys in
plugstack.conf."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from harness import MACHINES, Lab, chosen, until
from lab.slurmconf import STAGE
from sched_tests import (KEEPS, command, running, share, state, stepping, strobed,
                         submit, turns)
from test_insider_open import build

pytestmark = pytest.mark.storm_only

#: where the daemons keep the last good keys
KEPT = {"ctl": "/var/lib/slurm/slurmctld/storm_conf",
        "n1": "/run/slurm-storm/n1/storm_conf"}
WRONG = "Quantum=1\nRadix=1\n"
SAYS = "Radix=1 is invalid, allowed: a number from 2 to 64; "


@pytest.fixture(scope="module")
def made():
    lab = Lab(f"badconf{os.getpid()}")
    try:
        lab.up(2, gang=2, quantum=20, cpus=1, conf=["SlurmdDebug=verbose"])
        yield lab
    finally:
        lab.down()


@pytest.fixture
def lab(made):
    """Its storm.conf is good before and after each test."""
    good = read(made)
    yield made
    write(made, good)
    command(made, "scancel", "--partition=gang")
    until(lambda: not command(made, "squeue", "-h"), "jobs to end")
    for node in made.nodes:
        made.restart(node, "slurmd")
    reconfigure(made)
    settle(made)


def conf(lab, name="storm.conf"):
    return lab.path("ctl", "/etc/slurm/" + name)


def read(lab, name="storm.conf"):
    with open(conf(lab, name)) as f:
        return f.read()


def write(lab, text, name="storm.conf"):
    with open(conf(lab, name), "w") as f:
        f.write(text)


def reconfigure(lab):
    """slurmd counts in seconds when it reads slurm.conf: not in that of its start."""
    now = int(time.time())
    until(lambda: int(time.time()) > now, "the next second", interval=0.05)
    command(lab, "scontrol", "reconfigure")


def settle(lab):
    """slurmds accept connections again: SIGTERM just before that is lost in
    them."""
    lab.wait_idle()
    command(lab, "srun", "--launch=slurm", "-N2", "--mem=10", "true")


def forget(lab, host):
    done = lab.run(["rm", KEPT[host]], host=host, cwd="/")
    assert done.returncode == 0, done.stderr


def logged(lab, host, daemon, words, since=0):
    until(lambda: words in lab.log(host, daemon)[since:],
          f"{daemon} to say {words!r}")


def runs(lab, by_storm):
    """A step runs; returns what srun says."""
    done = lab.run(["srun", "-N2", "-n2", "--mem=10", "hostname"], cwd="/",
                   env={"SLURM_STORM_LAUNCH": "storm"})
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["n1", "n2"]
    assert ("falling back to Slurm's standard launch" in done.stderr) != \
        by_storm, done.stderr
    return done.stderr


def one_pid(lab, host, program):
    pids = lab.pids(host, program)
    return pids[0] if len(pids) == 1 else None


def serving(lab):
    until(lambda: lab.run(["storm", "status"], cwd="/").returncode == 0,
          lambda: "all to be well: " + lab.run(["storm", "status"], cwd="/").stdout)


def goes_by_storm(lab):
    """slurmd can be busy with its configuration for a moment more."""
    done = lab.run(["srun", "-N2", "-n2", "--mem=10", "hostname"], cwd="/",
                   env={"SLURM_STORM_LAUNCH": "storm"})
    return done.returncode == 0 and "falling back" not in done.stderr


def test_reload_without_switch():
    """Also where slurmd has no plugin of STORM's that it tells of a reconfigure."""
    lab = Lab(f"badconf{os.getpid()}-none")
    try:
        lab.up(1, switch="none")
        before = until(lambda: one_pid(lab, "n1", "storm_agent"), "the agent")
        write(lab, read(lab) + "DeadTimeout=4s\n")
        reconfigure(lab)
        until(lambda: one_pid(lab, "n1", "storm_agent") not in (None, before), "another agent")
    finally:
        lab.down()


def test_reload(lab):
    """A reconfigure brings other keys to agents and strober; keys of slurmctld leave them as
    they are. A step that STORM launched meanwhile ends well. LogLevel has them say more
    or less than slurmd's and slurmctld's own levels would."""
    def pids():
        found = [one_pid(lab, host, program) for host, program in
                 (("n1", "storm_agent"), ("n2", "storm_agent"), ("ctl", "storm_strober"))]
        return found if None not in found else None

    def are_others(before):
        now = pids()
        return now and not set(now) & set(before)
    before = until(pids, "agents and strober")
    begun = len(lab.log("n1", "slurmd"))
    write(lab, read(lab) + "Quantum=30\n")     # slurmctld's
    reconfigure(lab)
    settle(lab)
    since = {h: len(lab.log(h, d)) for h, d in (("n1", "slurmd"), ("ctl", "slurmctld"))}
    step = lab.popen(["srun", "--launch=storm", "-N2", "-n2", "--mem=10", "sh", "-c",
                      "echo begun; until [ -e /tmp/go ]; do sleep 0.05; done; echo ended"],
                     host="login", user="user", cwd="/", stdout=-1, stderr=-3, text=True)
    try:
        assert step.stdout.readline() == "begun\n"
        write(lab, read(lab) + "LogLevel=debug\n")
        assert until(pids, "agents and strober") == before
        reconfigure(lab)
        until(lambda: are_others(before), lambda: f"all to be others than {before}: {pids()}")
        for host, daemon, name in (("n1", "slurmd", "agent"), ("ctl", "slurmctld", "strober")):
            logged(lab, host, daemon, f"storm: replacing the {name} (pid ", since[host])
    finally:
        for node in lab.nodes:
            lab.run(["touch", "/tmp/go"], host=node, user="user", cwd="/")
        out, _ = step.communicate(timeout=60)
    assert step.returncode == 0 and out.count("ended") == 2, out
    serving(lab)
    until(lambda: goes_by_storm(lab), "a launch by STORM")
    logged(lab, "n1", "slurmd", "storm_agent: debug: ", since["n1"])
    assert lab.log("n1", "slurmd")[begun:].count("storm: replacing the agent") == 1
    before = until(pids, "agents and strober")
    write(lab, read(lab).replace("LogLevel=debug", "LogLevel=error"))
    reconfigure(lab)
    until(lambda: are_others(before), lambda: f"all to be others than {before}: {pids()}")
    since = {h: len(lab.log(h, d)) for h, d in (("n1", "slurmd"), ("ctl", "slurmctld"))}
    serving(lab)
    until(lambda: goes_by_storm(lab), "a launch by STORM")
    said = lab.log("n1", "slurmd")[since["n1"]:] + lab.log("ctl", "slurmctld")[since["ctl"]:]
    assert not re.search(r"\] storm_(agent|strober): ", said), said


def test_slurmctld_starts_with_the_last_good_file(lab):
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    stepping(lab, *jobs)
    good = read(lab)
    write(lab, good + WRONG)
    before = len(lab.log("ctl", "slurmctld"))
    lab.restart("ctl", "slurmctld")
    logged(lab, "ctl", "slurmctld", SAYS + "slurmctld uses the settings that "
           "it had before: correct the line, then \"scontrol reconfigure\"",
           before)
    turns(lab, "1/2", *jobs)
    assert share(lab, jobs[0])[1] == "20ms"
    strobed(lab)
    # and the line is good at last
    write(lab, good + "Quantum=30\n")
    reconfigure(lab)
    quantum(lab, jobs[0], "30ms")
    strobed(lab)


def test_slurmctld_starts_with_none(lab):
    """No gang scheduling until the line is correct, and jobs run."""
    good = read(lab)
    lab.end("ctl", "slurmctld")
    forget(lab, "ctl")
    write(lab, good + WRONG)
    before = len(lab.log("ctl", "slurmctld"))
    lab.restart("ctl", "slurmctld")
    logged(lab, "ctl", "slurmctld", "NO GANG SCHEDULING: ", before)
    logged(lab, "ctl", "slurmctld", SAYS + "slurmctld runs without it: ",
           before)
    lab.wait_idle()
    runs(lab, by_storm=False)
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    stepping(lab, *jobs)    # reconfigured meanwhile, slurmctld drops a request
    write(lab, good)
    reconfigure(lab)
    turns(lab, "1/2", *jobs)
    strobed(lab)


def quantum(lab, job, word):
    until(lambda: (share(lab, job) or "..")[1] == word,
          lambda: f"a quantum of {word}, not {share(lab, job)}")


def test_partitions_of_the_old_form(lab):
    """They count. slurmctld prints the lines that take their place, and no agent
    does. With these lines all is as it was; a wrong one of them has no effect."""
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    stepping(lab, *jobs)
    good, since = read(lab), len(lab.log("ctl", "slurmctld"))
    nodes = {node: len(lab.log(node, "slurmd")) for node in lab.nodes}
    write(lab, good + "PartitionQuantum=gang:30\nTimeLimitByTurns=gang\n")
    reconfigure(lab)
    quantum(lab, jobs[0], "30ms")
    strobed(lab)
    line = "Partition=gang Quantum=30 LimitByTurns=yes\n"
    says = ": the next version does not read PartitionQuantum, TimeLimitByTurns: " \
        "write in place of these keys:\n" + line
    logged(lab, "ctl", "slurmctld", says, since)
    for node in lab.nodes:
        lab.restart(node, "slurmd")
        logged(lab, node, "slurmd", f"serves node {node}", nodes[node])
    strobed(lab)
    assert lab.log("ctl", "slurmctld")[since:].count("does not read") == 1
    for node in lab.nodes:
        assert "does not read" not in lab.log(node, "slurmd")[nodes[node]:]
    since = len(lab.log("ctl", "slurmctld"))
    write(lab, good + line + "Quantum=40\n")
    reconfigure(lab)
    quantum(lab, jobs[0], "30ms")
    write(lab, good + "Partition=gang Quantum=soon\n")
    reconfigure(lab)
    logged(lab, "ctl", "slurmctld", ": Partition=gang: Quantum=soon is invalid, "
           "allowed: a time from 100us to 600s; ", since)
    logged(lab, "ctl", "slurmctld", KEEPS, since)
    quantum(lab, jobs[0], "30ms")
    strobed(lab)
    assert "does not read" not in lab.log("ctl", "slurmctld")[since:]
    assert [state(lab, job) for job in jobs] == 2 * ["RUNNING"]


def test_wrong_interface_is_told_once(lab):
    """The agent is started again and again; the error is one line."""
    good, since = read(lab), len(lab.log("n1", "slurmd"))
    write(lab, good + "Interface=eth9\n")
    lab.kill("n1", "agent")

    def said(words):
        return [line for line in lab.log("n1", "slurmd")[since:].splitlines()
                if re.search(words, line)]

    until(lambda: len(said("ended with status 1")) > 3, "four starts")
    (line,) = said(r"error: .*\b(eth9|port|ended)\b")
    assert "storm_agent: there is no interface eth9: correct Interface in " \
        "storm.conf" in line
    write(lab, good)
    logged(lab, "n1", "slurmd", "serves node n1", since)


def test_reconfigure_keeps_all(lab):
    """slurmctld, the strober, slurmd and the agents go on; sruns fall back, as
    Fallback orders. From 23.11 on the first three are new processes."""
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    stepping(lab, *jobs)
    strobed(lab)

    stay = [("n1", "agent"), ("n2", "agent")]
    if chosen() == MACHINES:
        stay += [("ctl", "slurmctld"), ("ctl", "storm_strober"),
                 ("n1", "slurmd")]

    def daemons():
        return [lab.pids(host, name) for host, name in stay]

    were, before = daemons(), len(lab.log("ctl", "slurmctld"))
    since = {n: len(lab.log(n, "slurmd")) for n in lab.nodes}
    assert all(were)
    write(lab, read(lab) + WRONG)
    reconfigure(lab)
    logged(lab, "ctl", "slurmctld", KEEPS, before)
    logged(lab, "ctl", "slurmctld",
           SAYS + "correct the line, then \"scontrol reconfigure\"", before)
    if chosen() != MACHINES:
        for node in lab.nodes:
            logged(lab, node, "slurmd", "keeps its settings: correct the line",
                   since[node])
    turns(lab, "1/2", *jobs)
    assert share(lab, jobs[0])[1] == "20ms"
    strobed(lab)
    assert daemons() == were
    # the next strober has the same file
    old = lab.pids("ctl", "storm_strober")
    assert old
    lab.kill("ctl", "storm_strober")
    until(lambda: lab.pids("ctl", "storm_strober") not in ([], old),
          "another strober")
    strobed(lab)


def test_agents_keep_the_last_good_file(lab):
    good = read(lab)
    write(lab, good + WRONG)
    (old,) = lab.pids("n1", "agent")
    # a slurmd that starts keeps the living agent
    before = len(lab.log("n1", "slurmd"))
    lab.restart("n1", "slurmd")
    logged(lab, "n1", "slurmd", SAYS + "the agent (pid ", before)
    logged(lab, "n1", "slurmd", "keeps its settings: correct the line, then "
           "\"scontrol reconfigure\"", before)
    assert lab.pids("n1", "agent") == [old]
    # and the next agent reads what the last one had
    lab.kill("n1", "agent")
    logged(lab, "n1", "slurmd", SAYS + "this agent uses the settings that the "
           "last one had: correct the line, then \"scontrol reconfigure\"", before)
    lab.wait_attached("n1", 120)
    write(lab, good)
    runs(lab, by_storm=True)


def test_agents_without_one_wait_for_the_line(lab):
    good = read(lab)
    write(lab, good + WRONG)
    forget(lab, "n1")
    before = len(lab.log("n1", "slurmd"))
    lab.kill("n1", "agent", signal.SIGKILL)
    logged(lab, "n1", "slurmd", SAYS + "no agent runs here until the line is "
           "correct", before)
    runs(lab, by_storm=False)
    write(lab, good)
    # at once, and not a minute later
    lab.wait_attached("n1", 40)
    runs(lab, by_storm=True)


def test_unknown_key_is_a_warning(lab):
    """Daemons name it in their logs; a user's srun has nothing to say."""
    write(lab, read(lab) + "Quantun=1\n")
    before = [len(lab.log("ctl", "slurmctld")), len(lab.log("n1", "slurmd"))]
    reconfigure(lab)
    settle(lab)
    lab.restart("n1", "slurmd")
    words = "unknown key 'Quantun' has no effect: did you mean Quantum?"
    logged(lab, "ctl", "slurmctld", words, before[0])
    logged(lab, "n1", "slurmd", words, before[1])
    assert lab.log("ctl", "slurmctld")[before[0]:].count(words) == 1
    assert "storm" not in runs(lab, by_storm=True)


def test_keys_in_plugstack(lab):
    """All programs read them, slurmctld too. storm.conf's count more."""
    was, good = read(lab, "plugstack.conf"), read(lab)
    try:
        write(lab, "optional spank_storm.so AgentCPUs=0 Quantum=40 Radix=3\n",
              "plugstack.conf")
        for node in lab.nodes:
            lab.restart(node, "slurmd")
        # the one before may still be ending
        until(lambda: [os.sched_getaffinity(p) for p in
                       lab.pids("n1", "agent")] == [{0}], "one agent on CPU 0")
        runs(lab, by_storm=True)
        jobs = [submit(lab) for _ in "12"]
        running(lab, *jobs)
        assert share(lab, jobs[0]) is None or \
            share(lab, jobs[0])[1] == "20ms"
        stepping(lab, *jobs)
        write(lab, good.replace("Quantum=20", "# "))
        lab.restart("ctl", "slurmctld")
        until(lambda: (share(lab, jobs[0]) or "..")[1] == "40ms", "40 ms")
        strobed(lab)
        command(lab, "scancel", *jobs)
        # a wrong one has its place, too
        write(lab, "optional spank_storm.so Radix=99\n",
              "plugstack.conf")
        assert "plugstack.conf:1: Radix=99 is invalid" in \
            runs(lab, by_storm=False)
    finally:
        write(lab, was, "plugstack.conf")
        lab.restart("ctl", "slurmctld")


def test_other_credentials_than_munge(lab):
    """With auth/slurm no munged need run. An agent that starts without it
    says what that means."""
    etc = pathlib.Path(lab.dir) / "home" / "etc"
    shutil.copytree(pathlib.Path(lab.dir) / "etc" / "slurm", etc)
    slurm_conf = etc / "slurm.conf"
    slurm_conf.write_text(slurm_conf.read_text().replace(
        "AuthType=auth/munge", "AuthType=auth/slurm"))
    lab.end("n1", "munged")
    try:
        # it ends, as slurmd's agent has the port
        done = lab.run([STAGE + "/libexec/slurm-storm/storm_agent", "--node",
                        "n1", "--run"], host="n1", cwd="/",
                       env={"SLURM_CONF": "/home/etc/slurm.conf"}, timeout=60)
        assert "AuthType=auth/slurm, but STORM needs MUNGE: until munged " \
            "runs" in done.stderr, done
    finally:
        lab.restart("n1", "munged")
        shutil.rmtree(etc)


def address(lab, host):
    return command(lab, "getent", "hosts", host).split()[0]


def test_unfinished_edit_of_slurm_conf(lab, tmp_path):
    """No agent re-reads slurm.conf because a user names a node that it does not
    have: a child does, whose death ends nobody. What it reads counts as soon as
    the line is right."""
    build(tmp_path / "insider")
    lab.put(tmp_path / "insider", "login", "/home/insider", 0o755)
    n1, own = address(lab, "n1"), address(lab, "login")
    were, since = lab.pids("n1", "agent"), len(lab.log("n1", "slurmd"))
    old = read(lab, "slurm.conf")

    def unknown():
        """Open a session with n1 and three nodes of which it has not heard."""
        done = lab.run(["/home/insider", "unknown", n1, n1, own, "4", "1"],
                       user="other", cwd="/tmp")
        assert lab.pids("n1", "agent") == were, done.stdout
        return int(re.match(r"accepted (\d+)", done.stdout)[1])

    def says():
        unknown()
        return "slurm.conf cannot be read again, and the nodes stay" in \
            lab.log("n1", "slurmd")[since:]

    try:
        write(lab, old + "NodeName=n7 CPUs=x Wrong\n", "slurm.conf")
        until(says, "n1's agent to find the line", interval=0.2)
        last = n1.split(".")[3]
        more = ",".join(f"{n1[:-len(last)]}{int(last) + i}" for i in (1, 2, 3))
        write(lab, old + f"NodeName=nosuch[2-4] NodeAddr={more}\n",
              "slurm.conf")
        until(unknown, "the new nodes to be known", interval=0.5)
        # removed again, and slurmd restarted for it as Slurm demands
        write(lab, old, "slurm.conf")
        lab.restart("n1", "slurmd")
        until(lambda: not unknown(), "the nodes to be forgotten", interval=0.5)
    finally:
        write(lab, old, "slurm.conf")


#: who opens slurm.conf waits for this program, which has a lease of it
HANG = """\
import fcntl, os, shutil, signal, subprocess
conf = "/etc/slurm/slurm.conf"
shutil.copy(conf, "/tmp/hang")
signal.signal(signal.SIGIO, signal.SIG_IGN)
f = open("/tmp/hang", "r+")
fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
subprocess.run(["mount", "--bind", "/tmp/hang", conf], check=True)
print("ready", flush=True)
input()
subprocess.run(["umount", conf], check=True)
"""


def test_slurm_conf_that_does_not_come(lab, tmp_path):
    """Its file system hangs: the messages blame no line. n2's next agent starts with
    what is kept, and n1's goes on."""
    build(tmp_path / "insider")
    lab.put(tmp_path / "insider", "login", "/home/insider", 0o755)
    n1, own = address(lab, "n1"), address(lab, "login")
    since = {n: len(lab.log(n, "slurmd")) for n in lab.nodes}
    were = {n: lab.pids(n, "agent") for n in lab.nodes}
    hung = []
    try:
        for node in lab.nodes:
            hung.append(lab.popen(["python3", "-c", HANG], host=node, cwd="/",
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            assert hung[-1].stdout.readline() == b"ready\n"
        lab.kill("n2", "agent")
        lab.run(["/home/insider", "unknown", n1, n1, own, "4", "1"], user="other",
                cwd="/tmp", check=True)
        logged(lab, "n2", "slurmd", "slurm.conf does not come within 4 s, and the "
               "last one that could be read counts", since["n2"])
        logged(lab, "n1", "slurmd", "slurm.conf does not come within 5 s, and the "
               "nodes stay", since["n1"])
        until(lambda: lab.pids("n2", "agent") not in ([], were["n2"]),
              "another agent")
        assert lab.pids("n1", "agent") == were["n1"]
    finally:
        for one in hung:
            one.communicate(b"\n")
    for node in lab.nodes:
        assert "cannot be read" not in lab.log(node, "slurmd")[since[node]:]


def test_start_beside_an_unfinished_edit_of_slurm_conf(lab):
    """slurmd and slurmctld go on with what they have read; so do the agent,
    its storm_keeper and the strober that they start meanwhile."""
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    stepping(lab, *jobs)
    strobed(lab)
    old, good = read(lab, "slurm.conf"), "cannot be read, and the last one"
    hosts = {"n1": ("slurmd", "agent"), "ctl": ("slurmctld", "storm_strober")}
    since = {host: len(lab.log(host, hosts[host][0])) for host in hosts}
    were = {host: lab.pids(host, hosts[host][1]) for host in hosts}
    try:
        write(lab, old + "NodeName=n7 CPUs=x Wrong\n", "slurm.conf")
        for host, (daemon, child) in hosts.items():
            lab.kill(host, child, signal.SIGKILL)
            logged(lab, host, daemon, good, since[host])
            until(lambda: lab.pids(host, child) not in ([], were[host]),
                  f"another {child}")
        lab.wait_attached("n1")
        now = {host: lab.pids(host, hosts[host][1]) for host in hosts}
    finally:
        write(lab, old, "slurm.conf")
    strobed(lab)
    command(lab, "scancel", *jobs)
    until(lambda: not command(lab, "squeue", "-h"), "jobs to end")
    runs(lab, by_storm=True)
    assert {host: lab.pids(host, hosts[host][1]) for host in hosts} == now
