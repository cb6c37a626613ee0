# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The wall clock of all hosts is set forwards and back by an hour. Only an emulated
machine can do that: no namespace covers CLOCK_REALTIME, and a preloaded library
would not change how the kernel waits."""
import pytest

from sched_tests import command, turns

HOUR = 3600


@pytest.mark.parametrize("by", [HOUR, -HOUR])
def test_wall_clock_is_set(hosts, two, by):
    """Suspends and ends, of which no hook of slurmctld tells, are noticed all
    the same. (turns() waits for two minutes at most.)"""
    lab = hosts.lab
    first, second = sorted(hosts.jobs())
    turns(lab, "1/2", first, second)
    hosts.everywhere(f"date -s @$(($(date +%s) + {by}))")
    try:
        command(lab, "scontrol", "suspend", first)
        turns(lab, "1/1", second)
        command(lab, "scontrol", "resume", first)
        turns(lab, "1/2", first, second)
        hosts.alternate()
        # an exit code other than 0: no hook is called
        command(lab, "scancel", "-s", "KILL", first)
        turns(lab, "1/1", second)
    finally:
        hosts.everywhere(f"date -s @$(($(date +%s) - {by}))")
        # Slurm's own scheduler starts no script until the time of its last
        # run comes again.
        hosts.on("n1", "systemctl restart slurmctld")
