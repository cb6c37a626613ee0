# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run where something else goes wrong: a launcher that stands alone, full disks,
closed descriptors, a job that is requeued."""
import contextlib
import os
import re
import signal
import time

import pytest

from firewall import dropped
from harness import until
from run_lab import (STARTED, batch, begin, end_run, ended, heads, lab,  # noqa: F401
                     launchers_log, nothing_left, printed, processes, said, stopped,
                     the_head, the_launcher)

pytestmark = pytest.mark.storm_only


def test_launcher_stopped(lab):
    """A launcher that stands alone, and not with its job, is a lost node: the client names
    it, the tasks end, and the next run starts anew. Nothing of the old ones is left."""
    one = begin(lab, """
storm run -N4 -n4 sh -c 'echo >there.$SLURM_PROCID; exec sleep 600'; echo code $?
storm run -N4 -n4 true; echo next $?
""")
    until(lambda: all((one.dir / f"there.{n}").exists() for n in range(4)),
          lambda: "the tasks: " + one.log())
    os.kill(the_launcher(lab, "n3"), signal.SIGSTOP)
    ended(lab, one, "^storm run: error: the launcher on node n3 is lost: ", "^code 137$")
    assert len(STARTED.findall(one.log())) == 2, one.log()


def test_no_kill(lab):
    """With -k a node that is lost takes its own tasks with it, and no others; the run fails."""
    one = begin(lab, """
storm run -k -N4 -n8 sh -c 'echo >there.$SLURM_PROCID
  until [ -e go ]; do sleep 0.05; done; echo end $SLURM_PROCID'; echo code $?
storm run -N4 -n4 true; echo next $?
""")
    until(lambda: all((one.dir / f"there.{n}").exists() for n in range(8)),
          lambda: "the tasks: " + one.log())
    os.kill(the_launcher(lab, "n3"), signal.SIGKILL)
    said(one, "; its tasks end\n")
    (one.dir / "go").touch()
    ended(lab, one, "^storm run: error: the launcher on node n3 is lost: ", "^code 1$")
    assert sorted(re.findall(r"^end (\d)$", one.log(), re.M)) == list("012367"), one.log()


@pytest.fixture
def small(lab):
    """A file system of 64 KB on each host, at /mnt."""
    for host in lab.names:
        done = lab.lab.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=1777", "none",
                            "/mnt"], host=host)
        assert done.returncode == 0, done
    yield "/mnt"
    for host in lab.names:
        lab.lab.run(["umount", "-l", "/mnt"], host=host)


def test_full_disk(lab, small):
    """A file of -o in which no more can be written: for a file of each task the task itself
    hears it, for one file of all the client; the run fails, and goes on to its end."""
    out = batch(lab, f"""
storm run -N4 -n4 -o {small}/%t sh -c 'head -c 300000 /dev/zero 2>/dev/null
  c=$?; echo >end.$SLURM_PROCID; exit $c'; echo code $?; ls end.*
storm run -N1 -n1 -w n2 -o {small}/all sh -c 'head -c 300000 /dev/zero; echo >end.all'; echo code $?
ls end.all
storm run -N4 -n4 true; echo next $?
""")
    failed = re.compile(r"storm run: error: n[1-4]: task [0-3]: Exited with exit code 1$|"
                        r"storm run: error: .*tasks? .*Exited with exit code 1$")
    assert any(map(failed.match, out)), out
    assert [line for line in out if not line.startswith("storm run: error: n")] == [
        "code 1", "end.0", "end.1", "end.2", "end.3",
        "storm run: error: standard output: No space left on device", "code 1", "end.all",
        "next 0"], out


def test_full_tmp(lab):
    """Nothing can be written in /tmp of the first host: it says what and where."""
    done = lab.lab.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2,mode=1777", "none",
                        "/tmp"], host="n1")
    assert done.returncode == 0, done
    try:
        fill = lab.lab.run(["sh", "-c", "echo >/tmp/a; echo >/tmp/b"], host="n1")
        out = begin(lab, "storm run true; echo code $?\n")
        out.finish()
        assert re.search("^storm run: /tmp/storm-20001: No space left on device$\n^code 1$",
                         out.log(), re.M), (out.log(), fill)
    finally:
        lab.lab.run(["umount", "-l", "/tmp"], host="n1")


def test_closed_descriptors(lab):
    """None of the client's is taken by a socket of its own."""
    out = batch(lab, """
storm run -N2 -n2 sh -c 'echo >out.$SLURM_PROCID' <&-; echo code $?; ls out.?
storm run -N2 -n2 sh -c 'echo lost; echo >two.$SLURM_PROCID' >&-; echo code $? >>codes
storm run -N2 -n2 sh -c 'echo lost >&2; exit 3' <&- >&- 2>&-; echo code $? >>codes
cat codes
""")
    assert out[:3] == ["code 0", "out.0", "out.1"], out
    assert out[-1] == "code 3" and "lost" not in out, out


