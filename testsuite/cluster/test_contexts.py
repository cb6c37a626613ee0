# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Network contexts: what tasks find; that no two steps have the same one, even
if slurmctld dies; and that nodes accept contexts only from slurmctld."""
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from contexts import (COUNT_THEM, SHOW, Step, apart, command, context,
                      has_none, srun)
from harness import (HERE, MACHINES, Lab, need_records, save_jobs, stage_dir,
                     until)

pytestmark = pytest.mark.storm_only

COUNT = 4


@pytest.fixture(scope="module")
def lab():
    need_records()
    made = Lab(f"contexts{os.getpid()}")
    made.up(2, storm_conf={"ContextCount": COUNT}, cpus=8)
    try:
        yield made
    finally:
        made.down()


@pytest.fixture(autouse=True)
def _all_back(lab):
    """After each test, all contexts must be free again."""
    yield
    command(lab, "scancel", "-u", "user")
    until(lambda: not command(lab, "squeue", "-h"), "jobs to end")
    ids = set()

    def all_seen():
        ids.add(context(lines_with_one(lab, "-n1")[0])[0])
        return ids == set(range(1, COUNT + 1))

    until(all_seen, f"all contexts, not {ids} alone")


def lines_with_one(lab, *options):
    """Of srun, whose step gets a context. One that is leased becomes free when
    slurmctld hears of its step's end, which srun may not have waited for."""
    return until(lambda: [lines for lines in [srun(lab, *options)]
                          if lines[0].strip()], "a context to be free")[0]


def shown(lab, name):
    """The line of scontrol for the step of that name."""
    for text in command(lab, "scontrol", "-o", "show", "step").splitlines():
        if f" Name={name} " in text:
            return text
    raise AssertionError(f"no step {name}")


@pytest.mark.every_release
@pytest.mark.parametrize("launch", ["slurm", "storm"])
def test_one_for_a_step(lab, launch):
    """All tasks of a step have the same context, and another step has another
    one, even if the first one is in srun's environment."""
    lines = srun(lab, f"--launch={launch}", "-N2", "-n6")
    first = context(lines[0])
    assert len(lines) == 6 and set(lines) == {lines[0]}
    other = context(srun(lab, f"--launch={launch}", "-n1",
                         env=dict(zip(("STORM_CONTEXT", "STORM_CONTEXT_GROUP",
                                       "STORM_CONTEXT_KEY"),
                                      map(str, first))))[0])
    assert not set(first) & set(other)


def test_beside_each_other(lab):
    """Steps that run at the same time have different contexts. Users see the
    context, but not the key. A free one is given again, and the batch script
    has none."""
    steps = [Step(lab, f"beside{i}", "-n1") for i in range(3)]
    got = [s.context() for s in steps]
    for values in zip(*got):
        assert len(set(values)) == 3
    for step, (number, group, key) in zip(steps, got):
        text = shown(lab, step.name)
        assert f"Network=storm:context={number},group={group} " in text
        assert key not in text
    command(lab, "sbatch", "-o", "batch.out", "--wrap",
            "env | grep ^STORM_CONTEXT || echo none", user="user",
            cwd="/home/user")
    out = pathlib.Path(lab.dir) / "home" / "user" / "batch.out"
    until(lambda: out.exists() and out.read_text().endswith("\n"),
          "the batch job to say what it has")
    assert out.read_text() == "none\n"
    for step in steps:
        step.end()


def test_parts(lab):
    """The components of a heterogeneous step are one application."""
    lines = command(lab, "salloc", "-Q", "-n1", ":", "-n1", "sh", "-c",
                    f"srun --het-group=0,1 sh -c '{SHOW}'; srun sh -c '{SHOW}'",
                    user="user").splitlines()
    assert len(lines) == 3 and lines[0] == lines[1], lines
    assert context(lines[0])[0] != context(lines[2])[0]
    lines = command(lab, "salloc", "-Q", "-N2", "srun", "-n1", "--overlap", "sh",
                    "-c", SHOW, ":", "-n1", "--overlap", "sh", "-c", SHOW, user="user").splitlines()
    assert len(lines) == 2 and lines[0] == lines[1], lines
    context(lines[0])


