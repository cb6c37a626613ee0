# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A batch script that measures, and what it prints."""
import re

from measure.result import NotRun


def lines(where, name, nodes, script, options=()):
    """Those that it prints, in a job of so many nodes."""
    (where.shared / f"{name}.sh").write_text(script)
    where.must(["sbatch", "-W", "-Q", f"-N{nodes}", *where.salloc, *options, "-D",
                where.inside(""), "-o", where.inside(f"{name}.out"),
                where.inside(f"{name}.sh")], timeout=1200)
    return (where.shared / f"{name}.out").read_text().splitlines()


def times(printed):
    """{name: [milliseconds]}, or the NotRun that is one's only value, of lines with a
    name, microseconds and an exit code."""
    found = {}
    for line in printed:
        if not (m := re.fullmatch(r"(\w+) (\d+) (\d+)", line)):
            raise NotRun(f"the job says: {line}")
        name, took, code = m[1], int(m[2]) / 1000, int(m[3])
        if code:
            found[name] = NotRun(f"{name}: exit code {code}")
        elif not isinstance(found.get(name), NotRun):
            found.setdefault(name, []).append(took)
    return found
