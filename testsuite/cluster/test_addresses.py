# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Which address and which interface: hosts whose own name is a loopback address,
default routes by another network."""
import pathlib
import re
import subprocess

import pytest

from addresses import LOOPBACK, name_is, new_agents, own_names
from conftest import make, need_cgroup2
from contexts import SHOW, context
from gang import Gang
from harness import HERE, need_records, number, until
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
        # the first node that refuses can be the only odd one
        assert run.err.count("falling back to Slurm's standard launch") == 1, str(run)
    finally:
        own_names(two, two.names)
        for node in two.names:
            two.root("ip link del docker0", host=node)


#: an address to which packets go, and from which none comes
SILENT = "10.83.1.200"


@pytest.fixture
def silent(two):
    """n1's name service does not answer, and its own name is in no file. (What
    Slurm has looked up it keeps.)"""
    files = {"nsswitch.conf": "hosts: files dns",
             "resolv.conf": f"nameserver {SILENT}"}
    mount = "; ".join(
        [f"echo '{text}' >/run/{name}; touch /etc/{name}; "
         f"mount --bind /run/{name} /etc/{name}"
         for name, text in files.items()]
        + ["grep -v '[[:space:]]n1$' /etc/hosts >/run/hosts",
           "mount --bind /run/hosts /etc/hosts",
           f"ip neigh replace {SILENT} lladdr 02:00:00:00:00:99 dev eth0 "
           "nud permanent"])
    two.root(["sh", "-ec", mount], host="n1")
    yield two
    for name in (*files, "hosts"):
        two.root(f"umount /etc/{name}", host="n1")
        two.root(f"rm /run/{name}", host="n1")
    new_agents(two, ["n1"])


def test_name_service_that_hangs(silent):
    """The agent starts all the same, on the interface of the default route."""
    c, since = silent, len(silent.lab.log("n1", "slurmd"))
    c.lab.kill("n1", "agent")
    until(lambda: "serves node n1" in c.lab.log("n1", "slurmd")[since:],
          "another agent")
    c.lab.wait_attached("n1")
    assert "the name service has not answered in 3 s: the interface is that " \
        "of the default route" in c.lab.log("n1", "slurmd")[since:]
    # it cannot know whether n1 is where srun says
    run = c.srun("-N3 -n3 {do} say x")
    assert run.code == 0 and run.out == "x\n" * 3, str(run)
    assert "node n1: no answer in time; falling back" in run.err, str(run)


def test_name_service_that_answers_late(silent):
    """The agent began on the interface of the default route, which is another one
    here. It looks again, and the next agent has the right one."""
    c, since = silent, len(silent.lab.log("n1", "slurmd"))
    c.root("ip route replace default via 10.84.0.1 dev eth1", host="n1")
    try:
        c.lab.kill("n1", "agent")
        until(lambda: "serves node n1" in c.lab.log("n1", "slurmd")[since:],
              "another agent")
        c.root("umount /etc/hosts", host="n1")
        until(lambda: "now the name service answers: this node is at "
              f"{address_of('n1')}, " in c.lab.log("n1", "slurmd")[since:],
              "a second look")
        c.lab.wait_attached("n1", since=since)
        until(lambda: c.lab.log("n1", "slurmd")[since:].count("serves node n1")
              == 2, "the next agent")
        interfaces(c)
    finally:
        c.root("ip route replace default via 10.83.0.1 dev eth0", host="n1")
        # the fixture takes it away
        c.root("mount --bind /run/hosts /etc/hosts", host="n1")


def no_ipv6(c, host, value):
    """1: its interface has no addresses of IPv6 any more."""
    c.root(["sh", "-c",
            f"echo {value} >/proc/sys/net/ipv6/conf/eth0/disable_ipv6"],
           host=host)


def test_own_name_is_ipv6(two):
    """Its name has no other address than one of IPv6: of nobody, and then its
    own. The agents find their interface. (Slurm's own srun cannot launch from
    such a host, so there is nothing to fall back to.)"""
    for node in two.names:
        own_names(two, [node], "fd00::" + node[1:])
    try:
        new_agents(two, two.names)
        interfaces(two)
        for node in two.names:
            no_ipv6(two, node, 0)
            two.root(f"ip addr add fd00::{node[1:]}/64 dev eth0 nodad",
                     host=node)
        new_agents(two, two.names)
        interfaces(two)
    finally:
        own_names(two, two.names)
        for node in two.names:
            no_ipv6(two, node, 1)


def interfaces(c):
    """From the login host, with a file. storm check looks at the same interface."""
    run = c.srun("-v --bcast=/tmp/app -N3 -n3 {big} say x")
    assert run.code == 0 and run.out == "x\n" * 3, str(run)
    c.by_storm(run)
    c.remove("/tmp/app")
    said = c.root("/run/stormlab/stage/bin/storm check", host="n1")
    assert "ok       interface eth0, " in said and "missing" not in said, said


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


#: what slurm.conf needs for cloud nodes
POWER = "ResumeProgram=/bin/true\nSuspendProgram=/bin/true\n" \
    "SuspendTime=-1\nResumeTimeout=60\nSuspendTimeout=5\n"


def move(c, node, address):
    """Give a host another address, of which its name tells nothing."""
    for line in (f"ip addr del {address_of(node)}/16 dev eth0",
                 f"ip addr add {address}/16 dev eth0",
                 "ip route replace default via 10.83.0.1"):
        c.root(line, host=node)


#: where n2 is
MOVED = "10.83.1.102"


def test_strober():
    """slurmctld's host is a node, the first one, and its own name is
    127.0.1.1. Of n2 slurmctld alone knows where it is."""
    need_cgroup2()
    c = make("headnode", 2, kind=Gang)
    try:
        conf = pathlib.Path(c.lab.dir, "etc/slurm/slurm.conf")
        text = conf.read_text()
        one = re.search(r"(?m)^NodeName=n\[1-2\]( .*)$", text)[1]
        text = text.replace(
            f"NodeName=n[1-2]{one}",
            f"NodeName=ctl{one}\nNodeName=n1{one}\nNodeName=n2"
            + one.replace("UNKNOWN", "CLOUD") + "\n" + POWER)
        # in place: the hosts show this very file
        conf.write_text(text.replace("Nodes=n[1-2]", "Nodes=ctl,n[1-2]"))
        own_names(c, ["ctl"], LOOPBACK)
        move(c, "n2", MOVED)
        for host in ("ctl", "n1", "n2"):
            c.lab.restart(host, "slurmctld" if host == "ctl" else "slurmd")
        c.root(f"scontrol update nodename=n2 nodeaddr={MOVED} nodehostname=n2")
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


# ------------------------------------------------------------------ cloud ---

#: where n3 really is; slurm.conf and the hosts have another address
CLOUD = "10.83.1.103"
#: as sbatch and salloc set it
ALIASES = f"n3:[{CLOUD}]:n3"

#: Slurm's
PROTOCOL = {"22.05": 38 << 8, "24.11": 42 << 8, "26.05": 45 << 8}


@pytest.fixture(scope="module")
def cloud():
    """n3 is a cloud node, and slurmctld was told its address."""
    c = make("cloud", 3, standing=False)
    try:
        conf = pathlib.Path(c.lab.dir, "etc/slurm/slurm.conf")
        text = re.sub(
            r"(?m)^NodeName=n\[1-3\] (.*) State=UNKNOWN$",
            r"NodeName=n[1-2] \1 State=UNKNOWN" "\n"
            r"NodeName=n3 \1 State=CLOUD" "\n" + POWER, conf.read_text())
        conf.write_text(text)       # in place: the hosts show this very file
        move(c, "n3", CLOUD)
        c.lab.restart("ctl", "slurmctld")
        until(c.lab.node_states, "slurmctld")
        c.root(f"scontrol update nodename=n3 nodeaddr={CLOUD} nodehostname=n3")
        new_agents(c, c.names)
        c.lab.wait_idle()
        c.job = c.allocate(3, "--ntasks-per-node=4")
        yield c
    finally:
        c.down()


def test_user_cannot_say_where_a_node_is(cloud):
    """Before the first good step. Agents believe slurmctld's signature: the very
    same with the user's is refused, and the node is named."""
    liar = cloud.home / "liar.so"
    subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared",
         "-fPIC", f"-DLIAR_VERSION={PROTOCOL[number()]}", "-o", liar,
         HERE.parent / "programs" / "liar.c"], check=True)
    run = cloud.srun("-N3 -n3 {do} say x",
                     prefix="export LD_PRELOAD=/home/user/liar.so")
    assert "liar: signed" in run.err, str(run)
    assert re.search(r"node n3: n\S+ does not find it at storm port "
                     rf"{CLOUD}:8383: .* falling back", run.err), str(run)
    for words in ("that slurmctld has not signed",
                  f"gives {CLOUD} port 8383 as the address of node n3"):
        until(lambda w=words: any(w in cloud.lab.log(n, "slurmd")
                                  for n in cloud.names),
              f"an agent to say {words!r}")
    cloud.clean()


