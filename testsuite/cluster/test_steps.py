# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Forms of steps: --multi-prog, more tasks than nodes, --overlap, parts of an
allocation, heterogeneous steps, concurrent sruns, in sbatch and salloc."""
import re

import normal
import pytest

from harness import MACHINES, STOCK, chosen, compare, same, until
from test_exit import once_all_run

CONF = """\
# what each task does
0      /home/user/bin/taskdo say first
1-3    /home/user/bin/taskdo say middle%t
4,6    /home/user/bin/taskdo env SLURM_PROCID exit 2
*      /home/user/bin/taskdo say rest%t@%o
"""


@pytest.mark.every_mode
def test_multi_prog(cluster):
    same(cluster, "--multi-prog -N4 -n8 m.conf", given={"m.conf": CONF},
         code=2)


def test_multi_prog_missing_task(cluster):
    same(cluster, "--multi-prog -N2 -n4 m.conf", storm=False,
         given={"m.conf": "0-1 /home/user/bin/taskdo\n"})


def test_multi_prog_no_file(cluster):
    same(cluster, "--multi-prog -N2 -n4 nothing.conf", storm=False)


def test_multi_prog_with_label(cluster):
    same(cluster, "-l --multi-prog -N4 -n8 m.conf", given={"m.conf": CONF})


@pytest.mark.every_mode
def test_more_tasks_than_nodes(cluster):
    same(cluster, "-N4 -n15 {do} node", code=0)


def test_many_tasks_a_node(cluster):
    same(cluster, "-O -N2 -n64 {do} say %t", code=0)


def test_cyclic_distribution(cluster):
    same(cluster, "-m cyclic -N4 -n10 {do} node", code=0)


def test_plane_distribution(cluster):
    same(cluster, "-m plane=2 -N4 -n12 {do} node", code=0)


def test_block_distribution(cluster):
    same(cluster, "-m block -N4 -n10 {do} node", code=0)


def test_arbitrary_distribution(cluster):
    same(cluster, "-m arbitrary -w n5,n2,n2,n7 -n4 {do} node", code=0)


def test_named_nodes(cluster):
    same(cluster, "-w n3,n6 -N2 -n2 {do} node", code=0)


def test_excluded_nodes(cluster):
    same(cluster, "-x n1,n8 -N6 -n6 {do} node", code=0)


def test_relative_node(cluster):
    same(cluster, "-r 3 -N2 -n4 {do} node", code=0)


def test_tasks_per_node(cluster):
    same(cluster, "-N3 --ntasks-per-node=2 {do} node", code=0)


def test_step_of_all_nodes(cluster):
    same(cluster, "{do} env SLURM_STEP_NUM_TASKS", code=0)


@pytest.mark.every_mode
def test_overlap(cluster):
    """Two steps at once on the same CPUs."""
    runs = []
    for launch in ("slurm", "storm"):
        a = cluster.start_srun("--overlap -N8 -n32 {do} touch up.%t "
                               "wait {dir}/go say a", launch)
        until(lambda: (a.dir / "up.31").exists(), "the first step")
        b = cluster.srun("--overlap -N8 -n32 {do} say b", launch)
        (a.dir / "go").touch()
        runs.append((a.finish(), b))
    for mine, stock in zip(runs[1], runs[0]):
        compare(stock, mine, code=0)
        cluster.by_storm(mine)


def test_steps_beside_each_other(cluster):
    """Six sruns at the same time, each with its own exit codes."""
    for launch in ("slurm", "storm"):
        many = [cluster.start_srun(
            f"--overlap -N8 -n8 {{do}} @{i} exit {i + 10} say s{i}", launch)
            for i in range(6)]
        for i, one in enumerate(many):
            run = one.finish()
            assert run.code == i + 10, str(run)
            assert run.out == f"s{i}\n" * 7, str(run)
            if launch == "storm":
                cluster.by_storm(run)


def test_step_waits_for_another(cluster):
    """An srun that finds the nodes busy is woken when they become free."""
    for launch in ("slurm", "storm"):
        first = cluster.start_srun("-N8 -n8 {do} touch up.%t wait {dir}/go",
                                   launch)
        until(lambda: all((first.dir / f"up.{i}").exists() for i in range(8)),
              "the first step")
        second = cluster.start_srun("-N8 -n8 {do} @3 exit 5", launch)
        until(lambda: "PENDING" in cluster.root(
            f"scontrol show step {cluster.job}"), "the second to wait")
        (first.dir / "go").touch()
        assert first.finish().code == 0
        # srun itself checks again only after a minute
        run = second.finish(timeout=50)
        assert run.code == 5, str(run)
        if launch == "storm":
            cluster.by_storm(run)


@pytest.mark.every_mode
def test_allocation_of_its_own(cluster):
    same(cluster, "-N8 -n16 {do} node @5 exit 3", code=3, alone=True)


def test_whole_node_list_in_environment(cluster):
    same(cluster, "-N4 -n4 {do} env SLURM_NODELIST env SLURM_STEP_NODELIST "
         "env SLURM_NODEID env SLURM_LOCALID env SLURM_NTASKS "
         "env SLURM_TASKS_PER_NODE", code=0)


@pytest.mark.every_mode
def test_het_job(cluster):
    """srun A : B with its own allocation: one step of two components."""
    runs = []
    for launch in ("slurm", "storm"):
        options = [] if STOCK else [f"--launch={launch}"]
        runs.append(cluster.run(
            ["srun", *options, "-N2", "-n4", "{do}", "env",
             "SLURM_PROCID", "say", "first", ":", *options, "-N3", "-n3",
             "{do}", "env", "SLURM_PROCID", "@5", "exit", "7", "say",
             "second"], label=launch))
    compare(*runs, code=7)
    cluster.by_storm(runs[1])
    if not STOCK:
        assert len(runs[1].steps) == 2, str(runs[1])


def test_het_step_in_het_allocation(cluster):
    done = cluster.lab.run(
        ["salloc", "--no-shell", "-Q", "-J", "hetero", "-N2", ":", "-N3"],
        user="user", cwd="/")
    assert done.returncode == 0, done.stderr
    job = re.search(r"\d+", cluster.root(
        "squeue -h -n hetero -o %i --sort=i")).group()
    try:
        runs = [cluster.run(
            ["srun", *([] if STOCK else [f"--launch={launch}"]),
             f"--jobid={job}", "--het-group=0,1", "{do}", "node", "say",
             "%t"], label=launch) for launch in ("slurm", "storm")]
        compare(*runs, code=0)
        cluster.by_storm(runs[1])
    finally:
        cluster.root(f"scancel {job}")
        until(lambda: not cluster.root(
            "squeue -h -n hetero -t R,CG").strip(), "the end of the job")


# messages name nodes, and those of the last run may still be completing
SAME_NODES = ("-N4", "-wn[1-4]")
SCRIPT = """\
srun {do} say one
srun -N2 -n2 {do} @1 exit 4 say two
echo code $?
"""


@pytest.mark.every_release
def test_sbatch(cluster):
    """sbatch --launch=storm applies to the sruns inside."""
    runs = []
    for launch in ("slurm", "storm"):
        runs.append(cluster.run(
            ["sbatch", "-W", *([] if STOCK else [f"--launch={launch}"]),
             *SAME_NODES, "--ntasks-per-node=2", "-o", "{dir}/log",
             "job.sh"],
            given={"job.sh": "#!/bin/sh\n" + SCRIPT.replace(
                "{do}", "/home/user/bin/taskdo")}, label=launch))
    logs = [normal.stderr(r.files()["log"]) for r in runs]
    assert logs[0] == logs[1]
    assert logs[1].count("one") == 8 and "code 4" in logs[1]
    assert runs[0].code == runs[1].code == 0
    cluster.by_storm(runs[1])


@pytest.mark.every_release
def test_salloc(cluster):
    runs = []
    for launch in ("slurm", "storm"):
        runs.append(cluster.run(
            ["salloc", "-Q", *([] if STOCK else [f"--launch={launch}"]),
             *SAME_NODES, "--ntasks-per-node=2", "sh", "-c",
             SCRIPT.replace("{do}", "/home/user/bin/taskdo")],
            label=launch))
    compare(*runs, code=0)
    assert "code 4" in runs[1].out
    cluster.by_storm(runs[1])


@pytest.mark.every_release
@pytest.mark.storm_only
def test_option_beats_the_environment(cluster):
    """srun --launch=slurm inside sbatch --launch=storm is launched by stock
    Slurm."""
    run = cluster.run(["salloc", "-Q", "--launch=storm", "-N2", "srun",
                       "--launch=slurm", "{do}", "say", "x"])
    assert run.code == 0 and run.timeline is None, str(run)


@pytest.mark.storm_only
def test_launch_option_refuses_nonsense(cluster):
    run = cluster.run(["srun", "--launch=typhoon", "-N1", "{do}"])
    assert run.code != 0
    assert "typhoon" in run.err and "storm" in run.err, str(run)


@pytest.mark.storm_only
def test_verbose_prints_phases(cluster):
    """-vv: the timeline on one line."""
    run = cluster.srun("-vv -N4 -n4 --bcast={dir}-%s {big}".replace(
        "--bcast={dir}-%s", "--bcast=/tmp/phases"))
    cluster.remove("/tmp/phases")
    assert run.code == 0, str(run)
    line = [l for l in run.err.splitlines() if "step create" in l]
    assert line, str(run)
    for phase in ("step create", "open", "send", "write", "verify", "exec",
                  "run", "exit"):
        assert phase in line[-1], f"{phase} is missing: {line[-1]}"


@pytest.mark.every_release
@pytest.mark.storm_only
def test_verbose_names_the_launcher(cluster):
    """-v: one line tells that STORM launches, and how. Slurm's own messages
    do not change."""
    run = cluster.by_storm(cluster.srun("-v -N4 -n4 {do}"))
    (line,) = re.findall("storm: launches .*", run.err)
    assert re.fullmatch(r"storm: launches StepId=[\d.]+ on 4 nodes, "
                        "(by multicast|along the chain)", line), str(run)
    run = cluster.by_storm(cluster.srun("-vvv -N4 -n4 {do}"))
    assert "launch/storm" not in run.err, str(run)
    # later releases have no launch plugins
    assert chosen() != MACHINES or \
        "launch/slurm: launch_p_step_launch: " in run.err, str(run)


@pytest.mark.storm_only
def test_timeline_is_in_order(cluster):
    run = cluster.by_storm(cluster.srun("-N8 -n8 {do} sleep 0.05"))
    phases = run.steps[0]["phases"]
    order = ["step_create", "open", "send", "exec", "run", "exit"]
    starts = [phases[p]["start"] for p in order]
    assert starts == sorted(starts), str(run)
    # a task can run before its node's answer ends "exec"
    assert phases["exec"]["ms"] + phases["run"]["ms"] >= 45, str(run)
    assert run.steps[0]["nodes"] == 8 and run.steps[0]["tasks"] == 8


def test_srun_help_lists_the_option(cluster):
    if STOCK:
        pytest.skip("SKIP: stock Slurm has no such option")
    assert "--launch=TYPE" in cluster.run(["srun", "--help"]).out


def test_preserve_env_and_propagate(cluster):
    same(cluster, "--propagate=NONE -N2 -n2 {do} limits", code=0)


def test_prolog_and_epilog_of_srun(cluster):
    same(cluster, "--prolog=./pro --epilog=./epi -N2 -n2 {do} say task",
         given={"pro": "#!/bin/sh\necho prolog\n",
                "epi": "#!/bin/sh\necho epilog\n"},
         prefix="chmod 755 pro epi", code=0)


def test_task_prolog_and_epilog(cluster):
    same(cluster, "--task-prolog={dir}/pro --task-epilog={dir}/epi -N2 -n4 "
         "{do} env ADDED", code=0, prefix="chmod 755 pro epi",
         given={"pro": "#!/bin/sh\necho export ADDED=by-prolog\n"
                       "echo print hello\n",
                "epi": "#!/bin/sh\ntrue\n"})


def test_no_kill_option(cluster):
    same(cluster, "-k -N4 -n4 {do} say x", code=0)


def test_immediate_and_exclusive(cluster):
    same(cluster, "--exclusive -N4 -n4 {do} say x", code=0)


def test_het_kill_on_bad_exit(cluster):
    """The failing task waits for those of the other step, too. Slurm's signal is lost for a
    step that its nodes have not begun yet, by stock's launch, too: srun waits for ever."""
    runs = []
    for launch in ("slurm", "storm"):
        options = [] if STOCK else [f"--launch={launch}"]
        runs.append(cluster.run(
            ["srun", "-K", *options, "-N2", "-n2", "{do}", "touch", "{dir}/%t", "block", ":",
             *options, "-N2", "-n2", "{do}", *once_all_run(4, 3, "exit 4 block").split()],
            label=launch))
    assert runs[0].code == runs[1].code, f"{runs[0]}\n{runs[1]}"


