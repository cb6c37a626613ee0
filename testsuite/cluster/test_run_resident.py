# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""srun --resident: a step that uses the job's launchers, and one that does not. What
the former does is held against srun itself, in the same job."""
import json
import os
import re
import shlex
import signal
import subprocess

import pytest

from harness import until
from run_lab import (  # noqa: F401
    begin, client, end_run, ends, lab, NODES, printed, said, STARTED, WAITS)
from tree import TOP

pytestmark = pytest.mark.storm_only

#: The lab's own STORM_TIMELINE would make a step of each srun
BEGIN = """
unset STORM_TIMELINE SLURM_NTASKS_PER_NODE
by() { srun --launch=storm --resident "$@"; }
stock() { timeout 60 srun --launch=slurm "$@"; }
"""


def lines(lab, script, **options):
    return printed(begin(lab, BEGIN + script, **options))


@pytest.mark.every_release
def test_as_srun(lab):
    """Tasks, nodes, directories, labels, exit codes and what is said of them are those of
    srun; no step is made."""
    one = begin(lab, BEGIN + """
by true; mkdir sub; n=0
both() {
  n=$((n + 1))
  stock "$@" >$n.stock 2>$n.stock.err </dev/null; echo $? >$n.stock.code
  by "$@" >$n.by 2>$n.by.err </dev/null; echo $? >$n.by.code
}
shown='echo $SLURM_PROCID/$SLURM_NTASKS $SLURMD_NODENAME $SLURM_LOCALID \\
  $SLURM_NODEID/$SLURM_NNODES $(basename $PWD)'
both sh -c "$shown"
both -N2 -n3 -w n2,n3 sh -c "$shown"
both -N3 -x n2 --ntasks-per-node=2 sh -c "$shown"
both -n1 -w n4 -D sub -l sh -c "$shown"
both -N4 -n4 -K0 sh -c 'exit $SLURM_PROCID'
both -N2 -n2 sh -c '[ $SLURM_PROCID = 1 ] || exit 7; kill -TERM $$'
printf '%s\\n' '1,0 echo %t %o' "* sh -c 'echo rest $SLURM_NTASKS'" >file
both -N4 -n6 --multi-prog file x
by -n4 -c2 -o out.%t --mem=0 --cpu-bind=none sh -c "$shown" 2>bind; ls out.?
by -N1 -n1 sh -c 'echo step $SLURM_STEP_ID $STORM_RUN'
squeue -h -s -j $SLURM_JOB_ID -o %i | grep -c '\\.[0-9]'
""")
    out = printed(one)
    assert out[:4] == [f"out.{k}" for k in range(4)]
    assert re.fullmatch(r"step 0 \S+", out[4]) and out[5] == "1", out

    def got(what):
        return (one.dir / what).read_text()
    for n in range(1, 8):
        assert sorted(got(f"{n}.by").splitlines()) == \
            sorted(got(f"{n}.stock").splitlines())
        assert got(f"{n}.by.code") == got(f"{n}.stock.code")
        assert ends(got(f"{n}.by.err")) == ends(got(f"{n}.stock.err"))
    assert "storm run" not in one.log() + got("5.by.err")
    assert got("5.by.code") == "3\n" and got("6.by.code") == "143\n"


def hooks(lab):
    """Two SPANK plugins of a site, in /home: one with a hook of tasks, one with an
    option."""
    number = re.search(r"(\d+)\.(\d+)\.(\d+)", lab.root("srun --version"))
    version = sum(int(part) << by for part, by in zip(number.groups(), (16, 8, 0)))
    for name, more in ("hook", []), ("spare", ["-DSPARE"]):
        subprocess.run(["gcc", "-shared", "-fPIC", f"-DVERSION={version}", *more, "-o",
                        f"{lab.lab.dir}/home/{name}.so",
                        TOP / "testsuite/programs/task_hook.c"], check=True)


#: What wants a step of Slurm's: how srun is called, and what it says at -v
GO_ON = [
    ("by --mem=10", "--mem"),
    ("by --gres=none", "--gres"),
    ("by -L ''", "--licenses"),
    ("by --bcast=$PWD/copy", "--bcast"),
    ("by --prolog=/bin/true", "SrunProlog"),
    ("by --epilog=/bin/true", "SrunEpilog"),
    ("by --task-prolog=/bin/true", "--task-prolog"),
    ("by --task-epilog=/bin/true", "--task-epilog"),
    ("by --profile=none", "--profile"),
    ("by --immediate", "--immediate"),
    ("by -m plane=2", "--distribution"),
    ("by --mpi=pmi2", "MPI"),
    ("by --export=ALL,A=b", "--export"),
    ("by --storm-wait=spin", "--storm-wait"),
    ("SLURM_CPU_BIND=rank_ldom by", "--cpu-bind, by a variable"),
    ("STORM_TIMELINE=$PWD/line by", "STORM_TIMELINE"),
    ("SLURM_HOSTFILE=$PWD/hosts by", "SLURM_HOSTFILE"),
    ("srun --launch=slurm --resident", "--launch=slurm"),
    ("export SLURM_CONF=$PWD/TaskProlog.conf; by", "TaskProlog in slurm.conf"),
    ("export SLURM_CONF=$PWD/TaskEpilog.conf; by", "TaskEpilog in slurm.conf"),
    ("export SLURM_CONF=$PWD/SrunProlog.conf; by", "SrunProlog"),
    ("export SLURM_CONF=$PWD/hook.conf; by",
     "the SPANK plugin /home/hook.so has slurm_spank_task_init"),
    ("export SLURM_CONF=$PWD/spare.conf; by --site-spare",
     "--site-spare of the SPANK plugin site_spare"),
]


@pytest.mark.every_release
def test_goes_on(lab):
    """What launchers cannot do is done by a step, as without --resident, with one line at
    -v; a SPANK plugin without a hook of tasks is no reason."""
    hooks(lab)
    script = """
