# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Health before a node takes part: an idle node checks what launches need, says so in the
cluster domain, and slurmctld shows it. Each test has the faults of one node, and waits
until it is well again.
"""
import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess

import pytest

from harness import LONG, Lab, until
from lab import host as hosts
from tree import TOP

pytestmark = pytest.mark.storm_only

STORM_CONF = ["Partition=shared Policy=local", "Health=1s", "HealthTimeout=2s",
              "HealthPaths=/tmp:/var/tmp", "HealthProgram=/run/site/check"]
#: by the contract of LBNL's NHC: exit status and last line
CHECK = """#!/bin/sh
echo "all is being checked"
: >/run/ran
[ ! -e /run/site/broken ] || { echo; echo "ERROR: fan of $SLURMD_NODENAME"; exit 3; }
[ ! -e /run/site/slow ] || sleep 600
"""


@pytest.fixture(scope="module")
def shared():
    made = Lab(f"health{os.getpid()}")
    try:
        made.up(3, conf=["SchedulerType=sched/storm"], storm_conf=STORM_CONF)
        for host in made.nodes:
            program(made, host)
        yield made
    finally:
        made.down()


def program(lab, host="n2"):
    """The site's program on a host, as it ought to be."""
    where = lab.path(host, "/run/site")
    shutil.rmtree(where, ignore_errors=True)
    os.mkdir(where, 0o755)
    with open(where + "/check", "w") as f:
        f.write(CHECK)
    os.chmod(where + "/check", 0o755)
    return where


def extra(lab, host="n2"):
    text = lab.run(["scontrol", "-o", "show", "node", host], cwd="/").stdout
    found = re.search(r"Extra=(\S*)", text)
    return found[1] if found else ""


def says(lab, word, host="n2"):
    until(lambda: f"health={word}" in extra(lab, host),
          lambda: f"health={word} in {extra(lab, host)!r}")


def well(lab, host="n2"):
    until(lambda: "health=" not in extra(lab, host),
          lambda: f"{host} to be well: {extra(lab, host)!r}")


@pytest.fixture
def lab(shared):
    yield shared
    if shared.faults():
        shared.heal()
    for host in shared.nodes:
        well(shared, host)


def logged(lab, what, host="n2"):
    until(lambda: re.search(what, lab.log(host, "slurmd")),
          lambda: f"{what} in {lab.log(host, 'slurmd')[-2000:]}")


def launched(lab):
    """What a step on all nodes says; it is launched by STORM, whatever they say."""
    done = lab.run(["srun", "-v", "-N3", "--launch=storm", "true"], cwd="/")
    assert done.returncode == 0 and "storm: launches" in done.stderr, done
    return done.stderr


@pytest.mark.every_release
def test_a_full_disk(lab):
    """It is that node alone, and its log says how much is left."""
    lab.fault("fill", "n2")
    says(lab, "space")
    logged(lab, r"this node is not well \(space\): /tmp has \d+ MB left, less than "
                r"HealthSpace \(64 MB\)")
    assert not any("space" in extra(lab, host) for host in ("n1", "n3"))
    until(lambda: "storm: not well: n2: there is little space for files; slurmd's log there "
          "says more\n" in lab.log("ctl", "slurmctld"), "slurmctld to say so")
    assert "not well: n2: there is little space for files" in launched(lab)
    lab.heal()
    well(lab)
    logged(lab, "this node is well again")
    until(lambda: "storm: well again: n2\n" in lab.log("ctl", "slurmctld"),
          "slurmctld to say so")
    assert "not well" not in launched(lab)


def test_a_hung_file_system(lab):
    """Only that check hangs; signs of life go on, and what hangs is begun once."""
    lab.fault("hang", "n2", what="/var/tmp")
    says(lab, "hung")
    logged(lab, r"not well \(hung\): /var/tmp does not answer")
    assert "failed=" not in extra(lab)


def test_few_inodes(lab):
    """A file system with space, and no room for names."""
    def root(*command):
        done = lab.run(list(command), host="n2", cwd="/", user="root")
        assert done.returncode == 0, done.stderr

    root("mount", "-t", "tmpfs", "-o", "nr_inodes=900", "tmpfs", "/var/tmp")
    try:
        says(lab, "inodes")
        logged(lab, r"\(inodes\): /var/tmp has 8\d\d inodes left, less than "
                    r"HealthInodes \(1000\)")
    finally:
        root("umount", "/var/tmp")


