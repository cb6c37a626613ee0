# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A network that is bad: a step with a broadcast ends as it should, or words say what
is wrong, where, and what helps. The next step is by multicast, as usual. The table is
in doc/network-faults.md.
"""
import contextlib
import re
import subprocess
import time

import pytest

import normal
from bad_paths import ON_A_NODE, nothing_known
from conftest import make
from firewall import dropped, nft
from harness import key, until
from lab import net, slurmconf

pytestmark = pytest.mark.storm_only

STEP = "-N6 -n6 --bcast=/tmp/app {big} say ran"
SHORT = "-N6 -n6 {do} say ran"


@pytest.fixture(scope="module")
def six():
    """n1 and n2 are the owner's children; n3 and n4 are below n1, n5 and n6 below n2."""
    c = make("network", 6, storm_conf={"Radix": "2", "MulticastTimeout": "300ms"})
    yield c
    c.down()


@pytest.fixture
def lab(six, request):
    six.current = re.sub(r"\W+", "_", request.node.name)
    nothing_known(six)
    yield six
    if six.lab.faults():
        six.lab.heal()
    six.clean()
    until(lambda: six.litter(keep=["app"]) == [], lambda: f"no litter: {six.litter()}")


def ran(lab, run, launched=True):
    """Each task ran once, and each node has the whole file."""
    assert (run.code, run.out) == (0, "ran\n" * 6), str(run)
    whole = (lab.bin / "big").read_bytes()
    for node in lab.names:
        assert lab.file(node, "/tmp/app") == whole, node
    if launched:
        step, = run.steps
        assert (step["launch"], step["fallback"]) == ("storm", None), str(run)


def usual(lab):
    """The next step is as usual: without a word, by multicast. What the last one has found
    is forgotten within seconds, without help."""
    last = []

    def again():
        last[:] = [lab.srun(SHORT)]
        step, = last[0].steps
        return step["fallback"] is None and step["odd"] is None and step["multicast"]

    until(again, lambda: f"a step by multicast: {last[0]}")
    assert (last[0].code, last[0].out, last[0].err) == (0, "ran\n" * 6, ""), last[0]


def begun(lab, node, least=1):
    """Some of a broadcast is there."""
    names = [n for n in lab.listing(node) if n != "app"]
    return any(len(lab.file(node, "/tmp/" + n) or b"") >= least for n in names)


@contextlib.contextmanager
def under_way(lab, rate="100mbit"):
    """A broadcast of 12 MB that takes a second or more."""
    lab.lab.shape(rate)
    try:
        one = lab.start_srun(STEP)
        until(lambda: begun(lab, "n3") or not one.running(), "the broadcast to begin")
        yield one
    finally:
        lab.lab.shape(None)


@contextlib.contextmanager
def kept_in(lab, node, what):
    """What leaves a node is dropped; beside dropped() at the same node."""
    nft(lab.lab, node, "table inet g { chain c { type filter hook output priority 0; "
        f"{what} drop; }}; }}")
    try:
        yield
    finally:
        nft(lab.lab, node, "delete table inet g")


# -- loss, order, copies --------------------------------------------------------------

SOME = "numgen random mod 100 < 30"


def test_loss(lab):
    """Of STORM's datagrams to and from two nodes."""
    with contextlib.ExitStack() as stack:
        for node in ("n3", "n5"):
            stack.enter_context(dropped(lab.lab, node, "input",
                                        "udp dport 8383 " + SOME))
            stack.enter_context(kept_in(lab, node, "udp sport 8383 " + SOME))
        run = lab.srun(STEP)
    ran(lab, run)
    assert run.err == "" and run.counter("repaired") > 0, str(run)
    usual(lab)


def syns_lost(lab, node, count):
    """The first attempts at a connection to a node's agent; one has 60 bytes."""
    return dropped(lab.lab, node, "input", "tcp dport 8383 tcp flags & (syn | ack) == "
                   f"syn quota until {60 * count} bytes")


