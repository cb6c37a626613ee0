# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A node dies, or a part of it: slurmctld's cluster domain knows of it, also where no
jobs share.
"""
import os
import re

import pytest

from harness import Lab, need_records, until

pytestmark = pytest.mark.storm_only

#: nobody takes turns: the lab's own partition for that is local
CONF = ["SchedulerType=sched/storm", "SlurmctldDebug=debug"]
STORM_CONF = ["Partition=shared Policy=local"]


def new_lab(name, nodes, storm_conf=(), conf=()):
    need_records()
    made = Lab(f"failed{os.getpid()}-{name}")
    made.up(nodes, conf=[*CONF, *conf], storm_conf=[*STORM_CONF, *storm_conf])
    return made


def said(lab):
    return lab.log("ctl", "slurmctld")


@pytest.mark.every_release
def test_the_cluster_domain_is_always_there():
    """Nothing is shared: all nodes are its members, no strobe is sent, and nothing is
    called gang scheduling."""
    made = new_lab("always", 3)
    try:
        for node in ("n1", "n2", "n3"):
            until(lambda: f"node {node} is a member of the cluster domain" in
                  said(made), f"{node} to be a member")
        text = said(made)
        assert "the cluster domain is open: 3 nodes" in text, text
        assert "nothing is gang scheduled" in text, text
        assert not re.search(r"node n. .*gang scheduling", text), text
        assert made.agent_stats("n1")["gang"]["gang_strobes"] == 0
    finally:
        made.down()


def test_a_key_keeps_others_out_of_it():
    """Cluster=no: where nothing is shared, nothing is opened."""
    made = new_lab("none", 2, ["Cluster=no"])
    try:
        until(lambda: "nothing is gang scheduled" in said(made), "slurmctld's look")
        done = made.run(["srun", "-N2", "true"])
        assert done.returncode == 0, done
        assert "the cluster domain is open" not in said(made)
    finally:
        made.down()
