# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: tasks and clients of the same user that mean harm."""
import pytest

from harness import until
from run_lab import batch, begin, end_run, lab  # noqa: F401

pytestmark = pytest.mark.storm_only

#: Says what it can do to each process of its user that has this name
SPY = """import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = libc.syscall.argtypes = 5 * [ctypes.c_long]
def opens(path):
    with open(path, "rb") as f:
        f.read(1)
def trace(pid):
    if libc.ptrace(0x4206, pid, 0, 0, 0):
        raise OSError
def take(pid):
    fd = os.pidfd_open(pid)
    if libc.syscall(438, fd, 2, 0, 0) < 0:
        raise OSError
ways = {"environ": lambda pid: opens(f"/proc/{pid}/environ"),
        "mem": lambda pid: open(f"/proc/{pid}/mem", "rb").close(),
        "fd": lambda pid: os.listdir(f"/proc/{pid}/fd"),
        "take": take, "trace": trace}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        name = open(f"/proc/{pid}/comm").read().strip()
        argv = open(f"/proc/{pid}/cmdline").read().split("\\0")
    except OSError:
        continue
    if name != sys.argv[1]:
        continue
    can = []
    for way in ways:
        try:
            ways[way](int(pid))
            can.append(way)
        except OSError:
            pass
    print("spied", argv[1] if argv[1].startswith("--") else name, *can)
"""


def test_task_reads_no_launcher(lab):
    """Neither environment nor memory nor descriptors, of launcher, head and keeper. Of
    a process that does not mind it reads all."""
    out = batch(lab, f"""cat >spy.py <<'END'
{SPY}END
(sleep 1000 & echo $! >pid); storm run -N1 -n1 python3 spy.py storm_launcher
storm run -N1 -n1 python3 spy.py sleep; kill $(cat pid)
""")
    assert sorted(out) == ["spied --head", "spied --keep", "spied sleep environ mem fd take "
                           "trace", "spied storm_launcher"], out


@pytest.mark.lab_with(conf={"ProctrackType": "proctrack/cgroup"})
def test_other_job_has_no_way_in(fresh):
    """Where Slurm uses control groups: neither a process of another job of the same user,
    on the head's node and on another one, nor one that is of no job at all."""
    one = begin(fresh, """
storm run -N2 -n2 storm run -N1 -w n2 echo inner; echo code $?
echo $SLURM_JOB_ID >id; until [ -e go ]; do sleep 0.05; done
storm run -N2 -n2 echo after
""", nodes=2, options=["-w", "n[1-2]"])
    try:
        until(lambda: (one.dir / "id").exists(), lambda: "launchers: " + one.log())
        job = (one.dir / "id").read_text().strip()
        enter = f"""export SLURM_JOB_ID={job}
for n in n1 n2; do
  SLURMD_NODENAME=$n srun --overlap -N1 -n1 -w $n --jobid=$1 sh -c '
    exec 2>&1; export SLURM_JOB_ID={job}; storm run -N1 echo in; echo code $?; storm ps; echo code $?'
done
"""
        other = begin(fresh, f"""cat >enter.sh <<'END'
{enter}END
sh enter.sh $SLURM_JOB_ID
storm run -N2 -n2 echo own
""", nodes=2, options=["-w", "n[1-2]"])
        assert other.finish().code == 0, other.log()
        outside = fresh.lab.popen(
            ["env", f"SLURM_JOB_ID={job}", "SLURMD_NODENAME=n1", "storm", "ps"], host="n1",
            user="user", stdout=-1, stderr=-2, text=True, cwd="/")
        said = outside.communicate()[0]
    finally:
        (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    refused = f"refused: this process is not of job {job}, which has these launchers\n"
    assert other.log().count(f"storm run: {refused}code 1\nstorm ps: {refused}code 1\n") == 2, \
        other.log()
    assert other.log().count("own\n") == 2 and "in\n" not in other.log(), other.log()
    assert said == f"storm ps: {refused}" and outside.returncode == 1, said
    assert one.log().count("inner\n") == 2 and one.log().count("after\n") == 2, one.log()