def test_requeued(lab):
    """A job that is requeued begins with launchers of its own, though its number is the
    same."""
    one = begin(lab, """
echo begun $SLURM_RESTART_COUNT
if [ -z "$SLURM_RESTART_COUNT" ]; then
  storm run -N4 -n4 sh -c 'echo >there.$SLURM_PROCID; exec sleep 600'
fi
storm run -N4 -n4 sh -c 'echo $SLURM_PROCID again'; echo next $?
""", options=["--requeue", "--resident", "--open-mode=append"])
    until(lambda: all((one.dir / f"there.{n}").exists() for n in range(4)),
          lambda: "the tasks: " + one.log())
    job = lab.root("squeue -h -o %i").strip()
    (one.dir / "over").unlink(missing_ok=True)
    lab.root(f"scontrol requeue {job}")
    killed = int(time.time())

    def again():
        # slurmd counts whole seconds, and launches nothing in that in which it has killed
        if time.time() < killed + 2:
            return False
        # Slurm lets it wait for two minutes; it refuses this while the job still ends
        lab.lab.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], host="n1")
        return "begun 1" in one.log()
    until(again, lambda: "the job to begin again: " + lab.root("squeue -l") + one.log())
    until(lambda: "next 0" in one.log(), lambda: "its runs: " + one.log())
    assert {f"{n} again" for n in range(4)} <= set(one.log().splitlines()), one.log()


def test_program_is_not_everywhere(big):
    """On 3 of 32 nodes there is no such program: one line has these nodes, and their tasks."""
    without = ["n3", "n17", "n32"]
    for node in set(big.names) - set(without):
        path = big.lab.path(node, "/tmp/tool")
        with open(path, "w") as f:
            f.write("#!/bin/sh\necho it runs\n")
        os.chmod(path, 0o755)
    try:
        out = printed(begin(big, "storm run -N32 -n32 /tmp/tool; echo code $?\n", nodes=32))
        nothing_left(big)
    finally:
        big.remove("/tmp/tool")
    assert sorted(out) == sorted([
        *29 * ["it runs"], "code 2",
        "storm run: error: n3,n17,n32: tasks 2,16,31: cannot execute /tmp/tool: No such file or "
        "directory"]), out


def test_large_environment(lab):
    """3 MB of variables come to all tasks. More than 4 MiB are refused with both numbers, and
    so are arguments of that size."""
    out = batch(lab, r"""
ulimit -s unlimited; X=$(head -c 100000 /dev/zero | tr '\0' x)
for k in $(seq 30); do export X$k=$X; done
storm run -N4 -n4 sh -c 'echo ${#X30}'; echo code $?
for k in $(seq 31 45); do export X$k=$X; done
storm run -N4 -n4 true; echo code $?
for k in $(seq 45); do unset X$k; done
storm run -N4 -n4 true $(for k in $(seq 45); do echo $X; done); echo code $?
storm run -N4 -n4 echo next
""")
    assert out[:5] == [*4 * ["100000"], "code 0"], out
    for words, code in (out[5:7], out[7:9]):
        found = re.fullmatch(r"storm run: .* (\d+) bytes, 4194304 are possible", words)
        assert found and int(found[1]) > 4500000 and code == "code 1", out
    assert out[9:] == 4 * ["next"], out


