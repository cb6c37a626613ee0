# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Network contexts under turns, by RDMA: what two jobs send to their contexts'
groups while they take turns is neither lost nor mixed.  The same by UDP:
testsuite/cluster/test_gang_contexts.py."""
import os
import re
import subprocess

import pytest

from needs import need_plain_plugins, need_verbs
from slurm_machines import Slurm, slurmconf
from transfer import SECONDS
from vm import TOP, until

NODES = 2
QUANTUM = 20    # ms: emulated machines are slow
#: of both jobs, on each node
STOPS = 2000 if os.environ.get("STORM_LONG") else 100


@pytest.fixture(scope="module")
def slurm(machines):
    need_verbs()
    need_plain_plugins()
    programs = TOP / "testsuite" / "programs"
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
                    programs / "talk.c", programs / "talk_rdma.c", "-o",
                    machines.dir / "talk", "-lrdmacm", "-libverbs"], check=True)
    s = Slurm(machines, "slurm-turns",
              slurmconf.gang_lines(machines.count, 1, 2, ()),
              [("Quantum", QUANTUM)], cpus=1, memory=1000)
    yield s
    s.stop()


def stops(slurm):
    return [node["gang"]["gang_stops"] for node in slurm.stats()[:NODES]]


def test_multicast(slurm):
    stop = slurm.machines.dir / "stop"
    runs = [slurm.start(f"srun -pgang -N{NODES} -n{NODES} --launch=storm "
                        f"/machines/talk 0 /machines/{stop.name}")
            for _ in range(2)]
    until(lambda: any(r.code is not None for r in runs) or
          all(n >= STOPS for n in stops(slurm)), f"{STOPS} stops", SECONDS)
    stop.touch()
    assert slurm.machines.wait(runs, SECONDS), slurm.log()
    for run in runs:
        assert run.code == 0, f"{run}\n{slurm.log()}"
        heard = re.findall(r"rank \d heard (\d+)", run.out)
        # at least one between two stops
        assert len(heard) == NODES and min(map(int, heard)) > STOPS, str(run)
        print(run.out)
