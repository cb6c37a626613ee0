# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A user who wants all network contexts gets no more than ContextsPerUser, and
nobody waits for one."""
import os

import pytest

from contexts import COUNT_THEM, Step, command, context, has_none, srun
from harness import Lab, need_records, save_jobs, until

pytestmark = pytest.mark.storm_only

#: a 64th of them is SlurmUser's
COUNT, EACH = 64, 3


@pytest.fixture(scope="module")
def lab():
    need_records()
    made = Lab(f"insider{os.getpid()}-contexts")
    made.up(2, storm_conf={"ContextCount": COUNT, "ContextsPerUser": EACH},
            cpus=80)
    try:
        yield made
    finally:
        made.down()


def hoard(lab, number, user="user"):
    """So many steps of one job that run."""
    command(lab, "salloc", "--no-shell", "-Q", "-N1", f"-n{number}",
            f"-J{user}s", user=user, cwd="/")
    job = command(lab, "squeue", "-h", "-n", f"{user}s", "-o", "%i")
    done = lab.popen(
        ["sh", "-c", f"i=0; while [ $i -lt {number} ]; do srun -n1 --exact "
         "--launch=slurm sleep 600 & i=$((i+1)); done; wait"], user=user,
        env={"SLURM_JOB_ID": job}, cwd="/", stderr=-3, stdout=-3, stdin=-3)
    until(lambda: len(command(lab, "squeue", "-h", "-s", "-j", job).split(
        "\n")) >= number, "the steps to run", timeout=300)
    return job, done


def over(lab, job, hoarder):
    """The job's end. slurmctld has its leases back a moment after that of its
    sruns."""
    command(lab, "scancel", job)
    hoarder.wait(120)
    until(lambda: not command(lab, "squeue", "-h"), "the job to end")


def leased(lab, job):
    return command(lab, "scontrol", "-o", "show", "step", job).count(
        "storm:context=")


def test_quota(lab):
    """It holds after a restart of slurmctld, too, and comes back with the
    steps."""
    job, hoarder = hoard(lab, 8)
    try:
        assert leased(lab, job) == EACH
        has_none(lab.run(["srun", "-v", "-n1", "sh", "-c", COUNT_THEM],
                         user="user"),
                 why="this user's steps have as many as ContextsPerUser in "
                 "storm.conf allows")
        context(srun(lab, "-n1", user="other")[0])
        context(srun(lab, "-n1", user="root")[0])
        assert f"uid 20001 has {EACH}, as many as ContextsPerUser" in \
            lab.log("ctl", "slurmctld")
        save_jobs(lab, job)
        lab.kill("ctl", "slurmctld")
        lab.restart("ctl", "slurmctld")
        assert srun(lab, "-n1") == []       # one empty line
    finally:
        over(lab, job, hoarder)
    context(srun(lab, "-n1")[0])


def test_reserve(lab):
    """Users who have taken all but the reserve leave it to root."""
    conf = lab.dir + "/etc/slurm/storm.conf"
    with open(conf) as f:
        text = f.read()
    with open(conf, "w") as f:
        f.write(text.replace(f"ContextsPerUser={EACH}",
                             f"ContextsPerUser={COUNT}"))
    command(lab, "scontrol", "reconfigure")
    try:
        job, hoarder = hoard(lab, COUNT + 2)
        try:
            until(lambda: leased(lab, job) == COUNT - 1, "the leases")
            assert srun(lab, "-n1", user="other") == []
            context(srun(lab, "-n1", user="root")[0])
        finally:
            over(lab, job, hoarder)
    finally:
        with open(conf, "w") as f:
            f.write(text)
        command(lab, "scontrol", "reconfigure")


def test_parts_of_a_step_at_the_quota(lab):
    """The last context of a user is shared by the components of a step."""
    steps = [Step(lab, f"one{i}", "-n1") for i in range(EACH - 1)]
    for step in steps:
        step.context()
    lines = command(lab, "salloc", "-Q", "-n1", ":", "-n1", "srun",
                    "--het-group=0,1", "sh", "-c",
                    "echo $STORM_CONTEXT $STORM_CONTEXT_GROUP "
                    "$STORM_CONTEXT_KEY", user="user").splitlines()
    assert len(lines) == 2 and lines[0] == lines[1], lines
    context(lines[0])
    for step in steps:
        step.end()
