# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The normal form of srun's output, so that two runs of one command can be
compared. It masks what differs between any two runs of stock Slurm (ids, times,
the launch plugin), and sorts what stock does not order.

The number of lines about failed tasks depends on the order of the reports. Stock
merges the tasks of a node that end together, STORM those of many nodes. So a line
"srun: error: n[1-2]: tasks 0-1,3: Killed" counts as one fact for each task and
one for each node.

A step that slurmctld ends (scancel, or srun asks it to) has its end told in one of
two ways. slurmctld sends SRUN_JOB_COMPLETE to srun and a signal to the nodes, by
threads of their own. If srun has the message before the last task's exit, it says
"Job step aborted" and no more. If the exits are sooner, and a task died of SIGTERM or
SIGKILL, it says "Force Terminated". If srun itself aborts the step (a signal to
srun), it says the first in any case, and the second if the exits are sooner. See
slurm_step_launch_wait_finish() and _job_complete_handler() in Slurm's
src/api/step_launch.c. With cancelled=True both are the one fact ENDED, which has to
be there. A step that nobody cancels must not say other things than stock's.
"""
import os
import re

MASKS = [
    # may be lost: slurmstepd's last messages race with its exit
    (r"^(slurmstepd-n\d+:|\[\S+\]) error: \*\*\* STEP .* CANCELLED AT .* "
     r"\*\*\*\n", ""),
    # stock itself prints these when a step follows right after another
    (r"^srun: Job \d+ step creation (temporarily|still) disabled.*\n", ""),
    (r"^srun: Step created for .*\n", ""),
    # the nodes of the last run may still be completing
    (r"^srun: job \d+ (queued and waiting for|has been allocated) "
     r"resources\n", ""),
    # whether a task remains to wait for is a race
    (r"^(srun: Job step aborted): Waiting up to \d+ seconds for job step to "
     r"finish\.$", r"\1"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", "TIME"),
    (r"launch/(slurm|storm)", "launch/X"),
    (r"StepId=\d+\+\d+\.\d+", "StepId=J+H.S"),
    (r"StepId=\d+\.\d+(\+\d+)?", r"StepId=J.S\1"),
    (r"\b(STEP|step) \d+\.\d+(\+\d+)?", r"\1 J.S\2"),
    (r"\b(job|Job|JOB|jobid|JobId)([ =])\d+", r"\1\2J"),
    (r"allocation \d+", "allocation J"),
    (r"slurmstepd-n\d+", "slurmstepd-NODE"),
    (r"\bON n\d+ CANCELLED", "ON NODE CANCELLED"),
    (r"\bpid[ =]\d+", "pid P"),
]

#: what is said of a step that slurmctld ends
ENDED = "srun: slurmctld or srun ended the step"
ENDS = re.compile(r"^srun: (Job step aborted|Force Terminated StepId=)", re.M)

#: from 24.11 on
LATER_MASKS = [
    # a node's output ends before or after the report of its tasks
    (r"^srun: error: IO: Hey, you told me node \d+ was down!\n", ""),
    # slurmctld's message comes before srun ends, or not
    (r"^srun: Force Terminated StepId=.*\n", ""),
]

TASKS = re.compile(r"^srun: (error: )?(n[\d\[\],n-]+): tasks? ([\d,-]+): (.*)$")


def later():
    """Whether this is a release after 22.05."""
    return os.environ.get("STORM_SLURM", "22.05") != "22.05"


def ids(text):
    """'0-2,5' -> [0, 1, 2, 5]"""
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def hosts(text):
    """'n[1-2,4],n7' -> ['n1', 'n2', 'n4', 'n7']"""
    found = []
    for prefix, inside, plain in re.findall(
            r"([a-z]+)\[([\d,-]+)\]|([a-z]+\d+)", text):
        found += [f"{prefix}{i}" for i in ids(inside)] if inside else [plain]
    return found


def stderr(text, masks=(), cancelled=False):
    """The normal form: a sorted list of facts."""
    ended = set()
    if cancelled:
        lines = text.splitlines(True)
        ended = {ENDED for line in lines if ENDS.match(line)}
        text = "".join(line for line in lines if not ENDS.match(line))
    for pattern, to in (LATER_MASKS if later() else []) + MASKS:
        text = re.sub(pattern, to, text, flags=re.M)
    for plain, to in masks:
        text = text.replace(plain, to)
    facts, merged = [], set()
    for line in text.splitlines():
        m = TASKS.match(line)
        if not m:
            facts.append(line)
            continue
        level, where, tasks, what = m.groups()
        for task in ids(tasks):
            merged.add(f"srun: {level or ''}task {task}: {what}")
        for host in hosts(where):
            merged.add(f"srun: {level or ''}on {host}: {what}")
    return sorted([*facts, *ended]) + sorted(merged)


def stdout(text, masks=()):
    text = re.sub(r"slurm_bcast_\d+\.\d+", "slurm_bcast_J.S", text)
    for plain, to in masks:
        text = text.replace(plain, to)
    return sorted(text.splitlines())
