# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm stack: where the tasks of a job are, with equal stacks in one line."""
import contextlib
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import time

import pytest

from harness import HERE, stage_dir, until
from run_lab import end_run, lab  # noqa: F401

pytestmark = [
    pytest.mark.storm_only,
    pytest.mark.skipif(
        not (pathlib.Path(stage_dir()) / "libexec/slurm-storm/storm_unwind").exists(),
        reason="SKIP: this build has no storm_unwind: install libdw-dev")]

SOLVE = "pause < wait_here < solve < solve < main"
ODD = "pause < wait_here < odd_one < main"


def build(lab):
    """The program stands in known functions."""
    if not (lab.bin / "stand").exists():
        subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-pthread",
                        HERE.parent / "programs/stand.c", "-o", lab.bin / "stand"],
                       check=True)


def stands(lab, *ranks, words=None, nodes=4, tasks=8):
    """A job whose tasks stand in their functions. Returns (job, what runs)."""
    build(lab)
    before = set(lab.root("squeue -h -o %i").split())
    one = lab.start(["srun", "-N", str(nodes), "-n", str(tasks), "--launch=slurm",
                     *(words or ["{bin}/stand", *ranks])])
    until(lambda: len(list(one.dir.glob("up.*"))) == tasks,
          lambda: f"the tasks to stand: {one.err()}")
    job, = set(lab.root("squeue -h -o %i").split()) - before
    return job, one


def stack(lab, *words, code=0, user="user"):
    """What storm stack prints: (its lines, what it says)."""
    done = lab.run(["storm", "stack", *words], user=user)
    assert done.code == code, str(done)
    return done.out.splitlines(), done.err


@pytest.mark.every_release
def test_one_hangs(lab):
    """All ranks but one are in solve(): two lines, and the job runs on."""
    job, one = stands(lab, "5")
    for what in (job, f"{job}.0"):
        lines, said = stack(lab, what)
        assert said == ""
        assert re.fullmatch(r"8 processes on 4 nodes stood for [\d.]+ ms", lines[0]), lines
        assert lines[1:] == [f"ranks 0-4,6-7: {starts(lines[1])}{SOLVE}{ends(lines[1])}",
                             f"rank 5: {starts(lines[2])}{ODD}{ends(lines[2])}"]
    assert one.running()
    assert not any("t" in state for state in states(lab))
    # equal stacks have met in the tree: two texts, and where each node listens
    told = json.loads(stack(lab, "--json", job)[0][0])
    assert told["merged"] == 4 and told["not_kept"] == 0
    texts = sum(len(" < ".join(s["frames"])) for s in told["stacks"])
    assert told["bytes"] < texts + 2 * 60 + 4 * 50, told
    assert [s["ranks"] for s in told["stacks"]] == ["0-4,6-7", "5"]


def starts(line):
    """What libc has above its pause()."""
    return re.match(r".*?: (.*?)pause < ", line)[1]


def ends(line):
    """What libc has below main()."""
    return re.search(r" < main(.*)", line)[1]


def states(lab, program="stand"):
    """The kernel's letters for the tasks' states."""
    found = []
    for node in lab.names:
        for pid in lab.lab.pids(node, program):
            found.append(pathlib.Path(f"/proc/{pid}/stat").read_text()
                         .rsplit(")", 1)[1].split()[0])
    return found


def slow_to_read(program, to):
    """The same program with so many symbols that a look at them takes long: they are
    zeroes behind its end, which take no space."""
    data = bytearray(pathlib.Path(program).read_bytes())
    shoff, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    for at in range(shoff, shoff + size * count, size):
        kind, = struct.unpack_from("<I", data, at + 4)
        if kind in (SHT_SYMTAB, SHT_DYNSYM):
            struct.pack_into("<QQ", data, at + 24, 1 << 20, SYMBOLS * 24)
    pathlib.Path(to).write_bytes(data)
    os.truncate(to, (1 << 20) + SYMBOLS * 24)
    os.chmod(to, 0o755)


