# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The environment of a task: variables, arguments, directory, umask, limits,
ids, open files, signal masks."""
import pytest

from harness import same


@pytest.mark.every_mode
def test_environment(cluster):
    same(cluster, "-N4 -n4 {do} env MINE env EMPTY env UNSET",
         env={"MINE": "some value", "EMPTY": ""}, code=0)


def test_environment_unicode_and_newlines(cluster):
    same(cluster, "-N2 -n2 {do} env ODD",
         env={"ODD": "gr\u00fc\u00dfe \u4f60\u597d\n=second line\t\\"},
         code=0)


def test_environment_large(cluster):
    """A launch message of many datagrams."""
    env = {f"VAR{i}": f"{i}" * 400 for i in range(200)}
    same(cluster, ["-N8", "-n8", "sh", "-c", "env | grep ^VAR | cksum"],
         env=env, code=0)


def test_whole_environment(cluster):
    """env(1) in a task: the same names and values, except for ids and
    ports."""
    names = []
    for run in same(cluster, "-N2 -n2 env", only=["code"]):
        names.append({l.split("=", 1)[0] for l in run.out.splitlines()
                      if "=" in l and not l.startswith("STORM_")})
    assert names[0] == names[1]


def test_export_none(cluster):
    same(cluster, "--export=NONE -N2 -n2 {do} env MINE",
         env={"MINE": "hidden"}, code=0)


def test_export_some(cluster):
    same(cluster, "--export=A,B=set -N2 -n2 {do} env A env B env C",
         env={"A": "1", "B": "2", "C": "3"}, code=0)


@pytest.mark.every_mode
def test_arguments(cluster):
    same(cluster, ["-N2", "-n4", "{do}", "args", "--", "", "two words",
                   "quo'te\"s", "$HOME", "*", "back\\slash", "new\nline",
                   "\u00fcn\u00efc\u00f6d\u00e9 \u2603", "-n", "--label"],
         code=0)


def test_many_arguments(cluster):
    same(cluster, ["-N4", "-n4", "{do}", "args", "--",
                   *[f"argument-{i}" for i in range(2000)]], code=0,
         whole=lambda run: run.out.count("\n") == 4 * 2003)


def test_long_argument(cluster):
    same(cluster, ["-N2", "-n2", "sh", "-c", 'printf %s "$1" | wc -c', "sh",
                   "x" * 100_000], code=0)


def test_working_directory(cluster):
    same(cluster, "-N4 -n4 {do} cwd", code=0)


def test_chdir_option(cluster):
    same(cluster, "-D /usr/share -N4 -n4 {do} cwd", code=0)


def test_chdir_missing(cluster):
    """slurmstepd reports it and uses /tmp."""
    same(cluster, "-D /not/there -N2 -n2 {do} cwd", code=0)


@pytest.mark.parametrize("mask", ["022", "077", "0", "137"])
def test_umask(cluster, mask):
    same(cluster, "-N2 -n2 {do} umask", prefix=f"umask {mask}", code=0)


@pytest.mark.every_mode
def test_limits(cluster):
    same(cluster, "-N2 -n2 {do} limits",
         prefix="ulimit -S -n 512; ulimit -S -c 0; ulimit -S -s 4096",
         code=0)


def test_user_and_groups(cluster):
    stock, storm = same(cluster, "-N2 -n2 {do} ids", code=0)
    assert "uid 20001 20001" in storm.out


def test_root_may_launch(cluster):
    runs = same(cluster, "-N2 -n2 {do} ids", code=0, alone=True, user="root")
    assert "uid 0 0" in runs[1].out


def test_open_files(cluster):
    """No file of slurmstepd's or of STORM's is open in a task."""
    same(cluster, "-N2 -n2 {do} fds", code=0)


def test_signal_mask(cluster):
    same(cluster, "-N2 -n2 {do} sigs", code=0)


def test_nice(cluster):
    same(cluster, "-N2 -n2 {do} prio", prefix="renice -n 3 -p $$ >/dev/null",
         code=0)


def test_slurm_environment_of_tasks(cluster):
    same(cluster, "-N4 -n8 {do} env SLURM_NNODES env SLURM_STEP_NUM_NODES "
         "env SLURM_CPUS_ON_NODE env SLURM_GTIDS env SLURM_DISTRIBUTION "
         "env SLURM_LAUNCH_NODE_IPADDR env SLURM_JOB_NODELIST "
         "env SLURM_SUBMIT_DIR env SLURMD_NODENAME", code=0)
