# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A node dies, or a part of it: slurmctld's cluster domain knows of it, also where no
jobs share.
"""
import contextlib
import os
import re
import signal
import subprocess

import pytest

from firewall import dropped
from harness import Lab, need_records, until
from lab import net
from lab.sysdep import pids_in_namespace

pytestmark = pytest.mark.storm_only

#: nobody takes turns: the lab's own partition for that is local
CONF = ["SchedulerType=sched/storm", "SlurmctldDebug=debug"]
STORM_CONF = ["Partition=shared Policy=local"]


def new_lab(name, nodes, storm_conf=(), conf=()):
    need_records()
    made = Lab(f"failed{os.getpid()}-{name}")
    made.up(nodes, conf=[*CONF, *conf], storm_conf=[*STORM_CONF, *storm_conf])
    return made


def said(lab):
    return lab.log("ctl", "slurmctld")


def members(lab):
    """All nodes are in the domain: since it was opened, or by a line of their own."""
    def is_in(host):
        text = said(lab)
        return "joined the cluster domain" in lab.log(host, "slurmd") and \
            "the cluster domain is open" in text and \
            text.rfind(f"node {host} is excluded from") <= \
            text.rfind(f"node {host} is a member of")

    for host in lab.nodes:
        until(lambda: is_in(host), f"{host} to be a member")


@pytest.mark.every_release
def test_the_cluster_domain_is_always_there():
    """Nothing is shared: all nodes are its members, no strobe is sent, and nothing is
    called gang scheduling."""
    made = new_lab("always", 3)
    try:
        members(made)
        text = said(made)
        assert "the cluster domain is open: 3 nodes" in text, text
        assert "nothing is gang scheduled" in text, text
        assert not re.search(r"node n. .*gang scheduling", text), text
        assert made.agent_stats("n1")["gang"]["gang_strobes"] == 0
    finally:
        made.down()


def test_a_key_keeps_others_out_of_it():
    """Cluster=no: where nothing is shared, nothing is opened, and nothing is shown that
    was said before."""
    made = new_lab("none", 2)
    try:
        members(made)
        port(made, "n1", "down")
        shown(made, "host-unreachable", "n1")
        made.run(["scontrol", "update", "NodeName=n1", "Extra=rack=7 " + extra(made, "n1")],
                 cwd="/", check=True)
        with open(made.path("ctl", "/etc/slurm/storm.conf"), "a") as f:
            f.write("Cluster=no\n")
        made.run(["scontrol", "reconfigure"], cwd="/", check=True)
        until(lambda: extra(made, "n1") == "rack=7", lambda: node(made, "n1"))
        port(made, "n1", "up")
        before = len(said(made))
        made.restart("ctl", "slurmctld")
        until(lambda: "nothing is gang scheduled" in said(made)[before:],
              "slurmctld's look")
        done = made.run(["srun", "-N2", "true"])
        assert done.returncode == 0, done
        assert "the cluster domain is open" not in said(made)[before:]
    finally:
        made.down()


# -- a node that dies ---------------------------------------------------------

def port(lab, host, state):
    """The switch's port to a host: "up" or "down"."""
    subprocess.run(net.enter(lab.record["pids"]["sw"][0],
                             ["ip", "link", "set", host, state]), check=True)


def power_off(lab, host):
    """First the link: a host that has lost power closes no socket."""
    port(lab, host, "down")
    first = lab.pid(host)
    for pid in pids_in_namespace(first):
        if pid != first:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def node(lab, host="n3"):
    return lab.run(["scontrol", "-o", "show", "node", host], cwd="/").stdout


def extra(lab, host="n3"):
    """Later releases have it to the next field, earlier ones to the line's end."""
    return re.search(r" Extra=(.*?)(?= \w+=|$)|$", node(lab, host), re.M)[1]


def shown(lab, word, host="n3"):
    until(lambda: f"failed={word}" in node(lab, host),
          lambda: f"failed={word} in {node(lab, host)}")


def good(lab, host="n3"):
    until(lambda: "storm:" not in node(lab, host) and
          not re.search(r"State=\S*(DRAIN|DOWN)", node(lab, host)),
          lambda: f"nothing to be said of {node(lab, host)}")