SHT_SYMTAB, SHT_DYNSYM = 2, 11
SYMBOLS = 25_000_000


@pytest.mark.lab_with(conf={"ProctrackType": "proctrack/cgroup"})
def test_what_cannot_be_seen(fresh):
    """Each is named, and the others are shown: a process that hides, a set-uid program,
    one whose file takes long, and one that another tracer has. What is of no task, or of
    another user's, is not looked at."""
    build(fresh)
    os.link(fresh.bin / "stand", fresh.bin / "traced")
    slow_to_read(fresh.bin / "stand", fresh.bin / "slow")
    (fresh.bin / "setuid").write_bytes((fresh.bin / "stand").read_bytes())
    os.chown(fresh.bin / "setuid", 0, 0)
    os.chmod(fresh.bin / "setuid", 0o4755)
    job, one = stands(fresh, words=[
        "sh", "-c", "set -- stand 'stand --hide' setuid slow traced stand stand stand; "
        "shift $SLURM_PROCID; exec {bin}/$1"])
    # of no task, though its variables say so
    beside = fresh.lab.popen(["/home/user/bin/stand"], host="n1", user="user",
                             cwd="/tmp", env={"SLURM_JOB_ID": job, "SLURM_STEP_ID": "0",
                                              "SLURM_PROCID": "99"})
    with tracer(fresh, "traced"):
        lines, _ = stack(fresh, job)
    beside.kill()
    beside.wait()
    text = "\n".join(lines)
    assert re.search(rf"^ranks 0,5-7 \(stand\): .*{SOLVE}", text, re.M), text
    assert re.search(r"^1 of no known rank \(stand\): no stack: it is not dumpable", text,
                     re.M), text
    assert re.search(r"^1 of no known rank \(setuid\): no stack: it is not dumpable", text,
                     re.M), text
    assert re.search(r"^rank 3 \(slow\): no stack: its stack takes longer than 0.5 s",
                     text, re.M), text
    assert re.search(r"^rank 4 \(traced\): no stack: it has a tracer already", text,
                     re.M), text
    assert "99" not in text, text
    assert len(lines) == 6, text
    assert one.running()
    another_user(fresh, job)


def another_user(lab, job):
    """It is refused, and what it starts itself finds nothing."""
    _, said = stack(lab, job, code=1, user="other")
    assert said == f"storm: job {job} is user's, and only this user sees its stacks\n"
    done = lab.run([f"{stage_dir()}/libexec/slurm-storm/storm_unwind", job, "0"], user="other",
                   host="n1", cwd="/")
    assert re.fullmatch(r"storm_stack 0 \.R\t\?\t-\t0\nstorm_stack 0 \.N\t\?\t0\t\d+\n",
                        done.out), str(done)


@contextlib.contextmanager
def tracer(lab, program):
    """Something that traces a process, as a debugger does."""
    node, = [n for n in lab.names if lab.lab.pids(n, program)]
    one = lab.start(["sh", "-c", f"exec python3 -c '{TRACE}' $(pgrep -x {program})"],
                    host=node)
    until(one.out, lambda: f"the tracer: {one.err()}")
    yield
    one.signal(signal.SIGKILL)
    one.process.wait(60)


TRACE = """import ctypes, sys, time
assert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0
print("traced", flush=True)
time.sleep(1000)"""


def test_asker_stands(lab):
    """While the tasks stand, their asker is stopped, or killed: they go on within a second
    or so. One of them cannot be stopped, which takes half a second."""
    job, one = stands(lab, "--vfork")
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        asker = lab.start(["storm", "stack", job])
        until(lambda: states(lab).count("t") >= 6, lambda: f"the stop: {states(lab)}")
        pid, = lab.lab.pids("login", "storm_stack")
        parent = int(re.search(r"PPid:\t(\d+)", pathlib.Path(
            f"/proc/{pid}/status").read_text())[1])
        begun = time.monotonic()
        os.kill(pid, sig)
        until(lambda: "t" not in states(lab), lambda: f"its end: {states(lab)}")
        assert time.monotonic() - begun < 2.5
        if sig == signal.SIGSTOP:       # nsenter stops itself with it
            os.kill(pid, signal.SIGKILL)
            os.kill(parent, signal.SIGCONT)
        asker.process.wait(60)
    lines, said = stack(lab, job)
    assert said == ""
    assert re.search(r"^rank 0: no stack: thread \d+ did not stop in 0.5 s: it waits in the "
                     "kernel", "\n".join(lines), re.M), lines
    assert one.running()


