# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A node whose slurmd answers no more than its agent (FailedLaunch): srun names it once,
and ends before any task has started, or goes on without it."""
import contextlib
import re
import signal

import pytest

import normal
import odd_node
from bad_paths import nothing_known
from conftest import make
from firewall import dropped
from harness import HERE, key, until
from test_bcast import GREET, put_greet

pytestmark = pytest.mark.storm_only

#: as of a host without a slurmd and an agent
GONE = ("input", "tcp dport { 6818, 8383 } reject with tcp reset; udp dport 8383")
#: as of a host without an agent alone
NO_AGENT = ("input", "tcp dport 8383 reject with tcp reset; udp dport 8383")
SAYS = "neither agent nor slurmd answers on node n3 (TCP port 6818: "
REFUSED = SAYS + "Connection refused)"


@pytest.fixture(scope="module")
def six():
    c = make("failed", 6, storm_conf={"FailedLaunch": "fail"})
    yield c
    c.down()


@pytest.fixture
def lab(six, request):
    six.current = re.sub(r"\W+", "_", request.node.name)
    nothing_known(six)
    yield six
    six.clean()


@contextlib.contextmanager
def gone(lab, node="n3", fault=GONE):
    with dropped(lab.lab, node, *fault):
        yield


def ended(lab, run, says=REFUSED):
    """Nothing has run, one line names the node, and the step is gone."""
    assert run.code == 1 and run.out == "", str(run)
    assert run.err.startswith(f"srun: error: storm: {says}"), str(run)
    assert run.err.count("\n") == 1 and "--exclude=n3" in run.err, str(run)
    assert not lab.steps(), str(run)


@pytest.mark.every_release
def test_fail(lab):
    with gone(lab):
        run = lab.srun("-N6 -n6 {do} say ran")
    ended(lab, run)
    run = lab.srun("-N6 -n6 {do} say ran")
    assert run.code == 0 and run.out == "ran\n" * 6, str(run)


@pytest.mark.every_release
def test_fail_with_a_file(lab):
    with gone(lab):
        run = lab.srun("-N6 -n6 --bcast=/tmp/app {big} say ran")
    ended(lab, run)
    assert not any(lab.file(node, "/tmp/app") for node in lab.names)


def test_sbcast_fails(lab):
    with gone(lab):
        run = lab.run("sbcast_storm {big} /tmp/app",
                      env={"SLURM_JOB_ID": str(lab.job)})
    assert run.code and run.err.count("\n") == 1, str(run)
    assert run.err.startswith(f"sbcast_storm: error: storm: {REFUSED}"), str(run)
    assert not any(lab.file(node, "/tmp/app") for node in lab.names)


def test_slurm_would_have_launched(lab):
    """With Fallback=warn one node has the whole step go to Slurm's launch."""
    key(lab, "Fallback", "warn")
    try:
        with gone(lab):
            run = lab.srun("-N6 -n6 {do} say ran")
    finally:
        key(lab, "Fallback", "nodes")
    ended(lab, run)


def test_the_cable_is_out(lab):
    """That takes longer to see, and the next step knows; its slurmd is asked again."""
    lab.lab.fault("cut", "n3")
    try:
        for _ in range(2):
            ended(lab, lab.srun("-N6 -n6 {do} say ran"), SAYS)
    finally:
        lab.lab.heal("n3")


def test_two_cables_are_out(lab):
    """The first one that is found ends the step, and all are named."""
    for node in ("n2", "n3"):
        lab.lab.fault("cut", node)
    try:
        run = lab.srun("-N6 -n6 {do} say ran")
    finally:
        lab.lab.heal()
    assert run.code == 1 and run.out == "" and run.err.count("\n") == 1, str(run)
    assert run.err.startswith(
        "srun: error: storm: neither agent nor slurmd answers on nodes n[2-3] "
        "(TCP port 6818: no answer within 1 s); "), str(run)
    assert "--exclude=n[2-3]" in run.err, str(run)


