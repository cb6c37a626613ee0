# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""MPICH's own tests say the same with and without --storm-wait. prepare_mpich, beside
this file, builds them from MPICH's source, of which nothing is ours.

Each program of a part's testlist runs by itself, by srun, with at most four ranks
on one node. Its verdict is whether it says "No Errors" (some fail without the library,
too). Where verdicts differ it runs again: some fail by chance. One that is killed
without the library, as it takes too long on this machine, shows nothing.
STORM_MPICH_ONLY=p_order,sendflood chooses programs.
"""
import os
import pathlib
import shutil

import pytest

import mpis
from conftest import make
from harness import TOP, sanitized

pytestmark = [
    pytest.mark.storm_only, pytest.mark.long,
    pytest.mark.skipif(sanitized(), reason="SKIP: the programs of MPI are not "
                       "built with the sanitizers")]

PARTS = ["coll", "comm", "pt2pt", "rma", "topo"]
MODES = {"none": [], "block": ["--storm-wait=block"],
         "slice": ["--storm-wait=slice"]}
RANKS = 4
TRIES = 3
SECONDS = 120       # a program that takes longer is killed
KILLED = 128 + 9
ONLY = list(filter(None, os.environ.get("STORM_MPICH_ONLY", "").split(",")))
GOOD, BAD, LATE = "good", "bad", "late"


@pytest.fixture(scope="module")
def suite():
    mpis.need("mpich")
    cache = pathlib.Path(os.environ.get("STORM_CACHE", TOP / ".cache"))
    found = [path for path in sorted(cache.glob("mpich-*/test/mpi"))
             if ".new/" not in str(path)]
    if not found:
        pytest.skip("SKIP: MPICH's tests are not built: "
                    "testsuite/cluster/prepare_mpich")
    return found[-1]


@pytest.fixture(scope="module")
def node(suite):
    c = make("mpich", 1, cpus=RANKS)
    yield c
    c.down()


def lines(suite, part):
    """(program, ranks, arguments) of a part, without those that want time, memory,
    another network or spawned processes, and those that did not compile."""
    for line in (suite / part / "testlist").read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        options = [w.split("=", 1) for w in words[2:] if "=" in w]
        if {"env", "mem", "timeLimit"} & {name for name, *_ in options}:
            continue
        if ONLY and words[0] not in ONLY:
            continue
        if (suite / part / words[0]).is_file():
            yield (words[0], min(int(words[1]), RANKS),
                   [value for name, value in options if name == "arg"])


def verdict(node, mode, program, ranks, arguments):
    done = node.srun([
        mpis.MPIS["mpich"][1], "-N1", f"-n{ranks}", "-K0", *MODES[mode],
        "timeout", "-s", "KILL", str(SECONDS), program, *arguments],
        timeout=4 * SECONDS)
    if "No Errors" in done.out:
        return GOOD
    return LATE if done.code == KILLED else BAD


def judged(node, *what):
    """{mode: verdicts}: tried again until all modes have one in common."""
    found = {mode: set() for mode in MODES}
    for _ in range(TRIES):
        for mode in MODES:
            found[mode].add(verdict(node, mode, *what))
        if set.intersection(*found.values()) or found["none"] == {LATE}:
            break
    return found


@pytest.mark.parametrize("part", PARTS)
def test_same_verdict(node, suite, part):
    shutil.copytree(suite / part, node.bin / part, dirs_exist_ok=True,
                    ignore=lambda at, names: [
                        n for n in names if n.endswith((".c", ".o", ".am"))])
    good, bad, late, differ = 0, [], [], []
    for name, ranks, arguments in lines(suite, part):
        found = judged(node, f"{{bin}}/{part}/{name}", ranks, arguments)
        what = " ".join([name, f"-n{ranks}", *arguments])
        if found["none"] == {LATE}:
            late.append(what)
        elif not set.intersection(*found.values()):
            differ.append(f"{what}: {found}")
        elif GOOD in found["none"]:
            good += 1
        else:
            bad.append(what)
    print(f"{part}: {good} have no errors in all modes, {len(bad)} have some in "
          f"all: {', '.join(bad)}; {len(late)} take too long without the library: "
          f"{', '.join(late)}")
    assert (good or ONLY) and not differ, "\n".join(differ)


@pytest.mark.skipif(not ONLY, reason="SKIP: STORM_MPICH_ONLY chooses none")
def test_chosen_are_there(suite):
    there = {name for part in PARTS for name, *_ in lines(suite, part)}
    assert not set(ONLY) - there
