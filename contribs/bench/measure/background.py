# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Programs on the nodes of a job while something is measured, and loads."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

from .result import NotRun, TOP

LOADS = ("idle", "cpu", "network")


def build_option(parser):
    parser.add_argument("--build", default=TOP / "_build", metavar="DIR",
                        type=pathlib.Path,
                        help="the build directory (default: _build)")


def built(args, name):
    """The path of a program of contribs/bench."""
    path = args.build / "contribs" / "bench" / name
    if not path.exists():
        raise NotRun(f"there is no {path}: run contribs/prepare build, or say "
                     "--build")
    return path


def install(where, args, name):
    """Copy a program of contribs/bench to where all hosts see it. Returns its
    path there."""
    try:
        shutil.copy(built(args, name), where.shared / name)
    except OSError as e:
        raise NotRun(f"{e.strerror}: {e.filename}") from e
    return where.inside(name)


def nodes_of(where, job):
    """{name: address} of a job's nodes, in order."""
    return {name: where.address(name) for name in where.nodes_of(job)}


def popen(where, argv):
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
               "stderr": subprocess.PIPE, "text": True}
    argv = list(map(str, argv))
    if where.lab:
        return where.lab.popen(argv, user="user", cwd="/tmp", **options)
    return subprocess.Popen(argv, cwd=where.shared, **options)


def steps(where, job):
    return set(where.must(["squeue", "-h", "-s", "-j", job, "-o",
                           "%i"]).split())


@contextlib.contextmanager
def step(where, job, nodes, argv):
    """A step beside others with one task on each of these nodes, each of which
    has printed "ready"; it ends with the context. Slurm has then forgotten it:
    the next step would wait for it."""
    before = steps(where, job)
    process = popen(where, [
        "srun", f"--jobid={job}", "--overlap", "--launch=slurm", "-Q",
        f"-N{len(nodes)}", f"-n{len(nodes)}", "-w", ",".join(nodes), *argv])
    try:
        for _ in nodes:
            if process.stdout.readline() != "ready\n":
                process.send_signal(signal.SIGTERM)
                raise NotRun(f"{argv[0]} ended: {process.stderr.read()}")
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        while steps(where, job) - before:
            time.sleep(0.02)


def spinners(where, names):
    """(nodes, threads of each): all processors. The hosts of a lab share this
    machine's."""
    cpus = len(os.sched_getaffinity(0))
    if not where.lab:
        return names, []
    few = names[:cpus]
    return few, [-(-cpus // len(few))]


@contextlib.contextmanager
def loaded(where, args, job, names, load):
    """cpu: each processor spins. network: each node sends messages to the next
    as fast as it can, and so receives them."""
    if load == "idle":
        yield
        return
    program = install(where, args, "load")
    if load == "cpu":
        few, threads = spinners(where, names)
        argv = [program, "spin", *threads]
    elif len(names) < 2:
        raise NotRun("messages need two nodes")
    else:
        few = names
        ring = where.inside("ring")
        (where.shared / "ring").write_text("".join(
            f"{a} {b}\n" for a, b in zip(names, names[1:] + names[:1])))
        argv = ["sh", "-c", "while read -r a b; do "
                "[ \"$a\" != \"$SLURMD_NODENAME\" ] || "
                f"exec {program} talk \"$b\" {getattr(args, 'talk', 0)}; "
                f"done <{ring}"]
    with step(where, job, few, argv):
        yield
