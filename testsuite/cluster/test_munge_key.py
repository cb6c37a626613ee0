# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""MUNGE's key is changed on a cluster that works: SECURITY.md, Rotation."""
import os

import pytest

from conftest import make, need_cgroup2
from gang import Gang

pytestmark = pytest.mark.storm_only


@pytest.fixture(scope="module")
def keyed():
    need_cgroup2()
    c = make("key", 2, kind=Gang)
    yield c
    c.down()


def renew(keyed, hosts, key):
    """The new key, and a munged that has read it."""
    for host in hosts:
        with open(keyed.lab.path(host, "/etc/munge/munge.key"), "wb") as f:
            f.write(key)
        keyed.lab.restart(host, "munged")


def test_rotation(keyed):
    """Steps that run, and their turns, do not notice. A host with the old key
    is shut out until it has the new one."""
    step = keyed.begin("{do} wait /home/go exit 3", label="step")
    keyed.until(lambda: len(keyed.jobs()) == 1, "the first job")
    other = keyed.begin("{do} block")
    keyed.until(lambda: len(keyed.jobs()) == 2, "jobs that share")
    keyed.alternate()

    key = os.urandom(128)
    renew(keyed, ["ctl", *keyed.names], key)
    # the login host still has the old key: Slurm itself refuses it
    refused = keyed.run("srun -pgang -N2 -n2 --launch=storm {do} say x",
                        label="old")
    assert refused.code != 0 and "x\n" not in refused.out, str(refused)
    renew(keyed, ["login"], key)

    keyed.alternate()
    open(keyed.lab.dir + "/home/go", "w").close()
    ended = step.finish()
    assert ended.code == 3, str(ended)
    keyed.by_storm(ended)
    fresh = keyed.run("srun -pgang -N2 -n2 --launch=storm {do} say fresh")
    assert fresh.code == 0 and fresh.out == "fresh\n" * 2, str(fresh)
    keyed.by_storm(fresh)
    assert other.running()


def test_an_agent_that_begins_with_the_new_key(keyed):
    """It takes part in turns again."""
    mark = keyed.mark("n1")
    keyed.lab.kill("n1", "agent")
    keyed.until(lambda: [e for e in keyed.trace("n1", mark)
                         if e["what"] == "begin"], "a new agent")
    keyed.begin("{do} block")
    keyed.until(lambda: len(keyed.jobs()) == 2, "jobs that share")
    keyed.alternate()
