# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""LimitByTurns: a job's time limit counts its own turns, not those of others."""
import datetime
import os
import re
import time

import pytest

from harness import Lab, need_records, until
from sched_tests import command, field, running, state, stepping, submit, turns

pytestmark = pytest.mark.storm_only


@pytest.fixture
def lab():
    need_records()
    made = Lab(f"sched{os.getpid()}-limit")
    made.up(2, gang=2, quantum=20, cpus=1, storm_conf=["Partition=gang LimitByTurns=yes"])
    yield made
    made.down()


def seconds(lab, job, name):
    return datetime.datetime.fromisoformat(field(lab, job, name)).timestamp()


def account(lab, job, what):
    """s, from SystemComment"""
    found = re.search(rf"storm:\S*,{what}=([\d.]+)s", command(
        lab, "scontrol", "-o", "show", "job", job))
    return float(found[1]) if found else 0


def moved(lab, job, minutes):
    """s by which slurmctld ends the job later than its limit says"""
    return seconds(lab, job, "EndTime") - seconds(lab, job, "StartTime") \
        - 60 * minutes


def follows(lab, job, minutes):
    """The end is where the job's account of waiting has it, and a little later, as
    that account is some seconds old when slurmctld looks at the end."""
    def right():
        before = account(lab, job, "waited")
        late = moved(lab, job, minutes)
        return 2 <= before < late <= account(lab, job, "waited") + 5

    until(right, lambda: f"job {job} to end {account(lab, job, 'waited')} s later, "
          f"not {moved(lab, job, minutes)} s")


def test_end_moves(lab):
    """By what others had; also with another limit, after a suspend, and with
    another slurmctld."""
    first, second = submit(lab, "-t10"), submit(lab, "-t10")
    running(lab, first, second)
    turns(lab, "1/2", first, second)
    follows(lab, first, 10)
    follows(lab, second, 10)
    command(lab, "scontrol", "update", f"JobId={first}", "TimeLimit=20")
    follows(lab, first, 20)
    stepping(lab, first, second)
    waited = account(lab, first, "waited")
    lab.restart("ctl", "slurmctld")
    until(lambda: account(lab, first, "waited") > waited,
          "the next slurmctld to go on with the account")
    follows(lab, first, 20)
    follows(lab, second, 10)
    # it stands as long as Slurm says, which counts that itself
    command(lab, "scontrol", "suspend", second)
    until(lambda: state(lab, second) == "SUSPENDED", "the job to be suspended")
    command(lab, "scontrol", "resume", second)
    running(lab, second)
    turns(lab, "1/2", first, second)
    late = moved(lab, second, 10)
    until(lambda: moved(lab, second, 10) >= late + 2, "the end to move on")
    # alone it waits for nobody
    command(lab, "scancel", second)
    turns(lab, "1/1", first)

    def stays():
        before = moved(lab, first, 20)
        time.sleep(4)
        return moved(lab, first, 20) == before

    until(stays, "the end to stay where it is")


def as_user(lab, *argv):
    return lab.run([str(a) for a in argv], user="user", cwd="/")


def users_job(lab, *options):
    done = as_user(lab, "sbatch", "--parsable", "-pgang", "-o/dev/null", "-N2",
                   "-n2", "--mem=100", *options, "--wrap", "srun sleep 600")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.every_release
def test_who_holds(lab):
    """Time in which its owner holds it counts against a job's limit, time in
    which an administrator does not. A user cannot pretend that."""
    own, held = users_job(lab, "-t10", "--comment=storm:hold"), \
        users_job(lab, "-t10")
    running(lab, own, held)
    done = as_user(lab, "scontrol", "update", f"JobId={own}",
                   "AdminComment=storm:hold")
    assert done.returncode, done.stdout
    command(lab, "storm", "hold", held)
    assert "AdminComment=storm:hold" in command(lab, "scontrol", "show", "job",
                                                held)
    until(lambda: moved(lab, held, 10) >= 8, "the end of the one to move")
    assert account(lab, own, "waited") < 1 and not moved(lab, own, 10)
    done = as_user(lab, "storm", "release", held)
    assert done.returncode == 1 and "an administrator holds it" in done.stderr
    command(lab, "storm", "release", held)
    assert "storm:hold" not in command(lab, "scontrol", "show", "job", held)
    # an administrator also releases what the owner holds
    command(lab, "storm", "release", own)
    turns(lab, "1/2", own, held)


@pytest.mark.long
def test_held_ends(lab):
    """A job that is held ends at its limit if its owner holds it, and at M times its
    limit in any case, as slurmctld looks at limits every 30 s."""
    own, held = users_job(lab, "-t1", "--comment=storm:hold"), \
        users_job(lab, "-t1")
    running(lab, own, held)
    command(lab, "storm", "hold", held)
    for job, minutes in ((own, 1), (held, 2)):
        until(lambda: state(lab, job) == "TIMEOUT", "the limit", timeout=300)
        ran = seconds(lab, job, "EndTime") - seconds(lab, job, "StartTime")
        assert 60 * minutes <= ran <= 60 * minutes + 45, ran


@pytest.mark.long
def test_whole_limit(lab):
    """Two jobs of a minute: each ends after a minute of turns or a little more, as
    slurmctld looks at limits every 30 s."""
    jobs = [submit(lab, "-t1") for _ in "12"]
    running(lab, *jobs)
    for job in jobs:
        until(lambda: state(lab, job) == "TIMEOUT", "the limit", timeout=300)
        assert 60 <= account(lab, job, "had") <= 80