def test_all_are_named(lab):
    """Each with its cause, and none that has a slurmd."""
    with gone(lab, "n2"), gone(lab, "n6"), gone(lab, "n5", NO_AGENT):
        run = lab.srun("-N6 -n6 {do} say ran")
    assert run.code == 1 and run.out == "" and run.err.count("\n") == 1, str(run)
    assert run.err.startswith(
        "srun: error: storm: neither agent nor slurmd answers on nodes n[2,6] "
        "(TCP port 6818: Connection refused); "), str(run)
    assert "--exclude=n[2,6]" in run.err, str(run)


def test_all_are_named_without_ipv6(lab):
    """n2 refuses at once and ends the step; n3 is found by asking, as srun's kernel can."""
    lab.lab.put(HERE / "no_inet6.py", "login", "/tmp/no_inet6.py")
    lab.lab.fault("cut", "n3")
    try:
        with gone(lab, "n2"):
            run = lab.run(["python3", "/tmp/no_inet6.py",
                           *lab.srun_argv("-N6 -n6 {do} say ran", "storm")], label="storm")
    finally:
        lab.lab.heal()
        lab.remove("/tmp/no_inet6.py", ["login"])
    assert run.code == 1 and run.out == "" and run.err.count("\n") == 1, str(run)
    assert run.err.startswith(
        "srun: error: storm: neither agent nor slurmd answers on node n2 "
        "(TCP port 6818: Connection refused), node n3 (TCP port 6818: no answer within 1 s)"
    ), str(run)


def test_host_is_paused(lab):
    """Its kernel takes slurmd's connections, so it has not failed: Slurm's own messages
    go there, and are answered when it goes on."""
    with odd_node.host_stops(lab.lab, "n3"):
        one = lab.start_srun("-N6 -n6 {do} say ran")
        until(lambda: "Slurm's own messages there" in one.err(), one.err)
    run = one.finish()
    assert (run.code, run.out) == (0, "ran\n" * 6), str(run)
    assert "node n3: its agent gives no answer" in run.err, str(run)
    assert "slurmd answers" not in run.err, str(run)


def test_slurmd_answers(lab):
    """The agent alone is gone: Slurm's own messages go there, as without the key."""
    with gone(lab, fault=NO_AGENT):
        run = lab.srun("-N6 -n6 {do} say ran")
    assert run.code == 0 and run.out == "ran\n" * 6, str(run)
    assert "Slurm's own messages there" in run.err, str(run)
    (step,) = run.steps
    assert (step["launch"], step["odd"]) == ("storm", "n3"), str(run)


@pytest.mark.long       # its agent waits 5 s for a restart
def test_slurmd_is_gone_later(lab):
    """Its agent has taken the launch, and nobody waits another 11 s for it."""
    lab.lab.kill("n3", "slurmd")
    try:
        run = lab.srun("-N6 -n6 {do} say ran")
    finally:
        lab.lab.restart("n3", "slurmd")
        lab.lab.wait_agents(["n3"])
    assert run.code and run.seconds < 10, str(run)
    assert "slurmd does not answer on node n3 (TCP port 6818: Connection refused): the " \
        "launch there has failed, as FailedLaunch says\n" in run.err, str(run)
    assert "failed on node n3" in run.err and "resending" not in run.err, str(run)


def test_own_job(lab):
    """srun ends the job that it made, too."""
    with gone(lab):
        run = lab.srun("-N6 -n6 {do} say ran", alone=True)
    assert run.code == 1 and run.out == "" and REFUSED in run.err, str(run)
    lab.wait_completed()
    assert lab.root("squeue -h -o %i").split() == [str(lab.job)]


@pytest.fixture
def retry(lab):
    key(lab, "FailedLaunch", "retry")
    yield lab
    key(lab, "FailedLaunch", "fail")