def test_none_left(lab):
    """A step for which none is left runs without one, and says so at -v. The
    log has the reason. A context that becomes free is given again."""
    steps = [Step(lab, f"all{i}", "-n1") for i in range(COUNT)]
    got = [s.context() for s in steps]
    for more in ([], ["--immediate"], ["--launch=storm", "-N2"]):
        done = lab.run(["srun", "-v", *more, "-n2", "sh", "-c",
                        COUNT_THEM], user="user",
                       env=dict(STORM_CONTEXT="7"))
        has_none(done, tasks=2)
    until(lambda: re.search(
        r"runs without a network context: 4 of 4 are leased.*"
        "raise ContextCount", lab.log("ctl", "slurmctld")),
        "slurmctld to say why")
    done = lab.run(["srun", "-n1", "true"], user="user")
    assert done.returncode == 0 and "context" not in done.stderr, done
    steps[1].end()
    again = context(lines_with_one(lab, "-n1")[0])
    assert again[0] == got[1][0] and again[2] != got[1][2]
    for step in steps[2:] + [steps[0]]:
        step.end()


def test_more(lab):
    """ContextCount is raised."""
    steps = [Step(lab, f"more{i}", "-n1") for i in range(COUNT)]
    for step in steps:
        step.context()
    conf = pathlib.Path(lab.dir) / "etc" / "slurm" / "storm.conf"
    text = conf.read_text()
    try:
        conf.write_text(text.replace(f"={COUNT}", f"={COUNT + 1}"))
        command(lab, "scontrol", "reconfigure")
        until(lambda: srun(lab, "-n1")[0].split()[:1] == [str(COUNT + 1)],
              "one more context")
    finally:
        conf.write_text(text)
        command(lab, "scontrol", "reconfigure")
    for step in steps:
        step.end()


def test_slurmctld_killed(lab):
    """Whether or not slurmctld has saved a step before it is killed: while the
    step runs, no other step gets its context; then it becomes free."""
    command(lab, "salloc", "--no-shell", "-Q", "-N1", "-n8", "-Jkilled",
            user="user", cwd="/")
    job = command(lab, "squeue", "-h", "-n", "killed", "-o", "%i")
    steps = [Step(lab, "known", f"--jobid={job}", "-n1", "--exact")]
    got = [steps[0].context()]
    save_jobs(lab, job)
    steps.append(Step(lab, "unknown", f"--jobid={job}", "-n1", "--exact"))
    got.append(steps[1].context())
    lab.kill("ctl", "slurmctld")
    lab.restart("ctl", "slurmctld")
    known = command(lab, "squeue", "-h", "-s", "-o", "%j").split()
    assert "known" in known
    for _ in range(COUNT):
        assert apart(context(lines_with_one(lab, "-n1")[0]), got), \
            f"slurmctld knew of {known}"
    for step, one in zip(steps, got):
        step.end()
        assert step.context() == one
    command(lab, "scancel", job)


def asks(lab, node):
    """Whether a slurmstepd of the node has a connection to slurmctld's port."""
    for pid in lab.pids(node, "slurmstepd"):
        try:
            own = {os.readlink(f"/proc/{pid}/fd/{fd}")
                   for fd in os.listdir(f"/proc/{pid}/fd")}
            rows = pathlib.Path(f"/proc/{pid}/net/tcp").read_text()
        except OSError:     # it has just ended
            continue
        if [row for row in map(str.split, rows.splitlines()[1:])
                if row[2].endswith(f":{6817:04X}") and row[3] == "01"
                and f"socket:[{row[9]}]" in own]:
            return True
    return False


@pytest.mark.every_release
def test_slurmctld_dies_at_the_end(lab):
    """slurmctld is killed while slurmstepd tells it of the step's end. Slurm tells
    it again after a minute; the context is back much earlier."""
    command(lab, "salloc", "--no-shell", "-Q", "-N1", "-n8", "-Jdies",
            user="user", cwd="/")
    job = command(lab, "squeue", "-h", "-n", "dies", "-o", "%i")
    step = Step(lab, "end", f"--jobid={job}", "-n1", "--exact")
    step.context()
    save_jobs(lab, job)
    node = command(lab, "squeue", "-h", "-j", job, "-o", "%N")
    lab.kill("ctl", "slurmctld", signal.SIGSTOP)
    step.go.touch()
    until(lambda: asks(lab, node), "slurmstepd to tell slurmctld")
    lab.kill("ctl", "slurmctld")
    begun = time.monotonic()
    lab.restart("ctl", "slurmctld")
    until(lambda: f"{job}.0" not in command(lab, "squeue", "-h", "-s", "-o", "%i")
          .split(), "slurmctld to know of the step's end")
    took = time.monotonic() - begun
    assert took < 40, f"the step was over after {took:.0f} s"
    step.end()
    command(lab, "scancel", job)