def test_attempts_lost(lab):
    """So many attempts in vain are a firewall, also where one other node loses some. Where
    several do, they are loss."""
    key(lab, "Radix", "6")      # srun connects to each of them
    try:
        with syns_lost(lab, "n1", 3), syns_lost(lab, "n2", 7):
            alone = lab.srun(SHORT)
        nothing_known(lab)
        with contextlib.ExitStack() as stack:
            for node in ("n1", "n3", "n4"):
                stack.enter_context(syns_lost(lab, node, 3))
            stack.enter_context(syns_lost(lab, "n2", 7))
            run = lab.srun(SHORT)
    finally:
        key(lab, "Radix", "2")
    assert alone.err.startswith("srun: warning: storm: node n2: no connection"), str(alone)
    assert (run.code, run.out, run.err) == (0, "ran\n" * 6, ""), str(run)
    lab.by_storm(run)


#: name: a step, and what it prints
EVERYWHERE = {"launch": (SHORT, "ran\n" * 6), "file": (STEP, "ran\n" * 6),
              "long": ("-N6 -n6 sleep 10", "")}


@pytest.mark.long
@pytest.mark.parametrize("step", EVERYWHERE)
def test_loss_everywhere(lab, step):
    """Of all packets to srun's host and all nodes. The step runs, or words name a node:
    of srun's, or of Slurm's own messages, which give up first."""
    argv, out = EVERYWHERE[step]
    with contextlib.ExitStack() as stack:
        for host in ("login", *lab.names):
            stack.enter_context(dropped(lab.lab, host, "input", "iif != lo " + SOME))
        run = lab.srun(argv, timeout=300)
    if run.code == 0:
        assert run.out == out, str(run)
    else:
        assert re.search(r"\bn[1-6]\b", run.err), str(run)
    lab.clean()
    nothing_known(lab)
    usual(lab)


@pytest.mark.long
def test_loss_of_all(lab):
    """Of all packets, each way: TCP connections may not come about, for Slurm neither.
    The step runs, or one of these nodes is named."""
    for node in ("n3", "n5"):
        lab.lab.fault("delay", node, ms=0, loss=30)
    run = lab.srun(STEP, timeout=300)
    lab.lab.heal()
    if run.code == 0:
        ran(lab, run, launched=False)
    else:
        assert re.search(r"\bn[35]\b", run.err), str(run)
    usual(lab)


WIRES = {
    "order": {"ms": 1, "jitter": 20},
    "copies": {"ms": 1, "duplicate": 30},
}


@pytest.mark.parametrize("wire", WIRES)
def test_wire(lab, wire):
    for node in ("n3", "n5"):
        lab.lab.fault("delay", node, **WIRES[wire])
    run = lab.srun(STEP)
    ran(lab, run)
    assert run.err == "", str(run)
    lab.lab.heal()
    usual(lab)


# -- the group ------------------------------------------------------------------------

NO_GROUP = ("input", "ip daddr 224.0.0.0/4 udp dport 8383")
DEAF = {"one": ["n2"], "half": ["n2", "n5", "n6"],
        "all": ["n1", "n2", "n3", "n4", "n5", "n6"]}


@pytest.mark.parametrize("deaf", [
    "one", "half", pytest.param("all", marks=pytest.mark.long)])
def test_multicast_ends_in_mid_transfer(lab, deaf):
    """Nodes get what they lack by unicast, or data go along the chain. What follows, the
    launch, comes to them too. (It took 20 s, and Slurm launched.)"""
    with contextlib.ExitStack() as stack:
        with under_way(lab, "50mbit") as one:
            for node in DEAF[deaf]:
                stack.enter_context(dropped(lab.lab, node, *NO_GROUP))
        run = one.finish()
        ran(lab, run)
        assert run.err == "" and run.seconds < 12, str(run)
    usual(lab)


