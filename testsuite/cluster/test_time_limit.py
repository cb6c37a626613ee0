# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""TimeLimitByTurns: a job's time limit counts its own turns, not those of others."""
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
    made.up(2, gang=2, quantum=20, cpus=1, storm_conf=["TimeLimitByTurns=gang"])
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


@pytest.mark.long
def test_whole_limit(lab):
    """Two jobs of a minute: each ends after a minute of turns or a little more, as
    slurmctld looks at limits every 30 s."""
    jobs = [submit(lab, "-t1") for _ in "12"]
    running(lab, *jobs)
    for job in jobs:
        until(lambda: state(lab, job) == "TIMEOUT", "the limit", timeout=300)
        assert 60 <= account(lab, job, "had") <= 80
