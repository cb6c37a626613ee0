# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Network contexts under turns: nothing is flushed at a switch. What two jobs send
by multicast in their contexts meanwhile is neither lost nor mixed."""
import os
import re
import subprocess

import pytest

from conftest import make, need_cgroup2
from gang import NODES, Gang
from harness import HERE

pytestmark = pytest.mark.storm_only
#: of both jobs, on each node
STOPS = 20000 if os.environ.get("STORM_LONG") else 2000
#: one for all: the groups part them
PORT = 7000


@pytest.fixture(scope="module")
def gang():
    need_cgroup2()
    c = make("gangcontexts", NODES, kind=Gang, quantum=1)
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
                    HERE.parent / "programs/talk.c",
                    HERE.parent / "programs/talk_udp.c", "-o", c.bin / "talk"],
                   check=True)
    yield c
    c.down()


def test_multicast(gang):
    stop = gang.home / "stop"
    runs = [gang.begin(f"-n{NODES} {{bin}}/talk {PORT} {stop.name}",
                       cwd="/home/user") for _ in range(2)]
    gang.until(lambda: len(gang.jobs()) == 2, "two jobs")
    before = {n: gang.agent(n, "gang_stops") for n in gang.names}
    gang.until(lambda: all(gang.agent(n, "gang_stops") - before[n] >= STOPS
                           for n in gang.names) or
               not all(r.running() for r in runs),
               lambda: f"{STOPS} stops on each node", 0.2)
    stop.touch()
    for run in runs:
        done = run.finish(120)
        assert done.code == 0 and not done.err, str(done)
        heard = re.findall(r"rank \d heard (\d+)", done.out)
        # at least one between two stops
        assert len(heard) == NODES and min(map(int, heard)) > STOPS, str(done)
        print(done.out)