def standing(lab, host, daemon):
    """Send SIGSTOP; returns what sends SIGCONT."""
    pids = lab.pids(host, daemon)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return lambda: [os.kill(pid, signal.SIGCONT) for pid in pids]


class Step:
    """A step of a task on each node, which ends when the file go is there, or that of its
    node. The tasks write their node's name into begun."""

    def __init__(self, lab, *options, launch="slurm", nodes=8):
        self.dir = f"/home/step{len(os.listdir(lab.dir + '/home'))}"
        self.outer = lab.dir + self.dir
        os.mkdir(self.outer)
        script = ": >begun.$SLURMD_NODENAME; until [ -e go -o -e go.$SLURMD_NODENAME ]; " \
            "do sleep 0.05; done; " \
            "echo $SLURMD_NODENAME ended"
        self.process = lab.popen(
            ["srun", f"--launch={launch}", f"-N{nodes}", f"-n{nodes}", *options,
             "sh", "-c", script], cwd=self.dir,
            stdout=open(self.outer + "/out", "w"),
            stderr=open(self.outer + "/err", "w"))
        until(lambda: len(self.files("begun.")) == nodes, "all tasks to begin")

    def files(self, prefix):
        return [f for f in os.listdir(self.outer) if f.startswith(prefix)]

    def said(self):
        with open(self.outer + "/err") as f:
            return f.read()

    def says(self, what):
        until(lambda: re.search(what, self.said()),
              lambda: f"srun to say {what}: {self.said()}")

    def goes(self, *nodes):
        for name in [f"go.{n}" for n in nodes] or ["go"]:
            with open(f"{self.outer}/{name}", "w"):
                pass

    def ends(self):
        with open(self.outer + "/out") as f:
            until(lambda: self.process.poll() is not None,
                  lambda: f"srun to end: {self.said()}")
            return self.process.wait(), sorted(f.read().split())


TIME = r"\d\d:\d\d:\d\d\.\d\d\d"
SILENT = rf"srun: storm: node n3: no sign of life since {TIME}\n"
UNREACHABLE = rf"srun: storm: node n3: host unreachable, no sign of life since {TIME}; " \
    r"what runs there is given up\n"


@pytest.fixture
def lab(request):
    """8 nodes, whose SlurmdTimeout is 300 s: Slurm itself notices nothing."""
    mark = request.node.get_closest_marker("lab_with")
    made = new_lab("dead", 8, mark.args if mark else ())
    try:
        members(made)
        yield made
        assert "not responding, setting DOWN" not in said(made)
        # cut off twice in three seconds, a node has missed three heartbeats of the
        # cluster domain, and takes that for missing multicast
        twice = request.node.get_closest_marker("cut_twice")
        for node in [] if twice else made.nodes:
            assert "no multicast comes here" not in made.log(node, "slurmd"), node
    finally:
        made.down()


@pytest.mark.every_release
@pytest.mark.parametrize("launch", ["slurm", "storm"])
def test_a_dead_host_ends_its_step(lab, launch):
    """srun says which node, and why, and ends as Slurm ends it; scontrol says so, too.
    By default nothing is done to the node."""
    step = Step(lab, launch=launch)
    power_off(lab, "n3")
    step.says(SILENT)
    shown(lab, "host-unreachable")
    step.says(UNREACHABLE)
    code, out = step.ends()
    assert code and not out, step.said()
    assert "Node failure on n3" in step.said()
    assert not re.search("State=[A-Z+]*(DRAIN|DOWN)", node(lab))


@pytest.mark.every_release
@pytest.mark.storm_only
def test_a_dead_host_has_the_last_tasks(lab):
    """All others have ended by the time at which the node is given up. Slurm's own srun
    ends with 0 then, though a task has not."""
    step = Step(lab, launch="storm")
    power_off(lab, "n3")
    step.goes()
    code, out = step.ends()
    # Slurm's own code: 1 from 23.11 on
    assert code in (1, 137) and "n3: task 2: Killed" in step.said(), (code, step.said())
    assert out == sorted(w for i in (1, 2, 4, 5, 6, 7, 8) for w in (f"n{i}", "ended"))


