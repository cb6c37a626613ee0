# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: which CPUs, GPUs and how much memory runs have. Slurm takes devices of any
kind for GPUs, and tasks here only look at their variables."""
import pathlib
import re

import pytest

from conftest import make
from harness import MACHINES, chosen, until
from lab.release import stage_dir
from run_lab import (  # noqa: F401
    batch, begin, end_run, ends, finish, launchers, run_both, said)

pytestmark = [
    pytest.mark.storm_only,
    pytest.mark.skipif(chosen() != MACHINES, reason="SKIP: it is compared with srun of "
                       "22.05: run it without --slurm")]

NODES = 2
GPUS = 2        # of each node

#: What the job has: all CPUs and GPUs of both nodes
JOB = {"nodes": NODES, "options": [f"--gres=gpu:{GPUS}", "--mem=500"]}


@pytest.fixture(scope="module")
def places_lab():
    c = make("places", NODES, cpus=2, standing=False, conf={
        "ProctrackType": "proctrack/cgroup",
        "TaskPlugin": "task/cgroup,task/affinity",
        "SelectTypeParameters": "CR_Core_Memory",
        "GresTypes": "gpu",
        "NodeName": f"n[1-{NODES}] CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 "
                    f"RealMemory=1000 Gres=gpu:{GPUS} State=UNKNOWN"})
    yield c
    c.down()


@pytest.fixture
def lab(places_lab):
    return places_lab


#: Slurm kills the keeper with the script of its job, and may leave its files
STOP = "storm run --stop\n"


def test_gpus_as_srun(lab):
    """Tasks see the GPUs that they have asked for, by the variables that srun sets; without
    a word those of the job. --gres=none hides them, also where no control group does."""
    cases = run_both(lab, """
