# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: its options are srun's. A real srun in the same job says what is right."""
import re

import pytest

from harness import MACHINES, chosen
from run_lab import BOTH, batch, begin, end_run, ends, lab, run_both  # noqa: F401

pytestmark = [
    pytest.mark.storm_only,
    pytest.mark.skipif(chosen() != MACHINES, reason="SKIP: it is compared with srun of "
                       "22.05: run it without --slurm")]

def test_layout(lab):
    """Which task is where, with how many CPUs and in which directory, and what tasks
    are told of it. Nodes are named: srun avoids those where a step just ends."""
    cases = run_both(lab, """
mkdir sub
show() { both "$@" sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURMD_NODENAME $SLURM_LOCALID \\
  $SLURM_NODEID/$SLURM_NNODES ${SLURM_CPUS_PER_TASK-none} $SLURM_STEP_NODELIST \\
  $SLURM_STEP_TASKS_PER_NODE $SLURM_TASKS_PER_NODE $SLURM_GTIDS $SLURM_UMASK $PWD'; }
show -n3 -c1 -w n1,n2,n3
show -N4 -n4 -c2
show -n5
show --nodes=2 --ntasks 3 -w n2,n3
show -N3 -n3 -w 'n[2-4]'
show -N 2 -n2 --exclude=n1,n3
show -N3 -n2 -w 'n[1-2]'
show -n1 --nodelist=n4 -D /tmp
umask 077; show -n1 -w n1 --chdir sub
export SRUN_CPUS_PER_TASK=2; show -n2 -w n1,n2
SLURM_REMOTE_CWD=/ show -n1 -c1 -w n1
""")
    for case in cases:
        shown = {by: sorted(out.splitlines()) for by, (out, _) in case.items()}
        assert shown["srun"] == shown["storm"], case
        srun, storm = (case[by][1].splitlines() for by in ("srun", "storm"))
        assert storm[-1] == srun[-1] == "0"
        # srun takes the job's number of nodes for a wish
        assert {line.replace("storm run: ", "srun: ") for line in storm} <= set(srun)
    assert len(cases) == 11
    assert cases[6]["storm"][1].startswith("storm run: Warning: can't run 2 processes")


def test_ends(lab):
    """-K and -W end a run as srun ends a step: the same signals, words and exit status.
    A signal counts more than any exit code."""
    cases = run_both(lab, """
both -N4 -n4 -W 1 sh -c '[ $SLURM_PROCID = 2 ] || exec sleep 100'
up='touch up.$BY.$n.$SLURM_PROCID; [ $SLURM_PROCID = 1 ] || exec sleep 100
  until [ $(ls up.$BY.$n.* | wc -l) = $SLURM_NTASKS ]; do sleep 0.05; done'
export n
both -N4 -n4 -K sh -c "$up; exit 3"
both -N4 -n4 --kill-on-bad-exit=0 sh -c 'exit $SLURM_PROCID'
both -N2 -n2 sh -c '[ $SLURM_PROCID = 1 ] && exit 200; kill -15 $$'
SLURM_KILL_BAD_EXIT=1 both -N2 -n2 sh -c "$up; kill -9 \\$\\$"
""")
    for case in cases:
        srun, storm = (case[by][1].splitlines() for by in ("srun", "storm"))
        assert srun[-1] == storm[-1], case
        assert ends(case["srun"][1]) == ends(case["storm"][1]), case
    assert [case["storm"][1].split()[-1] for case in cases] == \
        ["137", "143", "3", "143", "143"]
    for line in ("First task exited 1s ago", "tasks 0-1,3: running", "task 2: exited"):
        assert re.search(f"^srun: (StepId=\\S+ )?{line}$", cases[0]["srun"][1], re.M)
        assert f"storm run: {line}\n" in cases[0]["storm"][1], cases[0]


def test_left_behind(lab):
    """With -K a process that has left its task's group, session and parent ends with the
    run; that of another run stays. Tasks are those that end first where memory is short."""
    out = batch(lab, """
storm run -n1 -w n1 setsid -f sleep 1002
storm run -N2 -n2 -K sh -c 'if [ $SLURM_PROCID = 0 ]; then setsid -f sleep 1001 </dev/null
    touch left; exec sleep 1000; fi; until [ -e left ]; do sleep 0.05; done; exit 3' 2>err; echo $?
while pgrep -fx 'sleep 100[01]'; do sleep 0.05; done >/dev/null
pgrep -fxc 'sleep 1002'
storm run -N2 -n2 sh -c 'echo $(($(cat /proc/$$/oom_score_adj) > $(cat /proc/$PPID/oom_score_adj)))'
""")
    assert out == ["143", "1", "1", "1"]


