# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The tools of the cluster tests: a Cluster (a lab with a standing job), runs of
srun on its login host, and same(), which runs one command by stock Slurm and by
STORM and compares all that a user sees.
"""
import contextlib
import errno
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import time

import pytest

import normal
from tree import HERE, TOP  # before lab and long_rule
import lab as stormlab
from lab import LabError, slurmconf  # noqa: F401
from lab.release import (  # noqa: F401
    MACHINES, chosen, number, other_source, root_of, stage_dir)
from lab.sanitized import runtimes
from long_rule import LONG  # noqa: F401
import mpis

#: run both by stock Slurm, on a lab without STORM's plugins: this tests the
#: tests
STOCK = bool(os.environ.get("STORM_TEST_STOCK"))
SIZE = 12_000_000
TIMEOUT = 120

PROGRAMS = ["taskdo", "chain", "mpi_sum", "uselib"]


def sanitized():
    """The plugins of this stage are built with the sanitizers."""
    return bool(runtimes(stage_dir()))


def need_records():
    """Without them slurmctld gives no contexts and no turns."""
    if versions := other_source():
        pytest.skip("SKIP: slurmctld's records are those of Slurm {1}, the "
                    "source was of {0}; --slurm {2}-source has both of one"
                    .format(*versions, number()))


def until(condition, what, timeout=120, interval=0.01):
    """Wait until condition() is true, and return its value. `what` is the text
    of a timeout's error, or a function that returns it, called at the timeout.
    A long timeout costs nothing when the wait succeeds, and a busy machine can
    need it."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s for "
                                 f"{what() if callable(what) else what}")
        time.sleep(interval)
    return value


def save_jobs(lab, job,
              state="/var/lib/slurm/slurmctld/job_state"):
    """Make slurmctld save its jobs, including this one; it does not save again
    for some seconds."""
    def saved():
        return lab.run(["stat", "-c", "%.9Y", state], host="ctl",
                       cwd="/").stdout

    before = saved()
    done = lab.run(["scontrol", "update", f"JobId={job}",
                    f"Comment=saved {before}"], cwd="/")
    assert done.returncode == 0, done.stderr
    until(lambda: saved() != before, "slurmctld to save its jobs")


#: leaves a file in the directory that all hosts share
EPILOG = "/home/epilog"


def write_epilog(lab):
    path = lab.dir + EPILOG
    with open(path, "w") as f:
        f.write("#!/bin/sh\n>/home/over.$SLURM_JOB_ID.$SLURMD_NODENAME\n")
    os.chmod(path, 0o755)


def epilog_ran(lab, job, *hosts):
    for host in hosts:
        until(lambda: os.path.exists(f"{lab.dir}/home/over.{job}.{host}"),
              f"{host}'s epilog of job {job}")


def shown_in_tmp():
    """The sources and the stage, if they are in the machine's /tmp: a lab's hosts
    show them there."""
    return [p for p in (TOP, pathlib.Path(stage_dir()))
            if p.is_relative_to("/tmp")]


def build_programs(to):
    """Compile testsuite/programs into the directory `to`."""
    source = HERE.parent / "programs"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]

    def cc(compiler, *argv):
        subprocess.run([compiler, *flags, *map(str, argv)], check=True)

    cc("cc", source / "taskdo.c", "-o", to / "taskdo")
    cc("cc", source / "chain.c", "-o", to / "chain")
    # Only the login host has /tmp/greet: the others need --send-libs.
    cc("cc", "-shared", "-fPIC", "-Wl,-soname,libgreet.so",
       source / "libgreet.c", "-o", to / "libgreet.so")
    cc("cc", source / "uselib.c", "-L", to, "-lgreet", "-o", to / "uselib")
    if name := mpis.first():
        mpis.build(name, "mpi_sum.c", to / "mpi_sum")


def pad(program, to, size=SIZE):
    """The same program, extended to `size` bytes by an incompressible tail,
    which ELF permits."""
    data = pathlib.Path(program).read_bytes()
    pathlib.Path(to).write_bytes(data + os.urandom(size - len(data)))
    os.chmod(to, 0o755)