def test_unwinder_dies(lab):
    """The one of a node is killed while it walks, when the other nodes have reported: they print
    all by themselves, that node is named, and all tasks go on."""
    build(lab)
    slow_to_read(lab.bin / "stand", lab.bin / "slow")
    # the first one's thread stops late, so the others stand long enough to be seen
    job, one = stands(lab, words=["sh", "-c", "[ $SLURMD_NODENAME = n2 ] && exec {bin}/slow; "
                                  "exec {bin}/stand --vfork"])
    asker = lab.start(["storm", "stack", "--json", job])
    until(lambda: "t" in states(lab, "slow") and "t" in states(lab),
          lambda: f"the stop: {states(lab)}")
    until(lambda: "t" not in states(lab), lambda: f"the others to go on: {states(lab)}")
    assert "t" in states(lab, "slow")
    # its child that walks ends with it
    for pid in lab.lab.pids("n2", "storm_unwind"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    done = asker.finish()
    assert done.code == PART and "1 of 4 nodes have not answered: n2" in done.err, str(done)
    assert "at one moment" not in done.err, str(done)
    told = json.loads(done.out)
    assert told["merged"] == 0 and told["answered"] == 3
    assert sum(s["tasks"] for s in told["stacks"] if "frames" in s) == \
        8 - len(lab.lab.pids("n2", "slow"))
    assert one.running() and "t" not in states(lab) + states(lab, "slow")


FLOOD = """#!/usr/bin/env python3
import os, sys
nth = os.environ["SLURM_PROCID"]
say = lambda text: sys.stdout.write(f"storm_stack {nth} .{text}\\n")
say("R\\tn2\\t-\\t0")
for k in range(%d):
    say(f"S\\tm\\t0\\tflood\\t1\\t{k}\\t{'f' * 900}{k} < main")
say("N\\tn2\\t1\\t1")
"""
FLOOD_LINES = 110_000       # of 950 bytes


def test_flood(fresh):
    """A broken node prints 100 MB: the asker reads on, its memory stays what it was, and what
    it does not keep is counted. The other nodes' stacks are there."""
    job, one = stands(fresh)
    (fresh.bin / "flood").write_text(FLOOD % FLOOD_LINES)
    os.chmod(fresh.bin / "flood", 0o755)
    fresh.root(["mount", "--bind", "/home/user/bin/flood",
                f"{stage_dir()}/libexec/slurm-storm/storm_unwind"], host="n2")
    asker = fresh.start(["storm", "stack", "--json", "--timeout=100", job])
    peak = 0
    while asker.running():
        for pid in fresh.lab.pids("login", "storm_stack"):
            with contextlib.suppress(FileNotFoundError, TypeError):
                peak = max(peak, int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path(
                    f"/proc/{pid}/status").read_text())[1]))
        time.sleep(0.02)
    done = asker.finish()
    told = json.loads(done.out)
    assert done.code == PART and "have not answered: n2" in done.err, done.err
    assert told["bytes"] > FLOOD_LINES * 900 and told["merged"] == 3
    kept = [s for s in told["stacks"] if s["program"] == "flood"]
    assert len(kept) + told["not_kept"] == FLOOD_LINES + 1, "all lines are counted"
    assert sum(len(s["frames"][0]) for s in kept) < 1 << 20
    others, = [s["tasks"] for s in told["stacks"] if s["program"] == "stand"]
    assert others == 8 - len(fresh.lab.pids("n2", "stand"))
    assert 0 < peak < 40 << 10, f"{peak} KB"
    assert one.running()