@pytest.mark.every_release
@pytest.mark.storm_only
def test_a_task_that_was_given_up_is_lost(lab):
    """Its node is back before it could be ended there, and it ends well. What it printed is
    lost all the same, as srun does not listen any more: so it counts as killed."""
    step = Step(lab, launch="storm")
    again = standing(lab, "n2", "slurmd")   # so that nobody ends the task there
    try:
        step.goes(*(f"n{i}" for i in (1, 4, 5, 6, 7, 8)))
        port(lab, "n3", "down")
        step.says(UNREACHABLE)
        step.goes("n3")
        until(lambda: not lab.pids("n3", "sleep"), "the task's end")
        port(lab, "n3", "up")
        step.says("n3: it gives signs of life again")
        until(lambda: not lab.pids("n3", "slurmstepd"), "the end of the step there")
        step.goes("n2")
        code, out = step.ends()
    finally:
        again()
    assert code in (1, 137) and "n3: task 2: Killed" in step.said(), (code, out, step.said())
    assert out.count("ended") == 7 and "n3" not in out, out


@pytest.mark.every_release
@pytest.mark.parametrize("launch", ["slurm", "storm"])
def test_a_step_goes_on_without_its_node(lab, launch):
    """With --no-kill the other tasks run to their ends."""
    step = Step(lab, "--no-kill", launch=launch)
    power_off(lab, "n3")
    step.says(UNREACHABLE)
    step.says("Node failure on n3")
    step.goes()
    code, out = step.ends()
    # Slurm's own code: 1 from 23.11 on
    assert code in (0, 1) and out == sorted(
        w for i in (1, 2, 4, 5, 6, 7, 8) for w in (f"n{i}", "ended")), step.said()


@pytest.mark.every_release
@pytest.mark.lab_with("FailedNode=drain")
def test_a_node_is_drained_and_resumed(lab):
    """One that was cut off is drained, and resumed when it is back. What was given up
    there ends before, and the job's others know nothing of it."""
    step = Step(lab, "--no-kill")
    port(lab, "n3", "down")
    until(lambda: re.search(r"State=\S*DRAIN.*Reason=storm: no heartbeat since "
                            r"\d\d:\d\d:\d\d, host unreachable \[slurm@", node(lab)),
          lambda: f"n3 to be drained: {node(lab)}")
    assert lab.pids("n3", "slurmstepd")
    port(lab, "n3", "up")
    good(lab)
    step.says("node n3: it gives signs of life again")
    until(lambda: not lab.pids("n3", "slurmstepd"), "the step there to end")
    assert said(lab).count("storm: draining node n3") == 1
    assert said(lab).count("storm: node n3 is back: resuming it") == 1
    step.goes()
    _, out = step.ends()
    # srun hears of the end there, too
    assert "n3" not in out and len(out) == 14, step.said()


def test_another_slurmctld_ends_what_was_given_up(lab):
    """It has it from a file of StateSaveLocation, which goes when nothing is left."""
    step = Step(lab, "--no-kill")
    port(lab, "n3", "down")
    step.says("Node failure on n3")
    lab.restart("ctl", "slurmctld")
    until(lambda: "failed=" in node(lab), lambda: f"n3 to be found again: {node(lab)}")
    assert lab.pids("n3", "slurmstepd")
    port(lab, "n3", "up")
    good(lab)
    until(lambda: not lab.pids("n3", "slurmstepd"), "the step there to end")
    step.goes()
    step.ends()


@pytest.mark.long
@pytest.mark.cut_twice
@pytest.mark.parametrize("launch", ["slurm", "storm"])
def test_it_dies_again_before_it_is_back(lab, launch):
    """A step that has begun as its host answered, and its agent was no member yet, is given
    up, too. slurmctld has heard of its slurmd meanwhile."""
    ctl = lab.run(["getent", "hosts", "ctl"], cwd="/").stdout.split()[0]
    with dropped(lab, "n3", "output", f"ip daddr {ctl} meta l4proto udp"):
        port(lab, "n3", "down")
        until(lambda: "node n3: host unreachable" in said(lab), lambda: said(lab))
        port(lab, "n3", "up")
        lab.restart("n3", "slurmd")
        until(lambda: "node n3: slurmd answers, its agent does not" in said(lab),
              lambda: said(lab))
        lab.wait_agents(["n3"])
        step = Step(lab, launch=launch)
        port(lab, "n3", "down")
        step.says(UNREACHABLE)
        code, out = step.ends()
    assert code and not out and "Node failure on n3" in step.said(), step.said()
    port(lab, "n3", "up")
    good(lab)
    until(lambda: not lab.pids("n3", "slurmstepd"), "the step there to end")


