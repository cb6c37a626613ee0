# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A path that does not carry what STORM sends: a firewall at one port, in one
direction, or an MTU that does not fit. Slurm launches the step; one line names the
node, the direction, the protocol and the port; no node keeps anything. How soon it
does is measured by storm_bench paths, and checked in testsuite/sim (case_cut_paths).
"""
import contextlib
import os
import re
import signal
import threading
import time

import pytest

from bad_paths import KNOWN, ON_A_NODE, ON_LOGIN, nothing_known
from conftest import make
from firewall import dropped
from harness import LONG, LabError, key, until
from test_stdio import Terminal

pytestmark = pytest.mark.storm_only

#: name: host, hook of its filter, what is dropped, what srun says
PATHS = {name: ("n2", hook, what, "node n2: " + says)
         for name, (hook, what, says) in ON_A_NODE.items()}
#: n3 and n4 are below n1
PATHS["login"] = ("login", *ON_LOGIN[:2], "nodes n[1-2]: " + ON_LOGIN[2])
#: what is dropped on n2, and STORM launches all the same: by multicast?
ENOUGH = {
    "group": ("input", "ip daddr 224.0.0.0/4 udp dport 8383", False),
    "long ones up": ("output", "udp sport 8383 udp length > 1300", True),
    # what is sent again to it alone
    "long ones but by the group": (
        "input", "udp dport 8383 ip daddr != 224.0.0.0/4 udp length > 1300 drop; "
        "udp dport 8383 ip daddr 224.0.0.0/4 numgen random mod 100 < 3", True),
}


LOADS = {"LD_DEBUG": "files", "STORM_TIMELINE": ""}


@pytest.fixture(autouse=True)
def _nothing_known(lab4):
    nothing_known(lab4)


@pytest.fixture(scope="module")
def lab4():
    c = make("paths", 4, storm_conf={"Radix": "2", "Fallback": "warn"})
    c.current = "paths"
    yield c
    c.down()


@pytest.mark.every_release
@pytest.mark.parametrize("path", PATHS)
def test_a_step_falls_back(lab4, path):
    *where, says = PATHS[path]
    with dropped(lab4.lab, *where):
        run = lab4.srun("-N4 -n4 --bcast=/tmp/app {big} say ran")
    assert run.code == 0 and run.out == "ran\n" * 4, str(run)
    assert says in run.err, str(run)
    assert "firewall in between?); falling back" in run.err, str(run)
    assert run.err.count("\n") == 1, str(run)
    assert run.steps[0]["fallback"], str(run)
    until(lambda: lab4.litter(keep=["app"]) == [], "a clean /tmp")
    lab4.clean()


@pytest.mark.parametrize("path", ENOUGH)
def test_storm_launches_it(lab4, path):
    """A node gets no multicast, or its network carries long datagrams by multicast
    alone, or none to this host: nothing is missing for a launch."""
    *what, multicast = ENOUGH[path]
    with dropped(lab4.lab, "n2", *what):
        run = lab4.srun("-N4 -n4 --bcast=/tmp/app {big} say ran")
    assert (run.code, run.out, run.err) == (0, "ran\n" * 4, ""), str(run)
    step, = run.steps
    assert step["fallback"] is None and step["multicast"] is multicast, str(run)
    assert not os.path.exists(lab4.lab.path("login", KNOWN)), "n2 is known"


@contextlib.contextmanager
def stopped(lab, host):
    """Whatever agent slurmd starts: it kills one that is silent for 5 s."""
    over = threading.Event()

    def stop():
        while not over.wait(0.1):
            signal_agent(lab, host, signal.SIGSTOP)
    signal_agent(lab, host, signal.SIGSTOP)
    thread = threading.Thread(target=stop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal_agent(lab, host, signal.SIGCONT)


def signal_agent(lab, host, sig):
    """It may have ended just now."""
    with contextlib.suppress(LabError, ProcessLookupError):
        lab.kill(host, "agent", sig)


@pytest.mark.every_release
def test_agent_is_stopped(lab4):
    """Its kernel takes the OPEN, and no answer comes."""
    def run(launch):
        lab4.remove("/tmp/app")
        return lab4.srun("-N4 -n4 --bcast=/tmp/app {big} say ran", launch)

    found = []
    while True:
        stock = run("slurm")
        with stopped(lab4.lab, "n2"):
            first, second = run("storm"), run("storm")
        found.append([one.seconds for one in (stock, first, second)])
        usual, *times = found[-1]
        # before it was 5 s, until slurmd had killed the agent, or OpenTimeout
        if times[0] < usual + 4 and times[1] < usual + 3:
            break
        # others use the machine, too, but not each time
        assert len(found) < 4, f"by stock, at first, and then: {found}"
        lab4.lab.wait_agents(lab4.names)
        lab4.remove(KNOWN, ["login"])
    for one in (first, second):
        assert one.code == 0 and one.out == "ran\n" * 4, str(one)
        assert "node n2: its agent gives no answer: it is stopped, or hangs" in \
            one.err, str(one)
        assert one.err.count("\n") == 1, str(one)
    assert " s ago; falling back" in second.err, str(second)
    lab4.lab.wait_agents(lab4.names)
    until(lambda: lab4.srun("-N4 -n4 {do} say ran").steps[0]["fallback"] is None,
          "n2 to be forgotten")
    lab4.clean()


def test_without_a_file(lab4):
    """Only the launch message is cast."""
    with dropped(lab4.lab, *PATHS["in"][:3]):
        run = lab4.srun("-N4 -n4 {do} say ran")
    assert run.code == 0 and run.out == "ran\n" * 4, str(run)
    assert PATHS["in"][3] in run.err, str(run)


def test_sbcast_storm(lab4):
    lab4.remove("/tmp/app")
    with dropped(lab4.lab, *PATHS["in"][:3]):
        run = lab4.run(["sbcast_storm", "/home/user/bin/big", "/tmp/app"],
                       env={"SLURM_JOB_ID": str(lab4.job)})
    assert run.code == 0, str(run)
    assert PATHS["in"][3] in run.err, str(run)
    for node in lab4.names:
        assert lab4.file(node, "/tmp/app") == \
            (lab4.bin / "big").read_bytes(), node
    lab4.clean()


@pytest.mark.every_release
def test_a_bad_path_is_remembered(lab4):
    """The next step does not try it again, and says so; once the node can be
    reached, one step finds that out, and those after it go by STORM."""
    args = "-N4 -n4 {do} say ran"
    argv = lab4.srun_argv(args, "storm")
    with dropped(lab4.lab, *PATHS["in"][:3]):
        first, second = lab4.srun(args), lab4.srun(args)
        begun = time.monotonic()
        lighter = [lab4.run(argv, env=LOADS) for _ in range(3)]
        took = time.monotonic() - begun
    for run in (first, second):
        assert run.code == 0 and PATHS["in"][3] in run.err, str(run)
    assert " s ago; falling back" not in first.err, str(first)
    assert " s ago; falling back" in second.err, str(second)
    assert second.steps[0]["counters"]["tx_datagrams"] == 0, str(second)
    # of those that follow within 5 s none loads what it would not use
    for run in lighter:
        said = re.findall(r"warning: storm: .*", run.err)
        assert (run.code, run.out) == (0, "ran\n" * 4), run
        assert len(said) == 1 and PATHS["in"][3] in said[0], run
        assert " s ago; falling back" in said[0], run
    assert sum("/launch_module.so" in run.err for run in lighter) <= 1 + took // 5, \
        "\n".join(map(str, lighter))
    until(lambda: lab4.srun(args).steps[0]["fallback"] is None,
          "n2 to be forgotten")
    lab4.by_storm(lab4.srun(args))


def known(lab):
    """One node is known to hear nothing since now. (It is well.)"""
    nothing_known(lab)
    remember(lab, 20001, 0o700, f"{int(time.time())} 14 67 8383 n2 -")


def of_a_known_path(lab, args):
    known(lab)
    run = lab.run(lab.srun_argv(args, "storm"), env=LOADS)
    return run, "/launch_module.so" in run.err, re.findall(r"storm: .*", run.err)


def fell_back(said):
    return PATHS["in"][3] in said and " s ago; falling back" in said


def test_slurm_launches_at_once(lab4):
    """srun does not even load STORM's launch. (What follows does.)"""
    run, loads, (said,) = of_a_known_path(lab4, "-N4 -n4 {do} say ran")
    assert (run.code, run.out, loads) == (0, "ran\n" * 4, False), run
    assert fell_back(said), run


