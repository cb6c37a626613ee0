# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""slurm.conf is read anew while steps begin: what our plugins do in slurmctld
without its locks must not find it half read."""
import os
import threading

import pytest

from harness import Lab

pytestmark = pytest.mark.storm_only


def test_while_steps_begin():
    lab = Lab(f"reconfigure{os.getpid()}")
    lab.up(1, cpus=8)
    try:
        before = lab.pids("ctl", "slurmctld")

        def some():
            for _ in range(4):
                lab.run(["srun", "-n1", "true"], user="user", cwd="/")

        threads = [threading.Thread(target=some, daemon=True)
                   for _ in range(4)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            lab.run(["scontrol", "reconfigure"], cwd="/")
            assert lab.pids("ctl", "slurmctld") == before
    finally:
        lab.down()