conf=$(scontrol show config | sed -n 's/^SLURM_CONF *= //p')
stack=$(dirname $conf)/plugstack.conf
for k in hook spare; do
  (cat $stack; echo "required /home/$k.so") >$k.stack
  (grep -v PlugStackConfig $conf; echo PlugStackConfig=$PWD/$k.stack) >$k.conf
done
for k in Task{Pro,Epi}log SrunProlog; do
  (grep -v PlugStackConfig $conf; echo PlugStackConfig=$stack; echo $k=/bin/true) >$k.conf
done
echo n1 >hosts; echo '#!/bin/sh
echo $1 ${STORM_RUN+launchers}' >whose; chmod +x whose
by true
(export SLURM_CONF=$PWD/spare.conf; by -N1 -n1 ./whose spare)
"""
    for k, (call, _) in enumerate(GO_ON):
        script += f"({call} -v -n1 ./whose '{k} by') 2>err.{k}; echo {k} $?\n"
    one = begin(lab, BEGIN + script)
    out = printed(one)
    assert out[0] == "spare launchers", out
    for k, (call, why) in enumerate(GO_ON):
        text = (one.dir / f"err.{k}").read_text()
        said = re.findall(r"^srun: storm: --resident: (.*)$", text, re.M)
        assert said == [why + ": Slurm makes a step, as without it"], (call, text)
        assert out[1 + 2 * k:3 + 2 * k] == [f"{k} by", f"{k} 0"], (call, out, text)


@pytest.mark.every_release
def test_by_variable(lab):
    """SLURM_STORM_RESIDENT is for all sruns of a job, also inside tasks; the launchers'
    own step is none of them. The option outdoes variables, --launch=slurm each of them."""
    out = lines(lab, """
whose='echo ${STORM_RUN+launchers} $SLURM_PROCID'
export SLURM_STORM_RESIDENT=yes
srun -N1 -n1 sh -c "$whose"
srun -N1 -n1 sh -c "srun -N1 -n1 -w n2 sh -c '$whose 2'"
SLURM_STORM_RESIDENT=no srun -N1 -n1 sh -c "$whose none"
SLURM_STORM_RESIDENT=no srun --resident -N1 -n1 sh -c "$whose"
SLURM_STORM_LAUNCH=slurm srun --resident -N1 -n1 sh -c "$whose"
SLURM_STORM_LAUNCH=slurm srun -N1 -n1 sh -c "$whose none"
srun --launch=slurm -N1 -n1 sh -c "$whose none"
SLURM_STORM_RESIDENT=maybe srun -N1 -n1 true 2>&1 | grep storm:; echo ${PIPESTATUS[0]}
""")
    assert out == ["launchers 0", "launchers 0 2", "0 none", "launchers 0", "launchers 0",
                   "0 none", "0 none",
                   "srun: error: storm: SLURM_STORM_RESIDENT=maybe: allowed values are "
                   "yes and no", "0"]


def test_elsewhere(lab):
    """Outside of a job srun makes one, as usual. On another node than the job's first it
    starts no launchers; if they are there, it uses them."""
    done = lab.run(["srun", "-v", "--resident", "-N1", "hostname"],
                   prefix="unset STORM_TIMELINE")
    assert done.code == 0 and done.out == "n1\n", str(done)
    assert "--resident: this is not inside a job: Slurm makes a step" in done.err
    out = lines(lab, """