#: Variables that srun gives its tasks, and storm run does not: storm(1) has them
NOT_GIVEN = {"SLURM_DISTRIBUTION", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_SRUN_COMM_HOST",
             "SLURM_SRUN_COMM_PORT", "SLURM_STEP_LAUNCHER_PORT", "SRUN_DEBUG",
             "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0",
             "STORM_CONTEXT", "STORM_CONTEXT_GROUP", "STORM_CONTEXT_KEY"}
#: and whose values differ: of the step, and of the process
OTHERS = {"SLURM_STEP_ID", "SLURM_STEPID", "SLURM_TASK_PID", "BY", "_"}


def test_variables(lab):
    one = begin(lab, BOTH + """
both -N2 -n4 -c1 -w n2,n4 sh -c 'exec env -0 >env.$BY.$SLURM_PROCID'
""")
    assert one.finish().code == 0, one.log()

    def task(by, rank):
        text = (one.dir / f"env.{by}.{rank}").read_text()
        return dict(pair.split("=", 1) for pair in text.split("\0")[:-1])
    for rank in range(4):
        srun, storm = task("srun", rank), task("storm", rank)
        assert set(srun) - set(storm) == NOT_GIVEN & set(srun), rank
        assert set(storm) - set(srun) == {"STORM_RUN"}, rank
        assert {name for name in storm if srun.get(name) not in (None, storm[name])} <= OTHERS, rank


def test_label(lab):
    """Whole lines with the number of their task, as wide as srun has it; the last line of
    a task gets its end. Order within a task is kept."""
    cases = run_both(lab, """
both -N4 -n4 -l sh -c 'echo $SLURM_PROCID; echo err >&2; printf "\\n\\nx  y\\nno end"'
both -N4 -n12 --overcommit true
SLURM_LABELIO=1 both -N2 -n2 sh -c 'seq 3000; seq 10 >&2'
""".replace("both -N4 -n12 --overcommit true\n", ""))
    for case in cases:
        for k in (0, 1):
            srun, storm = (case[by][k].splitlines() for by in ("srun", "storm"))
            for task in "0123":
                assert [x for x in srun if x.startswith(task + ": ")] == \
                    [x for x in storm if x.startswith(task + ": ")]
            assert sorted(srun) == sorted(storm)


