# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Another Slurm than the one that STORM was built for: Slurm works on as without
STORM, and says so once in each place.

The labs run a copy of the stage. To make it that of another Slurm, the build-id that
configure has recorded is changed in all of its plugins and programs.
"""
import pathlib
import re
import shutil

import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import MACHINES, chosen, stage_dir, until

pytestmark = pytest.mark.storm_only

MISSES = "STORM was built for that of Slurm"
TOOLS = ("storm_agent", "storm_strober", "sbcast_storm", "storm_hold", "storm_check_nodes",
         "storm_stack", "storm_status", "storm_why", "storm_jobs", "storm_map",
         "storm_metrics", "storm_top")


def recorded():
    """The build-id in storm_config.h, as a plugin has it."""
    plugin = pathlib.Path(stage_dir()) / "lib/slurm-storm/spank_storm.so"
    return re.search(rb"\n([0-9a-f]{40})\0", plugin.read_bytes())[1]


def change(stage):
    """Make the stage's files be of another build. Daemons that run keep theirs."""
    mine = recorded()
    changed = []
    for path in [p for p in stage.rglob("*") if p.is_file()
                 and not p.is_symlink()]:
        data = path.read_bytes()
        if mine in data:
            new = path.with_name(path.name + ".new")
            new.write_bytes(data.replace(mine, mine[::-1]))
            new.chmod(path.stat().st_mode)
            new.rename(path)
            changed.append(path.name)
    plugins = {"launch_module.so", "sched_storm.so", "spank_storm.so",
               "switch_storm.so"}
    if chosen() == MACHINES:
        plugins.add("launch_storm.so")
    assert set(changed) == set(TOOLS) | plugins, changed


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Two nodes with a gang partition, switch/storm, and all by STORM; then the
    stage becomes another Slurm's, and the daemons begin anew."""
    need_cgroup2()
    stage = tmp_path_factory.mktemp("guard") / "stage"
    shutil.copytree(stage_dir(), stage, symlinks=True)
    c = make("guard", 2, kind=Gang, stage=str(stage))
    try:
        fits(c)
        change(stage)
        for node in c.names:
            c.lab.end(node, "slurmd")
            c.lab.end(node, "agent")
        c.lab.restart("ctl", "slurmctld")
        for node in c.names:
            c.root(["slurmd", "-N", node], host=node)
        c.lab.wait_idle()
        yield c
    finally:
        c.down()


def fits(c):
    """With the Slurm it was built for, STORM says nothing, and works."""
    run = c.run("srun -pgang -N2 -n2 --launch=storm {do} say x")
    assert run.code == 0 and run.out == "x\n" * 2 and not run.err, str(run)
    c.by_storm(run)
    assert c.lab.pids("n1", "agent") and c.lab.pids("ctl", "storm_strober")
    assert "STORM_CONTEXT" in c.run("srun -pgang -N1 env").out
    assert MISSES not in c.lab.log("n1", "slurmd") + c.lab.log("ctl", "slurmctld")


def lines(text):
    return [line for line in text.splitlines() if MISSES in line]


def test_daemons_say_what_is_missing(other):
    for node in other.names:
        (line,) = lines(other.lab.log(node, "slurmd"))
        assert "error: storm: this host's libslurmfull.so is" in line
        assert line.endswith("this node starts no agent, and its steps get "
                             "Slurm's standard launch")
        assert not other.lab.pids(node, "agent")
    said = lines(other.lab.log("ctl", "slurmctld"))
    assert len(said) == 2, said
    assert any("steps get no network context" in line for line in said)
    assert any("schedules as sched/backfill" in line for line in said)
    assert not other.lab.pids("ctl", "storm_strober")


def without_waiting(run):
    """What srun says, but that a job waits for the one before, which still
    ends."""
    return [line for line in run.err.splitlines() if not re.match(
        r"srun: job \d+ (queued and waiting|has been allocated)", line)]


def standard(run, code=0):
    """Slurm has launched it, and srun says why in one line."""
    assert run.code == code, str(run)
    assert not run.timeline, f"by STORM: {run}"
    (line,) = without_waiting(run)
    assert re.fullmatch(r"srun: error: storm: .*" + MISSES + r" \S+, [0-9a-f]+: "
                        r".*; falling back to Slurm's standard launch",
                        line), line


