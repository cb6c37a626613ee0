# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: how long a job's launchers stay, and on whose word they begin."""
import os
import time

import pytest

from harness import chosen, until
from lab.slurmconf import STAGE
from run_lab import (  # noqa: F401
    begin, end_run, heads, lab, NODES, processes, runs_now, said, STARTED,
    the_head, WAITS)

pytestmark = pytest.mark.storm_only


@pytest.fixture
def idle(lab):
    yield lambda limit: lab.set_key("LauncherIdle", limit)
    lab.set_key("LauncherIdle", "600s")


def test_idle(lab, idle):
    """Launchers end when no run was there for so long, and the next one starts anew. The
    time in which their job stood is none of it, nor that of a run."""
    idle("3s")
    one = begin(lab, """
storm run -N4 sh -c 'touch up; until [ -e enough ]; do sleep 0.05; done'; touch ready
until [ -e go ]; do sleep 0.05; done; storm run -N4 true; echo on $?
until [ -e end ]; do sleep 0.05; done; storm run -N4 true; echo anew $?
""")
    until((one.dir / "up").exists, lambda: "the run: " + one.log())
    time.sleep(3.5)     # of a run, and nothing is to happen
    (one.dir / "enough").touch()
    until((one.dir / "ready").exists, lambda: "the run's end: " + one.log())
    job, head = lab.root("squeue -h -o %i").strip(), the_head(lab)
    lab.root(f"scontrol suspend {job}")
    until(lambda: not runs_now(head), "the head to stand")
    time.sleep(3.5)     # likewise
    (one.dir / "go").touch()
    lab.root(f"scontrol resume {job}")
    said(one, "on 0")
    assert heads(lab) == [head] and len(STARTED.findall(one.log())) == 1, one.log()
    until(lambda: not processes(lab, "storm_launcher", "srun"),
          lambda: f"{processes(lab)} to end")
    (one.dir / "end").touch()
    one.finish()
    assert "anew 0" in one.log() and len(STARTED.findall(one.log())) == 2, one.log()


def test_idle_edge(lab, idle):
    """A client that comes when the limit is over gets its run all the same."""
    idle("100ms")
    one = begin(lab, """
for k in $(seq 0 19); do
  storm run -n1 echo "run $k" || exit 1
  sleep $(printf 0.%03d $((60 + 5 * k)))
done
""")
    assert one.finish().code == 0, one.log()
    times = len(STARTED.findall(one.log()))
    assert one.log().count("run ") - one.log().count("storm run ") == 20, one.log()
    assert 1 < times, one.log()


def test_start(lab, idle):
    """It starts launchers that stay, also where a run has started them; there it says
    nothing. It goes with nothing else."""
    idle("1s")
    one = begin(lab, """
storm run --start; echo start $?; touch ready; until [ -e go ]; do sleep 0.05; done
storm run -N4 hostname; echo run $?; storm run --stop; storm run true
storm run --start; echo again $?; touch more; until [ -e on ]; do sleep 0.05; done
storm run true; echo last $?
storm run --start true; echo $?; storm run --stop --start; echo $?
""")
    until((one.dir / "ready").exists, lambda: "the launchers: " + one.log())
    head = the_head(lab)
    time.sleep(1.5)     # nothing is to happen
    (one.dir / "go").touch()
    until((one.dir / "more").exists, lambda: "the launchers: " + one.log())
    assert the_head(lab) != head
    time.sleep(1.5)     # likewise
    (one.dir / "on").touch()
    done = one.finish()
    wrong = "storm run: --start and --stop go neither with each other nor with a program"
    out = STARTED.sub("started", WAITS.sub("", one.log())).splitlines()
    assert (done.code, out[:2], out[6:]) == (0, ["started", "start 0"], [
        "run 0", "started", "again 0", "last 0", wrong, "2", wrong, "2"]), one.log()
    assert sorted(out[2:6]) == lab.names, one.log()


def test_variables_of_srun(lab):
    """What a user says to srun by its variables is not said to the launchers' step."""
    one = begin(lab, """
SRUN_EXPORT_ENV=NONE SRUN_CPUS_PER_TASK=99 storm run --start && storm run -N4 hostname
""")
    done = one.finish()
    out = STARTED.sub("started", WAITS.sub("", one.log())).splitlines()
    assert (done.code, out[0], sorted(out[1:])) == (0, "started", lab.names), one.log()


#: The launchers come without a run. The script has no child that it did not start, and
#: what it submits is not resident
RESIDENT = """
read -r children </proc/$$/task/$$/children; echo children $children
until ls /tmp/storm-$UID/$SLURM_JOB_ID.*.sock >/dev/null 2>&1; do sleep 0.05; done
sleep $1; $STORM run hostname; echo code $?; env | grep -c storm_resident
"""


def resident(lab, options, nodes, stay=0):
    """A job's launchers began with it, on so many nodes."""
    storm = f"STORM={STAGE}/bin/storm; set -- {stay}\n"
    one = begin(lab, storm + RESIDENT, nodes=nodes, options=["--resident", *options])
    one.finish()
    out = sorted(STARTED.sub("started", WAITS.sub("", one.log())).splitlines())
    assert out == ["0", "children", "code 0", *lab.names[:nodes], "started"], \
        one.log()


@pytest.mark.every_release
def test_resident(lab, idle):
    """sbatch --resident: launchers begin beside the script, and stay when they are
    idle. Without the user's environment, too."""
    idle("1s")
    # with NONE slurmd of 26.05 gives a job back if it cannot log in as the user, as
    # on a lab's hosts
    none = "NIL" if chosen() == "26.05" else "NONE"
    resident(lab, ["--export=" + none], NODES, stay=1.5)


def test_resident_het(lab, idle):
    """They begin in the component that has the script; also without a storm.conf."""
    path = f"{lab.lab.dir}/etc/slurm/storm.conf"
    os.rename(path, path + ".kept")
    try:
        resident(lab, ["--ntasks-per-node=1", ":", "-N2"], 1)
    finally:
        os.rename(path + ".kept", path)


@pytest.mark.every_release
def test_resident_salloc(lab):
    """They begin beside salloc's command. A job that this one submits has none."""
    done = lab.run(["salloc", "-Q", "--resident", f"-N{NODES}", "sh", "-c", """
until ls /tmp/storm-*/$SLURM_JOB_ID.*.sock >/dev/null 2>&1; do sleep 0.05; done
storm run hostname; env | grep -c storm_resident"""])
    assert sorted(done.out.split()) == ["0", *lab.names], str(done)
    assert STARTED.fullmatch(done.err.strip()), str(done)