def without(run, says, *tasks):
    """One line names the node, and these tasks alone have run, by STORM."""
    assert run.code == 0 and run.err.count("\n") == 1, str(run)
    assert run.err.startswith(f"srun: warning: storm: {REFUSED}; {says}"), str(run)
    assert sorted(map(str.strip, run.out.splitlines())) == \
        sorted(f"{i}: ran" for i in tasks), str(run)
    (step,) = run.steps
    assert (step["launch"], step["fallback"]) == ("storm", None), str(run)


NO_KILL = "going on without, as --no-kill allows: tasks there count as lost\n"


@pytest.mark.every_release
def test_no_kill(retry):
    """The others run at once."""
    with gone(retry):
        run = retry.srun("-k -N6 -n12 -l {do} say ran")
    without(run, NO_KILL, 0, 1, 2, 3, 6, 7, 8, 9, 10, 11)
    assert run.seconds < 5, str(run)


@pytest.mark.every_release
def test_no_kill_with_a_file(retry):
    with gone(retry):
        run = retry.srun("-k -N6 -n6 -l --bcast=/tmp/app {big} say ran")
    without(run, NO_KILL, 0, 1, 3, 4, 5)
    assert [n for n in retry.names if retry.file(n, "/tmp/app")] == \
        ["n1", "n2", "n4", "n5", "n6"]


def test_no_kill_with_libraries(retry):
    """Each of them comes to the others."""
    put_greet(retry)
    with gone(retry):
        run = retry.srun("-k -N6 -n6 --send-libs --bcast=/tmp/uselib {bin}/uselib",
                         env=GREET)
    assert run.code == 0 and run.err.count("\n") == 1, str(run)
    assert run.err.startswith(f"srun: warning: storm: {REFUSED}; {NO_KILL}"), str(run)
    assert run.out == "greetings from the library\n" * 5, str(run)
    assert [n for n in retry.names if retry.file(n, "/tmp/uselib_libs/libgreet.so")] == \
        ["n1", "n2", "n4", "n5", "n6"]


def test_no_kill_and_more_than_a_few(retry):
    """Two that have failed, and one without an agent."""
    with gone(retry, "n2"), gone(retry, "n3"), gone(retry, "n5", NO_AGENT):
        run = retry.srun("-k -N6 -n6 -l {do} say ran")
    assert run.code == 0, str(run)
    assert sorted(map(str.strip, run.out.splitlines())) == \
        [f"{i}: ran" for i in (0, 3, 4, 5)], str(run)
    assert run.err.count("\n") == 2 and run.err.count("slurmd answers") == 1, str(run)
    assert all(n in normal.hosts(run.err) for n in ("n2", "n3", "n5")), str(run)


@pytest.mark.parametrize("file", ["{do}", "--bcast=/tmp/app {big}"])
def test_no_kill_and_slurm_launches(retry, file):
    """Two without an agent are too many for STORM, and Slurm launches on all that
    have not failed."""
    with gone(retry, "n2"), gone(retry, "n4", NO_AGENT), gone(retry, "n5", NO_AGENT):
        run = retry.srun(f"-k -N6 -n6 -l {file} say ran")
    assert run.code == 0 and run.err.count("\n") == 2, str(run)
    assert run.err.count("slurmd answers on node n2 (") == 1, str(run)
    assert run.err.endswith("; falling back to Slurm's standard launch\n"), str(run)
    assert sorted(map(str.strip, run.out.splitlines())) == \
        [f"{i}: ran" for i in (0, 2, 3, 4, 5)], str(run)


def test_it_may_not_choose(retry):
    """All of the job's nodes, and no --no-kill: as with fail."""
    with gone(retry):
        run = retry.srun("-N6 -n6 {do} say ran")
    ended(retry, run)
    assert run.err.endswith("--exclude=n3 or --no-kill\n"), str(run)


AGAIN = "made the step again without, as --exclude=n3 does\n"


#: freed memory is, as srun has two steps' requests
OVERWRITTEN = {"GLIBC_TUNABLES": "glibc.malloc.perturb=90"}


