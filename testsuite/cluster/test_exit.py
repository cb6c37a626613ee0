# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Exit codes and signals, messages for failed tasks, --kill-on-bad-exit,
--wait."""
import re
import signal

import pytest

from harness import same, until
from normal import ids


@pytest.mark.every_mode
def test_success(cluster):
    same(cluster, "-N8 -n16 {do} say hello", code=0)


@pytest.mark.every_mode
def test_every_task_its_own_code(cluster):
    same(cluster, "-N8 -n16 {do} exitrank 0", code=15)


def test_all_tasks_same_code(cluster):
    same(cluster, "-N8 -n16 {do} exit 3", code=3)


@pytest.mark.every_mode
def test_three_of_many_fail_differently(cluster):
    same(cluster, "-N8 -n32 -O {do} @3 exit 7 @17 exit 200 @31 exit 1",
         code=200)


def test_exit_code_above_128(cluster):
    same(cluster, "-N4 -n4 {do} @2 exit 130", code=130)


def test_exit_code_255(cluster):
    same(cluster, "-N4 -n4 {do} @0 exit 255", code=255)


def test_one_task(cluster):
    same(cluster, "-N1 -n1 {do} exit 5", code=5, storm=False)


@pytest.mark.every_mode
def test_killed_by_signal(cluster):
    same(cluster, "-N8 -n8 {do} @5 kill 9", code=128 + 9)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGUSR1,
                                 signal.SIGABRT, signal.SIGHUP])
def test_killed_by_this_signal(cluster, sig):
    same(cluster, f"-N2 -n2 {{do}} @1 kill {int(sig)}", code=128 + sig)


def test_segmentation_fault_without_core(cluster):
    same(cluster, "-N2 -n2 {do} @1 kill 11", code=139, prefix="ulimit -c 0")


def test_signal_is_stronger_than_exit_code(cluster):
    same(cluster, "-N4 -n4 {do} @1 exit 250 @2 kill 15", code=143)


def test_higher_signal_wins(cluster):
    same(cluster, "-N4 -n4 {do} @1 kill 9 @2 kill 15", code=143)


@pytest.mark.every_mode
def test_one_dies_early_the_rest_run_on(cluster):
    """The failure is reported while the others run, and ends none of them."""
    runs = []
    for launch in ("slurm", "storm"):
        s = cluster.start_srun(
            "-N8 -n16 {do} @6 exit 9 wait {dir}/go say done", launch)
        until(lambda: "task 6: Exited with exit code 9" in s.err(),
              "the message of the early failure")
        assert s.running() and s.out() == ""
        (s.dir / "go").touch()
        runs.append(s.finish())
    for run in runs:
        assert run.code == 9 and run.out.count("done") == 15, str(run)
    assert runs[0].normal() == runs[1].normal()
    cluster.by_storm(runs[1])


def once_all_run(tasks, rank, verbs):
    """The action of this task once all others run: stock sometimes loses a
    signal to a task that does not run yet, and kills it after 5 s."""
    waits = " ".join(f"@{rank} wait {{dir}}/{t}" for t in range(tasks)
                     if t != rank)
    return f"touch {{dir}}/%t {waits} @{rank} {verbs}"


def test_kill_on_bad_exit(cluster):
    """-K: the first bad exit ends the step at once."""
    same(cluster, "-K -N4 -n8 {do} " + once_all_run(8, 3, "exit 4 block"),
         code=143)


def test_kill_on_bad_exit_by_signal(cluster):
    same(cluster, "--kill-on-bad-exit=1 -N4 -n4 {do} " +
         once_all_run(4, 2, "kill 9 block"), code=143)


def test_kill_on_bad_exit_off(cluster):
    same(cluster, "-K0 -N4 -n4 {do} @2 exit 4 sleep 0.2 say end", code=4)


def test_kill_on_bad_exit_all_good(cluster):
    same(cluster, "-K -N4 -n8 {do} say fine", code=0)


def test_wait_ends_the_slow(cluster):
    """--wait=1: a second after the first exit the other tasks are killed."""
    stock, storm = same(cluster, "-W1 -N4 -n4 {do} @0-2 block say first",
                        code=137, cancelled=True)
    assert storm.seconds > 0.9


def test_wait_does_not_end_the_quick(cluster):
    same(cluster, "--wait=30 -N4 -n4 {do} @2 sleep 0.3 say end", code=0)


def test_wait_zero_waits_for_ever(cluster):
    same(cluster, "-W0 -N4 -n4 {do} @2 sleep 0.3 say end", code=0)


def test_reduced_messages(cluster):
    """SLURM_SRUN_REDUCE_TASK_EXIT_MSG prints a repeated status once."""
    stock, storm = same(cluster, "-N4 -n4 {do} exit 3", code=3,
                        env={"SLURM_SRUN_REDUCE_TASK_EXIT_MSG": "1"},
                        only=["code", "out"])
    assert stock.err.count("Exited with exit code 3") == 1
    assert storm.err.count("Exited with exit code 3") == 1


def test_program_not_found(cluster):
    same(cluster, "-N4 -n4 /nonexistent/program", code=2)


def test_program_not_executable(cluster):
    same(cluster, "-N4 -n4 /etc/passwd", code=13)


def test_program_is_a_directory(cluster):
    same(cluster, "-N2 -n2 /etc", code=13)


def test_program_not_found_in_path(cluster):
    same(cluster, "-N2 -n2 no-such-program-anywhere", code=2)


def test_script_without_interpreter(cluster):
    same(cluster, "-N2 -n2 ./bad", code=2,
         given={"bad": "#!/no/such/interpreter\n"},
         prefix="chmod 755 bad")


def test_exit_of_a_shell(cluster):
    same(cluster, ["-N4", "-n4", "sh", "-c", "exit $((SLURM_PROCID + 40))"],
         code=43)


def test_immediate_exit_of_many(cluster):
    """Exits that come before all have started."""
    same(cluster, "-N8 -n64 -O {do}", code=0)


def test_staggered_exits(cluster):
    same(cluster, "-N8 -n16 {do} @0-3 exit 1 sleep 0.1 @4-7 exit 2 "
         "sleep 0.1 @8-11 kill 9 sleep 0.1 exit 3", code=137)


def test_out_of_memory_exit_is_a_kill(cluster):
    """There is no cgroup here: the kernel's OOM killer sends SIGKILL."""
    same(cluster, "-N2 -n4 {do} @1,3 kill 9 say alive", code=137)


def test_quiet(cluster):
    same(cluster, "-Q -N4 -n4 {do} exit 2", code=2)


def test_verbose_exit_notices(cluster):
    """-v: the number of reported completions is the same in both."""
    stock, storm = same(cluster, "-v -N4 -n8 {do} say x", code=0,
                        only=["code", "out"])
    for run in (stock, storm):
        done = set()
        for tasks in re.findall(r"tasks? ([\d,-]+): Completed", run.err):
            done |= set(ids(tasks))
        assert done == set(range(8)), str(run)
