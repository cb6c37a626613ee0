# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What the daemons may still do once they run: each thread's capabilities are
those that storm_agent(8) and storm_strober(8) list."""
import contextlib
import os
import pathlib
import re

import pytest

from conftest import make, need_cgroup2
from gang import Gang
from harness import TOP, until

pytestmark = pytest.mark.storm_only

#: from <linux/capability.h>
NUMBER = {name: int(value) for name, value in re.findall(
    r"^#define (CAP_\w+)\s+(\d+)$",
    pathlib.Path("/usr/include/linux/capability.h").read_text(), re.M)}


def mask(names):
    return sum(1 << NUMBER[n] for n in names)


def listed(page, begin, end):
    """The capabilities that a manual page names between two texts."""
    text = (TOP / "doc" / "man" / page).read_text()
    part = text[text.index(begin):]
    part = part[:part.index(end)]
    found = set(re.findall(r"CAP_[A-Z_]+[A-Z]", re.sub(
        r"-width \S+", "", part)))
    assert found, f"{page} names none after {begin!r}"
    return found


AGENT = listed("storm_agent.8", ".Sh CAPABILITIES", "Its child")
NURSERY = listed("storm_agent.8", "The nursery keeps, as", "keeps none")
ROOTS_FILE = listed("storm_agent.8", "keeps none", "no seccomp")
STROBER = listed("storm_strober.8", "After its start it keeps", ".Sh FAILURES")


def threads(pid):
    """The fields of /proc/PID/task/TID/status of each thread."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield dict(line.split(":\t", 1) for line in
                       (task / "status").read_text().splitlines())


def sets(pid):
    """Its sets of capabilities; all its threads must have the same."""
    found = {tuple(int(s[f"Cap{kind}"], 16)
                   for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"))
             for s in threads(pid)}
    assert len(found) == 1, f"threads differ: {found}"
    assert all(s["NoNewPrivs"] == "1" for s in threads(pid)), "no_new_privs"
    return dict(zip(("Inh", "Prm", "Eff", "Bnd", "Amb"), found.pop()))


def ours():
    """What this process may give away: in a container not all."""
    return int(next(threads(os.getpid()))["CapBnd"], 16)


def until_sets(pid, good):
    """Wait until good() holds for its sets. A process that has just started has
    more; slurmd listens on its agent's port before there is an agent."""
    def now():
        try:
            return good(sets(pid))
        except AssertionError:      # its threads differ so far
            return False

    until(now, lambda: f"process {pid} to drop capabilities: {sets(pid)}")


def assert_root_keeps(pid, names):
    want = mask(names) & ours()
    until_sets(pid, {"Inh": 0, "Prm": want, "Eff": want, "Bnd": want,
                     "Amb": 0}.__eq__)


def one(lab, host, name):
    return until(lambda: lab.pids(host, name), f"{name} on {host}")[0]


def files_of(lab, host, user):
    """The pid of a storm_file that has become this user."""
    def found():
        for pid in lab.pids(host, "storm_file"):
            try:
                (task,) = threads(pid)
            except (OSError, ValueError):
                continue        # it has just ended
            if task["Uid"].split() == [str(user)] * 4 and \
                    not int(task["CapPrm"], 16) & mask(["CAP_SETUID"]):
                return pid
        return None
    return until(found, f"storm_file of uid {user} on {host}")


@pytest.fixture(scope="module")
def small():
    c = make("caps", 2)
    yield c
    c.down()


def test_agent_and_nursery(small):
    for node in small.names:
        assert_root_keeps(one(small.lab, node, "agent"), AGENT)
        assert_root_keeps(one(small.lab, node, "storm_nursery"), NURSERY)


def test_storm_file_has_none(small):
    """And it is the user's, in all its ids."""
    step = small.start_srun("--bcast=/tmp/app -N2 -n2 {big} block")
    has = sets(files_of(small.lab, "n1", 20001))
    assert not (has["Inh"] or has["Prm"] or has["Eff"] or has["Amb"]), has
    assert not has["Bnd"] & ~mask(NURSERY), has
    step.signal(9)
    step.process.wait(60)


def test_roots_files(small):
    """root may write where root is not the owner, as with stock Slurm."""
    small.root(["install", "-d", "-o", "user", "-m", "700", "/tmp/theirs"],
               host="n1")
    small.root(["install", "-d", "-o", "user", "-m", "700", "/tmp/theirs"],
               host="n2")
    job = small.allocate(2, "--ntasks-per-node=1", user="root")
    step = small.start(["srun", "--launch=storm", f"--jobid={job}",
                        "--bcast=/tmp/theirs/app", "-N2", "-n2",
                        "/bin/sleep", "100"], user="root")
    has = sets(files_of(small.lab, "n1", 0))
    assert has["Prm"] == has["Eff"] == mask(ROOTS_FILE) & ours(), has
    until(lambda: small.file("n2", "/tmp/theirs/app"), "root's file")
    step.signal(9)
    step.process.wait(60)
    small.cancel(job)


def test_strober():
    need_cgroup2()
    c = make("caps-gang", 2, kind=Gang)
    try:
        strober = one(c.lab, "ctl", "storm_strober")
        until_sets(strober, lambda has: has["Prm"] == has["Eff"] and not (
            has["Prm"] & ~mask(STROBER) or has["Inh"] or has["Amb"]))
        has = sets(strober)
        if not mask(STROBER) & ~ours():
            assert has["Prm"] == mask(STROBER), has
        assert_root_keeps(one(c.lab, "n1", "agent"), AGENT)
    finally:
        c.down()