PART = 3


def test_json_and_dot(lab):
    """Both are what their readers take; --times looks again."""
    job, _ = stands(lab, "0", nodes=2, tasks=4)
    lines, _ = stack(lab, "--json", "--times=2", "--every=0.1", job)
    assert len(lines) == 2
    for line in lines:
        told = json.loads(line)
        assert (told["job"], told["nodes"], told["answered"], told["processes"]) == \
            (int(job), 2, 2, 4)
        assert sorted((s["ranks"], s["tasks"]) for s in told["stacks"]) == \
            [("0", 1), ("1-3", 3)]
        assert all("wait_here" in s["frames"] for s in told["stacks"])
    tree = dot_tree("\n".join(stack(lab, "--dot", job)[0]))
    # one call of main(), of wait_here() two
    assert calls(tree, f"job {job}") == [("step 0", "0-3")]
    assert calls(tree, "step 0") == [("stand", "0-3")]
    assert calls(tree, "main") == [("odd_one", "0"), ("solve", "1-3")]
    assert calls(tree, "solve") == [("solve", "1-3"), ("wait_here", "1-3")]
    assert calls(tree, "odd_one") == [("wait_here", "0")]
    assert [n for n in sorted(tree[0].values()) if n in ("main", "wait_here")] == \
        ["main", "wait_here", "wait_here"]


def dot_tree(text):
    """What a graph says: ({number: name}, [(from, to, label), ...])."""
    name, ranks = r'(n\d+) \[label="((?:[^"\\]|\\.)*)"\];', r'\[label="([^"]*)"\];'
    assert re.fullmatch(rf"digraph stacks {{\n\tnode \[shape=box\];\n(\t{name}\n"
                        rf"|\tn\d+ -> n\d+ {ranks}\n)*}}", text), text
    return dict(re.findall(rf"^\t{name}$", text, re.M)), \
        re.findall(rf"^\t(n\d+) -> (n\d+) {ranks}$", text, re.M)


def calls(tree, name):
    """Whom a function calls: [(name, ranks), ...]."""
    names, edges = tree
    assert sorted(b for _, b, _ in edges) == sorted(set(names) - {"n0"}), "it is a tree"
    return sorted((names[b], label) for a, b, label in edges if names[a] == name)


THREADS = 120       # of each of 8 tasks


def test_many_stacks(lab):
    """Each thread has another stack: all texts are asked for, in several questions."""
    names = range(8 * THREADS)
    (lab.bin / "many.c").write_text(
        "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        "volatile int deeper = 1;\n"
        "__attribute__((noinline)) void wait_here(void) { while (deeper) pause(); }\n"
        + "".join(f"void f{k}(void) {{ wait_here(); deeper++; }}\n" for k in names)
        + "void (*const all[])(void) = {" + ", ".join(f"f{k}" for k in names) + "};\n"
        f"""void *run(void *f) {{ ((void (*)(void)) f)(); return f; }}
        int main(void) {{
            char name[32];
            pthread_t t;
            int rank = atoi(getenv("SLURM_PROCID"));
            for (int k = 0; k < {THREADS}; k++)
                pthread_create(&t, NULL, run, (void *) all[rank * {THREADS} + k]);
            snprintf(name, sizeof(name), "up.%d", rank);
            fclose(fopen(name, "w"));
            wait_here();
        }}""")
    subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-pthread", lab.bin / "many.c",
                    "-o", lab.bin / "many"], check=True)
    job, _ = stands(lab, words=["{bin}/many"])
    told = json.loads(stack(lab, "--json", job)[0][0])
    assert told["merged"] == 4 and told["not_kept"] == 0
    threads = {s["ranks"]: [] for s in told["stacks"] if not s["first"]}
    for one in told["stacks"]:
        if not one["first"]:
            assert one["threads"] == one["tasks"] == 1, one
            threads[one["ranks"]] += re.findall(r"\bf\d+", " ".join(one["frames"]))
    assert threads == {str(r): threads[str(r)] for r in range(8)}
    for rank, names in threads.items():
        assert sorted(names) == sorted(f"f{int(rank) * THREADS + k}" for k in range(THREADS))