@pytest.mark.lab_with("FailedNode=drain")
def test_an_administrators_drain_stays(lab):
    lab.run(["scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=fan"], cwd="/",
            check=True)
    port(lab, "n3", "down")
    shown(lab, "host-unreachable")
    port(lab, "n3", "up")
    until(lambda: "failed=" not in node(lab), "n3 to be back")
    assert re.search(r"State=\S*DRAIN.*Reason=fan ", node(lab)), node(lab)


def test_a_paused_host_has_missed_all(lab):
    """When it is back it does not say that multicast alone is missing: the lab's end
    looks for that."""
    for _ in range(2):
        before = len(said(lab))
        lab.fault("pause", "n3")
        until(lambda before=before: "node n3 is overdue" in said(lab)[before:],
              lambda: f"n3 to be overdue: {node(lab)}")
        lab.heal()
        until(lambda before=before: said(lab)[before:].rfind("node n3 is back") >
              said(lab)[before:].rfind("node n3 is excluded") or
              "node n3 is a member" in said(lab)[before:],
              lambda: f"n3 to be back: {node(lab)}")


def test_the_first_node_of_a_step_dies(lab):
    """slurmctld has it as the batch host of srun's and salloc's jobs, which have no
    script: the step ends as with any other node."""
    step = Step(lab, "-w", "n[3-4]", nodes=2)
    lab.fault("kill", "n3")
    step.says(UNREACHABLE)
    code, _ = step.ends()
    assert code and "Node failure on n3" in step.said(), step.said()
    lab.heal()
    good(lab)


@pytest.mark.lab_with("FailedNode=drain")
def test_a_new_strober_finds_a_dead_node(lab):
    """It resumes none before it knows which are silent."""
    port(lab, "n3", "down")
    until(lambda: re.search(r"State=\S*DRAIN.*Reason=storm: no heartbeat", node(lab)),
          lambda: f"n3 to be drained: {node(lab)}")
    since = re.search("failed=host-unreachable,heard=([0-9T:-]+)", node(lab))[1]
    before = len(said(lab))
    lab.kill("ctl", "storm_strober")
    until(lambda: "the cluster domain is open" in said(lab)[before:], "another strober")
    # it has not asked n3 yet
    until(lambda: f"failed=silent,heard={since}" in node(lab), lambda: node(lab))
    until(lambda: f"failed=host-unreachable,heard={since}" in node(lab),
          lambda: f"n3 to be found: {node(lab)}")
    assert "node n3 is back" not in said(lab), said(lab)[before:]
    assert "signs of life again" not in said(lab)[before:]
    port(lab, "n3", "up")
    good(lab)


@pytest.mark.lab_with("FailedNode=drain")
def test_a_witness_without_sockets_proves_nothing(lab):
    """slurmd answers, and cannot be asked: the node is a suspect until ActAfter."""
    step = Step(lab)
    pid, = lab.pids("ctl", "storm_strober")
    owner = os.stat(f"/proc/{pid}")

    def descriptors(soft):
        subprocess.run(["prlimit", "--pid", str(pid), f"--nofile={soft}:"], check=True,
                       user=owner.st_uid, group=owner.st_gid, extra_groups=[])

    descriptors(8)
    before = len(said(lab))
    lab.kill("n3", "agent", signal.SIGSTOP)
    until(lambda: "node n3: no sign of life" in said(lab)[before:], "the suspicion")
    until(lambda: "node n3 is overdue" in said(lab)[before:], "two seconds more")
    assert "host unreachable" not in said(lab)[before:], said(lab)[before:]
    descriptors(1024)
    lab.kill("n3", "agent", signal.SIGCONT)
    good(lab)
    step.goes()
    assert step.ends()[0] == 0, step.said()