#: To see what is loaded. For a timeline STORM's launch is loaded in any case.
LOADS = {"LD_DEBUG": "files", "STORM_TIMELINE": ""}


@pytest.mark.every_release
@pytest.mark.parametrize("nodes", [1, 2])
def test_slurm_launches_on_one_node(cluster, nodes):
    """There is nobody to multicast to: srun does not even load STORM's launch.
    Nothing is wrong, so nothing is said."""
    run = cluster.run(cluster.srun_argv(f"-N{nodes} -n{nodes} true", "storm"),
                      env=LOADS)
    assert run.code == 0, run
    assert ("/launch_module.so" in run.err) == (nodes > 1), run
    assert "storm:" not in run.err, run


@pytest.mark.every_release
def test_slurm_launches_on_few_nodes(cluster):
    """LaunchNodes: with fewer nodes and without a file. It says so if asked, and
    its timeline is written if that is wanted."""
    cluster.set_key("LaunchNodes", "3")
    try:
        for nodes, more, storms in ((2, "", False), (3, "", True),
                                    (2, "--bcast={dir}/p", True)):
            argv = cluster.srun_argv(
                f"-v -N{nodes} -n{nodes} {more} {{big}} say on", "storm")
            run = cluster.run(argv)
            assert (run.code, run.out) == (0, "on\n" * nodes), run
            step, = run.steps
            assert step["launch"] == ("storm" if storms else "slurm"), run
            assert step["fallback"] is None and step["nodes"] == nodes, run
            assert step["phases"]["run"] and step["phases"]["exit"], run
            assert ("storm: 2 nodes, no file: Slurm launches (LaunchNodes=3)"
                    in run.err) != storms, run
            assert ("Slurm launches" in run.err) != storms, run
            assert "launch/storm" not in run.err, run
            # without it nothing is loaded
            run = cluster.run(argv, env=LOADS)
            assert ("/launch_module.so" in run.err) == storms, run
    finally:
        cluster.set_key("LaunchNodes", "2")