def test_threads(lab):
    """Other threads are counted, or shown. What is beyond 1,024 of a process is counted. A task
    whose variables lie has no rank, and is shown, and so is one without its first thread."""
    job, _ = stands(lab, words=[
        "sh", "-c", "case $SLURM_PROCID in 1) exec {bin}/stand --leave;; "
        "2) SLURM_PROCID=-1 exec {bin}/stand;; 3) exec {bin}/stand --threads=1100;; "
        "esac; exec {bin}/stand --threads=1"],
        nodes=2, tasks=4)
    left = "and 77 more threads, not looked at: 1,024 of a process are"
    lines, said = stack(lab, job)
    assert lines[0].startswith("4 processes on 2 nodes ") and said == ""
    assert lines[-2:] == ["and 1024 other threads in 1 stacks, see --threads", left]
    assert re.match(rf"ranks 0,3: .*{SOLVE}", lines[1]), lines
    rest = "\n".join(lines[2:4])
    assert re.search(rf"^1 of no known rank: .*{SOLVE}", rest, re.M), lines
    assert re.search(r"^rank 1: .*pause < helper", rest, re.M), lines
    lines, _ = stack(lab, "--threads", job)
    assert re.match(r"ranks 0,3, 1024 threads: .*pause < helper", lines[-2]), lines
    assert lines[-1] == left
    told = json.loads(stack(lab, "--json", job)[0][0])
    assert (told["processes"], told["threads_not_seen"], told["processes_not_seen"],
            told["not_kept"]) == (4, 77, 0, 0)
    assert sorted((s["ranks"], s["tasks"], s["threads"]) for s in told["stacks"]
                  if s["first"]) == [("", 0, 1), ("0,3", 2, 2), ("1", 1, 1)]
    # Slurm takes one without its first thread for ended, and would wait a minute for it
    for node in lab.names[:2]:
        lab.run(["sh", "-c", "kill -KILL $(pgrep -x stand)"], host=node, cwd="/")


@pytest.mark.parametrize("what, why", [
    ("x", '"x" is no job: it is JOB, JOB.STEP or ARRAY_TASK.STEP'),
    ("99999", "job 99999: there is no such job")])
def test_no_job(lab, what, why):
    assert stack(lab, what, code=1) == ([], f"storm: {why}\n")


def test_no_step(lab):
    """A step that does not exist, and a job that waits or has ended, are no look at nothing."""
    job, one = stands(lab, nodes=1, tasks=1)
    for step, word in (("7", "step 7"), ("batch", "batch step")):
        assert stack(lab, f"{job}.{step}", code=1) == (
            [], f"storm: job {job} has no {word} now; see squeue -s -j {job}\n")
    assert stack(lab, f"{job}.00")[0][0].startswith("1 process on 1 node ")
    one.signal(signal.SIGTERM)
    one.process.wait(60)
    until(lambda: "COMPLETING" not in lab.root(f"scontrol show job {job}"), lambda: "its end")
    assert stack(lab, job, code=1) == (
        [], f"storm: job {job}: it has ended; squeue shows those that run\n")