def test_all_nodes_are_silent():
    """Of so few that MaxFailedNodes is more: slurmctld's own cable is out."""
    made = new_lab("cable", 2, ["FailedNode=drain"])
    try:
        members(made)
        step = Step(made, nodes=2)
        made.fault("cut", "ctl")
        until(lambda: "all nodes are silent at once" in said(made), lambda: said(made))
        until(lambda: said(made).count("host unreachable") == 2, lambda: said(made))
        made.heal()
        for host in ("n1", "n2"):
            good(made, host)
        assert "draining" not in said(made) and "ending it" not in said(made)
        step.goes()
        assert step.ends()[0] == 0, step.said()
    finally:
        made.down()


def test_a_planned_reboot_is_no_failure():
    """Nor is a node that slurmctld has set down itself: nothing is said of either."""
    made = new_lab("planned", 3, ["FailedNode=down"], ["RebootProgram=/bin/true"])
    try:
        members(made)
        made.run(["scontrol", "reboot", "n1"], cwd="/", check=True)
        made.run(["scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=fan"],
                 cwd="/", check=True)
        until(lambda: re.search(r"State=\S*REBOOT_ISSUED", node(made, "n1")),
              lambda: f"slurmctld to have n1 rebooted: {node(made, 'n1')}")
        for host in ("n1", "n2"):
            port(made, host, "down")
        for host in ("n1", "n2"):
            until(lambda: re.search(f"node {host} gives no sign of life.*node {host} is "
                                    "excluded from", said(made), re.S),
                  f"{host} to be lost")
            assert "failed=" not in node(made, host), node(made, host)
            assert f"storm: node {host}" not in said(made)
        assert "Reason=fan" in node(made, "n2")
        assert "setting down" not in said(made)
    finally:
        made.down()


@pytest.mark.lab_with("FailedNode=down")
def test_a_dead_slurmd_is_no_dead_host(lab):
    """The host lives, and so does the step: nothing is given up, and the node is drained
    by its slurmd's name."""
    step = Step(lab)
    lab.kill("n3", "slurmd")
    until(lambda: re.search(r"State=\S*DRAIN.*Reason=storm: slurmd gone since "
                            r"\d\d:\d\d:\d\d, the host answers", node(lab)),
          lambda: f"n3 to be drained: {node(lab)}")
    step.says(rf"node n3: the host answers, slurmd does not, .* since {TIME}; what runs "
              "there goes on\n")
    step.goes()
    code, out = step.ends()
    assert (code, len(out)) == (0, 16), step.said()
    lab.restart("n3", "slurmd")
    good(lab)


def test_a_dead_agent_is_not_told(lab):
    """slurmd starts another one: no job is told."""
    step = Step(lab)
    lab.kill("n3", "agent")
    before = len(said(lab))
    until(lambda: "node n3 is a member of the cluster domain" in said(lab)[before:],
          "the next agent")
    step.goes()
    assert step.ends()[0] == 0
    assert "storm:" not in step.said() and "storm: node n3" not in said(lab)


@pytest.mark.lab_with("FailedNode=drain", "ActAfter=2s")
@pytest.mark.cut_twice
def test_a_switch_that_dies_is_no_dead_node(lab):
    """More than MaxFailedNodes at once: one line says so, and nothing is done. If few stay
    silent they have failed after all, and that is said."""
    step = Step(lab)
    gone = ["n2", "n3", "n5", "n8"]
    for host in gone:
        port(lab, host, "down")
    for host in gone:
        shown(lab, "host-unreachable", host)
    step.says(r"node n3: host unreachable, .*; so are many nodes at once, so nothing is "
              r"given up yet\n")
    for host in gone:
        port(lab, host, "up")
    for host in gone:
        good(lab, host)
    step.goes()
    code, out = step.ends()
    assert (code, len(out)) == (0, 16), step.said()
    assert len(re.findall(r"4 of 8 nodes are silent at once, more than MaxFailedNodes "
                          r"\(3\)", said(lab))) == 1
    assert "draining" not in said(lab) and "what runs there" not in said(lab)
    step = Step(lab)
    for host in gone:
        port(lab, host, "down")
    for host in gone:
        shown(lab, "host-unreachable", host)
    port(lab, "n8", "up")
    step.says(UNREACHABLE)
    assert step.ends()[0], step.said()
    assert "3 nodes are still silent, no more than MaxFailedNodes (3)" in said(lab)
    assert len(re.findall("node n3: host unreachable", step.said())) == 2, step.said()
