# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""sched/storm as slurmctld's scheduler: which jobs take turns, and what happens to
them when Slurm suspends, requeues, resizes or restarts. The tests run on any
cluster with two nodes of one core, two jobs on a core, and CONF: the fixture
`lab`, which ends their jobs. test_sched.py has a lab, ../hosts/test_sched.py has
hosts with systemd. gang_tests.py tests what nodes do at each turn.
"""
import contextlib
import pathlib
import re
import signal
import time

import pytest

from gang import groups_in
from harness import (EPILOG, MACHINES, LabError, agent_stands, chosen, epilog_ran,
                     save_jobs, until)
from lab import slurmconf

#: another partition, whose jobs do not share, and preempt others
CONF = [
    ("PreemptType", "preempt/partition_prio"), ("PreemptMode", "REQUEUE"),
    ("Epilog", EPILOG),
    ("PartitionName", "urgent Nodes=n[1-2] PriorityTier=10 PreemptMode=OFF "
                      "OverSubscribe=NO DefMemPerCPU=100 State=UP")]


#: What slurmctld says when it is to read a bad storm.conf. From 23.11 on a new
#: process reads it.
KEEPS = "keeps its settings" if chosen() == MACHINES else \
    "uses the settings that it had before"


def command(lab, *argv):
    done = lab.run([str(a) for a in argv])
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout.strip()


def submit(lab, *options, nodes=2, line="srun sleep 600"):
    out = command(lab, "sbatch", "--parsable", "--partition=gang", "-D",
                  "/home", "-o", "/dev/null", f"-N{nodes}", f"-n{nodes}",
                  "--mem=100",
                  *options, "--wrap", line)
    return int(out)


def field(lab, job, name):
    text = command(lab, "scontrol", "-o", "show", "job", job)
    found = re.search(rf"\b{name}=(\S*)", text)
    return found and found[1]


def state(lab, job):
    return field(lab, job, "JobState")


def share(lab, job):
    """("1/2", "20ms") from SystemComment, or None"""
    text = command(lab, "scontrol", "-o", "show", "job", job)
    found = re.search(r"storm:turns=([0-9/]+),quantum=(\w+),had=", text)
    return found and (found[1], found[2])


def quantum(lab):
    return dict(slurmconf.read_storm_conf(lab.dir))["Quantum"] + "ms"


def running(lab, *jobs):
    for job in jobs:
        until(lambda: state(lab, job) == "RUNNING", f"job {job} to run")


def run_again(lab, *jobs):
    """Shorten the two minutes that Slurm delays a requeued job. Not to zero:
    nodes refuse a credential of the same second in which they ended the job,
    and slurmctld would then fail the job."""
    asked = dict.fromkeys(jobs, -60)

    def back(job):
        now = state(lab, job)
        assert now != "FAILED", show(lab, "job", job)
        # Slurm may set its two minutes afterwards; each time is a new delay
        if time.monotonic() > asked[job] + 10 and \
                field(lab, job, "Reason") == "BeginTime":
            asked[job] = time.monotonic()
            command(lab, "scontrol", "update", f"JobId={job}",
                    "StartTime=now+2")
        return now == "RUNNING"

    until(lambda: all([back(j) for j in jobs]),
          lambda: "jobs to run again: " + "\n".join(
              show(lab, "job", j) for j in jobs), interval=0.2)


def stepping(lab, *jobs):
    """Their steps are known, so that slurmctld may end, or read its configuration:
    it drops an srun's request for a step meanwhile, and the job then fails."""
    for job in jobs:
        until(lambda: f"{job}.0" in command(lab, "squeue", "-h", "-s", "-o",
                                            "%i").split(), f"step {job}.0")


def turns(lab, part, *jobs):
    for job in jobs:
        until(lambda: (share(lab, job) or [None])[0] == part,
              lambda: f"job {job} to have {part} of the turns, not "
              f"{share(lab, job)}")


def strobes(lab, host="n1"):
    return lab.agent_stats(host)["gang"]["gang_strobes"]


def standing(lab, host):
    """The jobs whose steps are stopped on the node, according to the
    kernel."""
    if hasattr(lab, "standing"):
        return lab.standing(host)
    base = pathlib.Path(lab.path(host, "/sys/fs/cgroup"))
    found = []
    for tree in ("", "unified/"):
        for path in groups_in(base / f"{tree}slurm-storm/{host}",
                              "cgroup.events"):
            with contextlib.suppress(OSError):      # it has just ended
                if "frozen 1" in (path / "cgroup.events").read_text():
                    found.append(int(path.name.split(".")[0]))
    return found


