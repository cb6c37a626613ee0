# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""sched/storm on labs: sched_tests.py, and tests that need their own lab:
refused configurations, take-over, and the way back to stock."""
import glob
import os
import pathlib
import re
import signal
import threading

import pytest

import contexts
from firewall import dropped
from harness import (MACHINES, Lab, LabError, chosen, need_records, save_jobs,
                     until, write_epilog)
from lab.sysdep import pids_in_namespace
from sched_tests import *  # noqa: F401, F403
from sched_tests import (CONF, command, edit, in_turn, running, show, silent,
                         standing, state, stepping, strobed, strobes, submit,
                         told, turns)

pytestmark = pytest.mark.storm_only


def new_lab(name, nodes=2, **options):
    need_records()
    made = Lab(f"sched{os.getpid()}-{name}")
    made.up(nodes, **{"gang": 2, "quantum": 20, "cpus": 1, **options})
    return made


@pytest.fixture(scope="module")
def shared():
    """The lab for sched_tests.py. An agent waits for its slurmd as long as a test
    on a busy machine may need."""
    made = new_lab("shared", conf=[f"{k}={v}" for k, v in CONF],
                   storm_conf=["AgentLinger=600s"])
    try:
        write_epilog(made)
        yield made
    finally:
        made.down()


@pytest.fixture
def lab(shared):
    yield shared
    for partition in ("urgent", "gang"):
        command(shared, "scancel", f"--partition={partition}")
    until(lambda: not command(shared, "squeue", "-h"), "jobs to end")


def test_users_are_told_what_a_node_lacks(lab):
    """An agent that finds no space in /run takes no turns: Extra and the jobs'
    words say so and why, until there is space."""
    def resize(size):
        lab.run(["sh", "-c", f"mount -o remount,size={size} /run"], host="n2",
                cwd="/", check=True)

    def is_told():
        word = told(show(lab, "node", "n2")) or {}
        return word.get("out") == "no-gang(disk)"

    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    until(lambda: in_turn(lab, jobs[0]), "the node's turns")
    # what is there stays, and nothing more has room
    resize("$(df -k --output=used /run | tail -n 1 | tr -d ' ')k")
    # an agent that fails takes its predecessor's page away, and tries again
    filler = lab.popen(["sh", "-c", "while :; do head -c 65536 /dev/zero >>/run/full; "
                        "sleep 0.05; done 2>/dev/null"], host="n2", cwd="/")
    try:
        lab.kill("n2", "agent")
        until(is_told, "words that n2 lacks space")
        assert told(show(lab, "job", jobs[0]))["out"] == "n2"
        assert lab.agent_stats("n2")["no_gang"] == "no-gang(disk)"
        assert "excluded from gang scheduling, its jobs run all the time: it " \
            "lacks what its agent needs for that: No space left on device" \
            in lab.log("ctl", "slurmctld")
        assert lab.log("n2", "slurmd").count(
            "gang scheduling cannot start, jobs on this node take no turns, "
            "trying again: No space left on device") == 1
    finally:
        filler.send_signal(signal.SIGKILL)
        filler.wait(120)
        lab.run(["rm", "-f", "/run/full"], host="n2", cwd="/")
        resize("50%")
    until(lambda: in_turn(lab, jobs[0]), "the words to go")
    turns(lab, "1/2", *jobs)
    assert lab.agent_stats("n2")["no_gang"] is None
    # the steps that began before stand still out of their turns, there too
    until(lambda: standing(lab, "n2"), "a step of n2 to stand")


def test_users_are_told_of_a_node_without_slurmd(lab):
    """Without slurmd, or while it is stopped, a node's steps all run, though its agent
    lives and hears strobes: Extra and the jobs' words say so until slurmd is back. Both
    at once, as each agent waits for 15 s."""
    def is_told(host):
        word = told(show(lab, "node", host)) or {}
        return word.get("out") == "no-gang(slurmd)" and "since" in word

    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    both = ("n1", "n2")
    for host in both:
        until(lambda: in_turn(lab, jobs[0], host), "the node's turns")
        until(lambda: standing(lab, host), f"a step of {host} to stand")
    before = len(lab.log("ctl", "slurmctld"))
    agents = {host: lab.pids(host, "agent") for host in both}

    def back(host):
        until(lambda: "out" not in (told(show(lab, "node", host)) or "out"),
              "the node's words to go")
        # the same one, which has lost nothing
        assert lab.pids(host, "agent") == agents[host]
        assert lab.agent_stats(host)["no_gang"] is None
        strobed(lab, host)
        until(lambda: standing(lab, host), f"a step of {host} to stand")

    lab.kill("n1", "slurmd", signal.SIGSTOP)
    lab.end("n2", "slurmd")
    try:
        try:
            for host in both:
                until(lambda: is_told(host), lambda: f"words that {host} has no "
                      f"slurmd, not {show(lab, 'node', host)}")
                assert not standing(lab, host)
                assert lab.agent_stats(host)["no_gang"] == "no-gang(slurmd)"
            until(lambda: told(show(lab, "job", jobs[0]))["out"] == "n[1-2]",
                  lambda: f"both in {show(lab, 'job', jobs[0])}")
            said = lab.log("ctl", "slurmctld")[before:]
            for host in both:
                assert len(re.findall(
                    f"node {host} is excluded .* what its agent needs for that: "
                    "slurmd, which has ended or is stopped", said)) == 1, said
        finally:
            lab.kill("n1", "slurmd", signal.SIGCONT)
        # it goes on while another one is out
        back("n1")
        assert is_told("n2"), show(lab, "node", "n2")
        assert told(show(lab, "job", jobs[0]))["out"] == "n2"
    finally:
        lab.restart("n2", "slurmd")
    back("n2")
    until(lambda: in_turn(lab, jobs[0]), "the words to go")


#: what a firewall on n2 lets not in, and what slurmctld says of that
WALLS = {
    "datagrams": ("udp dport 8383",
                  "node n2 takes no turns, its jobs run all the time: it gives "
                  "signs of life, and no datagram from this host comes to UDP port "
                  "8383 there (is a firewall in between?)",
                  # excluded, so that no map waits for it
                  "node n2 takes part in gang scheduling"),
    # one that knows them by their length: questions are answered
    "strobes": ("udp dport 8383 udp length 128",
                "node n2 takes no turns, its jobs run all the time: it answers, "
                "and no strobe from this host comes to UDP port 8383 there (is a "
                "firewall in between?)",
                "strobes come to node n2 again, at UDP port 8383"),
}


#: what slurmctld says of a node for which a map has waited in vain, for 40 s
WAITED = re.compile("node n2 is excluded .*: no answer in time")


def maps(lab, host):
    return lab.agent_stats(host)["gang"]["gang_maps"]


@pytest.mark.every_release
@pytest.mark.parametrize("wall", WALLS)
def test_users_are_told_that_strobes_are_lost(lab, wall):
    """A node that sends signs of life, and to which no strobe comes, lets its jobs
    run: Extra and the jobs' words say so, one line of the log has the reason, and
    the others go on, also with new jobs. All that ends as soon as strobes come."""
    drops, says, back = WALLS[wall]
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    until(lambda: in_turn(lab, jobs[0]), "the node's turns")
    strobed(lab, "n2")
    before, had = len(lab.log("ctl", "slurmctld")), maps(lab, "n1")

    def said():
        return lab.log("ctl", "slurmctld")[before:]

    with dropped(lab, "n2", "input", drops):
        until(lambda: (told(show(lab, "node", "n2")) or {}).get("out") ==
              "strobes-lost", lambda: f"words that n2 hears no strobe, not "
              f"{show(lab, 'node', 'n2')}")
        until(lambda: told(show(lab, "job", jobs[0])).get("out") == "n2",
              "the job's words")
        until(lambda: says in said(), says)
        assert not standing(lab, "n2")
        # a map that waits for n2 is not to wait for long
        command(lab, "scontrol", "update", f"JobId={jobs[1]}", "Comment=storm:hold")
        until(lambda: maps(lab, "n1") > had, "another map")
        command(lab, "scontrol", "update", f"JobId={jobs[1]}", "Comment=none")
        strobed(lab)
        checked = lab.run(["storm_check", "-q", "-w", "n2"])
        assert "n2: it takes no turns (strobes-lost): no strobe of slurmctld's " \
            "host comes there" in checked.stdout, checked
    until(lambda: in_turn(lab, jobs[0]), "the words to go")
    until(lambda: standing(lab, "n2"), "a step of n2 to stand")
    assert (said().count(says), said().count(back)) == (1, 1), said()
    assert not WAITED.search(said()), said()


def test_no_map_waits_long_for_a_node_that_hears_nothing(lab):
    """A firewall closes while nothing is shared, so that no strobe shows it. The
    first jobs that share take turns on the other nodes, before the map is given up,
    and Extra says why the node is out."""
    drops, says, back = WALLS["datagrams"]
    # also if this is the lab's first test
    until(lambda: back in lab.log("ctl", "slurmctld"), "n2 to take part")
    before = len(lab.log("ctl", "slurmctld"))

    def said():
        return lab.log("ctl", "slurmctld")[before:]

    until(lambda: not standing(lab, "n1"), "nothing to be shared")
    with dropped(lab, "n2", "input", drops):
        jobs = [submit(lab) for _ in "12"]
        running(lab, *jobs)
        strobed(lab)
        until(lambda: (told(show(lab, "node", "n2")) or {}).get("out") ==
              "strobes-lost", lambda: f"words that n2 hears nothing, not "
              f"{show(lab, 'node', 'n2')}")
        until(lambda: standing(lab, "n1"), "a step of n1 to stand")
        assert not standing(lab, "n2")
    until(lambda: in_turn(lab, jobs[0]), "the words to go")
    until(lambda: standing(lab, "n2"), "a step of n2 to stand")
    assert (said().count(says), said().count(back)) == (1, 1), said()
    assert not WAITED.search(said()), said()


@pytest.mark.parametrize("multicast", ["yes", "no"])
def test_nodes_below_one_that_hears_nothing(multicast):
    """A firewall keeps all from n1, which is above n3, and passes it neither strobes nor
    signs of life: n1 is left out though no map waits for it, and n3 takes its turns."""
    made = new_lab("below", 3, storm_conf=["Radix=2", f"Multicast={multicast}"])
    try:
        jobs = [submit(made, nodes=3) for _ in "12"]
        running(made, *jobs)
        turns(made, "1/2", *jobs)
        strobed(made, "n3")
        had = maps(made, "n3")
        with dropped(made, "n1", "input", WALLS["datagrams"][0]):
            until(lambda: (told(show(made, "node", "n1")) or {}).get("out") ==
                  "strobes-lost", "words that n1 hears no strobe")
            strobed(made, "n3")
            until(lambda: re.search(r"storm:\S*out=n1\b", show(made, "job", jobs[0])),
                  lambda: f"n1 alone to be out: {show(made, 'job', jobs[0])}")
            strobed(made, "n3")
            until(lambda: standing(made, "n3"), "a step of n3 to stand")
            assert maps(made, "n3") == had
        until(lambda: in_turn(made, jobs[0], "n1"), "the words to go")
    finally:
        made.down()


def by_multicast(lab, host):
    """Wait until strobes come so, and not only the try of each heartbeat. Until all
    nodes are known to hear it all goes down the tree."""
    def heard():
        text = lab.run(["cat", "/proc/net/netstat"], host=host, cwd="/").stdout
        names, values = [line.split() for line in text.splitlines()
                         if line.startswith("IpExt:")]
        return int(values[names.index("InMcastPkts")])

    def mostly():
        before, first = heard(), strobes(lab, host)
        until(lambda: strobes(lab, host) >= first + 20, "strobes")
        return heard() >= before + 10

    until(mostly, f"multicasts to {host}")


def test_multicast_ends(lab):
    """A node that hears no multicast any more costs no turns: strobes go down the
    tree, until it hears them again."""
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    by_multicast(lab, "n2")
    before = len(lab.log("ctl", "slurmctld"))

    def said():
        return lab.log("ctl", "slurmctld")[before:]

    with dropped(lab, "n2", "input", "ip daddr 224.0.0.0/4"):
        until(lambda: "multicasts do not reach all nodes any more" in said(),
              "slurmctld's word")
        strobed(lab, "n2")
        until(lambda: in_turn(lab, jobs[0]), "no word that n2 is out")
        until(lambda: standing(lab, "n2"), "a step of n2 to stand")
        command(lab, "scancel", jobs[1])
        had = maps(lab, "n2")
        jobs[1] = submit(lab)
        running(lab, jobs[1])
        until(lambda: maps(lab, "n2") > had, "another map")
    until(lambda: "multicasts reach all nodes again" in said(), "multicasts")
    strobed(lab, "n2")
    assert not WAITED.search(said()), said()
    # once for each change, of which a busy machine may make more than two
    words = re.findall("multicasts (do not|reach)", said())
    assert words == (["do not", "reach"] * len(words))[:len(words)], said()


def test_slurmd_asks_again(lab):
    """slurmd finds its part of /run unusable. Once it can be used the agent is
    adopted, without another restart."""
    at = "/run/slurm-storm/n2/watch"
    lab.end("n2", "slurmd")
    lab.run(["sh", "-c", f"rm {at} && mkdir {at}"], host="n2", cwd="/", check=True)
    before = len(lab.log("n2", "slurmd"))
    starts = threading.Thread(target=lab.restart, args=("n2", "slurmd"))
    starts.start()
    try:
        until(lambda: f"no agent runs here, trying again: {at}: Is a directory"
              in lab.log("n2", "slurmd")[before:], "slurmd's words")
    finally:
        lab.run(["rmdir", at], host="n2", cwd="/", check=True)
        starts.join()
    lab.wait_attached("n2")


@pytest.mark.parametrize("what, says", [
    (dict(conf=["PreemptMode=GANG"]), "remove GANG from PreemptMode"),
    (dict(storm_conf=["Packing=tight"]),
     # slurmctld runs, but no agent
     "storm.conf:.*Packing=tight is invalid, allowed: first-fit or buddy; no "
     "agent runs here"),
])
def test_refused_at_start(what, says):
    with pytest.raises(LabError, match=says) as e:
        new_lab("refused", 1, **what)
    assert "timed out" not in str(e.value)


def said_anew(lab, action, last):
    """The new lines of slurmctld's log during `action`, up to the message
    `last`."""
    before = len(lab.log("ctl", "slurmctld"))
    action()
    return until(lambda: (last in lab.log("ctl", "slurmctld")[before:]
                          and lab.log("ctl", "slurmctld")[before:]),
                 f"slurmctld to say {last!r}")


def test_builtin_and_warnings():
    """First come first served, and configurations in which no jobs would ever
    share, or jobs would keep from others what they cannot use: slurmctld's log
    has a warning."""
    made = new_lab("builtin", 1, quantum=0.1, cpus=4,
                   conf=["SelectTypeParameters=CR_CPU", "Licenses=solver:2",
                         # two cores with two threads each
                         "NodeName=n1 CPUs=4 Sockets=1 CoresPerSocket=2 "
                         "ThreadsPerCore=2 RealMemory=1000 State=UNKNOWN"],
                   storm_conf=["Base=builtin", "Packing=buddy",
                               "QosWeight=high:2",
                               "Partition=Gang Policy=local"])
    with open(made.path("ctl", "/etc/slurm/storm.conf")) as f:
        number = f.read().splitlines().index("Partition=Gang Policy=local") + 1
    misprint = f"/etc/slurm/storm.conf:{number}: slurmctld has no partition Gang, " \
        "so what is set for it has no effect"
    weights = "QosWeight in storm.conf has no effect, as without slurmdbd"
    cores = "does not allocate memory, so jobs can use more"
    memory = "partition gang shares its cores, but without DefMemPerCPU"
    too_much = "partition gang shares its cores, but with DefMemPer%s the " \
        "memory of node n1 is too small for 2 jobs"
    per_cpu, per_node = too_much % "CPU=113", too_much % "Node=451"
    nothing = "gang shares its cores, but its node n1 has less than 1 MB"
    quantum = "partition gang: switching 4 tasks takes a node about 28 us"
    gpus = "partition gang shares its cores, and its node n1 has GPUs"
    licenses = "gang shares its cores, and there are licenses (solver:2)"
    killed = "partition all has PreemptMode=SUSPEND"
    grace = "PreemptParameters has suspend_grace_time=0"
    # Slurm 22.05 does not know it
    parameters = "" if chosen() == MACHINES else \
        "PreemptParameters=suspend_grace_time=0\n"
    gang = "PreemptMode has GANG: Slurm's own gang scheduler would suspend"
    remedies = {
        weights: "set AccountingStorageType=accounting_storage/slurmdbd in "
                 "slurm.conf",
        cores: "use CR_Core_Memory, CR_CPU_Memory or CR_Socket_Memory",
        memory: "set DefMemPerCPU to RealMemory / CPUs / 2 or less",
        per_cpu: "set DefMemPerCPU to 112 or less",
        per_node: "set DefMemPerNode to 450 or less",
        nothing: "set its RealMemory",
        quantum: "set Quantum in storm.conf, or on the line of "
                 "Partition=gang there, to 280 us or more",
        gpus: "take such nodes out of the partition, or set GangAllow=gpus "
              "or Partition=gang Policy=local in storm.conf",
        licenses: "set GangAllow=licenses or Partition=gang Policy=local in "
                  "storm.conf",
        misprint: "correct the name (upper and lower case differ), or remove "
                  "it",
        killed: "use REQUEUE, CANCEL or OFF",
        grace: "set it to 1 or more",
        gang: "remove GANG from PreemptMode in slurm.conf",
    }

    def read():
        command(made, "scontrol", "reconfigure")

    def refused():
        assert made.run(["scontrol", "reconfigure"]).returncode == 1

    def only(log, *given):
        for text, remedy in remedies.items():
            lines = [l for l in log.splitlines() if text in l]
            assert bool(lines) == (text in given), text
            assert all(l.endswith("; " + remedy) for l in lines), lines

    try:
        log = until(lambda: licenses in (now := made.log("ctl", "slurmctld"))
                    and now, "the last warning")
        assert "gang scheduling runs sched/builtin" in log
        only(log, cores, quantum, licenses, weights, misprint)
        job = submit(made, nodes=1, line="srun true")
        until(lambda: state(made, job) == "COMPLETED", "the job to end")
        # there is enough memory, but each job gets all of it
        edit(made, "storm.conf", ("QosWeight=high:2\nPartition=Gang Policy=local\n", ""),
             "GangAllow=licenses", "Quantum=300us")
        edit(made, "slurm.conf", (" DefMemPerCPU=125", ""),
             ("CR_CPU\n", "CR_CPU_Memory\n"),
             ("RealMemory=1000",
              "RealMemory=1000 MemSpecLimit=100 Gres=nic:1,gpu:1"),
             ("PreemptMode=OFF",
              f"GresTypes=nic,gpu\nPreemptMode=REQUEUE\n{parameters}"
              "PreemptType=preempt/partition_prio"),
             ("PartitionName=all", "PartitionName=all PreemptMode=SUSPEND"))
        only(said_anew(made, lambda: made.restart("ctl", "slurmctld"), gpus),
             memory, gpus, killed,
             *([grace] if parameters else []))
        if parameters:
            edit(made, "slurm.conf", ("grace_time=0", "grace_time=1"))
        edit(made, "storm.conf", "GangAllow=gpus,licenses")
        only(said_anew(made, read, memory), memory, killed)
        edit(made, "slurm.conf",
             ("PreemptMode=REQUEUE", "PreemptMode=SUSPEND,GANG"))
        if chosen() == MACHINES:
            # slurmctld accepts it, and starts its own gang scheduler
            only(said_anew(made, read, memory), memory, killed, gang)
        else:
            # a new slurmctld ends at once, and the old one goes on as before
            only(said_anew(made, refused, "gang scheduling runs"), gang)
        edit(made, "slurm.conf",
             ("PreemptMode=SUSPEND,GANG", "PreemptMode=REQUEUE"))
        only(said_anew(made, read, memory), memory, killed)
        # Too much for all that may share, of the whole cluster or of the
        # partition. The message about licenses is the last.
        edit(made, "storm.conf", "GangAllow=gpus")
        for change, said in (
                ("DefMemPerCPU=113", {per_cpu}),
                (("DefMemPerCPU=113", "DefMemPerCPU=112"), set()),
                (("PartitionName=gang", "PartitionName=gang DefMemPerNode=451"),
                 {per_node}),
                (("DefMemPerNode=451", "DefMemPerNode=450"), set())):
            edit(made, "slurm.conf", change)
            only(said_anew(made, read, licenses), killed, licenses, *said)
        edit(made, "slurm.conf", ("RealMemory=1000", "RealMemory=101"))
        only(said_anew(made, lambda: made.restart("ctl", "slurmctld"),
                       licenses), killed, licenses, nothing)
    finally:
        made.down()


def wait_for_go(lab, *options):
    """A job that ends without error when go() is called."""
    return submit(lab, *options, line="srun sh -c "
                  "'until test -e /home/go; do sleep 0.1; done'")


def go(lab):
    with open(os.path.join(lab.dir, "home", "go"), "w"):
        pass


def agent_elsewhere(lab, host):
    """An agent of another lab's host that has this name."""
    own = pids_in_namespace(lab.pid(host))
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = pathlib.Path(path).read_text().split("\0")
        except OSError:     # it has just ended
            continue
        if words[:3] == ["storm_agent", "--node", host] and \
                int(path.split("/")[2]) not in own:
            return True
    return False


