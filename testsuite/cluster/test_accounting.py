# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""With slurmdbd: sacct has the account of a job that took turns (AdminComment), and
jobs have turns by the weight of their QOS. The lab has a real slurmdbd and its
database, both on ctl."""
import os
import pathlib
import re

import pytest

from accounting import account, need_slurmdbd
from harness import Lab, need_records, until
from sched_tests import command, edit, field, running, submit, turns

pytestmark = pytest.mark.storm_only


@pytest.fixture(scope="module")
def accounted():
    need_slurmdbd()
    need_records()
    made = Lab(f"sched{os.getpid()}-account")
    made.up(2, gang=3, quantum=20, cpus=1, storm_conf=["QosWeight=high:3"])
    database = None
    try:
        database = account(made)
        command(made, "sacctmgr", "-i", "add", "qos", "high")
        yield made
    finally:
        made.down()
        if database:
            database.wait(60)


@pytest.fixture
def lab(accounted):
    yield accounted
    command(accounted, "scancel", "-u", "root")
    until(lambda: not command(accounted, "squeue", "-h"), "all jobs to end")


def had(lab, *jobs):
    """s, from SystemComment, of all jobs at one moment; None: no word yet"""
    text = command(lab, "scontrol", "-o", "show", "job")
    found = dict(re.findall(r"(?m)^JobId=(\d+) .*storm:\S*,had=([\d.]+)s", text))
    if all(str(job) in found for job in jobs):
        return [float(found[str(job)]) for job in jobs]
    return None


def test_sacct_has_the_account(lab):
    jobs = [submit(lab) for _ in "12"]
    running(lab, *jobs)
    turns(lab, "1/2", *jobs)

    def word(job):
        return re.search(r"storm:turns=\S*,had=([\d.]+)s,\S*", command(
            lab, "sacct", "-n", "-P", "-X", "-j", job, "-o", "AdminComment"))

    until(lambda: min(had(lab, *jobs) or [0]) > 0.1, "time to be had")
    command(lab, "scontrol", "update", f"JobId={jobs[1]}",
            "AdminComment=paid")
    until(lambda: "AdminComment=paid storm:" in command(
        lab, "scontrol", "-o", "show", "job", jobs[1]),
        "our word after the administrator's")
    command(lab, "scontrol", "update", f"JobId={jobs[1]}",
            "AdminComment=paid storm:hold")
    until(lambda: re.search("AdminComment=paid storm:hold storm:turns=.*,held=",
                            command(lab, "scontrol", "-o", "show", "job",
                                    jobs[1])), "the administrator's hold")
    command(lab, "storm", "release", jobs[1])
    until(lambda: "AdminComment=paid storm:turns" in command(
        lab, "scontrol", "-o", "show", "job", jobs[1]), "the word to be gone")
    command(lab, "scancel", *jobs)
    for job in jobs:
        until(lambda: word(job), lambda: f"sacct to have {job}'s word: "
              + command(lab, "sacct", "-P", "-j", job, "-o", "all"))
        assert 0.1 < float(word(job)[1]) <= had(lab, job)[0] + 0.1
    assert "paid storm:" in command(lab, "sacct", "-n", "-P", "-X", "-j",
                                    jobs[1], "-o", "AdminComment")


def seconds(text):
    """[DD-[HH:]]MM:SS[.mmm], as sacct prints it."""
    total = 0.0
    for part in text.replace("-", ":").split(":"):
        total = total * 60 + float(part)
    return total


def test_sacct_has_the_runs(lab):
    """Runs of storm run are one step, that of the launchers, and its CPU time is the sum of
    what their tasks have used."""
    burn = "import time\nwhile time.process_time() < 0.1: pass\n"
    (pathlib.Path(lab.path("n1", "/home")) / "burn.py").write_text(burn)
    job = submit(lab, line="for k in $(seq 20); do storm run -N2 -n2 python3 /home/burn.py; "
                 "done; storm run --stop")

    def steps():
        rows = [line.split("|") for line in command(
            lab, "sacct", "-n", "-P", "-j", job, "-o", "JobID,State,TotalCPU").splitlines()]
        return len(rows) > 2 and all(row[1] == "COMPLETED" for row in rows) and \
            {name: seconds(used) for name, _, used in rows}

    used = until(steps, lambda: "the account of the job: " + command(
        lab, "sacct", "-P", "-j", job, "-o", "JobID,State,TotalCPU"))
    assert set(used) - {f"{job}.extern"} == {f"{job}", f"{job}.batch", f"{job}.0"}, used
    assert 4 <= used[f"{job}.0"] < 12, used


def gained(lab, jobs, least):
    """What each job has had, in s, until the last of them has had so much."""
    before = until(lambda: had(lab, *jobs), "words of all jobs")

    def enough():
        now = [n - b for n, b in zip(had(lab, *jobs), before)]
        return now[-1] >= least and now

    return until(enough, f"job {jobs[-1]} to have {least} s")


def test_turns_by_weight(lab):
    """Another weight counts after a reconfigure, and no job starts anew."""
    high, low = submit(lab, "--qos=high"), submit(lab)
    running(lab, high, low)
    turns(lab, "3/4", high)
    turns(lab, "1/4", low)
    more, less = gained(lab, [high, low], 1)
    assert 2.5 < more / less < 3.5
    third = submit(lab, "--qos=high")
    turns(lab, "3/7", high, third)
    turns(lab, "1/7", low)
    edit(lab, "storm.conf", ("high:3", "normal:2,high:1,hihg:5"))
    command(lab, "scontrol", "reconfigure")
    said = "QosWeight in storm.conf names QOS %s, which slurmdbd does not have"
    until(lambda: said % "hihg" in lab.log("ctl", "slurmctld"),
          "a word about the QOS that there is not")
    assert said % "normal" not in lab.log("ctl", "slurmctld")
    turns(lab, "1/4", high, third)
    turns(lab, "1/2", low)
    assert all(field(lab, j, "Restarts") == "0" and
               field(lab, j, "JobState") == "RUNNING"
               for j in (high, low, third))
