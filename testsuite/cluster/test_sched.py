# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""sched/storm as slurmctld's scheduler: which jobs take turns, what becomes of
them when Slurm suspends, requeues, resizes or restarts, and what is refused.
What nodes do at each turn is test_gang.py's."""
import os
import re

import pytest

from harness import Lab, LabError, until

pytestmark = pytest.mark.storm_only


def new_lab(name, nodes=2, **options):
    made = Lab(f"sched{os.getpid()}-{name}")
    made.up(nodes, **{"gang": 2, "quantum": 20, "cpus": 1, **options})
    return made


@pytest.fixture(scope="module")
def shared():
    """Two nodes of a core each, two jobs on a core."""
    made = new_lab("shared")
    try:
        yield made
    finally:
        made.down()


@pytest.fixture
def lab(shared):
    yield shared
    command(shared, "scancel", "--partition=gang")
    until(lambda: not command(shared, "squeue", "-h"), "jobs to end")


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


def running(lab, *jobs):
    for job in jobs:
        until(lambda: state(lab, job) == "RUNNING", f"job {job} to run")


def turns(lab, part, *jobs):
    for job in jobs:
        until(lambda: (share(lab, job) or [None])[0] == part,
              f"job {job} to have {part} of the turns, not "
              f"{share(lab, job)}")


def strobes(lab, host="n1"):
    return lab.agent_stats(host)["gang"]["gang_strobes"]


def strobed(lab, host="n1"):
    before = strobes(lab, host)
    until(lambda: strobes(lab, host) > before + 5, "strobes")


def test_two_share(lab):
    """Users see who takes turns, nodes hear whose turn it is, and when one of
    the two ends the other runs on without strobes."""
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    assert share(lab, first)[1] == "20ms"
    strobed(lab)
    command(lab, "scancel", second)
    turns(lab, "1/1", first)
    quiet = [strobes(lab)]

    def silent():
        quiet.append(strobes(lab))
        return quiet[-1] == quiet[-2]

    until(silent, "strobes to end", interval=0.3)


def test_alone_on_its_cores(lab):
    """Jobs on other cores than those that share are not touched."""
    pair = [submit(lab, "-w", "n1", nodes=1) for _ in range(2)]
    alone = submit(lab, "-w", "n2", nodes=1)
    running(lab, alone, *pair)
    turns(lab, "1/2", *pair)
    assert share(lab, alone) is None


def test_suspended_is_out(lab):
    """What Slurm suspends is not in the matrix; what it resumes may be one more
    than share a core otherwise."""
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


def test_requeue_and_hold(lab):
    first, second = submit(lab, "--requeue"), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    command(lab, "scontrol", "requeuehold", first)
    turns(lab, "1/1", second)


def test_array(lab):
    """More tasks than may share: all of them end."""
    job = submit(lab, "--array=1-5", "-W", line="srun sleep 0.3")
    until(lambda: not command(lab, "squeue", "-h", "-j", job),
          "the array to end")


def test_het_job(lab):
    """Slurm refuses these where another than backfill schedules."""
    other = submit(lab)
    done = lab.run(["srun", "--partition=gang", "-N1", "-n1", "hostname", ":",
                    "--partition=gang", "-N1", "-n1", "hostname"])
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["n1", "n2"]
    assert state(lab, other) == "RUNNING"


def test_het_components_are_one_gang(lab):
    """They share with jobs of one node each, and have the same turns."""
    pair = [submit(lab, "-w", n, nodes=1) for n in ("n1", "n2")]
    running(lab, *pair)
    het = lab.popen(["srun", "--partition=gang", "-N1", "-n1", "sleep", "600",
                     ":", "--partition=gang", "-N1", "-n1", "sleep", "600"])
    try:
        turns(lab, "1/2", *pair)
        ids = until(lambda: [int(j) for j in command(
            lab, "squeue", "-h", "-t", "R", "-n", "sleep", "-o", "%A").split()],
            "the heterogeneous job")
        assert len(ids) == 2
        turns(lab, "1/2", *ids)
    finally:
        command(lab, "scancel", "-n", "sleep")
        het.wait(30)


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


def test_slurmctld_dies(lab):
    """Its strober goes with it; the next one's takes the domain over."""
    state_file = lab.path("ctl", "/var/lib/slurm/slurmctld/job_state")
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    saved = os.stat(state_file).st_mtime_ns
    # it saves when something changes
    command(lab, "scontrol", "update", f"JobId={first}", "Comment=new")
    until(lambda: os.stat(state_file).st_mtime_ns > saved, "slurmctld to save")
    strobed(lab)
    lab.kill("ctl", "slurmctld")
    until(lambda: not lab.pids("ctl", "storm_strober"), "the strober to end")
    lab.restart("ctl", "slurmctld")
    strobed(lab, "n1")
    strobed(lab, "n2")
    turns(lab, "1/2", first, second)


def test_reconfigure(lab):
    """A new quantum counts at once, and the type of the scheduler stays."""
    first, second = submit(lab), submit(lab)
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    conf = lab.path("ctl", "/etc/slurm/storm.conf")
    with open(conf) as f:
        was = f.read()
    try:
        with open(conf, "a") as f:
            f.write("PartitionQuantum=gang:7,shared:9\n")
        command(lab, "scontrol", "reconfigure")
        until(lambda: share(lab, first)[1] == "7ms", "the new quantum")
        strobed(lab)
        with open(conf, "a") as f:
            f.write("Packing=none\n")
        command(lab, "scontrol", "reconfigure")
        assert "goes on as it was" in lab.log("ctl", "slurmctld")
        strobed(lab)
    finally:
        with open(conf, "w") as f:
            f.write(was)
        command(lab, "scontrol", "reconfigure")


def test_slurms_gang_is_refused():
    with pytest.raises(LabError, match="remove GANG from PreemptMode"):
        new_lab("refused", 1, conf=["PreemptMode=GANG"])


def test_builtin_and_warnings():
    """First come first served, and a configuration in which nothing would ever
    share: it is said."""
    made = new_lab("builtin", 1, quantum=0.1, cpus=4,
                   conf=["SelectTypeParameters=CR_CPU"],
                   storm_conf=["Base=builtin", "Packing=buddy"])
    try:
        log = made.log("ctl", "slurmctld")
        assert "gang scheduling runs sched/builtin" in log
        assert "SelectTypeParameters has no memory" in log
        assert "a switch of 4 tasks takes a node some 28 us" in log
        job = submit(made, nodes=1, line="srun true")
        until(lambda: state(made, job) == "COMPLETED", "the job to end")
    finally:
        made.down()


def test_back_to_stock():
    """SchedulerType back and a restart: a stock system, its jobs included."""
    made = new_lab("back")
    try:
        first, second = submit(made), submit(made)
        running(made, first, second)
        strobed(made)
        conf = made.path("ctl", "/etc/slurm/slurm.conf")
        with open(conf) as f:
            text = f.read()
        with open(conf, "w") as f:
            f.write(text.replace("SchedulerType=sched/storm",
                                 "SchedulerType=sched/backfill"))
        made.restart("ctl", "slurmctld")
        assert not made.pids("ctl", "storm_strober")
        third = submit(made)
        assert state(made, first) == state(made, second) == "RUNNING"
        command(made, "scancel", first)
        running(made, third)
    finally:
        made.down()