def test_multicast_ends_while_tasks_run(lab):
    """Their ends are reported all the same."""
    one = lab.start_srun("-N6 -n6 {do} touch up.%t wait {dir}/go say ran")
    until(lambda: all((one.dir / f"up.{i}").exists() for i in range(6)), "all tasks")
    with contextlib.ExitStack() as stack:
        for node in lab.names:
            stack.enter_context(dropped(lab.lab, node, *NO_GROUP))
        (one.dir / "go").touch()
        run = one.finish()
    assert (run.code, run.out, run.err) == (0, "ran\n" * 6, ""), str(run)
    assert run.seconds < 20, str(run)
    lab.by_storm(run)
    usual(lab)


def known_at_switch(lab):
    """The nodes of which the switch knows that they want a group of STORM's."""
    done = subprocess.run(net.enter(lab.lab.pid("sw"), ["bridge", "mdb", "show"]),
                          text=True, capture_output=True, check=True)
    return set(re.findall(r"port (\w+) grp 239\.192\.83\.", done.stdout))


def group_kept(lab, seconds):
    """How long the switch remembers from now on who wants multicast."""
    net.batch(net.enter(lab.lab.pid("sw"), ["ip", "-batch", "-"]), [
        "link set br0 type bridge mcast_membership_interval "
        f"{round(seconds * 100)}"])


@pytest.mark.parametrize("which", [
    "n3", pytest.param("all", marks=pytest.mark.long)])
def test_switch_forgets_the_group(lab, which):
    """No querier asks, so the switch forgets who wants multicast. A node notices that
    none comes and joins again: the same step, or the next one, is by multicast."""
    nodes = lab.names if which == "all" else [which]
    before = {n: lab.agent(n, "joined_again") for n in lab.names}
    for node in nodes:
        lab.lab.fault("age", node, seconds=1)
    until(lambda: known_at_switch(lab) >= set(nodes), "the switch to hear of the groups")
    until(lambda: not known_at_switch(lab) & set(nodes), "the switch to forget")
    group_kept(lab, 3000)
    run = lab.srun(STEP)
    ran(lab, run)
    assert run.err == "", str(run)
    usual(lab)
    for node in lab.names:
        assert (lab.agent(node, "joined_again") > before[node]) is (node in nodes), node
    for node in nodes:
        assert "no multicast comes here: the groups are joined again" in \
            lab.lab.log(node, "slurmd"), node
    lab.lab.heal()
    usual(lab)


@pytest.mark.parametrize("deaf, says", [
    ("n3", "n1 or one below it"), ("n2", "n2 or one below it")])
def test_srun_names_who_is_deaf(lab, deaf, says):
    """With -v, once: as well as the tree tells."""
    with dropped(lab.lab, deaf, *NO_GROUP):
        run = lab.srun("-v " + STEP)
    ran(lab, run)
    assert re.findall("multicasts? .*reach.*", run.err) == [
        "multicast does not reach all nodes: data go along the chain (none comes to "
        f"{says})"], str(run)
    usual(lab)


def test_srun_names_a_leaf(lab):
    """Two nodes are the owner's children, and have none below them."""
    with dropped(lab.lab, "n2", *NO_GROUP):
        run = lab.srun("-v -N2 -n2 -w n1,n2 {do} say ran")
    assert (run.code, run.out) == (0, "ran\n" * 2), str(run)
    assert "data go along the chain (none comes to n2)\n" in run.err, str(run)


# -- links ----------------------------------------------------------------------------

def test_link_is_down_for_5_s(lab):
    """In mid-transfer. The node is named, and has all in the end."""
    with under_way(lab, "50mbit") as one:
        lab.lab.fault("cut", "n3")
        down = time.monotonic()
    until(lambda: time.monotonic() > down + 5, "5 s")
    lab.lab.heal()
    run = one.finish()
    ran(lab, run, launched=False)
    assert "node n3" in run.err, str(run)
    usual(lab)


#: name: hosts of the other side
SIDES = {"nodes": ["n1", "n2", "n3"],
         "hosts": ["n1", "n2", "n3", "login", "ctl"]}