@pytest.mark.every_release
def test_srun_goes_on(other):
    for given in ("--launch=storm", "--launch=storm --bcast=/tmp/x"):
        run = other.run(f"srun -pgang -N2 -n2 {given} {{do}} say x")
        assert run.out == "x\n" * 2, str(run)
        standard(run)
    run = other.run("srun -pgang -N2 -n2 {do} say x")
    assert run.code == 0 and run.out == "x\n" * 2, str(run)
    assert not without_waiting(run), str(run)
    assert "STORM_CONTEXT" not in other.run("srun -pgang -N1 env").out
    run = other.run("srun -pgang -N1 {do} say x",
                    env={"SLURM_STORM_LAUNCH": "storm"})
    assert run.out == "x\n"
    standard(run)


@pytest.mark.slurm_only("22.05", "LaunchType is gone since 23.02")
def test_launch_type_storm(other):
    """LaunchType=launch/storm loads Slurm's own plugin in its place."""
    etc = pathlib.Path(other.lab.dir) / "home" / "etc"
    shutil.copytree(pathlib.Path(other.lab.dir) / "etc" / "slurm", etc)
    conf = etc / "slurm.conf"
    conf.write_text(conf.read_text().replace("LaunchType=launch/slurm",
                                             "LaunchType=launch/storm"))
    run = other.run("srun -pgang -N2 -n2 -l {do} say x @1 exit 3",
                    env={"SLURM_CONF": "/home/etc/slurm.conf"})
    assert run.code == 3 and sorted(run.out.split("\n")) == ["", "0: x", "1: x"]
    said = lines(run.err)
    assert len(said) == 1 and "error: storm: " in said[0], str(run)
    assert len(without_waiting(run)) == 2 and \
        "task 1: Exited with exit code 3" in run.err, str(run)


@pytest.mark.every_release
def test_jobs_are_scheduled(other):
    """By sched/backfill; the third waits for the first two, which share."""
    jobs = [other.root("sbatch --parsable -pgang -N2 -n2 --mem=100 -D /home "
                       "-o /dev/null --wrap 'srun sleep 600'").strip()
            for _ in range(3)]
    until(lambda: len(other.jobs()) == 2, "two jobs that run")
    other.root(["scancel", jobs[0]])
    until(lambda: int(jobs[2]) in other.jobs(), "the third")
    assert "storm:" not in other.root("scontrol show job")
    for job in jobs[1:]:
        other.root(["scancel", job])
    until(lambda: not other.root("squeue -h").strip(), "an empty queue")


def test_commands(other):
    """--version tells both builds; sbcast_storm becomes sbcast."""
    mine = recorded().decode()
    for where, tool in (("libexec/slurm-storm", "storm_agent"),
                        ("libexec/slurm-storm", "storm_strober"),
                        ("bin", "sbcast_storm"), ("bin", "storm")):
        said = other.root([f"/run/stormlab/stage/{where}/{tool}", "--version"])
        assert f"libslurmfull.so {mine[::-1]}\n" in said
        assert f"ANOTHER here: libslurmfull.so {mine}\n" in said
    run = other.run("srun -pgang -N2 -n2 -l sh -c "
                    "'[ $SLURM_PROCID = 1 ] || "
                    "sbcast_storm -f /etc/hosts /home/user/to.$SLURM_JOB_ID'")
    assert run.code == 0, str(run)
    (line,) = lines(run.err)
    assert line.endswith("falling back to Slurm's standard broadcast"), line
    (name,) = other.home.glob("to.*")
    assert "10.83.0.1 ctl" in name.read_text()


def test_an_agent_does_not_run(other):
    """An agent that was upgraded under a slurmd that runs ends at once."""
    done = other.lab.run(["/run/stormlab/stage/libexec/slurm-storm/storm_agent",
                          "--node", "n1", "--run"], host="n1")
    assert done.returncode == 3 and lines(done.stderr), str(done)
