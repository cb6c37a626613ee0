# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Which address and which interface: hosts whose own name is a loopback address,
default routes by another network."""
import pathlib
import re

import pytest

from addresses import LOOPBACK, name_is, new_agents, own_names
from conftest import make, need_cgroup2
from contexts import SHOW, context
from gang import Gang
from harness import need_records, until
from lab.slurmconf import address_of

pytestmark = [pytest.mark.storm_only, pytest.mark.every_release]


@pytest.fixture(scope="module")
def two():
    """3 nodes in two networks; Slurm's names are in the first one."""
    c = make("addresses", 3, networks=2,
             storm_conf={"AllowHosts": "n[1-3],login"})
    yield c
    c.down()


@pytest.fixture
def loopback(two):
    own_names(two, two.names, LOOPBACK)
    new_agents(two, two.names)
    yield two
    own_names(two, two.names)
    two.remove("/tmp/app")


def test_own_name_is_loopback(loopback):
    """Debian's default: n1's name for itself is 127.0.1.1, and a batch script's
    srun runs there."""
    c = loopback
    for bcast in ("", "--bcast=/tmp/app "):
        run = c.srun(f"{bcast}-N3 -n3 {{big}} say x", host="n1")
        assert run.code == 0 and run.out == "x\n" * 3, str(run)
        c.by_storm(run)
    # without others: this host alone is to be reached
    alone = c.allocate(1, "-w", "n1")
    for job, names in ((c.job, c.names), (alone, ["n1"])):
        c.remove("/tmp/app")
        run = c.run("sbcast_storm {big} /tmp/app", host="n1",
                    env={"SLURM_JOB_ID": str(job)})
        assert run.code == 0 and not run.err, str(run)
        assert run.steps[0]["fallback"] is None, str(run)
        assert {len(c.file(n, "/tmp/app")) for n in names} \
            == {(c.bin / "big").stat().st_size}
    c.cancel(alone)


def test_contexts(loopback):
    """A step's context does not depend on where its nodes are."""
    need_records()
    run = loopback.srun(f"-N3 -n3 sh -c '{SHOW}'", host="n1")
    loopback.by_storm(run)
    assert len(set(map(context, run.out.splitlines()))) == 1, str(run)


#: what each host has under the same address, and perhaps under its name
BRIDGE = "172.17.0.1"


def test_an_address_that_each_host_has(two):
    """A bridge for containers. Its address is one of the host's name, too, if
    nss-myhostname answers."""
    for node in two.names:
        two.root("ip link add docker0 type bridge", host=node)
        two.root(f"ip addr add {BRIDGE}/16 dev docker0", host=node)
        two.root("ip link set docker0 up", host=node)
        own_names(two, [node], BRIDGE, address_of(node))
    try:
        new_agents(two, two.names)
        interfaces(two)
        # n1 says that it is at the bridge: the others are not
        own_names(two, ["n1"], BRIDGE)
        new_agents(two, ["n1"])
        run = two.srun("-N3 -n3 {do} say x", host="n1")
        assert run.code == 0 and run.out == "x\n" * 3, str(run)
        assert run.err.count("falling back") == 1, str(run)
    finally:
        own_names(two, two.names)
        for node in two.names:
            two.root("ip link del docker0", host=node)


def interfaces(c):
    """From the login host, with a file."""
    run = c.srun("-v --bcast=/tmp/app -N3 -n3 {big} say x")
    assert run.code == 0 and run.out == "x\n" * 3, str(run)
    c.by_storm(run)
    c.remove("/tmp/app")


@pytest.mark.parametrize("route", [
    "replace default via 10.84.0.1 dev eth1", "del default"])
def test_default_route(two, route):
    """The agent's interface is the one that has its node's address, wherever
    the default route is, and if there is none."""
    for node in two.names:
        two.root(f"ip route {route}", host=node)
    try:
        new_agents(two, two.names)
        interfaces(two)
        # the node's name does not help, but its neighbours' do
        own_names(two, two.names, LOOPBACK)
        new_agents(two, two.names)
        interfaces(two)
    finally:
        own_names(two, two.names)
        for node in two.names:
            two.root("ip route replace default via 10.83.0.1 dev eth0",
                     host=node)


def test_strober_on_a_node():
    """slurmctld's host is a node, the first one, and its own name is
    127.0.1.1."""
    need_cgroup2()
    c = make("headnode", 2, kind=Gang)
    try:
        conf = pathlib.Path(c.lab.dir, "etc/slurm/slurm.conf")
        text = conf.read_text()
        one = re.search(r"(?m)^NodeName=n\[1-2\]( .*)$", text)[1]
        text = text.replace("NodeName=n[", f"NodeName=ctl{one}\nNodeName=n[")
        # in place: the hosts show this very file
        conf.write_text(text.replace("Nodes=n[1-2]", "Nodes=ctl,n[1-2]"))
        own_names(c, ["ctl"], LOOPBACK)
        for host in ("ctl", "n1", "n2"):
            c.lab.restart(host, "slurmctld" if host == "ctl" else "slurmd")
        c.root("slurmd -N ctl", host="ctl")
        c.names = ["ctl", *c.names]
        c.lab.wait_idle()
        for _ in range(2):
            c.begin("{do} block", nodes=3)
        until(lambda: len(c.jobs()) == 2, "two jobs")
        c.alternate()
        c.end_jobs()
    finally:
        c.down()