@pytest.mark.every_release
@pytest.mark.storm_only
def test_launch_on_one_node(cluster):
    """LaunchNodes=1."""
    cluster.set_key("LaunchNodes", "1")
    try:
        run = cluster.run(cluster.srun_argv("-v -N1 -n3 {do} say on", "storm"))
    finally:
        cluster.set_key("LaunchNodes", "2")
    assert (run.code, run.out) == (0, "on\n" * 3), run
    assert run.steps[0]["launch"] == "storm", run


@pytest.mark.every_release
@pytest.mark.parametrize("args, storms", [
    ("-n1 hostname", False),
    ("-N1 -n4 hostname", False),
    ("-N2 -n2 echo -n1", False),
    ("-N 2 hostname", False),
    ("--nodes=1-2 hostname", False),
    ("-n 2 hostname", False),
    ("-N3 -n3 echo -n1", True),
    ("-N2 --bcast={dir}/p {big} say x", True),
    ("-N 1 hostname : -N3 hostname", True),
    ("-n1 hostname : -n2 hostname", False)])
@pytest.mark.skipif(chosen() == MACHINES, reason="SKIP: 22.05 has one srun")
def test_few_nodes_stay_with_the_sites_srun(cluster, args, storms):
    """It looks at the options of the step alone, and at all of them. It says so if
    asked."""
    cluster.set_key("LaunchNodes", "3")
    try:
        run = cluster.run(cluster.srun_argv("-v " + args, "storm"), env=LOADS)
    finally:
        cluster.set_key("LaunchNodes", "2")
    assert run.code == 0, run
    begun = re.findall(r"initialize program: (\S*srun)$", run.err, re.M)
    assert len(begun) == 1 + storms, run
    assert "LaunchNodes" in run.err or storms, run


def test_storm_sends_a_file_to_one_node(cluster):
    run = cluster.run(cluster.srun_argv("-N1 -n1 --bcast={dir}/p {big} say hello",
                                        "storm"))
    assert (run.code, run.out) == (0, "hello\n"), run
    assert run.counter("tx_bytes") > 10_000_000, run