def test_with_a_file_slurm_sends_it(lab4):
    """By sbcast's own messages, of which STORM's launch makes one line."""
    run, loads, (said,) = of_a_known_path(lab4, "-N4 -n4 --bcast=/tmp/app {big} say ran")
    assert (run.code, run.out, loads) == (0, "ran\n" * 4, True), run
    assert fell_back(said), run


def test_a_later_component(lab4):
    """What the first one has loaded does not matter: one line, and Slurm launches it."""
    known(lab4)
    run = lab4.run(lab4.srun_argv("-N2 -n2 -w n3,n4 {do} say ran : --launch=storm "
                                  "-N2 -n2 -w n1,n2 {do} say ran", "storm"), env=LOADS)
    assert (run.code, run.out) == (0, "ran\n" * 4), run
    said, = re.findall(r"storm: .*", run.err)
    assert "/launch_module.so" in run.err and fell_back(said), run


def test_on_a_terminal_nothing_is_said(lab4):
    """Slurm always launches that."""
    known(lab4)
    one = Terminal(lab4, "--pty -N4 -n4 {do} say ran", "storm", env={"STORM_TIMELINE": ""})
    one.expect("ran")
    one.finish()
    assert "storm:" not in one.text, one.text


@contextlib.contextmanager
def with_key(lab, name, value, usual):
    key(lab, name, value)
    try:
        yield
    finally:
        key(lab, name, usual)