def silent(lab, host="n1"):
    """It receives no strobes any more. Returns their number."""
    quiet = [strobes(lab, host)]

    def same():
        quiet.append(strobes(lab, host))
        return quiet[-1] == quiet[-2]

    until(same, f"strobes to {host} to end", interval=0.3)
    return quiet[-1]


def strobed(lab, host="n1"):
    """It receives strobes. Its agent may be replaced meanwhile, and the next
    one counts anew: from 23.11 on a reconfigure does it."""
    seen = []

    def more():
        try:
            seen.append(strobes(lab, host))
        except LabError:
            return False
        if seen[-1] < seen[0]:
            del seen[:-1]
        return seen[-1] > seen[0] + 5

    until(more, "strobes")


def edit(lab, path, *changes):
    """Change slurmctld's configuration: pairs (old, new), or a line to add."""
    path = f"{lab.dir}/etc/slurm/{path}"
    with open(path) as f:
        text = f.read()
    for change in changes:
        if isinstance(change, str):
            text += change + "\n"
        else:
            assert change[0] in text
            text = text.replace(*change)
    # at once: daemons that begin just now must not read half of it
    slurmconf.write(path, text)


def test_two_share(lab):
    """Users see which jobs take turns, and nodes receive the turns. When one
    of two jobs ends, the other runs on without strobes."""
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    assert share(lab, first)[1] == quantum(lab)
    strobed(lab)
    command(lab, "scancel", second)
    turns(lab, "1/1", first)
    silent(lab)


def told(text):
    """{key: value} of the storm: word in a line of scontrol's, or None"""
    found = re.search(r"\bstorm:(\S*)", text)
    return found and dict(p.split("=") for p in found[1].split(","))


def show(lab, what, name):
    return command(lab, "scontrol", "-o", "show", what, name)


def test_users_are_told(lab):
    """Comments show slot, share, quantum and misses of jobs and nodes, and
    keep what others have written there. A job's figures stay after its end."""
    command(lab, "scontrol", "update", "NodeName=n1", "Extra=rack 7")
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    words = [told(show(lab, "job", j)) for j in jobs]

    def has(host, **values):
        """The node's word, if it has these values."""
        word = told(show(lab, "node", host))
        return word and values.items() <= word.items() and word

    assert {w["slot"] for w in words} == {"0/2", "1/2"}
    assert {w["quantum"] for w in words} == {quantum(lab)}
    assert all(w["missed"].isdigit() for w in words)
    for host in ("n1", "n2"):
        word = until(lambda: has(host, jobs="2", slots="2",
                                 quantum=quantum(lab)), lambda:
                     f"{host}'s word: " + show(lab, "node", host))
        assert word["missed"].isdigit()
    assert "Extra=rack 7 storm:" in show(lab, "node", "n1")

    def had(job):
        return float(told(show(lab, "job", job))["had"].rstrip("s"))

    until(lambda: had(jobs[0]) > 0 and had(jobs[1]) > 0, "shares to be had")
    command(lab, "scancel", jobs[0])
    epilog_ran(lab, jobs[0], "n1", "n2")
    until(lambda: not told(show(lab, "node", "n1")), "n1's word to go")
    assert "Extra=rack 7 " in show(lab, "node", "n1") + " "
    until(lambda: told(show(lab, "job", jobs[0]))["turns"] == "0/1", lambda:
          "the last word of what has ended: " + show(lab, "job", jobs[0]))
    assert had(jobs[0]) > 0
    before = had(jobs[1])
    command(lab, "scontrol", "suspend", jobs[1])
    until(lambda: told(show(lab, "job", jobs[1]))["turns"] == "0/1",
          "the suspended one to have no turn")
    command(lab, "scontrol", "resume", jobs[1])
    turns(lab, "1/1", jobs[1])
    # its figures stay when it shares again
    other = submit(lab)
    turns(lab, "1/2", jobs[1], other)
    until(lambda: had(jobs[1]) > before, "more to be had")
    command(lab, "scontrol", "update", "NodeName=n1", "Extra=")


