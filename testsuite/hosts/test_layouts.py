# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Hosts as distributions make them: systemd with one of the three layouts of
control groups, Slurm's daemons as units, proctrack/cgroup and task/cgroup.  Jobs
take turns, whatever dies everything runs, and what comes to a job out of its turn
reaches it."""
import hashlib
import os
import pathlib
import re

import pytest

from turns import LAYOUTS, MOUNTED, NODES, QUANTUM

BATCH = 0xfffffffb


def marks(hosts):
    return {n: hosts.mark(n) for n in hosts.names}


def all_run_there(hosts, node):
    """By and by, and from then on."""
    hosts.until(lambda: not hosts.stand(node), f"all of {node} to run")
    for _ in range(3):
        assert not hosts.stand(node)
    assert len(hosts.groups(node)) == 2


def test_what_these_hosts_are(hosts):
    said = hosts.everywhere(f"cat /proc/1/comm; {MOUNTED}")
    assert {" ".join(s.split()) for s in said.values()} == {
        f"systemd {hosts.layout.mounted}"}
    for groups in hosts.everywhere(
            "cat /proc/$(pgrep -x slurmd)/cgroup").values():
        assert re.search(r":/system.slice/slurmd.service$", groups, re.M)
    for log in hosts.everywhere("cat /var/log/slurm/slurmd.log").values():
        assert hosts.layout.says in log, log


@pytest.mark.long
def test_launch(hosts):
    run = hosts.srun(f"-N{NODES} -l hostname")
    hosts.by_storm(run)
    assert sorted(run.out.splitlines()) == [f"{i}: rx{i}" for i in range(NODES)]


@pytest.mark.long
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
        assert {e["a"] for e in trace if e["what"] == "step"} == {
            hosts.layout.kind}
        # no group of ours beside Slurm's
        assert "slurm-storm" not in hosts.on(node, "ls /sys/fs/cgroup")


@pytest.mark.long
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

@pytest.mark.long
def test_agent_killed(hosts, two):
    since = marks(hosts)
    hosts.on("n1", "pkill -KILL -x storm_agent")
    hosts.until(lambda: re.search(r"the agent is gone, 2 steps go on",
                                  hosts.slurmd_log("n1")),
                "slurmd to let them go on")
    hosts.until(lambda: [e for e in hosts.trace("n1", since["n1"])
                         if e["what"] == "begin"], "a new agent")
    hosts.alternate(times=2)


@pytest.mark.long
def test_slurmd_killed(hosts, two):
    hosts.on("n2", "systemctl kill --kill-whom=main -s KILL slurmd")
    all_run_there(hosts, "n2")
    hosts.on("n2", "systemctl start slurmd")
    hosts.alternate(times=2)


def test_slurmd_and_agent_killed(hosts, two):
    """At once: slurmstepd is left.  With version 2 it is in no group of slurmd's
    unit; else who kills all of that kills the steps, with or without us."""
    hosts.on("n2", "systemctl kill --kill-whom=all -s KILL slurmd"
             if hosts.layout is LAYOUTS["v2"] else
             "pkill -KILL '^(slurmd|storm_agent)$'")
    all_run_there(hosts, "n2")
    hosts.on("n2", "systemctl start slurmd")
    hosts.alternate(times=2)


@pytest.mark.long
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


@pytest.mark.long
def test_strober_killed(hosts, two):
    since = marks(hosts)
    hosts.on("n1", "pkill -KILL -x storm_strober")
    for node in hosts.names:
        hosts.until(lambda: [e for e in hosts.trace(node, since[node])
                             if e["what"] == "open"], f"all of {node} to run")
    hosts.alternate(times=2)


@pytest.mark.long
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


@pytest.mark.long
def test_cancelled(hosts, still):
    job, _ = still
    hosts.root(f"scancel {job}")
    gone(hosts, job)


@pytest.mark.long
def test_signalled(hosts, still):
    job, runs = still
    hosts.root(f"scancel -s TERM {job}")
    gone(hosts, job)
    assert sorted(r.out.count("caught") for r in runs) == [0, NODES], \
        str(runs[0])


def batch(hosts, nodes, line):
    """Submit a script of one line, whose output is in /machines/out; the job."""
    (hosts.machines.dir / "script").write_text(f"#!/bin/sh\n{line}\n")
    out = hosts.machines.dir / "out"
    out.write_text("")
    os.chmod(out, 0o666)
    return int(hosts.root(f"sbatch --parsable --uid=20001 -pgang -N{nodes} "
                          "-w n1 -o /machines/out /machines/script"))


def held_back(hosts, job, *steps):
    """scontrol suspend may write into the very file that we do; its word counts,
    and ours no more, whatever dies.  Of a script that it suspends Slurm tells
    nobody on the node."""
    since = hosts.mark("n1")
    hosts.until(lambda: [e for e in hosts.trace("n1", since) if e["what"] ==
                         "stop" and e["job"] == job], "its turns")
    hosts.root(f"scontrol suspend {job}")
    hosts.until(lambda: all(f"Suspended StepId={job}.{s}" in
                            hosts.slurmd_log("n1") for s in steps),
                "Slurm to suspend it")
    since = hosts.mark("n1")
    hosts.on("n1", "pkill -KILL -x storm_agent")
    hosts.until(lambda: [e for e in hosts.trace("n1", since)
                         if e["what"] == "begin"], "a new agent")
    for _ in range(3):
        groups = hosts.groups("n1", "slurm")
        assert all(groups[f"{job}.{s}"] for s in steps), groups
    hosts.root(f"scontrol resume {job}")
    hosts.until(lambda: len(hosts.jobs()) == 2, "both to run")


def test_held_back_by_slurm(hosts):
    """A script and its step; and then that answers a signal."""
    job = batch(hosts, NODES, f"srun --launch=storm {hosts.taskdo} catch 15 "
                              "say ready await 15 say caught exit 3")
    hosts.begin("block")
    out = hosts.machines.dir / "out"
    hosts.until(lambda: out.read_text().count("ready") == NODES,
                "its tasks to be ready")
    held_back(hosts, job, "batch", "0")
    hosts.root(f"scancel -s TERM {job}")
    gone(hosts, job)
    assert out.read_text().count("caught") == NODES


@pytest.mark.long
def test_script_held_back_by_slurm(hosts):
    """One that is alone, and so had turns itself."""
    job = batch(hosts, NODES, f"exec {hosts.taskdo} block")
    hosts.begin("block")
    held_back(hosts, job, "batch")


# -- without it ----------------------------------------------------------------

@pytest.mark.long
def test_configured_away(hosts, two):
    """While jobs take turns: another scheduler, and all daemons begin anew."""
    def scheduler(name):
        hosts.everywhere("sed -i 's,^SchedulerType=.*,SchedulerType=sched/"
                         f"{name},' /etc/slurm/slurm.conf")
        hosts.root("systemctl restart slurmctld")
        hosts.everywhere("systemctl restart slurmd")

    scheduler("backfill")
    for node in hosts.names:
        all_run_there(hosts, node)
    assert len(hosts.jobs()) == 2
    scheduler("storm")
    hosts.alternate(times=2)
    assert len(hosts.jobs()) == 2
