# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Programs that each test one host. The tests of this run start all of them at
once; each machine takes the next one when it has finished one."""
import os
import sys

from long_rule import LONG
from transfer import BUILD, SECONDS, VALGRIND, has_verbs, program, sanitized

LONG = bool(os.environ.get("STORM_LONG"))
#: cases of the library's suite; over UDP it is one of the unit tests, too
CASES = {
    "verbs": ["verbs", "verbs, three in a hundred lost",
              "verbs, along the chain"],
    "udp": ["udp", "udp, three in a hundred lost"],
}
if VALGRIND and not LONG:
    CASES["verbs"] = ["verbs"]
#: of each case, so that machines share them evenly; by valgrind each scenario is
#: one by itself
PARTS = 16 if VALGRIND else 3
#: without verbs they are not built
PROGRAMS = {"transport": "test_verbs"}
#: each test's own process would have to begin valgrind anew; it runs one thread at
#: a time, which is to be each one's turn
BY_VALGRIND = (
    "STORM_VALGRIND=1 CK_FORK=no timeout 1500 valgrind --quiet --vgdb=no "
    "--fair-sched=try --error-exitcode=9 "
    "--child-silent-after-fork=yes --leak-check=full "
    "--show-leak-kinds=definite,indirect "
    "--errors-for-leak-kinds=definite,indirect --suppressions={}/valgrind.supp ")
HERE = os.path.dirname(os.path.realpath(__file__))


class Job:
    """A command, and when it has run, its exit code and its output."""

    def __init__(self, name, words):
        self.name = name
        by = BY_VALGRIND.format(HERE) if VALGRIND else ""
        *env, path = map(str, words)
        # as in "make check", and four times as long
        self.words = " ".join(("CK_DEFAULT_TIMEOUT=120 CK_TIMEOUT_MULTIPLIER=4",
                               *env, by + path))
        self.code, self.out, self.seconds = None, "", 0

    def __str__(self):
        return (f"{self.name}: {self.words}\n-> {self.code}, "
                f"{self.seconds} s\n{self.out[-8000:]}")


def conformance():
    suite = program("unit", "test_conformance")
    transports, seeds = ["verbs"] if has_verbs(suite) else [], "1"
    if LONG and not VALGRIND:
        transports.append("udp")
        seeds = "100"
    for transport in transports:
        for case in CASES[transport]:
            for part in range(PARTS):
                yield Job(f"conformance: {case}, {part}",
                          (f"CK_RUN_CASE='{case}'",
                           f"STORM_PART={part}/{PARTS}",
                           f"STORM_SEEDS={seeds}",
                           f"STORM_TRANSPORT={transport}", suite))


def device():
    """As on a host that has one."""
    return Job("device", (
        "STORM_DEVICE=$RXE_DEV", f"STORM_BUILD={BUILD}", sys.executable,
        "-m pytest -q -p no:cacheprovider "
        f"{HERE}/test_machines.py {HERE}/test_transport.py"))


def jobs(names):
    """The jobs of these tests, the longest first."""
    made = []
    if (BUILD / "testsuite/verbs/test_verbs").exists():
        made = [Job(n, ("STORM_TEST_LOG=1", program("verbs", p)))
                for n, p in PROGRAMS.items() if n in names]
        if "device" in names:
            made.insert(0, device())
    return made + (list(conformance()) if "conformance" in names else [])


def run(machines, names):
    """Run them. Returns [Job]."""
    made = jobs(names)
    script = "".join(
        f"mkdir {machines.inside}/job{i} 2>/dev/null && "
        f"{{ began=$SECONDS; {{ {job.words}; }} "
        f">{machines.inside}/job{i}/out 2>&1; code=$?; "
        f"echo $((SECONDS - began)) >{machines.inside}/job{i}/seconds; "
        f"echo $code >{machines.inside}/job{i}/code; }}\n"
        for i, job in enumerate(made))
    slower = 10 if (VALGRIND or LONG or
                    sanitized(program("verbs", "across"))) else 3
    machines.wait([machines.start(i, script + "true")
                   for i in range(machines.count)], slower * SECONDS)
    for i, job in enumerate(made):
        there = machines.dir / f"job{i}"
        if (there / "out").exists():
            job.out = (there / "out").read_text(errors="replace")
        if (there / "code").exists():
            job.code = int((there / "code").read_text())
            job.seconds = int((there / "seconds").read_text())
    return made