def test_alone_on_its_cores(lab):
    """Jobs on cores without sharing do not change."""
    pair = [submit(lab, "-w", "n1", nodes=1) for _ in range(2)]
    alone = submit(lab, "-w", "n2", nodes=1)
    running(lab, alone, *pair)
    turns(lab, "1/2", *pair)
    assert share(lab, alone) is None


def test_suspended_is_out(lab):
    """A job that Slurm suspends is not in the matrix. A job that it resumes
    may exceed the number that share a core."""
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    command(lab, "scontrol", "suspend", first)
    assert state(lab, first) == "SUSPENDED"
    turns(lab, "1/1", second)
    third = submit(lab)
    running(lab, third)
    turns(lab, "1/2", second, third)
    command(lab, "scontrol", "resume", first)
    turns(lab, "1/3", first, second, third)


def test_third_pends(lab):
    jobs = [submit(lab) for _ in range(3)]
    running(lab, *jobs[:2])
    turns(lab, "1/2", *jobs[:2])
    assert state(lab, jobs[2]) == "PENDING"
    command(lab, "scancel", jobs[0])
    running(lab, jobs[2])
    turns(lab, "1/2", *jobs[1:])


def test_reservation(lab):
    """Jobs that have reserved a node share it only with each other."""
    command(lab, "scontrol", "create", "reservation", "ReservationName=mine",
            "Users=root", "StartTime=now", "Duration=10", "Nodes=n1",
            "PartitionName=gang")
    try:
        inside = [submit(lab, "--reservation=mine", nodes=1) for _ in "12"]
        running(lab, *inside)
        outside = [submit(lab, nodes=1) for _ in "12"]
        running(lab, *outside)
        turns(lab, "1/2", *inside, *outside)
        assert {field(lab, j, "NodeList") for j in inside} == {"n1"}
        assert {field(lab, j, "NodeList") for j in outside} == {"n2"}
        command(lab, "scancel", *inside, *outside)
        until(lambda: not command(lab, "squeue", "-h"), "jobs to end")
    finally:
        command(lab, "scontrol", "delete", "ReservationName=mine")


def test_resized(lab):
    """A job that gives a node back leaves it to the job that it shared with,
    and to jobs that come later."""
    wide = submit(lab, line="sleep 600")
    running(lab, wide)
    right = submit(lab, "-w", "n2", nodes=1)
    running(lab, right)
    turns(lab, "1/2", wide, right)
    command(lab, "scontrol", "update", f"JobId={wide}", "NumNodes=1")
    assert field(lab, wide, "NodeList") == "n1"
    turns(lab, "1/1", wide, right)
    left = submit(lab, "-w", "n1", nodes=1)
    running(lab, left)
    turns(lab, "1/2", wide, left)
    assert share(lab, right)[0] == "1/1"
    second = submit(lab, "-w", "n2", nodes=1)
    running(lab, second)
    turns(lab, "1/2", right, second)


def test_partition_loses_a_node(lab):
    """The node moves to another partition. The jobs that run there keep their
    turns on the node that is left."""
    jobs = [submit(lab), submit(lab)]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    command(lab, "scontrol", "update", "PartitionName=gang", "Nodes=n1")
    command(lab, "scontrol", "create", "PartitionName=other", "Nodes=n2",
            "OverSubscribe=FORCE:3", "DefMemPerCPU=100", "State=UP")
    try:
        third = submit(lab, "--partition=other", nodes=1)
        until(lambda: "gang scheduling in partition other: 1 nodes" in
              lab.log("ctl", "slurmctld"), "two zones")
        strobed(lab)
        # a change of which nodes are notified: the map can still be made
        command(lab, "scontrol", "suspend", jobs[0])
        turns(lab, "1/1", jobs[1])
        command(lab, "scontrol", "resume", jobs[0])
        turns(lab, "1/2", *jobs)
        assert "no gang scheduling: cannot pack the map" not in lab.log("ctl", "slurmctld")
    finally:
        command(lab, "scancel", *jobs, third)
        until(lambda: not command(lab, "squeue", "-h"), "jobs to end")
        command(lab, "scontrol", "delete", "PartitionName=other")
        command(lab, "scontrol", "update", "PartitionName=gang",
                "Nodes=n[1-2]")