show() { both --mem=0 -w n1 -N1 "$@" sh -c 'echo $SLURM_PROCID \\
  cuda ${CUDA_VISIBLE_DEVICES:-no} rocr ${ROCR_VISIBLE_DEVICES:-no} \\
  step ${SLURM_STEP_GPUS-no} node ${SLURM_GPUS_ON_NODE-no}'; }
show -n1
show -n2 --gpus-per-task=1
show -n1 --gpus-per-task=2
show -n2 --gres=gpu:1
show -n2 --gpus-per-node=2
show -n1 --gres=none
""" + STOP, **JOB)
    for case in cases:
        shown = {by: sorted(out.splitlines()) for by, (out, _) in case.items()}
        assert shown["srun"] == shown["storm"], case
    assert cases[1]["storm"][0].count(" cuda ") == 2
    assert "cuda 0 " in cases[1]["storm"][0] and "cuda 1 " in cases[1]["storm"][0]


def test_gpus_wait(lab):
    """Of the runs at a time no two have the same GPU, and none waits for a GPU that it has
    not asked for. storm ps tells of them."""
    out = batch(lab, """
storm run --gpus-per-task=1 -n3 sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES >one.$SLURM_PROCID
  until [ -e go ]; do sleep 0.05; done' & a=$!
until [ "$(cat one.? 2>/dev/null | wc -l)" = 3 ]; do sleep 0.05; done
storm run --gpus-per-task=1 -n1 sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES' >two
storm ps | grep GPUs
storm run --gpus-per-task=2 -n1 sh -c 'echo has $CUDA_VISIBLE_DEVICES; ls go' & b=$!
until storm ps | grep -q waits; do sleep 0.05; done
touch go; wait $a; wait $b
sort one.? two
storm run -n2 --gpus-per-task=3 true; echo $?
storm run -N2 --gpus-per-node=3 true; echo $?
storm ps | grep -E 'GPUs|memory'
""" + STOP, **JOB)
    assert out == ["GPUs: 4, of which 1 are free", "has 0,1", "go",
                   "n1 0", "n1 1", "n2 0", "n2 1",
                   "storm run: 2 tasks with 3 GPUs each on 2 nodes are asked for, the job "
                   "has 4 GPUs on 2 nodes", "1",
                   "storm run: 2 tasks with 3 GPUs on each on 2 nodes are asked for, the "
                   "job has 4 GPUs on 2 nodes", "1",
                   "GPUs: 4, of which 4 are free",
                   "MB of memory: 1000, of which 1000 are free"], out


def test_memory_is_counted(lab):
    """A run waits for memory that another one has said that it takes; nobody enforces it. More
    than the job ever has is an error."""
    out = batch(lab, """
storm run -w n1 -n1 --mem=300 sh -c 'touch up; until [ -e go ]; do sleep 0.05; done' & a=$!
until [ -e up ]; do sleep 0.05; done
storm run -w n1 -n1 --mem-per-cpu=200M echo beside
storm run -w n1 -n1 --mem=0 echo nothing
storm ps | grep memory
storm run -w n1 -n1 --mem=201 ls go & b=$!
until storm ps | grep -q waits; do sleep 0.05; done
touch go; wait $a; wait $b
storm run -N2 --mem=501 true; echo $?
storm run -N2 --mem=1G true; echo $?
storm run -n2 -N1 --mem-per-cpu=251 true; echo $?
storm run --mem=1X true; echo $?
storm run --mem=1G --mem-per-cpu=1G true; echo $?
""" + STOP, **JOB)
    assert out == ["beside", "nothing", "MB of memory: 1000, of which 700 are free", "go",
                   "storm run: 2 tasks with 501 MB on each on 2 nodes are asked for, the job "
                   "has at most 500 MB on 2 nodes", "1",
                   "storm run: 2 tasks with 1024 MB on each on 2 nodes are asked for, the job "
                   "has at most 500 MB on 2 nodes", "1",
                   "storm run: 2 tasks with 251 MB for a CPU on 1 nodes are asked for, the "
                   "job has at most 500 MB on 2 nodes", "1",
                   'storm run: "1X" is no size of memory: a number, of MB or with K, M, G '
                   "or T", "2",
                   "storm run: --mem does not go with --mem-per-cpu", "2"], out


def masks(text):
    """{task: its mask}, as --cpu-bind=verbose says it."""
    return dict(re.findall(r"^cpu-bind=\S+ +- \w+, task +(\d+) +\d+ \[\d+\]: mask (\S+)",
                           text, re.M))


def test_bind_as_srun(lab):
    """Tasks are bound as with srun, which says so with the same words; what is not the
    job's is refused."""
    cases = run_both(lab, """
show() { both --mem=0 -w n1 -N1 "$@" sh -c 'echo $SLURM_PROCID $(taskset -p $$ | cut -d: -f2)'; }
show -n2 --cpu-bind=verbose,threads
show -n2 --cpu-bind=v,map_cpu:1,0
show -n2 --cpu-bind=verbose,mask_cpu:0x3,2
show -n2 --cpu-bind=none
show -n1 -c2 --cpu-bind=verbose,threads
show -n1 --cpu-bind=map_cpu:7
show -n1 --cpu-bind=map_cpu:x
show -n1 --cpu-bind=foo
""" + STOP, **JOB)
    for case in cases[:5]:
        assert sorted(case["srun"][0].splitlines()) == \
            sorted(case["storm"][0].splitlines()), case
        assert masks(case["srun"][1]) == masks(case["storm"][1]), case
    assert masks(cases[1]["storm"][1]) == {"0": "0x2", "1": "0x1"}
    assert "CPU binding outside of job step allocation" in cases[5]["srun"][1]
    assert "n1: task 0: CPU binding outside of job step allocation" in cases[5]["storm"][1]
    for case in cases[5:]:
        assert not case["storm"][0] and case["storm"][1].splitlines()[-1] != "0", case


def module():
    """By which launchers ask hwloc."""
    return pathlib.Path(stage_dir()) / "libexec/slurm-storm/storm_hwloc.so"


@pytest.fixture
def hwloc():
    if not module().exists():
        pytest.skip("SKIP: STORM is built without hwloc; apt-get install libhwloc-dev")


def loads_hwloc(pid):
    """One that has ended since it was listed does not."""
    try:
        return "libhwloc" in pathlib.Path(f"/proc/{pid}/maps").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_bind_to_cores_as_srun(lab, hwloc):
    """Tasks are bound to cores, sockets and domains of memory as with srun. What a user
    says to hwloc by variables changes nothing of it."""
    cases = run_both(lab, """
export HWLOC_SYNTHETIC='pack:1 core:1 pu:8' HWLOC_COMPONENTS=synthetic
show() { both --mem=0 -w n1 -N1 "$@" sh -c 'echo $SLURM_PROCID $(taskset -p $$ | cut -d: -f2)'; }
show -n2 -c1 --cpu-bind=verbose,cores
show -n2 --cpu-bind=verbose,sockets
show -n2 --cpu-bind=verbose,ldoms
show -n1 -c2 --cpu-bind=v,core
""" + STOP, **JOB)
    for case in cases:
        assert sorted(case["srun"][0].splitlines()) == \
            sorted(case["storm"][0].splitlines()), case
        assert masks(case["srun"][1]) == masks(case["storm"][1]), case
    assert masks(cases[0]["storm"][1]) == {"0": "0x1", "1": "0x2"}
    assert masks(cases[1]["storm"][1]) == {"0": "0x3", "1": "0x3"}


def test_resident(lab, hwloc):
    """srun --resident passes on what binds tasks and gives them GPUs."""
    out = batch(lab, """
unset STORM_TIMELINE SLURM_NTASKS_PER_NODE
storm run true
show() { echo "$@"
  for how in slurm "storm --resident"; do
    srun --mem=0 --launch=$how -w n1 -N1 "$@" sh -c 'echo ${STORM_RUN+launchers} >>by
      echo $SLURM_PROCID $(taskset -p $$ | cut -d: -f2) ${CUDA_VISIBLE_DEVICES:-no}' \
      2>err | sort | tr '\n' ';'; echo; done
  grep -c mask err; }
show -n2 --cpu-bind=cores
show -n1 --cpu-bind=verbose,sockets
show -n2 --cpu-bind=map_cpu:1,0
show -n2 --cpu-bind=none
show -n2 --gpus-per-task=1 --cpu-bind=v,threads
SLURM_CPU_BIND=core SLURM_GPUS_PER_TASK=2 show -n1
sort by | uniq -c
""" + STOP, **JOB)
    for k in range(0, len(out) - 2, 4):
        assert out[k + 1] == out[k + 2], out
    assert [line.split() for line in out[-2:]] == [["10"], ["10", "launchers"]], out
    assert out[1] == "0 1 0,1;1 2 0,1;" and out[17] == "0 1 0;1 2 1;", out
    assert [out[k] for k in range(3, len(out) - 2, 4)] == ["0", "1", "0", "0", "2", "0"], out


def test_hwloc_is_loaded_by_need(lab, hwloc):
    """Only launchers load it, and only those of a run that asks for cores."""
    one = begin(lab, """
storm run --cpu-bind=threads true; echo threads
until [ -e go ]; do sleep 0.05; done
storm run -w n1 -n1 --cpu-bind=cores sh -c 'touch up; until [ -e on ]; do sleep 0.05; done'
""" + STOP, **JOB)
    said(one, "threads")
    every = {node: lab.lab.pids(node, "storm_launcher") for node in ("n1", "n2")}
    assert every["n1"] and every["n2"]
    assert not [pid for pids in every.values() for pid in pids if loads_hwloc(pid)]
    (one.dir / "go").touch()
    until(lambda: (one.dir / "up").exists(), lambda: "a task: " + one.log())
    assert [pid for pids in every.values() for pid in pids if loads_hwloc(pid)] == \
        launchers(lab, "n1")
    # slurmd and slurmstepd have it without us
    others = {pid for name in ("storm", "srun", "storm_agent")
              for pid in lab.lab.pids("n1", name)}
    assert len(others) > 3, others
    assert not [pid for pid in others if loads_hwloc(pid)]
    (one.dir / "on").touch()
    assert finish(one).code == 0, one.log()


def test_no_hwloc(lab, hwloc):
    """A node without the package is named, and so is the package. Other kinds of binding
    do without, and once it is installed the same launchers have it."""
    folder = module().parent
    lab.root(["sh", "-c", f"mkdir /run/without && cp {folder}/storm_launcher /run/without"
              f" && mount --bind /run/without {folder}"], host="n2")
    try:
        one = begin(lab, """
storm run -N2 -n2 --cpu-bind=cores sleep 100; echo code $?
storm run -N2 -n2 --cpu-bind=threads echo threads
until [ -e go ]; do sleep 0.05; done
storm run -N2 -n2 --cpu-bind=cores echo cores
storm ps | grep CPUs
""" + STOP, **JOB)
        until(lambda: one.log().count("threads") == 2, one.log)
    finally:
        lab.root(["sh", "-c", f"umount -l {folder} && rm -r /run/without"], host="n2")
    (one.dir / "go").touch()
    assert finish(one).code == 0, one.log()
    lines = one.log().splitlines()
    assert "storm run: error: --cpu-bind=cores: slurm-storm-hwloc is missing on n2" in lines
    assert not [line for line in lines if "n2: task" in line]
    assert "code 0" not in lines and lines.count("cores") == 2, lines
    assert "CPUs: 4, of which 4 are free" in lines, lines


@pytest.mark.parametrize("unit", ["threads", "cores"])
def test_bound_runs_share_no_cpu(lab, unit, request):
    """Runs at the same time that are bound have CPUs of their own, and cores, as long as
    there are some; what one gives back the next one gets."""
    if unit == "cores":
        request.getfixturevalue("hwloc")
    out = batch(lab, f"""
export BIND=--cpu-bind={unit}
""" + """
for k in 1 2; do
  storm run -w n1 -n1 -c 1 $BIND sh -c "taskset -p \\$\\$ | cut -d: -f2 >cpu.$k
    until [ -e go ]; do sleep 0.05; done" &
done
until [ -s cpu.1 ] && [ -s cpu.2 ]; do sleep 0.05; done
sort cpu.?; touch go; wait
for k in 1 2 3; do storm run -w n1 -N1 -n2 $BIND sh -c 'taskset -p $$ | cut -d: -f2' | sort; done
""" + STOP, **JOB)
    assert [line.strip() for line in out] == 4 * ["1", "2"], out


@pytest.fixture(scope="module")
def limited_lab():
    """Slurm limits the memory of jobs by a control group."""
    c = make("limited", 1, cpus=2, standing=False, conf={
        "ProctrackType": "proctrack/cgroup", "TaskPlugin": "task/cgroup",
        "SelectTypeParameters": "CR_CPU_Memory"})
    conf = pathlib.Path(c.lab.dir) / "etc/slurm/cgroup.conf"
    conf.write_text(conf.read_text() + "ConstrainRAMSpace=yes\n")
    c.lab.restart("n1", "slurmd")
    yield c
    c.down()


class TestOutOfMemory:
    @pytest.fixture
    def lab(self, limited_lab):
        return limited_lab

    def test_out_of_memory_as_srun(self, lab):
        """The kernel kills a task: its run says so by name, with the words and the exit
        status of srun. Launcher and head live, and the next run goes on. One that is killed
        by a signal is not said to be out of memory."""
        cases = run_both(lab, """
eat='python3 -c "b = bytearray(300000000)"'
both --mem=0 -n2 sh -c "[ \\$SLURM_PROCID = 0 ] || exec sleep 1; exec $eat"
both --mem=0 -n1 sh -c 'kill -9 $$'
pgrep -cx storm_launcher >up; storm run -n2 true
""" + STOP, nodes=1, options=["--mem=100"])
        assert [case["srun"][1].splitlines()[-1] for case in cases] == \
            [case["storm"][1].splitlines()[-1] for case in cases], cases
        for case in cases[0].values():
            assert ends(case[1]) == {0: "Out Of Memory"}, cases
        assert ends(cases[1]["storm"][1]) == {0: "Killed"}, cases