def ours(lab, host):
    """The state of a node that takes part in gang scheduling.  Hosts of all labs
    share the cpu groups of version 1, so only the node's own group counts, and not
    if another lab has such a node."""
    return [p for pattern in (f"/run/slurm-storm/{host}/gang",
                              f"/sys/fs/cgroup/**/slurm-storm/{host}")
            for p in glob.glob(lab.path(host, pattern), recursive=True)
            if "/cgroup/cpu" not in p or not agent_elsewhere(lab, host)]


def test_back_to_stock():
    """SchedulerType back and a restart give a stock system again, including
    its jobs; and the other way round."""
    made = new_lab("back")
    storm, stock = "SchedulerType=sched/storm", "SchedulerType=sched/backfill"
    try:
        first, second = wait_for_go(made), wait_for_go(made)
        running(made, first, second)
        turns(made, "1/2", first, second)
        strobed(made)
        stepping(made, first, second)
        edit(made, "slurm.conf", (storm, stock))
        made.restart("ctl", "slurmctld")
        until(lambda: not made.pids("ctl", "storm_strober"), "the strober to end")
        third = wait_for_go(made)
        assert state(made, first) == state(made, second) == "RUNNING"
        for host in ("n1", "n2"):
            until(lambda: not standing(made, host), f"{host} to be free")
        quiet = [silent(made, h) for h in ("n1", "n2")]
        command(made, "scancel", first)
        running(made, third)
        go(made)
        for job in (second, third):
            until(lambda: state(made, job) == "COMPLETED", f"{job} to end")
        assert [strobes(made, h) for h in ("n1", "n2")] == quiet
        # its slurmd has not read slurm.conf again, and the next agent does
        before = len(made.log("n1", "slurmd"))
        made.kill("n1", "agent")
        made.wait_attached("n1", since=before)
        assert "replacing the agent" not in made.log("n1", "slurmd")[before:]
        for host in ("n1", "n2"):
            made.restart(host, "slurmd")
            until(lambda: not ours(made, host), lambda: "nothing of ours to "
                  f"be left: {ours(made, host)}")
        edit(made, "slurm.conf", (stock, storm))
        made.restart("ctl", "slurmctld")
        first, second = submit(made), submit(made)
        running(made, first, second)
        turns(made, "1/2", first, second)
        strobed(made, "n1")
        strobed(made, "n2")
    finally:
        made.down()