def test_never_refuses_it(lab4):
    """Slurm would launch."""
    with with_key(lab4, "Fallback", "never", "warn"):
        run, loads, said = of_a_known_path(lab4, "-N4 -n4 {do} say ran")
    assert run.code and run.out == "" and loads, run
    assert PATHS["in"][3] in said[0] and "falling back" not in run.err, run


def test_a_slurmd_is_asked_first(lab4):
    """With FailedLaunch, by STORM's launch. It answers."""
    with with_key(lab4, "FailedLaunch", "fail", "fallback"):
        run, loads, (said,) = of_a_known_path(lab4, "-N4 -n4 {do} say ran")
    assert (run.code, run.out, loads) == (0, "ran\n" * 4, True), run
    assert fell_back(said), run


def test_an_agent_remembers_for_all(lab4):
    """n4 is below n1. What n1 found for one user it says to the next one at once,
    until n4 answers."""
    says = ("node n4: no connection from node n1 to TCP port 8383: "
            "Connection timed out")
    job = lab4.allocate(4, "--ntasks-per-node=1", user="other")

    def of_another():
        lab4.remove("/tmp/slurm-storm-20002", ["login"])
        run = lab4.run(["srun", "--launch=storm", f"--jobid={job}", "-N4", "-n4",
                        "echo", "ran"], user="other", cwd="/tmp",
                       env={"STORM_TIMELINE": ""})
        assert (run.code, run.out) == (0, "ran\n" * 4), str(run)
        return run

    def soon():
        found.append(of_another())
        return found[-1].seconds < first.seconds / 2

    found = []
    try:
        with dropped(lab4.lab, "n4", *ON_A_NODE["tcp"][:2]):
            first = lab4.srun("-N4 -n4 {do} say ran")
            until(soon, lambda: f"less than half of {first.seconds:.2f} s: "
                  + ", ".join(f"{run.seconds:.2f}" for run in found))
        for run in (first, *found):
            assert says in run.err, str(run)
        until(lambda: of_another().err == "", "n4 to be forgotten")
    finally:
        lab4.cancel(job)


def remember(lab, owner, mode, *lines):
    path = lab.lab.path("login", KNOWN)
    os.mkdir(path)
    with open(os.path.join(path, "paths"), "w", encoding="ascii") as f:
        print(int(time.time()), *lines, sep="\n", end="", file=f)
    for p in (os.path.join(path, "paths"), path):
        os.chown(p, owner, owner)
    os.chmod(path, mode)


@pytest.mark.parametrize("owner, mode", [(20002, 0o755), (20001, 0o777)])
def test_what_others_say_is_bad(lab4, owner, mode):
    """A directory that another user has made, or can write."""
    remember(lab4, owner, mode, f"{int(time.time())} 14 67 8383 n2 -")
    lab4.by_storm(lab4.srun("-N4 -n4 {do} say ran"))


def test_what_cannot_be(lab4):
    """A time that is to come (the clock was set back), none at all, another fault,
    and the rest of a line."""
    now = int(time.time())
    remember(lab4, 20001, 0o700, f"{now + 1000} 14 67 8383 n1 -",
             f"{-2 ** 63} 14 67 8383 n2 -", f"{now} 99 67 8383 n3 -",
             f"{now} 14 67 838")
    argv = lab4.srun_argv("-N4 -n4 {do} say ran", "storm")
    run = lab4.run(argv, env=LOADS)
    assert (run.code, run.out) == (0, "ran\n" * 4), run
    assert "/launch_module.so" in run.err and "storm:" not in run.err, run
    lab4.by_storm(lab4.srun("-N4 -n4 {do} say ran"))


@pytest.mark.skipif(not LONG, reason="SKIP: takes a minute: --long")
def test_no_slurmstepd_connects(lab4):
    """Slurm's srun would wait for ten minutes, as slurmctld alone hears that slurmstepd
    has given up."""
    login = lab4.root("hostname -i").split()[0]
    with dropped(lab4.lab, "n2", "output", f"ip daddr {login} tcp flags syn / syn,ack"):
        run = lab4.start_srun("-N4 -n4 {do} say ran")
        until(lambda: "storm: slurmctld has no step" in run.err(), lambda: run.err())
        done = run.finish()
    assert done.code == 137 and "open SrunPortRange to the nodes" in done.err, str(done)
    lab4.clean()
