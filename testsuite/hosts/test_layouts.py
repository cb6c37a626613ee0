# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Hosts as distributions configure them: systemd with one of the three layouts of
control groups, Slurm's daemons as units, proctrack/cgroup and task/cgroup. These
tests are for such hosts only; test_gang.py has those for any cluster."""
import os
import re

import pytest

from turns import LAYOUTS, MOUNTED, NODES

DO = "/home/user/bin/taskdo"


def test_what_these_hosts_are(hosts):
    said = hosts.everywhere(f"cat /proc/1/comm; {MOUNTED}")
    assert {" ".join(s.split()) for s in said.values()} == {
        f"systemd {hosts.layout.mounted}"}
    for groups in hosts.everywhere(
            "cat /proc/$(pgrep -x slurmd)/cgroup").values():
        # 26.05 makes a group for itself below the unit's
        assert re.search(r":/system.slice/slurmd.service(/slurmd)?$", groups,
                         re.M)
    for node in hosts.names:
        # slurmd writes what its agent says, a moment later
        hosts.until(lambda: hosts.layout.says in hosts.lab.log(node, "slurmd"),
                    f"{node}'s log to say {hosts.layout.says}")


@pytest.mark.long
def test_launch(hosts):
    run = hosts.slurm.srun(f"-N{NODES} -l hostname")
    hosts.slurm.by_storm(run)
    assert sorted(run.out.splitlines()) == [f"{i}: rx{i}" for i in range(NODES)]


@pytest.mark.long
def test_bcast(hosts):
    hosts.slurm.bcast()


def test_how_steps_are_stopped(hosts, two):
    for node in hosts.names:
        assert {e["a"] for e in hosts.trace(node) if e["what"] == "step"} == {
            hosts.layout.kind}
        if hosts.layout is LAYOUTS["v2"]:
            # no group of ours beside Slurm's
            assert "slurm-storm" not in hosts.on(node, "ls /sys/fs/cgroup")


# -- whatever dies, everything runs -------------------------------------------

def test_slurmd_and_agent_killed(hosts, two):
    """At once, because slurmstepd survives. With version 2 it is in no group
    of slurmd's unit. Otherwise killing the unit kills the steps, with or
    without STORM."""
    hosts.on("n2", "systemctl kill --kill-whom=all -s KILL slurmd"
             if hosts.layout is LAYOUTS["v2"] else
             "pkill -KILL '^(slurmd|storm_agent)$'")
    hosts.goes_on("n2")
    hosts.on("n2", "systemctl start slurmd")
    hosts.alternate()


@pytest.mark.long
def test_slurmd_stopped_and_started(hosts, two):
    hosts.on("n2", "systemctl stop slurmd")
    hosts.goes_on("n2")
    assert len(hosts.jobs()) == 2
    hosts.on("n2", "systemctl start slurmd")
    hosts.alternate()


def test_slurmd_restarted(hosts, two):
    hosts.everywhere("systemctl restart slurmd")
    hosts.alternate()
    assert len(hosts.jobs()) == 2


@pytest.mark.long
def test_slurmctld_restarted(hosts, two):
    hosts.on("n1", "systemctl restart slurmctld")
    hosts.alternate()
    assert len(hosts.jobs()) == 2


# -- out of its turn -----------------------------------------------------------

def batch(hosts, nodes, line):
    """Submit a script of one line, with output to /machines/out. Returns the
    job."""
    (hosts.machines.dir / "script").write_text(f"#!/bin/sh\n{line}\n")
    out = hosts.machines.dir / "out"
    out.write_text("")
    os.chmod(out, 0o666)
    return int(hosts.root(f"sbatch --parsable --uid=20001 -pgang -N{nodes} "
                          "-w n1 -o /machines/out /machines/script"))


def held_back(hosts, job, *steps):
    """scontrol suspend may write to the same file as the agent. Its order has
    precedence, even if a daemon dies. Slurm does not notify the agent of a
    script that it suspends."""
    since = hosts.mark("n1")
    hosts.until(lambda: [e for e in hosts.trace("n1", since) if e["what"] ==
                         "stop" and e["job"] == job], "its turns")
    hosts.root(f"scontrol suspend {job}")
    hosts.until(lambda: all(hosts.said("n1", "slurmd",
                                       f"Suspended StepId={job}.{s}")
                            for s in steps), "Slurm to suspend it")
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
    """A script and its step, and then a script that handles a signal."""
    job = batch(hosts, NODES, f"srun --launch=storm {DO} catch 15 "
                              "say ready await 15 say caught exit 3")
    hosts.begin("{do} block")
    out = hosts.machines.dir / "out"
    hosts.until(lambda: out.read_text().count("ready") == NODES,
                "its tasks to be ready")
    held_back(hosts, job, "batch", "0")
    hosts.root(f"scancel -s TERM {job}")
    hosts.gone(job)
    assert out.read_text().count("caught") == NODES


@pytest.mark.long
def test_script_held_back_by_slurm(hosts):
    """A job that is alone had turns before."""
    job = batch(hosts, NODES, f"exec {DO} block")
    hosts.begin("{do} block")
    held_back(hosts, job, "batch")


# -- gaps ---------------------------------------------------------------------

#: steps that give way, or the jobs of these: Slurm's groups of version 2, or ours
IDLE = ("shopt -s nullglob globstar; cat /sys/fs/cgroup/system.slice/"
        "*_slurmstepd.scope/job_*/cpu.idle /dev/null "
        "/sys/fs/cgroup/cpu*/**/slurm-storm/*/*/cpu.idle")


def giving_way(hosts):
    """{node: ["0" or "1" of each]}"""
    return {n: text.split() for n, text in hosts.everywhere(
        f"bash -c '{IDLE}'").items()}


def policy(hosts, line):
    hosts.on("n1", f"{line} /etc/slurm/storm.conf; systemctl restart slurmctld")
    hosts.everywhere("systemctl restart slurmd")


@pytest.mark.parametrize("word, first", [
    ("flexible", "block"),
    pytest.param("yield", "spin 10000000", marks=pytest.mark.long)])
def test_others_give_way(hosts, word, first):
    """In a gap, or out of their turns; and that nothing gives way without strobes."""
    policy(hosts, f"echo Partition=gang Policy={word} >>")
    hosts.yields = word == "yield"
    try:
        since = {n: hosts.mark(n) for n in hosts.names}
        for verbs in (first, "spin 10000000"):
            hosts.begin(f"{{do}} {verbs}")
        hosts.until(lambda: all(
            [e for e in hosts.trace(n, since[n]) if e.get("why") == "fills"]
            for n in hosts.names), "steps that give way")
        hosts.until(lambda: all("1" in w for w in giving_way(hosts).values()),
                    "a group that gives way")
        hosts.on("n1", "pkill -STOP -x storm_strober")
        try:
            hosts.until(lambda: all(w and "1" not in w
                                    for w in giving_way(hosts).values()),
                        "none to give way")
        finally:
            hosts.on("n1", "pkill -CONT -x storm_strober")
        hosts.alternate()
    finally:
        hosts.end_jobs()
        hosts.yields = False
        policy(hosts, "sed -i /^Partition=gang/d")


# -- without it ----------------------------------------------------------------

def scheduler(hosts, name):
    """Another quantum, and all daemons restart."""
    hosts.on("n1", "sed -i 's,^SchedulerType=.*,SchedulerType=sched/"
             f"{name},' /etc/slurm/slurm.conf; systemctl restart slurmctld")
    hosts.everywhere("systemctl restart slurmd")


@pytest.mark.long
def test_configured_away(hosts, two):
    """While jobs take turns, and back again."""
    scheduler(hosts, "backfill")
    for node in hosts.names:
        hosts.goes_on(node)
    assert len(hosts.jobs()) == 2
    scheduler(hosts, "storm")
    hosts.alternate()
    assert len(hosts.jobs()) == 2


OURS = "/run/slurm-storm/*/gang /sys/fs/cgroup/{,unified/,freezer/}slurm-storm"


@pytest.mark.long
def test_a_stock_system_again(hosts, two):
    """When the jobs that took turns have ended nothing is left, and others
    run."""
    scheduler(hosts, "backfill")
    for node in hosts.names:
        hosts.goes_on(node)
    try:
        hosts.end_jobs()
        hosts.until(lambda: not any(t.strip() for t in hosts.everywhere(
            f"shopt -s nullglob; ls -d {OURS} /dev/null | grep -v null"
            "|| true").values()), "nothing of ours to be left")
        hosts.until(lambda: not hosts.lab.pids("ctl", "storm_strober"),
                    "the strober to end")
        for launch in ("slurm", "storm"):
            done = hosts.start(f"srun -pgang -N{NODES} --launch={launch} "
                               "{do} say bye").finish()
            assert done.code == 0, str(done)
            assert done.out.split() == ["bye"] * NODES
    finally:
        scheduler(hosts, "storm")