def stopped(pid):
    """Stop a process. False: it has ended."""
    def state():
        try:
            return re.search(r"State:\t(.)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]
        except (ProcessLookupError, FileNotFoundError):
            return "X"

    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    until(lambda: state() in "TZX", "it to stop, or end")
    return state() == "T"


@contextlib.contextmanager
def stuck(lab, job):
    """A look that stands still on n1. A look is so short that it may have ended before."""
    pids = []
    for _ in range(50):
        asker = lab.start(["storm", "stack", job])
        until(lambda: lab.lab.pids("n1", "storm_unwind") or not asker.running(),  # noqa: B023
              "a look")
        pids = [pid for pid in lab.lab.pids("n1", "storm_unwind") if stopped(pid)]
        if pids:
            break
        asker.finish()
    assert pids, "each look has ended before it was stopped"
    try:
        yield asker
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_two_askers(lab):
    """Of two that ask at once each sees all. While one looks, another one says so and waits, or
    ends."""
    job, one = stands(lab)
    askers = [lab.start(["storm", "stack", "--json", job]) for _ in range(3)]
    for asker in askers:
        done = asker.finish()
        assert done.code == 0, str(done)
        told = json.loads(done.out)
        assert [(s["ranks"], "frames" in s) for s in told["stacks"]] == [("0-7", True)]
    with stuck(lab, job) as first:
        second = lab.start(["storm", "stack", job])
        until(lambda: "this one waits" in second.err(), lambda: f"its word: {second.err()}")
        _, said = stack(lab, "--timeout=0.1", job, code=1)
        assert re.search(rf"^storm: job {job}: another storm stack looks at it now: step "
                         rf"{job}\.\d+, of srun \d+ on login; try again later, or scancel "
                         "this step$", said, re.M), said
    assert first.finish().code in (0, PART)
    done = second.finish()
    assert done.code == 0 and re.search(rf"^ranks 0-7: .*{SOLVE}", done.out, re.M), str(done)
    assert one.running()


def test_a_dead_asker_is_not_waited_for(lab):
    """Its step is there, as a task of it stands still. Its srun is not, so it does not look."""
    job, one = stands(lab)
    others = set(lab.lab.pids("login", "srun"))
    with stuck(lab, job) as first:
        for pid in set(lab.lab.pids("login", "srun")) - others:
            os.kill(pid, signal.SIGKILL)
        first.finish()
        assert "storm-stack" in lab.root(f"squeue -s -h -j {job} -o %j")
        done = lab.run(["storm", "stack", "--timeout=5", job])
        assert done.code in (0, PART) and " of srun " not in done.err, str(done)
        assert "storm-stack" in lab.root(f"squeue -s -h -j {job} -o %j")
    assert one.running()


PYTHON = """import os, pathlib, time
def leaf():
    pathlib.Path("up." + os.environ["SLURM_PROCID"]).touch()
    time.sleep(1000)
def outer():
    leaf()
outer()
"""


@pytest.mark.every_release
@pytest.mark.parametrize("told", [True, False])
def test_python(lab, told):
    """Python 3.12 and later names its functions if it is asked to; else a line says what is
    missing."""
    done = lab.run(["python3", "-c", "import sys; print(sys.version_info >= (3, 12))"],
                   host="n1", cwd="/")
    if told and done.out.strip() != "True":
        pytest.skip("SKIP: python3 of the hosts is older than 3.12")
    (lab.bin / "prog.py").write_text(PYTHON)
    job, _ = stands(lab, words=["env", f"PYTHONPERFSUPPORT={int(told)}", "python3",
                                "{bin}/prog.py"], nodes=2, tasks=2)
    text = "\n".join(stack(lab, job)[0])
    hint = "Python's own functions are not shown: PYTHONPERFSUPPORT=1"
    if not told:
        assert "PyEval_Eval" in text and hint in text, text
        return
    assert hint not in text, text
    assert re.search(r"^ranks 0-1: .*py:leaf \(prog.py\) < .*py:outer \(prog.py\) < .*"
                     r"py:<module> \(prog.py\) < .*Py_RunMain < ", text, re.M), text
    # somebody else's words
    for node in lab.names:
        lab.run(["sh", "-c", "for f in /tmp/perf-*.map; do "
                 "[ ! -e $f ] || { chown other $f && chmod a+r $f; }; done"],
                user="root", host=node, cwd="/")
    text = "\n".join(stack(lab, job)[0])
    assert "py:" not in text and hint in text, text