def test_preempted(lab):
    """Both of a node's jobs are requeued for one that may preempt them, and
    share again when it has ended."""
    pair = [submit(lab, "--requeue") for _ in "12"]
    running(lab, *pair)
    turns(lab, "1/2", *pair)
    urgent = submit(lab, "--partition=urgent")
    running(lab, urgent)
    assert {state(lab, j) for j in pair} == {"PENDING"}
    assert share(lab, urgent) is None
    command(lab, "scancel", urgent)

    run_again(lab, *pair)
    turns(lab, "1/2", *pair)
    strobed(lab)


def test_node_drained_then_down(lab):
    """A node that drains keeps its gangs. A node that is down loses its own
    gangs and no others."""
    left = [submit(lab, "-w", "n1", nodes=1) for _ in "12"]
    right = [submit(lab, "-w", "n2", "--no-requeue", nodes=1) for _ in "12"]
    running(lab, *left, *right)
    turns(lab, "1/2", *left, *right)
    try:
        command(lab, "scontrol", "update", "NodeName=n1,n2", "State=DRAIN",
                "Reason=test")
        strobed(lab, "n1")
        strobed(lab, "n2")
        command(lab, "scontrol", "update", "NodeName=n2", "State=DOWN",
                "Reason=test")
        for job in right:
            until(lambda: state(lab, job) == "NODE_FAIL", f"{job} to fail")
        strobed(lab, "n1")
        assert {share(lab, j)[0] for j in left} == {"1/2"}
    finally:
        command(lab, "scontrol", "update", "NodeName=n1,n2", "State=RESUME")
    right = [submit(lab, "-w", "n2", nodes=1) for _ in "12"]
    running(lab, *right)
    turns(lab, "1/2", *left, *right)
    strobed(lab, "n2")


def test_requeue_and_hold(lab):
    """A held job gives its turns back, and gets them again when it is
    released."""
    first, second = submit(lab, "--requeue"), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    command(lab, "scontrol", "requeuehold", first)
    turns(lab, "1/1", second)
    until(lambda: state(lab, first) == "PENDING", "it to have ended")
    command(lab, "scontrol", "release", first)
    run_again(lab, first)
    turns(lab, "1/2", first, second)
    strobed(lab)


def test_array(lab):
    """Its tasks share with each other. If there are more than may share, all
    of them end."""
    array = submit(lab, "--array=1-2")
    pair = [f"{array}_{i}" for i in (1, 2)]
    running(lab, *pair)
    turns(lab, "1/2", *pair)
    assert {told(show(lab, "job", j))["slot"] for j in pair} == {"0/2", "1/2"}
    command(lab, "scancel", array)
    job = submit(lab, "--array=1-5", "-W", line="srun sleep 0.3")
    until(lambda: not command(lab, "squeue", "-h", "-j", job),
          "the array to end")


def test_het_job(lab):
    """Slurm refuses these under any scheduler but backfill."""
    other = submit(lab)
    running(lab, other)
    one = ["--partition=gang", "-N1", "-n1", "printenv", "SLURMD_NODENAME"]
    done = lab.run(["srun", *one, ":", *one])
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["n1", "n2"]
    assert state(lab, other) == "RUNNING"


def test_het_components_are_one_gang(lab):
    """All components have the same turns on each node, and the jobs that they
    share with have the others, even if a component alone could have had
    another turn."""
    left = submit(lab, "-w", "n1", nodes=1)
    running(lab, left)
    het = lab.popen(["srun", "--partition=gang", "-w", "n2", "-N1", "-n1",
                     "sleep", "600", ":", "--partition=gang", "-w", "n1",
                     "-N1", "-n1", "sleep", "600"])
    try:
        turns(lab, "1/2", left)
        ids = until(lambda: len(found := [int(j) for j in command(
            lab, "squeue", "-h", "-t", "R", "-n", "sleep", "-o", "%A").split()])
            == 2 and found, "the heterogeneous job")
        right = submit(lab, "-w", "n2", nodes=1)
        running(lab, right)
        turns(lab, "1/2", left, right, *ids)

        slots = [told(show(lab, "job", j))["slot"] for j in (*ids, left, right)]
        assert slots[0] == slots[1] != slots[2] == slots[3], slots
    finally:
        command(lab, "scancel", "-n", "sleep")
        het.wait(120)