def test_node_is_cut_off(fresh):
    """A node whose cable is pulled: the client names it, and its run ends everywhere. There
    the launcher ends the tasks by itself. With the cable the next run starts anew."""
    one = begin(fresh, """
storm run -N4 -n4 sh -c 'touch up.$SLURM_PROCID; exec sleep 1000'; echo code $?
until [ -e go ]; do sleep 0.05; done; storm run -N4 -n4 true; echo next $?
""")
    until(lambda: all((one.dir / f"up.{k}").exists() for k in range(4)),
          lambda: "the tasks: " + one.log())
    with dropped(fresh.lab, "n3", "input", 'iifname "eth0"'):
        said(one, "code 137")
        until(lambda: not processes(fresh, "sleep"),
              lambda: f"{processes(fresh, 'sleep')} to end")
    (one.dir / "go").touch()
    ended(fresh, one, "^storm run: error: the launcher on node n3 is lost: ")
    assert len(STARTED.findall(one.log())) == 2, one.log()


@pytest.mark.lab_with(conf=["MessageTimeout=3"])
@pytest.mark.parametrize("first", ["srun's word", "the head's end"])
def test_node_is_cut_off_before(fresh, first):
    """srun does not reach a node, and has Slurm kill the launchers that are there. The
    client names that node, and none of the others, also where it hears first that the head
    was killed."""
    with dropped(fresh.lab, "n4", "input", 'iifname "eth0"'):
        one = begin(fresh, "storm each echo ::: 1 2 3; echo code $?\n")
        until(lambda: heads(fresh), lambda: "the head: " + one.log())
        if first == "the head's end":
            again = stopped(fresh, "slurmd", "n1")
            try:
                until(lambda: "failed on node n4" in launchers_log(fresh, "n1"),
                      "what srun says")
                os.kill(the_head(fresh), signal.SIGKILL)
                said(one, "code 255")
            finally:
                again()
        assert one.finish().code == 0, one.log()
    assert re.search("^storm each: the launchers cannot be started: .*"
                     r"srun: error: Task launch for StepId=\d+\.\d failed on node n4: ",
                     one.log(), re.M), one.log()
    assert set(re.findall(r"\bn\d\b", one.log())) == {"n4"}, one.log()


def test_node_is_down(fresh):
    """Slurm takes a node from a job that is to go on without it (-k). The run is lost and
    names it; the next one starts launchers on the nodes that the job still has."""
    one = begin(fresh, """
storm run -N4 -n4 sh -c 'touch up.$SLURM_PROCID; exec sleep 1000'; echo code $?
until [ -e go ]; do sleep 0.05; done; storm run -n7 true; echo seven $?
storm run -N3 -n3 hostname; storm each echo ::: e1 e2; echo next $?
""", options=["-k"])
    until(lambda: all((one.dir / f"up.{k}").exists() for k in range(4)),
          lambda: "the tasks: " + one.log())
    pid = the_launcher(fresh, "n3")
    fresh.root("scontrol update nodename=n3 state=down reason=test")
    # slurmctld does not always tell slurmd of a node that is down
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    said(one, "code 137")
    (one.dir / "go").touch()
    ended(fresh, one, "^storm run: error: the launcher on node n3 is lost: ",
          "^storm run: started launchers on 3 of 4 nodes in ",
          "^storm run: 7 tasks on 3 nodes are asked for, the job has 6 CPUs on 3 nodes$",
          "^seven 1$", "^e1$", "^e2$")
    assert sorted(re.findall(r"^n\d$", one.log(), re.M)) == ["n1", "n2", "n4"], one.log()


def test_time_is_over(lab):
    """The job's own limit: tasks and launchers get SIGTERM, and nothing is left on any node."""
    one = begin(lab, """
storm run -N4 -n4 sh -c 'trap "touch term.$SLURM_PROCID; exit 0" TERM
  touch up.$SLURM_PROCID; sleep 1000 & wait'
""")
    until(lambda: all((one.dir / f"up.{k}").exists() for k in range(4)),
          lambda: "the tasks: " + one.log())
    job = lab.root("squeue -h -o %i").strip()
    lab.root(f"scontrol update JobId={job} EndTime=now")
    until(lambda: all((one.dir / f"term.{k}").exists() for k in range(4)),
          lambda: "SIGTERM: " + one.log() + lab.root("squeue -l"))
    until(lambda: not lab.root("squeue -h").strip(), "the job's end")
    assert "DUE TO TIME LIMIT" in one.log(), one.log()