nested='srun --resident -v -N1 -n1 -w n2 --overlap sh -c "echo \\${STORM_RUN+launchers} on n2"'
stock -N1 -n1 -w n3 --overlap bash -c "$nested" 2>err; grep -c 'only the job.s first node' err
by true
stock -N1 -n1 -w n3 --overlap bash -c "$nested" 2>err
""")
    assert out == ["on n2", "1", "launchers on n2"]


def state(pid, *names):
    with open(f"/proc/{pid}/status") as f:
        return [line for line in f.read().splitlines() if line.split(":")[0] in names]


@pytest.mark.every_release
def test_signals(lab):
    """srun leaves nothing of its own to storm run, and signals reach the tasks."""
    found = []
    for how in "storm run", "srun --launch=storm --resident":
        one = begin(lab, BEGIN + f"""
storm run true
env --default-signal=INT,QUIT {how} -N4 -n4 sleep 1000 & wait $!; echo code $?
""")
        until(lambda: lab.lab.pids("n4", "sleep"), lambda: "the tasks: " + one.log())
        pid = client(lab)
        found.append((state(pid, "SigBlk", "SigIgn", "SigCgt"),
                      sorted(os.listdir(f"/proc/{pid}/fd"))))
        os.kill(pid, signal.SIGTERM)
        said(one, "code 143")
        one.finish()
    assert found[0] == found[1]


def in_terminal(steps, command):
    """The line of a script that runs it and types."""
    return (f"TERM=dumb python3 {TOP}/testsuite/cluster/run_terminal.py "
            f"{shlex.quote(json.dumps(steps))} {command}\n")


@pytest.mark.every_release
def test_terminal(lab):
    """--pty for one task has the terminal by launchers. For two tasks Slurm makes a step."""
    one = begin(lab, BEGIN + "by true; by() { :; }\nBY='srun --launch=storm --resident'\n"
                + in_terminal([["$ ", "PS1=; echo $SLURMD_NODENAME $(stty size) "
                                "${STORM_RUN+launchers} $(tty | cut -c1-9)\n"],
                               ["n3 30 90 launchers /dev/pts/", "exit 7\n"]],
                              "$BY --pty -n1 -w n3 bash --norc --noprofile")
                + in_terminal([], "$BY -v --pty -N2 -n2 true"))
    assert one.finish().code == 0, one.log()
    ended = [line for line in one.log().splitlines() if line.startswith("ended ")]
    assert ended[0] == "ended 7, terminal as before" and ended[1].startswith("ended 0, "), \
        one.log()
    assert "storm: --resident: --pty: Slurm makes a step" in one.log(), one.log()


@pytest.mark.every_release
def test_words(lab):
    """-Q leaves out all but errors, also that launchers were started; -u gives output as it is
    written; SLURM_EXIT_ERROR is the status of what is no task's."""
    one = begin(lab, BEGIN + """
by -Q -N4 -n8 sleep 2.5 & sleep 0.5; by -Q -n1 sh -c 'exit 3'; echo code $?; wait
export SLURM_EXIT_ERROR=77
by -Q -N2 -n2 -D /none true; echo code $?
by -Q -n8 -c2 true; echo code $?
by -n1 sh -c 'exit 1'; echo code $?
SLURM_EXIT_ERROR=0 by -n8 -c2 true; echo code $?
by -u -N2 -n2 -x n1,n2 bash -c 'until grep -qF ... log; do printf .; done'; echo; echo code $?
""")
    assert one.finish().code == 0, one.log()
    assert not STARTED.search(one.log()) and not WAITS.search(one.log()), one.log()
    lines = one.log().splitlines()
    codes = [line for line in lines if line.startswith("code ")]
    assert codes == ["code 3", "code 2", "code 77", "code 1", "code 1", "code 0"], one.log()
    assert "srun: error: SLURM_EXIT_ERROR=0 is no exit status" in lines, one.log()
    assert re.search(r"\n\.{3,}\ncode 0$", one.log()), one.log()
