# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Hosts as Debian makes them: systemd, control groups of version 2 and nothing
else, Slurm's daemons as units with groups of Slurm's own for every step.  Jobs
take turns in those, whatever dies everything runs, and what comes to a job out
of its turn reaches it."""
import hashlib
import os
import pathlib
import re

import pytest

from turns import NODES, QUANTUM

LAYOUT, CONF, STORM_CONF = "v2", [], []
BATCH = 0xfffffffb
CGROUP_V2 = 1       # doc/gang-trace.md


def marks(hosts):
    return {n: hosts.mark(n) for n in hosts.names}


def all_run_there(hosts, node):
    """By and by, and from then on."""
    hosts.until(lambda: not hosts.stand(node), f"all of {node} to run")
    for _ in range(3):
        assert not hosts.stand(node)
    assert len(hosts.groups(node)) == 2


def test_what_these_hosts_are(hosts):
    assert set(hosts.everywhere("cat /proc/1/comm").values()) == {"systemd\n"}
    assert set(hosts.everywhere("stat -fc %T /sys/fs/cgroup; cat /proc/$(pgrep"
                                " -x slurmd)/cgroup").values()) == {
        "cgroup2fs\n0::/system.slice/slurmd.service\n"}
    for log in hosts.everywhere("cat /var/log/slurm/slurmd.log").values():
        assert "stopped by cgroup2, in Slurm's own groups" in log, log


def test_launch(hosts):
    run = hosts.srun(f"-N{NODES} -l hostname")
    hosts.by_storm(run)
    assert sorted(run.out.splitlines()) == [f"{i}: rx{i}" for i in range(NODES)]


def test_bcast(hosts):
    shell = pathlib.Path("/bin/busybox").read_bytes()
    big = hosts.machines.dir / "big"
    big.write_bytes(shell + os.urandom(4_000_000 - len(shell)))
    os.chmod(big, 0o755)
    run = hosts.srun(f"-N{NODES} -l --bcast=/tmp/busybox /machines/big "
                     "sha256sum /tmp/busybox")
    hosts.by_storm(run)
    whole = hashlib.sha256(big.read_bytes()).hexdigest()
    assert sorted(run.out.splitlines()) == [
        f"{i}: {whole}  /tmp/busybox" for i in range(NODES)], str(run)


def test_two_jobs_take_turns(hosts):
    since = marks(hosts)
    runs = [hosts.begin("spin 2000 say bye") for _ in range(2)]
    hosts.until(lambda: len(hosts.jobs()) == 2, "two jobs")
    jobs = set(hosts.jobs())
    hosts.finish(*runs)
    for run in runs:
        assert run.out.split() == ["bye"] * NODES, str(run)
    hosts.nothing_left(jobs)
    for node in hosts.names:
        trace = hosts.trace(node, since[node])
        stops = [e["job"] for e in trace if e["what"] == "stop"]
        for job in jobs:
            assert stops.count(job) >= 2, f"{node}: job {job}: {stops}"
        assert {e["a"] for e in trace if e["what"] == "step"} == {CGROUP_V2}
        # no group of ours beside Slurm's
        assert "slurm-storm" not in hosts.on(node, "ls /sys/fs/cgroup")


def test_batch_scripts_with_steps(hosts):
    script = hosts.machines.dir / "script"
    script.write_text(f"#!/bin/sh\nsrun --launch=storm {hosts.taskdo} spin 200 "
                      f"say step\n{hosts.taskdo} spin 1500 say script\n")
    for i in range(2):
        hosts.finish(hosts.start(f"sbatch -Q -pgang -N{NODES} -o /tmp/out{i} "
                                 "/machines/script"))
    hosts.until(lambda: not hosts.root("squeue -h"), "the scripts' ends")
    for i in range(2):
        out = hosts.root(f"cat /tmp/out{i}").split()
        assert sorted(out) == ["script"] + ["step"] * NODES, out
    hosts.nothing_left()
    stopped = {e["step"] for e in hosts.trace("n1") if e["what"] == "stop"}
    assert BATCH in stopped, "a script that is alone takes turns, too"


# -- whatever dies, everything runs -------------------------------------------

def test_agent_killed(hosts, two):
    since = marks(hosts)
    hosts.on("n1", "pkill -KILL -x storm_agent")
    hosts.until(lambda: re.search(r"the agent is gone, 2 steps go on",
                                  hosts.slurmd_log("n1")),
                "slurmd to let them go on")
    hosts.until(lambda: [e for e in hosts.trace("n1", since["n1"])
                         if e["what"] == "begin"], "a new agent")
    hosts.alternate(times=2)


def test_slurmd_killed(hosts, two):
    hosts.on("n2", "systemctl kill --kill-whom=main -s KILL slurmd")
    all_run_there(hosts, "n2")
    hosts.on("n2", "systemctl start slurmd")
    hosts.alternate(times=2)


def test_slurmd_and_all_of_its_unit_killed(hosts, two):
    """The agent is in it; the steps are not."""
    hosts.on("n2", "systemctl kill --kill-whom=all -s KILL slurmd")
    all_run_there(hosts, "n2")
    hosts.on("n2", "systemctl start slurmd")
    hosts.alternate(times=2)


def test_slurmd_stopped_and_started(hosts, two):
    hosts.on("n2", "systemctl stop slurmd")
    all_run_there(hosts, "n2")
    assert len(hosts.jobs()) == 2
    hosts.on("n2", "systemctl start slurmd")
    hosts.alternate(times=2)


def test_slurmd_restarted(hosts, two):
    hosts.everywhere("systemctl restart slurmd")
    hosts.alternate(times=2)
    assert len(hosts.jobs()) == 2


def test_strober_killed(hosts, two):
    since = marks(hosts)
    hosts.on("n1", "pkill -KILL -x storm_strober")
    for node in hosts.names:
        hosts.until(lambda: [e for e in hosts.trace(node, since[node])
                             if e["what"] == "open"], f"all of {node} to run")
    hosts.alternate(times=2)


def test_slurmctld_restarted(hosts, two):
    hosts.root("systemctl restart slurmctld")
    hosts.alternate(times=2)
    assert len(hosts.jobs()) == 2


# -- out of its turn -----------------------------------------------------------

@pytest.fixture
def still(hosts):
    """Two jobs whose tasks catch SIGTERM; then turns become minutes long, so
    that one of them stands still as long as a test takes.  Its id, and the
    two."""
    runs = [hosts.begin("catch 15 say ready await 15 say caught exit 3")
            for _ in range(2)]
    hosts.until(lambda: all(r.out.count("ready") == NODES for r in runs),
                "two jobs to be ready")
    hosts.set_quantum(600000)
    seen = []

    def stands():
        jobs = [{int(s.split(".")[0]) for s in groups if groups[s]}
                for groups in hosts.all_groups().values()]
        if not jobs[0] or jobs != [jobs[0]] * NODES or seen[-1:] != jobs[:1]:
            seen.clear()
        seen.append(jobs[0])
        return len(seen) > 4

    hosts.until(stands, "a job to stand still on all nodes")
    job, = seen[-1]
    yield job, runs
    hosts.set_quantum(QUANTUM)


def gone(hosts, job):
    hosts.until(lambda: not hosts.root(f"squeue -h -t R,CG -j {job}").strip(),
                f"the end of job {job}")
    for node in hosts.names:
        hosts.until((hosts.machines.dir / f"epilog.{job}.{node}").exists,
                    "the epilog")
    hosts.until(lambda: not [s for groups in hosts.all_groups().values()
                             for s in groups if s.startswith(f"{job}.")],
                "its groups to be gone")


def test_cancelled(hosts, still):
    job, _ = still
    hosts.root(f"scancel {job}")
    gone(hosts, job)


def test_held_back_by_slurm_and_signalled(hosts, still):
    """scontrol suspend writes into the very file that we do; its word counts,
    and ours no more.  And once that is over a signal is answered."""
    job, runs = still

    def stands():
        return all(groups.get(f"{job}.0")
                   for groups in hosts.all_groups().values())

    since = hosts.mark("n1")
    hosts.root(f"scontrol suspend {job}")
    hosts.until(lambda: [e for e in hosts.trace("n1", since)
                         if e["what"] == "gone" and e["job"] == job],
                "its agent to leave it to Slurm")
    hosts.until(stands, "Slurm to stop it, 2 s after SIGTSTP")
    # whoever lets go what is ours leaves it alone
    hosts.on("n1", "pkill -KILL -x storm_agent")
    hosts.until(lambda: [e for e in hosts.trace("n1", since)
                         if e["what"] == "begin"], "a new agent")
    for _ in range(3):
        assert stands()
    hosts.root(f"scontrol resume {job}")
    hosts.until(lambda: len(hosts.jobs()) == 2, "both to run")
    hosts.root(f"scancel -s TERM {job}")
    gone(hosts, job)
    assert sorted(r.out.count("caught") for r in runs) == [0, NODES], \
        str(runs[0])