def test_files(lab):
    """-o, -e and -i, with srun's patterns: the same names, and the same bytes."""
    one = begin(lab, BOTH + """
mkdir srun storm
for by in srun storm; do
  printf 'given %s\\n' 0 1 2 3 >$by/in; for k in 0 1 2 3; do echo in $k >$by/in.$k; done
done
files() {
  n=$((n + 1))
  (cd srun; stock "$@" >said.$n 2>err.$n </dev/null; echo $? >code.$n)
  (cd storm; storm run "$@" >said.$n 2>err.$n </dev/null; echo $? >code.$n)
}
say='echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2'
files -N4 -n4 -o out.%t.%j.%%.%4t sh -c "$say"
files -N4 -n4 -o %N-%n.out -e err.%t sh -c "$say"
files -N4 -n8 -o node.%n sh -c 'echo line; echo err >&2'
files -N4 -n4 -o one.%j -e two sh -c "$say"
files -N4 -n4 -o both.%x sh -c "$say"
files -N2 -n2 --open-mode=append -o one.%j sh -c "$say"
files -N2 -n2 -o none sh -c "$say"
files -N2 -n2 -e none sh -c "$say"
files -N4 -n4 -o 2 -e 1 sh -c "$say"
files -N4 -n4 -i none cat
files -N2 -n2 -i in cat
files -n1 -D /tmp -o where sh -c pwd
files -n1 -o 'a\\%t' sh -c 'echo plain'
files -N4 -n4 -l -o labels sh -c "$say"
SLURM_STDOUTMODE=by.%t SLURM_OPEN_MODE=t files -N2 -n2 sh -c "$say"
files -n1 -o /nowhere/x true
storm run -N1 -n1 -o late.%s -e late.%J sh -c 'echo x; echo y >&2'
storm run -N2 -n2 -o 2 true 2>named; echo $? >>named
mkfifo pipe.0; storm run -n1 -o pipe.%t true 2>unread; echo $? >>unread
# srun of 22.05 hangs now and then with this
cd storm; storm run -N4 -n4 -i in.%t cat >../cats
""")
    assert one.finish().code == 0, one.log()
    srun, storm = ({f.name: f.read_text() for f in (one.dir / by).iterdir()}
                   for by in ("srun", "storm"))
    for name in sorted(set(srun) | set(storm)):
        left, right = srun.get(name), storm.get(name)
        assert left is not None and right is not None, (name, left, right)
        if name.startswith("err.") or name == "code.16":
            continue
        assert sorted(left.splitlines()) == sorted(right.splitlines()), name
    assert srun["code.16"] != "0\n" and storm["code.16"] == "1\n"
    assert storm["err.16"].startswith("storm run: error: Could not open stdout file /nowhere/x: ")
    late = {f.name: f.read_text() for f in one.dir.glob("late.*")}
    assert sorted(late.values()) == ["x\n", "y\n"], late
    assert any(re.fullmatch(r"late\.\d+\.\d+\.\d+", name) for name in late)
    assert any(re.fullmatch(r"late\.\d+\.\d+", name) for name in late)
    assert sorted((one.dir / "cats").read_text().splitlines()) == \
        [f"in {k}" for k in range(4)]
    assert re.fullmatch(r"storm run: error: n\d: task 0: Could not open stdout file "
                        r"pipe\.%t: No such device or address\n6\n",
                        (one.dir / "unread").read_text())
    assert (one.dir / "named").read_text() == \
        "storm run: task 2 is named, the run has 2 tasks\n1\n"


def test_multi_prog(lab):
    """A file of programs: tasks execute what srun has them execute."""
    cases = run_both(lab, r"""
cat >ranks <<'EOF'
####################
# from srun(1)
#
4-6       sh -c 'echo host $SLURM_PROCID'
1,7       echo  task:%t

0,2-3     echo  offset:%o
EOF
cat >words <<'EOF'
2,0 printf '%s,' %t-%o '%t  %o' a\ b \'c d\' \%d 'e'f'g'
  1 printf '%s,' on\
e
# printf \
* ignored
3 printf '%s,' a  \
b
EOF
cat >rest <<'EOF'
1-2 sh -c 'exit 3'
* sh -c 'echo rest $0 $1' %t %o
EOF
both -n8 --multi-prog ranks
both -n8 -l --multi-prog ranks more '%t  x' ''
both --multi-prog ranks
both -n4 -l --multi-prog words
both -N2 -n4 -l --multi-prog rest
both -N4 --multi-prog rest
SLURM_KILL_BAD_EXIT=0 both -n4 --multi-prog rest
both -n1 --multi-prog rest
""")
    for case in cases:
        for k in (0, 1):
            srun, storm = (sorted(case[by][k].splitlines()) for by in ("srun", "storm"))
            assert srun == storm or k and srun[0] == storm[0], case
            assert ends(case["srun"][1]) == ends(case["storm"][1]), case
    assert "offset:2\n" in cases[0]["storm"][0] and cases[1]["storm"][0].count("%t  x") == 5
    assert cases[4]["storm"][1].split()[-1] == "3" and len(cases) == 8