def test_no_descriptors(lab):
    """storm_health has none left; the host has few left."""
    pid = health_process(lab)
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, most))    # 0 to 3 are in use
    says(lab, "descriptors")
    logged(lab, r"\(descriptors\): no check can begin: Too many open files")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))
    well(lab)
    # the limit is the whole machine's: n2 alone reads another count
    file = lab.path("n2", "/run/file-nr")
    with open(file, "w") as f:
        f.write("991\t0\t1000\n")
    bound = "/proc/sys/fs/file-nr"
    done = lab.run(["mount", "--bind", "/run/file-nr", bound], host="n2", cwd="/",
                   user="root")
    assert done.returncode == 0, done.stderr
    try:
        logged(lab, r"9 of the host's 1000 descriptors are left")
        says(lab, "descriptors")
    finally:
        lab.run(["umount", bound], host="n2", cwd="/", user="root")


def test_a_slurmd_that_stands(lab):
    """Its agent lives, and says so."""
    lab.fault("stop", "n2", what="slurmd")
    says(lab, "slurmd")
    lab.heal()
    logged(lab, r"\(slurmd\): slurmd does not answer in time")


def test_a_munged_that_stands(lab):
    lab.fault("stop", "n2", what="munged")
    says(lab, "munge")


@contextlib.contextmanager
def own_clock(lab, host="n2"):
    """slurmd, and what it starts, read a wall clock that is as far off as a file says: all
    hosts of a lab have the machine's. Gives the file's path."""
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", lab.dir + "/home/jump.so",
                    TOP / "testsuite/programs/clock_jump.c"], check=True)
    lab.end(host, "slurmd")
    lab.end(host, "agent")
    done = lab.run(hosts.daemon_command(host, "slurmd"), host=host, cwd="/",
                   env={"LD_PRELOAD": "/home/jump.so", "CLOCK_JUMP": "/run/jump"})
    assert done.returncode == 0, done
    lab.wait_agents([host])
    try:
        yield lab.path(host, "/run/jump")
    finally:
        lab.end(host, "slurmd")
        lab.end(host, "agent")
        lab.restart(host, "slurmd")


@pytest.mark.skipif(not LONG, reason="SKIP: it takes 25 s: --long")
def test_a_clock_that_jumps(lab):
    """Half an hour, in either direction; it is well when the clock is back."""
    where = program(lab)
    with own_clock(lab) as file:
        # a jump is one since an earlier look
        with open(where + "/broken", "w"):
            pass
        says(lab, "program")
        program(lab)
        well(lab)
        old = health_process(lab)
        for seconds in (1800, -1800):
            with open(file, "w") as f:
                f.write(str(seconds))
            says(lab, "clock")
            logged(lab, rf"not well \(clock\): the clock has jumped by {seconds} s\n")
            os.unlink(file)
            well(lab)
        assert health_process(lab) == old


def test_the_sites_program(lab):
    """Exit status and last line; one that does not end is killed with its group."""
    where = program(lab)
    with open(where + "/broken", "w"):
        pass
    says(lab, "program")
    logged(lab, r"not well \(program\): /run/site/check ended with status 3: "
                r"ERROR: fan of n2\n")
    os.rename(where + "/broken", where + "/slow")
    logged(lab, "/run/site/check does not end in time: all is being checked")
    program(lab)
    well(lab)
    until(lambda: not lab.pids("n2", "sleep"), "what it has started to end")


def ran(lab, host, times=1):
    """The site's program has run so often."""
    for _ in range(times):
        file = lab.path(host, "/run/ran")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
        until(lambda file=file: os.path.exists(file), f"{host} to be checked")


def test_a_step_runs_there(lab):
    """Nothing is checked meanwhile. A slurmstepd that is killed leaves its socket, and its
    node is idle all the same."""
    ran(lab, "n2")
    step = lab.popen(["srun", "-w", "n2", "sleep", "600"], cwd="/")
    try:
        until(lambda: lab.pids("n2", "sleep"), "the step to run")
        ran(lab, "n1", 2)   # a round of n2's may have begun before
        file = lab.path("n2", "/run/ran")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
        ran(lab, "n1", 2)
        assert not os.path.exists(file)
        stepd = lab.pids("n2", "slurmstepd")
        assert stepd
        for pid in stepd + lab.pids("n2", "sleep"):
            os.kill(pid, signal.SIGKILL)
        ran(lab, "n2")
    finally:
        lab.run(["scancel", "--me"], cwd="/")
        step.kill()
        step.wait()
        lab.wait_idle()


def attack(lab, how):
    """n2's program in a place that a user may change, put there in one piece."""
    where = lab.path("n2", "/run/site")
    new = where + ".new"
    os.mkdir(new, 0o755)
    with open(new + "/check", "w") as f:
        f.write("#!/bin/sh\n: >/run/took\n")
    os.chmod(new + "/check", 0o757 if how == "mode" else 0o755)
    if how == "directory":
        os.chmod(new, 0o777)
    elif how == "owner":
        os.chown(new + "/check", 1234, -1)
    elif how == "link":
        os.rename(new + "/check", new + "/other")
        os.symlink("/run/site/other", new + "/check")
    shutil.rmtree(where)
    os.rename(new, where)


