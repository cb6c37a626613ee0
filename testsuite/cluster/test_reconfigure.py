# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""slurm.conf is read again while steps begin: STORM's plugins in slurmctld,
which do not take its locks, must not see a half-read configuration."""
import os
import threading

import pytest

from harness import MACHINES, Lab, chosen, until

pytestmark = pytest.mark.storm_only


def another(lab, before):
    """The pid of the slurmctld that has replaced this one, or None."""
    now = lab.pids("ctl", "slurmctld")
    return now if len(now) == 1 and now != before else None


@pytest.mark.every_release
def test_while_steps_begin():
    lab = Lab(f"reconfigure{os.getpid()}")
    lab.up(1, cpus=8)
    try:
        before = lab.pids("ctl", "slurmctld")

        done = threading.Event()

        def steps():
            # one whose message is lost in a reconfiguration may wait for ever
            while not done.is_set():
                lab.run(["timeout", "-k1", "10", "srun", "-n1", "true"],
                        user="user", cwd="/")

        threads = [threading.Thread(target=steps) for _ in range(4)]
        for t in threads:
            t.start()
        try:
            for _ in range(30):
                asked = lab.run(["scontrol", "reconfigure"], cwd="/")
                if chosen() == MACHINES:
                    assert lab.pids("ctl", "slurmctld") == before
                    continue
                # From 23.11 on it ends when a new process serves.
                assert asked.returncode == 0, asked.stderr
                before = until(lambda: another(lab, before), "a new slurmctld")
        finally:
            done.set()
            for t in threads:
                t.join()
    finally:
        lab.down()