@contextlib.contextmanager
def apart(lab, side):
    """n4 to n6 and the other side do not hear each other."""
    them = ", ".join(slurmconf.address_of(h) for h in SIDES[side])
    with contextlib.ExitStack() as stack:
        for node in ("n4", "n5", "n6"):
            stack.enter_context(dropped(lab.lab, node, "input",
                                        f"ip saddr {{ {them} }}"))
            stack.enter_context(kept_in(lab, node, f"ip daddr {{ {them} }}"))
        yield


def test_halves_of_the_nodes(lab):
    """srun's host hears both. Nodes of the other half are named, and Slurm launches."""
    with apart(lab, "nodes"):
        run = lab.srun(STEP)
        ran(lab, run, launched=False)
        assert re.search(r"nodes? n(4|\[4-6\]|\[4-5\]|5|6).*no connection from node n[12] ",
                         run.err), str(run)
    usual(lab)


@pytest.mark.long
def test_half_of_all_hosts(lab):
    """Nobody can launch there. The step ends, and these nodes are named."""
    with apart(lab, "hosts"):
        run = lab.srun(STEP, timeout=300)
        assert run.code != 0, str(run)
        assert "no connection from " in run.err, str(run)
        assert {"n4", "n5", "n6"} <= set(normal.hosts(run.err)), str(run)
    # slurmctld takes its time to tell the nodes that the step is over
    lab.clean()
    usual(lab)


@pytest.mark.long
def test_small_mtu(lab):
    """No packet of full length comes to a node. It is named, with what helps."""
    with dropped(lab.lab, "n3", *ON_A_NODE["mtu"][:2]):
        run = lab.srun(STEP)
    ran(lab, run, launched=False)
    assert "node n3: " + ON_A_NODE["mtu"][2] in run.err, str(run)
    usual(lab)


@contextlib.contextmanager
def interface_mtu(lab, host, mtu):
    def put(size):
        lab.root(f"ip link set eth0 mtu {size}", host=host)
    put(mtu)
    try:
        yield
    finally:
        put(1500)


def of_size(lab, run, mtu):
    """It took datagrams that fit: each holds less than its own length. How many it sent
    itself is known of a broadcast by multicast."""
    ran(lab, run)
    assert run.err == "" and run.steps[0]["multicast"], str(run)
    assert run.counter("tx_datagrams") > (lab.bin / "big").stat().st_size // mtu, str(run)


@pytest.mark.parametrize("mtu", [1280, 576])
def test_small_mtu_of_srun_s_interface(lab, mtu):
    with interface_mtu(lab, "login", mtu):
        of_size(lab, lab.srun(STEP), mtu)
    usual(lab)


@pytest.mark.parametrize("mtu", [1280, 576])
def test_small_mtu_of_an_interface(lab, mtu):
    """Made so while the agent runs: the node hears all. The next agent says so."""
    with interface_mtu(lab, "n3", mtu):
        run = lab.srun(STEP)
        ran(lab, run)
        assert run.err == "", str(run)
        lab.lab.restart("n3", "agent")
        lab.lab.wait_agents(["n3"])
        lab.remove("/tmp/app")
        of_size(lab, lab.srun(STEP), mtu)
    lab.lab.restart("n3", "agent")
    lab.lab.wait_agents(["n3"])
    usual(lab)


def test_small_mtu_in_the_chain(lab):
    """n1 relays to others what does not fit any more. They ask again, and its slurmd's
    log has a remedy."""
    before = len(lab.lab.log("n1", "slurmd"))
    key(lab, "Multicast", "no")
    try:
        with interface_mtu(lab, "n1", 1280):
            run = lab.srun(STEP)
    finally:
        key(lab, "Multicast", "yes")
    ran(lab, run)
    assert run.err == "", str(run)
    assert "do not fit in a packet to " in lab.lab.log("n1", "slurmd")[before:]
    usual(lab)