def test_a_program_that_is_not_roots_alone(lab):
    """A user who can change what root would run gains nothing: it is not run."""
    for how, why in (("mode", "/check can be written by others than root"),
                     ("directory", " can be written by others than root"),
                     ("owner", "/check is not root's"),
                     ("link", "/check is a symbolic link")):
        attack(lab, how)
        logged(lab, rf"/run/site/check is not run: /run/site{why}")
    says(lab, "program")
    assert not os.path.exists(lab.path("n2", "/run/took"))
    program(lab)
    well(lab)


def health_process(lab, host="n2"):
    """A check has this name, too, for a moment."""
    def one():
        pids = lab.pids(host, "storm_health")
        return pids[0] if len(pids) == 1 else None
    return until(one, lambda: f"one storm_health: {lab.pids(host, 'storm_health')}")


def another(lab, old):
    until(lambda: health_process(lab) != old, f"another storm_health than {old}")


def test_it_is_killed_again_and_again(lab):
    """storm_minder starts it each time, as root, and the node is checked."""
    for _ in range(3):
        old = health_process(lab)
        os.kill(old, signal.SIGKILL)
        another(lab, old)
    logged(lab, r"\(storm_health, pid \d+\) was killed by signal 9")
    lab.fault("fill", "n2")
    says(lab, "space")


def test_its_checks_end_with_it(lab):
    """What it has begun is not begun twice."""
    where = program(lab)
    with open(where + "/slow", "w"):
        pass
    until(lambda: lab.pids("n2", "check"), "the program to run")
    old = health_process(lab)
    os.kill(old, signal.SIGSTOP)    # nothing is begun until it is killed
    until(lambda: lab.pids("n2", "sleep"), "what the program has started")
    begun = set(lab.pids("n2", "check") + lab.pids("n2", "sleep"))
    assert len(begun) > 1
    os.kill(old, signal.SIGKILL)
    another(lab, old)
    until(lambda: not begun & set(lab.pids("n2", "check") + lab.pids("n2", "sleep")),
          "the old program's end", 10)
    program(lab)


@pytest.mark.skipif(not LONG, reason="SKIP: it takes 20 s: --long")
def test_it_stands(lab):
    """The agent says so, and storm_minder replaces it."""
    old = health_process(lab)
    os.kill(old, signal.SIGSTOP)
    logged(lab, r"\(storm_health, pid \d+\) does not answer: replacing it")
    logged(lab, r"not well \(unchecked\): the process that checks does not answer")
    another(lab, old)


def the_minder(lab):
    pids = lab.pids("n2", "storm_minder")
    return pids[0] if len(pids) == 1 else None


@pytest.mark.every_release
def test_storm_minder_is_killed(lab):
    """storm_health takes its place, again and again, and has another storm_health; the
    node is checked as before."""
    where = program(lab)
    for again in range(2):
        with open(where + "/slow", "w"):
            pass
        until(lambda: lab.pids("n2", "check"), "the program to run")
        minder, health = the_minder(lab), health_process(lab)
        begun = set(lab.pids("n2", "check"))
        os.unlink(where + "/slow")
        os.kill(minder, signal.SIGKILL)
        until(lambda health=health: the_minder(lab) == health,
              lambda: f"storm_health in its place: {lab.pids('n2', 'storm_minder')}")
        another(lab, health)
        if not again:   # the second one is no child of the agent's
            logged(lab, r"\(storm_minder, pid \d+\) was killed by signal 9: storm_health "
                        "takes its place")
        until(lambda begun=begun: not begun & set(lab.pids("n2", "check")),
              "the old program's end")
    lab.fault("fill", "n2")
    says(lab, "space")
    logged(lab, r"this node is not well \(space\)")


def test_both_are_killed(lab):
    """Nobody starts them: the node says so until its slurmd is restarted."""
    minder, health = the_minder(lab), health_process(lab)
    os.kill(minder, signal.SIGSTOP)     # or it starts another one
    os.kill(health, signal.SIGKILL)
    os.kill(minder, signal.SIGKILL)
    says(lab, "unchecked")
    logged(lab, r"\(storm_minder\) have ended: restart slurmd")
    lab.kill("n2", "agent")
    well(lab)
    assert health_process(lab)


@pytest.mark.skipif(not LONG, reason="SKIP: it takes 20 s: --long")
def test_storm_minder_stands(lab):
    """While storm_health lives it is not missed. If that dies the node says so, and is
    checked again when storm_minder goes on."""
    minder = the_minder(lab)
    os.kill(minder, signal.SIGSTOP)
    lab.fault("fill", "n2")
    says(lab, "space")
    lab.heal()
    well(lab)
    os.kill(health_process(lab), signal.SIGKILL)
    logged(lab, r"not well \(unchecked\): the process that checks does not answer")
    os.kill(minder, signal.SIGCONT)
    another(lab, None)
    well(lab)
    assert the_minder(lab) == minder