def test_multi_prog_files(lab):
    """Such a run has input, output by patterns, and one task whose output is shown. Each
    program that cannot be executed is named, and what is wrong in a file, with its line."""
    out = batch(lab, r"""
printf '%s\n' "0 cat" "1-3 sh -c 'read x; echo \$SLURM_PROCID \$x'" >all
echo given | storm run -n4 -i all -o out.%t --multi-prog all; cat out.?
echo given | storm run -n4 -i 0 -o 0 --multi-prog all
storm run -n4 --multi-prog <(echo '* echo pipe') | sort -u
printf '%s\n' '0-1 /nowhere/a' '2 true' '3 /nowhere/b' >none
storm run -N2 -n4 --multi-prog none 2>&1 | sed 's/.*: tasks* /tasks /' | sort
cd /; storm run -N4 -D /tmp --multi-prog "$OLDPWD/all" </dev/null | wc -l; cd -
wrong() { printf '%s\n' "$@" >file; storm run $n --multi-prog file; echo $?; }
n=-n4
wrong '# x' '' '0 true' '3'
wrong '0-3 true' '2 true'
wrong '0-4 true'
wrong '0-2 true'
wrong
wrong '* true' '0 true'
n=; wrong '0,5 true'
storm run --multi-prog nowhere; echo $?
n=; wrong '0-30 true' '* true'
wrong '0-1 true'
""")
    assert out[:6] == ["given", "1 given", "2 given", "3 given", "given", "pipe"], out
    assert out[6:8] == ["tasks 0-1: cannot execute /nowhere/a: No such file or directory",
                        "tasks 3: cannot execute /nowhere/b: No such file or directory"]
    assert out[8] == "3"
    assert out[10:] == [x for line in (
        "file: line 4: task 3 has no program",
        "file: line 2: task 2 has a program already, by line 1",
        "file: line 1: task 4 is named, the run has 4 tasks",
        "file: task 3 has no program",
        "file: it names no program",
        "file: line 2: * of line 1 is to be the last one",
        "file: task 1 has no program",
        "--multi-prog: nowhere: No such file or directory",
        "31 tasks on 4 nodes are asked for, the job has 8 CPUs on 4 nodes")
        for x in (f"storm run: {line}", "1")] + ["0"]


def test_time(lab):
    """-t counts seconds, where srun counts minutes; the words are those of slurmstepd."""
    out = batch(lab, """
storm run -N2 -t 0:01 sleep 1000; echo $?
storm run -N1 -t 0:01 sh -c 'trap "echo ends; exit 5" TERM; sleep 1000 & wait'; echo $?
SLURM_TIMELIMIT=0:01 storm run -t 0 -N1 sleep 1.2; echo $?
""")
    over = r"storm run: error: \*\*\* RUN %d CANCELLED AT \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d " \
        r"DUE TO TIME LIMIT \*\*\*"
    assert re.fullmatch(over % 1, out[0]), out
    assert out[1:3] == ["storm run: error: n1,n2: tasks 0-1: Terminated", "143"]
    assert sorted(out[3:6])[0] == "ends" and any(re.fullmatch(over % 2, x) for x in out[3:6])
    assert out[6:] == ["5", "0"], out


def test_refused(lab):
    """What cannot be is refused by name."""
    out = batch(lab, """
storm run -w n9 true; echo $?
storm run -x n2,m7 true; echo $?
storm run -w 'n[1' true; echo $?
storm run -n1 -w n1,n2 true; echo $?
storm run -N4 -x n2 true; echo $?
storm run -n1 -c3 true; echo $?
""")
    assert out == [
        "storm run: node n9 is not in the job", "1",
        "storm run: node m7 is not in the job", "1",
        'storm run: "n[1": it is no list of names', "1",
        "storm run: 1 nodes are asked for, and 2 are named", "1",
        "storm run: 4 tasks on 4 nodes are asked for, the job has 8 CPUs on 4 nodes, 1 of "
        "them excluded", "1",
        "storm run: 1 tasks with 3 CPUs each on 1 nodes are asked for, the job has 8 CPUs "
        "on 4 nodes", "1"]
    for argv, text in (
            (["-t", "x"], '"x" is no time'), (["-t1:2:3:4"], '"1:2:3:4" is no time'),
            (["-K2"], '"2" is neither 0 nor 1'), (["-W-1"], '"-1" is no number of seconds'),
            (["-c0"], '"0" is no number of CPUs'),
            (["--mpi=pmi2"],
             "--mpi=pmi2: storm run has none, pmi1 for MPICH and its "
             "relatives, and pmix for Open MPI"),
            (["--gpus-per-task=a100:1"],
             "--gpus-per-task=a100:1: it is to be a number of GPUs, of any type"),
            (["--gpus=1"], "--gpus: storm run does not have it yet; srun has")):
        done = lab.run(["storm", "run", *argv, "true"])
        assert (done.code, done.err) == (2, f"storm run: {text}\n")
    shown = lab.run(["storm", "run", "--help"]).out.splitlines()
    assert len(shown) <= 24 and max(map(len, shown)) <= 80, shown