def test_strober_dies(lab):
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    strobed(lab)
    old = lab.pids("ctl", "storm_strober")
    assert len(old) == 1
    lab.kill("ctl", "storm_strober")
    until(lambda: lab.pids("ctl", "storm_strober") not in ([], old),
          "another strober")
    strobed(lab, "n1")
    strobed(lab, "n2")
    assert state(lab, first) == state(lab, second) == "RUNNING"


def out_of_turn(lab, job, host="n2"):
    """Both words, of the node and of the job, say that the node is out."""
    node, of_job = told(show(lab, "node", host)), told(show(lab, "job", job))
    return node and node.get("out") == "node-lost" and \
        of_job.get("out") == host and "since" in node


def in_turn(lab, job, host="n2"):
    node, of_job = told(show(lab, "node", host)), told(show(lab, "job", job))
    return node and "out" not in node and "jobs" in node and \
        "out" not in of_job


def test_users_are_told_of_a_node_that_is_out(lab):
    """A node whose agent is stopped, or has ended for good, lets its jobs run
    all the time: Extra and the jobs' words say so until it is back."""
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    until(lambda: in_turn(lab, jobs[0]), "the node's turns")
    with agent_stands(lab, "n2"):
        until(lambda: out_of_turn(lab, jobs[0]), "words that n2 is out")
        assert "out" not in told(show(lab, "node", "n1"))
    until(lambda: in_turn(lab, jobs[0]), "the words to go")
    # its next agents refuse storm.conf, and find no good one
    conf = lab.path("n2", "/etc/slurm/storm.conf")
    with open(conf) as f:
        good = f.read()
    with open(conf, "w") as f:
        f.write(good + "Radix=1\n")
    lab.run(["rm", "/run/slurm-storm/n2/storm_conf"], host="n2", cwd="/")
    before = len(lab.log("ctl", "slurmctld"))
    try:
        lab.kill("n2", "agent")
        until(lambda: out_of_turn(lab, jobs[1]), "words that n2 is out")
        # longer than until it is excluded: the word stays
        until(lambda: "node n2 is excluded" in lab.log("ctl", "slurmctld")[before:],
              "n2's exclusion")
        assert out_of_turn(lab, jobs[1])
        # another strober has never heard it
        lab.kill("ctl", "storm_strober")
        until(lambda: (told(show(lab, "node", "n2")) or {}).get("out") == "not-heard",
              lambda: "the other word: " + show(lab, "node", "n2"))
        says = lab.run(["/run/stormlab/stage/bin/storm", "check", "-w", "n2"]).stdout
        assert "(not-heard): slurmctld's host has not heard it yet: wait" in says, says
    finally:
        with open(conf, "w") as f:
            f.write(good)
    until(lambda: in_turn(lab, jobs[1]), "the words to go")


def test_users_are_told_of_no_strober(lab):
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    lab.kill("ctl", "storm_strober", signal.SIGSTOP)
    try:
        until(lambda: (told(show(lab, "node", "n1")) or {}).get("out") ==
              "no-strober" and told(show(lab, "job", jobs[0])).get("out") ==
              "n[1-2]", lambda: "both words: " + show(lab, "node", "n1") +
              show(lab, "job", jobs[0]))
    finally:
        lab.kill("ctl", "storm_strober", signal.SIGCONT)
    until(lambda: in_turn(lab, jobs[0], "n1"), "the words to go")


def test_slurmctld_dies(lab):
    """Its strober ends with it; the next slurmctld's strober takes the domain
    over."""
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    stepping(lab, first, second)
    save_jobs(lab, first)
    strobed(lab)
    lab.kill("ctl", "slurmctld")
    until(lambda: not lab.pids("ctl", "storm_strober"), "the strober to end")
    lab.restart("ctl", "slurmctld")
    strobed(lab, "n1")
    strobed(lab, "n2")
    turns(lab, "1/2", first, second)


def test_reconfigure(lab):
    """A new quantum takes effect at once; the scheduler stays."""
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    stepping(lab, first, second)
    conf = lab.path("ctl", "/etc/slurm/storm.conf")
    with open(conf) as f:
        was = f.read()
    try:
        with open(conf, "a") as f:
            f.write("Partition=gang Quantum=7\nPartition=shared Quantum=9\n")
        command(lab, "scontrol", "reconfigure")
        until(lambda: (share(lab, first) or "..")[1] == "7ms",
              "the new quantum")
        strobed(lab)
        with open(conf, "a") as f:
            f.write("Packing=none\n")
        before = len(lab.log("ctl", "slurmctld"))
        command(lab, "scontrol", "reconfigure")
        until(lambda: KEEPS in lab.log("ctl", "slurmctld")[before:],
              f"slurmctld to say {KEEPS!r}")
        strobed(lab)
    finally:
        with open(conf, "w") as f:
            f.write(was)
        command(lab, "scontrol", "reconfigure")