def test_sbcast_before_a_step(cloud):
    """On 22.05 slurmctld signs nothing of addresses for sbcast: what to do is said.
    Later releases sign them."""
    run = cloud.run("sbcast_storm {big} /tmp/app", env={
        "SLURM_JOB_ID": str(cloud.job), "SLURM_NODE_ALIASES": ALIASES})
    cloud.remove("/tmp/app")
    assert run.code == 0, str(run)
    if number() == "22.05":
        assert re.search(
            rf"node n3: n\S+ does not find it at storm port {CLOUD}:8383, and "
            "slurmctld has not signed that for this command: run a step by srun "
            "--launch=storm on these nodes first", run.err), str(run)
    else:
        cloud.by_storm(run, launched=False)


def test_check_of_a_cloud_node(cloud):
    """Nothing is missing."""
    said = cloud.root("/run/stormlab/stage/bin/storm check -w n[1-3]")
    assert f"note     n3: slurmctld alone knows that it is at {CLOUD}, " in said
    assert "ok       n[1-2]: TCP port 8383; " in said and "missing" not in said, \
        said
    said = cloud.root("/run/stormlab/stage/bin/storm check", host="n3")
    assert "missing" not in said, said


def test_cloud_node(cloud):
    """Agents believe what slurmctld has signed of where nodes are."""
    for bcast in ("", "--bcast=/tmp/app "):
        run = cloud.srun(f"{bcast}-N3 -n3 {{big}} say x")
        assert run.code == 0 and run.out == "x\n" * 3, str(run)
        cloud.by_storm(run)
    # from a node, where slurm.conf is all that there is
    run = cloud.srun("-N3 -n3 {do} say x", host="n1")
    assert run.code == 0 and run.out == "x\n" * 3, str(run)
    cloud.by_storm(run)
    cloud.remove("/tmp/app")
    run = cloud.run("sbcast_storm {big} /tmp/app", env={
        "SLURM_JOB_ID": str(cloud.job), "SLURM_NODE_ALIASES": ALIASES})
    assert run.code == 0, str(run)
    cloud.by_storm(run, launched=False)
