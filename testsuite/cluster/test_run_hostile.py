# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: tasks and clients of the same user that mean harm."""
import pytest

from run_lab import batch, end_run, lab  # noqa: F401

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