def test_requeued_and_down(lab):
    """If a job is requeued or its node is lost, its context becomes free at
    the job's end. (_all_back checks it.)"""
    for name in "requeued", "down":
        job = command(lab, "sbatch", "--parsable", "-o", "/dev/null", "-n1",
                      "--wrap", f"srun sh -c '{SHOW} > {name}; sleep 600'",
                      user="user", cwd="/home/user")
        out = pathlib.Path(lab.dir) / "home" / "user" / name
        until(lambda: out.exists() and out.read_text(), "the job to run")
        number, _, _ = context(out.read_text())
        assert f"context={number}," in command(lab, "scontrol", "-o", "show",
                                               "step", job + ".0")
        if name == "requeued":
            command(lab, "scontrol", "requeuehold", job)
            until(lambda: "JobState=REQUEUE_HOLD" in command(
                    lab, "scontrol", "show", "job", job) or
                    "JobState=PENDING" in command(
                    lab, "scontrol", "show", "job", job),
                  "the job to be requeued")
        else:
            node = command(lab, "squeue", "-h", "-j", job, "-o", "%N")
            command(lab, "scontrol", "update", f"node={node}", "state=down",
                    "reason=test")
            # it may have registered again
            lab.run(["scontrol", "update", f"node={node}", "state=resume"])
            lab.wait_idle()
        command(lab, "scancel", job)


# ------------------------------------------------------------- forged contexts

@pytest.fixture(scope="module")
def forger(lab):
    """The environment of a user with a private switch plugin."""
    home = pathlib.Path(lab.dir) / "home" / "user"
    mine = home / "forger"
    mine.mkdir()
    real = pathlib.Path(stage_dir()) / "lib/slurm-storm/switch_storm.so"
    # under another name, so that STORM's can be linked to it
    data = real.read_bytes()
    assert b"\0switch_storm.so\0" in data
    (mine / "normal_storm.so").write_bytes(data.replace(
            b"\0switch_storm.so\0", b"\0normal_storm.so\0"))
    os.chmod(mine / "normal_storm.so", 0o755)
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
                    "-shared", "-fPIC", "-Wl,--no-as-needed", HERE.parent / "programs" / "forger.c",
                    "-o", mine / "switch_storm.so", "-L", mine,
                    "-l:normal_storm.so", "-Wl,-rpath,/home/user/forger",
                    "-Wl,--allow-shlib-undefined"],
                   check=True)
    conf = (pathlib.Path(lab.dir) / "etc" / "slurm" / "slurm.conf").read_text()
    conf = re.sub("(?m)^PluginDir=", "PluginDir=/home/user/forger:", conf)
    (mine / "slurm.conf").write_text(conf)
    for name in ("plugstack.conf", "storm.conf", "cgroup.conf"):
        (mine / name).write_text((pathlib.Path(lab.dir) / "etc" / "slurm" /
                                  name).read_text())
    return {"SLURM_CONF": "/home/user/forger/slurm.conf",
            "FORGE_FILE": "/home/user/kept"}


def forge(lab, forger, how, launch="slurm"):
    return lab.run(["srun", "-N1", "-n1", f"--launch={launch}", "sh", "-c",
                    f"{SHOW}; env | grep -c ^STORM_CONTEXT"],
                   user="user", env={**forger, "FORGE": how}, cwd="/home/user")


def refusals(lab):
    return [line for node in ("n1", "n2")
            for line in lab.log(node, "slurmd").splitlines()
            if "network context of" in line]


OUTSIDE = pytest.mark.slurm_only(
    MACHINES, "the context is inside slurmctld's credential, which srun cannot "
    "change")


@OUTSIDE
@pytest.mark.parametrize("launch,how,why", [
    ("slurm", "flip:26", "was changed on its way"),     # the id
    ("storm", "flip:51", "was changed on its way"),     # the group
    ("slurm", "flip:3", "was changed on its way"),      # the job
    ("slurm", "flip:-20", "MUNGE does not vouch for it"),
    ("slurm", "cut:40", "malformed"),
    ("storm", "cut:0", "malformed"),
    ("storm", "swap", "was given to step"),
])
def test_forged(lab, forger, launch, how, why):
    """A context that slurmctld did not give to this step fails the step. The
    user and the node's log get the reason."""
    done = forge(lab, forger, "keep")
    assert done.returncode == 0, done.stderr
    context(done.stdout.splitlines()[0])
    before = set(refusals(lab))
    done = forge(lab, forger, how, launch)
    assert done.returncode == 1 and not done.stdout, done.stdout + done.stderr
    assert "is refused: " in done.stderr and why in done.stderr, done.stderr
    said = until(lambda: set(refusals(lab)) - before, "the node to say so")
    assert all(why in line for line in said), said


@OUTSIDE
@pytest.mark.parametrize("how", ["none", "later"])
def test_other_version(lab, forger, how):
    """A step from before there were contexts, or from a later release's
    slurmctld, runs without one."""
    done = forge(lab, forger, how)
    assert done.returncode == 1, done.stderr     # grep counts none
    assert done.stdout.split() == ["0"]