class Run:
    """A finished run: code (srun's exit status, negative for a signal), out,
    err, the directory it ran in (seen from here) and storm's timeline."""

    def __init__(self, argv, code, directory, seconds, masks):
        self.argv, self.code, self.dir = argv, code, directory
        self.seconds, self.masks = seconds, masks
        self.out = (directory / "stdout").read_text(errors="replace")
        self.err = (directory / "stderr").read_text(errors="replace")
        try:
            self.timeline = json.loads((directory / "timeline").read_text())
        except FileNotFoundError:
            self.timeline = None

    @property
    def steps(self):
        assert self.timeline, f"no timeline was written: {self}"
        return self.timeline.get("steps", [self.timeline])

    def counter(self, *names):
        return sum(s["counters"][n] for s in self.steps for n in names)

    def files(self):
        """{name: text} of the files that the run left in its directory"""
        return {p.name: p.read_text(errors="replace")
                for p in sorted(self.dir.iterdir())
                if p.name not in ("stdout", "stderr", "timeline")
                and p.is_file()}

    def normal(self, cancelled=False):
        return {"code": self.code,
                "out": normal.stdout(self.out, self.masks),
                "err": normal.stderr(self.err, self.masks, cancelled)}

    def __str__(self):
        return (f"{shlex.join(self.argv)}\n-> {self.code} after "
                f"{self.seconds:.2f} s\n--- stdout\n{self.out[-3000:]}"
                f"--- stderr\n{self.err[-3000:]}"
                f"--- timeline\n{json.dumps(self.timeline)}")


class Started:
    """A command that runs."""

    def __init__(self, process, argv, directory, masks):
        self.process, self.argv = process, argv
        self.dir, self.masks = directory, masks
        self.begun = time.monotonic()

    def signal(self, sig):
        self.process.send_signal(sig)

    def out(self):
        return (self.dir / "stdout").read_text(errors="replace")

    def err(self):
        return (self.dir / "stderr").read_text(errors="replace")

    def running(self):
        return self.process.poll() is None

    def finish(self, timeout=TIMEOUT):
        if not self.process.ended(timeout):
            self.signal(signal.SIGKILL)
            self.process.wait(60)
            raise AssertionError(
                f"not done after {timeout} s: {shlex.join(self.argv)}\n"
                f"--- stdout\n{self.out()[-3000:]}\n"
                f"--- stderr\n{self.err()[-3000:]}")
        seconds = time.monotonic() - self.begun
        return Run(self.argv, self.process.wait(), self.dir, seconds,
                   self.masks)


class Lab(stormlab.Lab):
    """One in which STORM launches on few nodes, too, as that is tested."""

    def up(self, nodes, storm_conf=(), stock=False, **options):
        pairs = [p.split("=", 1) for p in storm_conf] \
            if isinstance(storm_conf, (list, tuple)) else storm_conf.items()
        pairs = {"LaunchNodes": "2", **dict(pairs)}
        return super().up(nodes, storm_conf={} if stock else pairs,
                          stock=stock, **options)