def test_backup_takes_over():
    """Another slurmctld continues with the same gangs, by a strober in a new
    epoch, and with the same contexts. It gives a step's context to no other
    step, whether or not it knows the step. Then it returns both to the first
    slurmctld. Both start heterogeneous jobs, which only backfill does, and
    only under its own name."""
    count = 4
    # one place on each node is left for other jobs
    made = new_lab("backup", gang=3, conf=[
        "SlurmctldHost=ctl(10.83.0.1)", "SlurmctldHost=login(10.83.0.2)",
        "StateSaveLocation=/home/slurmctld", "SlurmctldTimeout=10"],
        storm_conf=[f"ContextCount={count}"])

    def epoch():
        return int(re.search(r"epoch (\d+)", command(
            made, "cat", "/home/slurmctld/storm_gang"))[1])

    def goes_on(host, other, was):
        until(lambda: made.pids(host, "storm_strober"), f"{host}'s strober")
        until(lambda: epoch() > was, "a new epoch")
        for node in ("n1", "n2"):
            strobed(made, node)
        until(lambda: not made.pids(other, "storm_strober"),
              f"{other}'s strober to end")
        assert {state(made, j) for j in pair} == {"RUNNING"}

    def het():
        one = ["--partition=gang", "-N1", "-n1", "--mem=100", "hostname"]
        done = made.run(["srun", *one, ":", *one])
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == ["n1", "n2"]

    def step(name):
        """One more of the first job's"""
        return contexts.Step(made, name, f"--jobid={pair[0]}", "-N1", "-n1",
                             "--overlap", "--mem=10", user="root")

    def one_more(name):
        """It has a context that no running step has."""
        one = step(name)
        assert contexts.apart(one.context(), [s.context() for s in steps])
        steps.append(one)

    def none_left():
        contexts.has_none(made.run(
            ["srun", "-v", f"--jobid={pair[1]}", "-N1", "-n1", "--overlap",
             "--mem=10", "sh", "-c", contexts.COUNT_THEM]))

    try:
        command(made, "chown", "slurm", "/run/slurm", "/var/log/slurm")
        command(made, "slurmctld")
        pair = [submit(made) for _ in "12"]
        running(made, *pair)
        stepping(made, *pair)
        strobed(made)
        save_jobs(made, pair[0], "/home/slurmctld/job_state")
        # it does not save again for some seconds
        steps = [step("unsaved")]
        steps[0].context()
        was = epoch()
        made.kill("ctl", "slurmctld")
        command(made, "scontrol", "takeover")
        goes_on("login", "ctl", was)
        turns(made, "1/2", *pair)
        het()
        turns(made, "1/2", *pair)
        # three of four are of the pair's steps and the one it may not know
        one_more("first")
        none_left()
        was_first = steps.pop()
        was_first.end()
        one_more("second")
        assert steps[1].context()[0] == was_first.context()[0]
        was = epoch()
        made.restart("ctl", "slurmctld")
        goes_on("ctl", "login", was)
        # A node that has not registered is busy for srun, which waits a minute.
        until(lambda: made.run(
            ["srun", "--immediate=1", f"--jobid={pair[1]}", "-N1", "-n1",
             "--overlap", "--mem=10", "true"]).returncode == 0,
            "ctl to know a node")
        none_left()
        for one in steps:
            one.end()
        command(made, "scancel", *pair)
        until(lambda: not command(made, "squeue", "-h"), "jobs to end")
        het()
        # all are back with the end of the jobs
        job = submit(made, line="sleep 600")
        running(made, job)
        seen = {contexts.context(contexts.srun(
            made, f"--jobid={job}", "-N1", "-n1", user="root")[0])[0]
            for _ in range(2 * count)}
        assert seen == set(range(1, count + 1))
        command(made, "scancel", job)
        until(lambda: not command(made, "squeue", "-h"), "jobs to end")
    finally:
        made.down()