@pytest.mark.skipif(chosen() == MACHINES, reason="SKIP: Slurm 22.05: no new "
                    "slurmctld starts at a reconfigure")
def test_reconfigure_refused(lab):
    """The new slurmctld ends at a wrong slurm.conf. The old one, which has
    stopped all schedulers already, goes on with them."""
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    stepping(lab, first, second)
    conf = lab.path("ctl", "/etc/slurm/slurm.conf")
    with open(conf) as f:
        was = f.read()
    pid = lab.pids("ctl", "slurmctld")
    try:
        edit(lab, "slurm.conf", "SchedulerType=sched/nonsense")
        done = lab.run(["scontrol", "reconfigure"])
        assert done.returncode == 1, done
    finally:
        with open(conf, "w") as f:
            f.write(was)
    strobed(lab, "n1")
    strobed(lab, "n2")
    assert lab.pids("ctl", "slurmctld") == pid
    command(lab, "scancel", first)
    turns(lab, "1/1", second)
    third = submit(lab)
    running(lab, third)
    turns(lab, "1/2", second, third)


def test_overlapping_partitions(lab):
    """Partitions that a third one connects act as one, with the shortest of
    their quanta."""
    conf = lab.path("ctl", "/etc/slurm/storm.conf")
    with open(conf) as f:
        was = f.read()

    def create(name, nodes):
        command(lab, "scontrol", "create", f"PartitionName={name}",
                f"Nodes={nodes}", "OverSubscribe=FORCE:2", "DefMemPerCPU=100",
                "State=UP")

    def apart(**quanta):
        with open(conf, "w") as f:
            f.write(was + "".join(f"Partition={name} Quantum={ms}\n"
                                  for name, ms in quanta.items()))
        # which forgets partitions that are not in slurm.conf
        command(lab, "scontrol", "reconfigure")
        command(lab, "scontrol", "update", "PartitionName=gang", "Nodes=n1")
        create("other", "n2")

    def told_all(word):
        for what, name in [("node", "n1"), *(("job", j) for j in jobs)]:
            until(lambda: (told(show(lab, what, name)) or {}).get("quantum")
                  == word, lambda: f"{word} in {show(lab, what, name)}")

    try:
        apart(over=5)
        jobs = [submit(lab, nodes=1) for _ in "12"]
        running(lab, *jobs)
        stepping(lab, *jobs)
        told_all(quantum(lab))
        create("over", "n[1-2]")
        told_all("5ms")
        strobed(lab)
        # the shortest is that of a partition on other nodes
        apart(over=5, other=3)
        told_all(quantum(lab))
        create("over", "n[1-2]")
        told_all("3ms")
        strobed(lab)
    finally:
        command(lab, "scancel", "--partition=gang")
        until(lambda: not command(lab, "squeue", "-h"), "jobs to end")
        with open(conf, "w") as f:
            f.write(was)
        command(lab, "scontrol", "reconfigure")


@pytest.mark.long
def test_time_limit_out_of_turn(lab):
    """A time limit counts while others have their turn, and ends the job at
    once, with its epilog. (slurmctld checks every 30 s.)"""
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)
    stepping(lab, *jobs)
    conf = lab.path("ctl", "/etc/slurm/storm.conf")
    with open(conf) as f:
        was = f.read()
    try:
        edit(lab, "storm.conf", "Partition=gang Quantum=300s")
        command(lab, "scontrol", "reconfigure")
        still = until(lambda: standing(lab, "n1"), "a job to stand still")[0]
        command(lab, "scontrol", "update", f"JobId={still}", "EndTime=now")
        until(lambda: state(lab, still) == "TIMEOUT", "its end")
        epilog_ran(lab, still, "n1", "n2")
        assert all(state(lab, j) == "RUNNING" for j in jobs if j != still)
    finally:
        with open(conf, "w") as f:
            f.write(was)
        command(lab, "scontrol", "reconfigure")