class Cluster:
    """A lab with a standing job, which has half its CPUs and runs the tests'
    steps. standing=False: without it, for tests of jobs."""

    def __init__(self, name, nodes, mode="multicast", cpus=8, standing=True,
                 **options):
        self.begin_with(Lab(name), nodes, mode)
        storm_conf = dict(options.pop("storm_conf", {}))
        if mode == "relay":
            storm_conf["Multicast"] = "no"
        # A busy machine, or the sanitizers, may take longer than the default.
        if mode != "deaf" or sanitized():
            storm_conf.setdefault("MulticastTimeout", "5s")
        self.lab.down()
        try:
            if STOCK:
                self.lab.up(nodes, stock=True, cpus=cpus, **options)
            else:
                self.lab.up(nodes, storm_conf=storm_conf, cpus=cpus,
                            **options)
                if mode == "deaf":
                    self.lab.multicast(False)
                if mode == "drop":
                    self.lab.drop(5, seed=7)
            self.furnish()
            self.job = self.allocate(nodes, "--ntasks-per-node=4") \
                if standing else None
        except BaseException:
            self.lab.down()
            raise

    def set_key(self, key, value):
        """Change a line of storm.conf, and have it read again."""
        pairs = [p for p in slurmconf.read_storm_conf(self.lab.dir)
                 if p[0] != key]
        slurmconf.write_storm_conf(self.lab.dir, pairs + [(key, value)])
        before = {n: len(self.lab.log(n, "slurmd")) for n in self.names}
        self.root("scontrol reconfigure")
        if chosen() != MACHINES:
            # From 23.11 on these are new slurmds, which replace their agents.
            for node in self.names:
                self.lab.wait_attached(node, since=before[node])

    def begin_with(self, lab, nodes, mode="multicast"):
        """A lab that has not been started yet."""
        self.lab = lab
        self.nodes, self.mode = nodes, mode
        self.names = [f"n{i}" for i in range(1, nodes + 1)]
        self.job = None
        self.count = 0
        self.started = []
        self.repairs = 0
        self.stay = set()       # steps that do not end
        self.current = "x"
        self.shown = {p.parts[2] for p in shown_in_tmp()}

    def furnish(self):
        """Install the tests' programs in the home directory, which all hosts
        share."""
        self.home = pathlib.Path(self.lab.dir) / "home" / "user"
        self.bin = self.home / "bin"
        self.bin.mkdir()
        build_programs(self.bin)
        pad(self.bin / "taskdo", self.bin / "big")

    def down(self):
        self.end_all()
        try:
            if sanitized():
                self.end_daemons()
            self.assert_sane()
        finally:
            self.lab.down()

    # -- runs ---------------------------------------------------------------

    def directory(self, label):
        """A fresh directory, common to all hosts: (path outside, path
        inside)."""
        self.count += 1
        path = self.home / "t" / f"{self.current}.{self.count}.{label}"
        path.mkdir(parents=True)
        for p in (path.parent, path):
            os.chown(p, 20001, 20001)
        return path, f"/home/user/t/{path.name}"

    def start(self, argv, label="run", user="user", stdin=None, env=None,
              prefix=None, host="login", given=None, cwd=None, tty=None):
        """Start a command on login. In its words (and those of `env`) {do},
        {big}, {bin} and {dir} stand for the test program, the same with
        12 MB, the directory of programs and the run's own directory.
        `prefix` are shell commands to run before; `given` {name: text} are
        put into the run's directory first; `tty` is the slave of a pty."""
        outer, inner = self.directory(label)
        words = {"do": "/home/user/bin/taskdo", "big": "/home/user/bin/big",
                 "bin": "/home/user/bin", "dir": inner, "job": self.job,
                 "n": self.nodes}
        if isinstance(argv, str):
            argv = shlex.split(argv)
        argv = [re.sub(r"\{(\w+)\}", lambda m: str(words.get(m[1], m[0])), a)
                for a in argv]
        full = {"STORM_TIMELINE": inner + "/timeline"}
        for key, value in (env or {}).items():
            full[key] = re.sub(r"\{(\w+)\}",
                               lambda m: str(words.get(m[1], m[0])), value)
        for name, text in (given or {}).items():
            (outer / name).write_text(text)
            os.chown(outer / name, 20001, 20001)
        line = argv
        if prefix:
            line = ["sh", "-c", prefix + '; exec "$@"', "sh"] + argv
        options = {}
        if tty is not None:
            options = {"stdin": tty, "stdout": tty, "stderr": tty}
            (outer / "stdout").write_text("")
            (outer / "stderr").write_text("")
        else:
            options["stdout"] = open(outer / "stdout", "wb")
            options["stderr"] = open(outer / "stderr", "wb")
            if stdin is None:
                options["stdin"] = subprocess.DEVNULL
            elif isinstance(stdin, (str, bytes)):
                data = stdin.encode() if isinstance(stdin, str) else stdin
                # not in the run's directory: its files are compared
                (self.home / "stdin").write_bytes(data)
                options["stdin"] = open(self.home / "stdin", "rb")
            else:
                options["stdin"] = stdin
        try:
            process = self.lab.popen(line, host=host, user=user, env=full,
                                     cwd=cwd or inner, **options)
        finally:
            for f in options.values():
                if hasattr(f, "close"):
                    f.close()
        one = Started(process, argv, outer, [(inner, "DIR")])
        self.started.append(one)
        return one

    def run(self, argv, timeout=TIMEOUT, **options):
        return self.start(argv, **options).finish(timeout)

    def srun_argv(self, args, launch, alone=False):
        argv = ["srun"] + ([] if STOCK else [f"--launch={launch}"])
        words = shlex.split(args) if isinstance(args, str) else list(args)
        if alone:
            return argv + words
        argv.append(f"--jobid={self.job}")
        if chosen() != MACHINES and not self.busy():
            words = self.from_the_first(words)
        return argv + words

    def busy(self):
        return any(one.running() for one in self.started)

    def start_srun(self, args, launch="storm", alone=False, **options):
        """Start srun as a step of the standing job, or with its own
        allocation, which begins when no node is completing the last one."""
        if alone:
            self.wait_completed()
        elif not self.busy():
            self.settle()
        return self.start(self.srun_argv(args, launch, alone), label=launch,
                          **options)

    def from_the_first(self, words):
        """The arguments of srun for a step that begins on n1, as in an idle job
        of 22.05. Later releases begin behind the nodes of the last step."""
        def number(short, long):
            found = re.search(rf"(?:^|\s)(?:{short} ?|{long}[= ])(\d+)(?:\s|$)",
                              " ".join(words))
            return int(found[1]) if found else None

        def has(pattern):
            return any(re.match(pattern, word) for word in words)

        nodes, tasks = number("-N", "--nodes"), number("-n", "--ntasks")
        if nodes is None or has(r"-[wx]|--(nodelist|exclude|nodefile)\b|:$"):
            return words
        if has(r"-r|--relative"):
            # Behind a step on all nodes Slurm begins with the first again.
            self.lab.run(["srun", f"--jobid={self.job}", f"-N{self.nodes}",
                          "true"], user="user", cwd="/", check=True)
            return words
        nodes = min(nodes, tasks or nodes)      # as srun does
        if not 0 < nodes < self.nodes:
            return words
        return ["-w", ",".join(self.names[:nodes]), *words]

    def wait_completed(self):
        """Wait until the jobs that have ended give back their nodes."""
        until(lambda: not self.root("squeue -h -t CG -o %i").strip(),
              lambda: "jobs to complete: " + self.root("squeue -t CG"))

    def settle(self):
        """Wait until earlier steps end. On nodes that are still busy the next
        step would wait, or get others. (A step whose srun was killed may
        stay, and is waited for once.)"""
        self.stay |= self.left_behind(20 if chosen() == MACHINES else 2)
        # From 24.11 on a step whose files cannot be opened never ends, and has
        # its nodes until its job ends.
        if chosen() != MACHINES and self.steps():
            self.clean()

    def left_behind(self, timeout):
        """Wait until all steps end, and return those that do not: the timeout has
        passed, or no node runs any. slurmstepd ends when slurmctld knows that its
        step has."""
        look = time.monotonic() + 0.5
        end = look + timeout
        while left := set(self.steps()) - self.stay:
            now = time.monotonic()
            if now > end:
                return left
            if now > look:
                if not any(self.lab.pids(n, "slurmstepd") for n in self.names):
                    return left & set(self.steps())
                look = now + 0.2
            time.sleep(0.01)
        return set()

    def srun(self, args, launch="storm", timeout=TIMEOUT, **options):
        return self.start_srun(args, launch, **options).finish(timeout)

    def end_all(self):
        """End what a test left running. Returns the command lines."""
        left = []
        for one in self.started:
            if one.running():
                left.append(shlex.join(one.argv))
                one.signal(signal.SIGKILL)
                one.process.wait(60)
        self.started = []
        return left

    # -- Slurm --------------------------------------------------------------

    def root(self, argv, host="login", timeout=TIMEOUT):
        """The output of a command that root runs; it must succeed."""
        done = self.lab.run(shlex.split(argv) if isinstance(argv, str)
                            else argv, host=host, timeout=timeout, cwd="/")
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def allocate(self, nodes, *options, user="user"):
        """Make a job without a process. Returns its id."""
        done = self.lab.run(["salloc", "--no-shell", "-Q", f"-N{nodes}",
                             "-J", "standing", *options], user=user, cwd="/")
        assert done.returncode == 0, done.stderr
        text = self.root("squeue -h -o '%i %j' --sort=-i -t R")
        return int(text.split()[0])

    def cancel(self, job):
        self.root(f"scancel {job}")
        until(lambda: not self.root(f"squeue -h -j {job} -t R,CG")
              .strip(), f"the end of job {job}")

    def steps(self, job=None):
        """The ids of a job's steps in slurmctld."""
        text = self.root(f"squeue -h -s -j {job or self.job} -o %i")
        return [s for s in text.split()
                if not s.endswith((".extern", ".batch", ".interactive"))]

    def clean(self):
        """After a test, end what it started, so that the next one finds the
        standing job empty."""
        left = self.end_all()
        for step in self.steps():
            self.lab.run(["scancel", "-s", "KILL", step], cwd="/")
        self.stay = set()
        if self.left_behind(3):
            # A stock srun that gives up between the step's creation and its
            # launch leaves the step behind until the job ends.
            self.cancel(self.job)
            self.job = self.allocate(self.nodes, "--ntasks-per-node=4")
        return left

    def forget_reports(self):
        """Ignore the sanitizers' reports so far."""
        found = self.lab.sanitizer_reports()
        for path in found:
            os.unlink(path)
        return found

    def end_daemons(self):
        """Stop the daemons, as sanitizers also report at exit. slurmctld is
        the last: slurmds wait until they can report the ends of steps to
        it."""
        for what in ("slurmd", "agent"):
            for node in self.names:
                self.lab.end(node, what)
        for host in ("login", "ctl"):
            self.lab.end(host, "slurmctld")

    def assert_sane(self):
        """Check that the sanitizers, if present, reported nothing."""
        found = self.forget_reports()       # not the next test's
        assert not found, "the sanitizers report\n" + "\n".join(
            f"--- {path}\n{text[:20000]}" for path, text in found.items())

    # -- files of the nodes ---------------------------------------------------

    def file(self, node, path):
        """The bytes of a node's file; None if it does not exist."""
        try:
            return pathlib.Path(self.lab.path(node, path)).read_bytes()
        except FileNotFoundError:
            return None

    def listing(self, node, path="/tmp"):
        return sorted(set(os.listdir(self.lab.path(node, path)))
                      - (self.shown if path == "/tmp" else set()))

    def remove(self, path, nodes=None):
        for node in nodes or self.names:
            p = self.lab.path(node, path)
            if os.path.isdir(p) and not os.path.islink(p):
                shutil.rmtree(p)
            elif os.path.lexists(p):
                os.unlink(p)

    def litter(self, keep=()):
        """The files in the nodes' /tmp and in /home/user. A failed broadcast
        must leave none."""
        found = []
        for node in self.names:
            found += [f"{node}:/tmp/{f}" for f in self.listing(node)
                      if f not in keep]
        return found

    def tidied(self, *left, keep=()):
        """Wait until these are all files that nodes have, beside those to keep. A node
        of a broadcast that fails hears of that by itself, and may do so after srun's
        end."""
        until(lambda: self.litter(keep) == list(left),
              lambda: f"the nodes to have {left} alone, not {self.litter(keep)}")

    def agent(self, node, *names):
        """Counters of a node's agent, summed."""
        stats = self.lab.agent_stats(node)
        flat = flatten(stats)
        return sum(flat[n] for n in names) if names else flat

    # -- checks -------------------------------------------------------------

    def by_storm(self, run, launched=True, repaired=False):
        """Check that STORM launched the run and every part of it."""
        if STOCK:
            return run
        for step in run.steps:
            assert step["fallback"] is None, f"fell back: {run}"
            assert not step["resent"], f"launch messages resent: {run}"
            if launched:
                assert step["launch"] == "storm", str(run)
            if self.mode in ("relay", "deaf"):
                assert step["multicast"] is False, str(run)
            else:
                assert step["multicast"] is True, str(run)
            self.repairs += step["counters"]["repaired"]
        if repaired:
            assert run.counter("repaired") > 0, f"nothing was repaired: {run}"
        return run