def five(lab, words, do="{do}", env=()):
    """srun for a step on n1 to n5 of the job's six."""
    lab.srun("-N6 -n6 true")        # later releases begin behind the last step's
    with gone(lab):
        return lab.run(["srun", "--launch=storm", f"--jobid={lab.job}", "-n5",
                        *words.split(), *do.split(), "say", "ran"], label="storm",
                       env={**OVERWRITTEN, **dict(env)})


@pytest.mark.every_release
@pytest.mark.parametrize("do", ["-l {do}", "-l --bcast=/tmp/app {big}"])
def test_other_nodes(retry, do):
    """The job has another: the step is made again with it, and slurmctld has forgotten
    the first one."""
    run = five(retry, "-N5", do)
    without(run, AGAIN, 0, 1, 2, 3, 4)
    until(lambda: not retry.steps(), "the end of both steps", 5)


def test_the_name_of_the_step(retry):
    """Both requests have srun's only copy of it."""
    retry.srun("-N6 -n6 true")
    with gone(retry):
        run = retry.run(["srun", "--launch=storm", f"--jobid={retry.job}", "-N5", "-n5",
                         "squeue", "-h", "-s", f"-j{retry.job}", "-o%j"],
                        label="storm", env=OVERWRITTEN)
    assert run.code == 0 and set(run.out.split()) == {"squeue"}, str(run)


@pytest.mark.every_release
@pytest.mark.parametrize("words", ["-N5 -w n[1-5]", "-N5 -w n3", "-m arbitrary -w n1,n2,n3,n4,n5",
                                   "-N5 -r1"])
def test_nodes_that_the_user_has_chosen(retry, words):
    ended(retry, five(retry, words))


def test_hosts_of_a_file(retry):
    """srun has them as nodes that it chose itself."""
    (retry.home / "hosts").write_text("n1\nn2\nn3\nn4\n")
    ended(retry, five(retry, "-n4 -m arbitrary -x n6",
                      env={"SLURM_HOSTFILE": "/home/user/hosts"}))


@pytest.mark.every_release
@pytest.mark.parametrize("one, other", [("-n3 -w n[1-3]", "-n2 -w n[4-5]"),
                                        ("-n2 -w n[4-5]", "-n3 -w n[1-3]"),
                                        ("-N2 -n2", "-N3 -n3"), ("-N3 -n3", "-N2 -n2")])
def test_heterogeneous(retry, one, other):
    """No component is made again, though the job has another node, and none begins."""
    retry.srun("-N6 -n6 true")      # later releases begin behind the last step's
    with gone(retry):
        run = retry.srun(f"{one} {{do}} say ran : {other} {{do}} say ran")
    ended(retry, run)


def test_heterogeneous_job(retry):
    """Nor is a step in one component of such a job, which has another node."""
    with gone(retry):
        run = retry.run(["salloc", "-Q", "-N3", "-n3", "-w", "n[3-5]", ":", "-N1", "-n1",
                         "-w", "n6", "srun", "--launch=storm", "--het-group=0", "-N2",
                         "-n2", "{do}", "say", "ran"], label="storm")
    ended(retry, run)
    retry.wait_completed()


def test_another_that_the_user_leaves_out(retry):
    """It is no other node."""
    ended(retry, five(retry, "-N5 -x n6"))
    without(five(retry, "-N4 -n4 -x n6", "-l {do}"), AGAIN, 0, 1, 2, 3)


def test_others_are_busy(retry):
    """Nobody waits for them."""
    other = retry.start_srun("-N1 -n8 -O -w n6 --exclusive sleep 60")
    until(lambda: retry.steps(), "the other step")
    with gone(retry):
        run = retry.srun("-N5 -n20 --exclusive {do} say ran")
    assert run.code == 1 and run.out == "", str(run)
    assert run.err.count("\n") == 2 and REFUSED in run.err, str(run)
    other.signal(signal.SIGKILL)
