# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Programs that test one host by itself: those that the tests of this run want
run at once, each machine taking the next one when it is done with one."""
from transfer import BUILD, SECONDS, has_verbs, program

#: cases of the library's suite, the longest first
CASES = {
    "verbs": ["verbs", "verbs, three in a hundred lost",
              "verbs, along the chain"],
    "udp": ["udp", "udp, three in a hundred lost"],
}
#: without verbs they are not built
PROGRAMS = {"pairs": "test_rc", "transport": "test_verbs"}


class Job:
    """A command, and when it has run its end and what it said."""

    def __init__(self, name, words):
        self.name, self.words = name, words
        self.code, self.out = None, ""

    def __str__(self):
        return f"{self.name}: {self.words}\n-> {self.code}\n{self.out[-8000:]}"


def single(name):
    return f"CK_TIMEOUT_MULTIPLIER=4 {program('verbs', name)}"


def jobs(names):
    """Those of these tests: transport, pairs, conformance."""
    made = []
    names = {n for n in names if n not in PROGRAMS
             or (BUILD / "testsuite/verbs" / PROGRAMS[n]).exists()}
    if "conformance" in names:
        suite = program("unit", "test_conformance")
        made += [Job(f"conformance: {case}",
                     f"CK_TIMEOUT_MULTIPLIER=4 CK_RUN_CASE='{case}' "
                     f"STORM_TRANSPORT={transport} {suite}")
                 for transport, cases in CASES.items() for case in cases
                 if transport != "verbs" or has_verbs(suite)]
    return made + [Job(n, single(PROGRAMS[n])) for n in sorted(PROGRAMS)
                   if n in names]


def run(machines, names):
    """[Job], done.  What had its cable out begins anew."""
    made = jobs(names)
    script = "".join(
        f"mkdir {machines.inside}/job{i} 2>/dev/null && "
        f"{{ echo $RXE_INDEX >{machines.inside}/job{i}/where; "
        f"{{ {job.words}; }} >{machines.inside}/job{i}/out 2>&1; "
        f"echo $? >{machines.inside}/job{i}/code; }}\n"
        for i, job in enumerate(made))
    machines.wait([machines.start(i, script + "true")
                   for i in range(machines.count)],
                  3 * SECONDS)
    for i, job in enumerate(made):
        there = machines.dir / f"job{i}"
        if (there / "out").exists():
            job.out = (there / "out").read_text(errors="replace")
        if (there / "code").exists():
            job.code = int((there / "code").read_text())
        if job.name == "transport" and hasattr(machines, "kill"):
            where = int((there / "where").read_text())
            machines.kill(where)
            machines.boot([where], timeout=SECONDS)
    return made