def key(cluster, name, value):
    """Change a line of storm.conf that commands alone read."""
    slurmconf.write_storm_conf(
        cluster.lab.dir, [p for p in slurmconf.read_storm_conf(cluster.lab.dir)
                          if p[0] != name] + [(name, value)])


def stop_agent(lab, node):
    for daemon in ("slurmd", "agent"):
        lab.kill(node, daemon, signal.SIGSTOP)


def continue_agent(lab, node):
    for daemon in ("slurmd", "agent"):
        lab.kill(node, daemon, signal.SIGCONT)


@contextlib.contextmanager
def agent_stands(lab, node):
    """A node's agent is stopped (SIGSTOP), however long: slurmd would replace it
    after 5 s, and is stopped, too. slurmd goes on first, and finds that it was
    away itself. So the agent does not miss it."""
    stop_agent(lab, node)
    try:
        yield
    finally:
        continue_agent(lab, node)


@contextlib.contextmanager
def munged_off(lab, node, off):
    """A node's munged is so many seconds off."""
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", lab.dir + "/home/clock.so",
                    TOP / "testsuite/programs/clock.c"], check=True)
    lab.end(node, "munged")
    other = lab.run(["sh", "-c", "munged --key-file=/etc/munge/munge.key --force "
                     "--num-threads=2"], host=node, cwd="/",
                    env={"LD_PRELOAD": "/home/clock.so", "CLOCK_OFF": str(off)})
    assert other.returncode == 0, other.stderr
    try:
        yield
    finally:
        lab.run(["munged", "--stop"], host=node, cwd="/")
        lab.restart(node, "munged")


