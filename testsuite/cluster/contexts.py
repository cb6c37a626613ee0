# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Network contexts as tasks and users see them, on any Lab."""
import pathlib
import re
import subprocess

from harness import MACHINES, chosen, until

SHOW = "echo $STORM_CONTEXT $STORM_CONTEXT_GROUP $STORM_CONTEXT_KEY"
COUNT_THEM = "env | grep -c ^STORM_CONTEXT"


def command(lab, *argv, **options):
    done = lab.run([str(a) for a in argv], **options)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def srun(lab, *options, line=SHOW, user="user", **more):
    """The lines of the tasks' output."""
    return command(lab, "srun", *options, "sh", "-c", line, user=user,
                   **more).splitlines()


def context(line):
    """(id, group, key), which must look like such"""
    found = re.fullmatch(r"(\d+) (239\.195\.0\.(\d+)) ([0-9a-f]{64})",
                         line.strip())
    assert found, line
    assert int(found[3]) == int(found[1]) - 1
    return int(found[1]), found[2], found[4]


def apart(one, others):
    """No part of this context appears in one of the others."""
    return not any(set(one) & set(other) for other in others)


ALL_LEASED = "all are leased to other steps (ContextCount in storm.conf)"


def has_none(done, tasks=1, why=ALL_LEASED):
    """The tasks of this srun -v, which ran COUNT_THEM, found no context. srun
    says why where it reads contexts: since 23.11 it passes them on unread."""
    assert done.stdout == "0\n" * tasks, done
    assert chosen() != MACHINES or "storm: the step runs without a network " \
        "context: " + why in done.stderr, done


class Step:
    """A step that runs until the test ends it."""

    def __init__(self, lab, name, *options, line=SHOW, user="user"):
        self.lab, self.name = lab, name
        home = pathlib.Path(lab.dir) / "home" / "user"
        self.out, self.go = home / f"{name}.out", home / f"{name}.go"
        for path in (self.out, self.go):
            path.unlink(missing_ok=True)
        self.process = lab.popen(
                ["srun", "-J", name, *options, "sh", "-c",
                 f"({line}) > {name}.new && mv {name}.new {name}.out; "
                 f"while [ ! -e {name}.go ]; do sleep 0.05; done"],
                user=user, cwd="/home/user", stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=open(self.err, "w"))

    @property
    def err(self):
        return str(self.go) + ".err"

    def said(self):
        return pathlib.Path(self.err).read_text()

    def context(self):
        until(self.out.exists, f"step {self.name} to run")
        return context(self.out.read_text())

    def end(self):
        self.go.touch()
        assert self.process.wait(120) == 0, self.said()