def flatten(tree, out=None):
    """All numbers in nested objects by their last name."""
    out = {} if out is None else out
    for key, value in tree.items():
        if isinstance(value, dict):
            flatten(value, out)
        elif isinstance(value, (int, float)):
            out[key] = out.get(key, 0) + value
    return out


def acl(path):
    """The access list of a file, as bytes; b"": it has none."""
    try:
        return os.getxattr(path, "system.posix_acl_access")
    except OSError as e:
        if e.errno not in (errno.ENODATA, errno.ENOTSUP):
            raise
        return b""


def project(cluster, listed=False):
    """/tmp/proj on all nodes: the user's, with the set-group-ID bit and a group
    of its own; with a default access list that names this group, too."""
    group = 20077
    entries = ((1, 7, -1), (4, 7, -1), (8, 7, group), (16, 7, -1), (32, 0, -1))
    for node in cluster.names:
        p = cluster.lab.path(node, "/tmp/proj")
        os.mkdir(p)
        os.chown(p, 20001, group)
        os.chmod(p, 0o2770)
        if listed:
            os.setxattr(p, "system.posix_acl_default", struct.pack("<I", 2)
                        + b"".join(struct.pack("<HHi", *e) for e in entries))


def same(cluster, args, code=None, storm=True, files=False, only=None,
         timeout=TIMEOUT, alone=False, between=None, tries=1, whole=None,
         cancelled=False, **options):
    """Run srun by stock Slurm and by STORM. Both must return the same exit
    status (`code`, if given), stdout and messages. Returns both runs.

    storm    assert that STORM launched the second (False: that it fell back)
    files    also compare the files that they leave
    only     compare only these of code, out, err
    between  called between the two runs
    tries    how often to retry a command on which stock srun sometimes hangs
             (for `timeout`); not if STORM hangs
    whole    returns whether a run's output is complete; stock may lose output,
             STORM may not
    cancelled    slurmctld ends the step: see normal.py
    """
    def one(launch, tries):
        for left in reversed(range(tries)):
            try:
                return cluster.srun(
                    args, launch, alone=alone,
                    timeout=timeout if tries > 1 else max(timeout, TIMEOUT),
                    **options)
            except AssertionError:
                if not left:
                    raise
                cluster.clean()

    slurm_tries, storm_tries = tries if isinstance(tries, tuple) \
        else (tries, tries)
    stock = one("slurm", slurm_tries)
    for _ in range(20):
        if not stock_lost_output(stock, whole):
            break
        stock = one("slurm", slurm_tries)
    if between:
        between()
    runs = [stock, one("storm", storm_tries)]
    assert STOCK or not whole or whole(runs[1]), f"output is lost: {runs[1]}"
    compare(*runs, code=code, files=files, only=only, cancelled=cancelled)
    if storm:
        cluster.by_storm(runs[1])
    return runs


def stock_lost_output(run, whole=None):
    """Stock's srun can lose output of a task that ends while the end of srun's
    input is on its way. The connection is reset, and data in transit is lost.
    Most of the time srun reports that."""
    return ("io error with slurmstepd" in run.err
            or bool(whole) and not whole(run))


def compare(stock, storm, code=None, files=False, only=None, cancelled=False):
    if code is not None:
        assert stock.code == code, f"stock itself: {stock}"
    a, b = stock.normal(cancelled), storm.normal(cancelled)
    if cancelled and "err" in (only or ("err",)):
        assert normal.ENDED in a["err"], f"nobody ended stock's step: {stock}"
    for what in only or ("code", "out", "err"):
        assert b[what] == a[what], (
            f"{what} differs\n=== stock: {stock}\n=== storm: {storm}")
    if files:
        def bag(run):
            return {n: sorted(t.splitlines()) for n, t in run.files().items()}
        assert bag(storm) == bag(stock), (
            f"files differ\n=== stock: {stock}\n=== storm: {storm}")
