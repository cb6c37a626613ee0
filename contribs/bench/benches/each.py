# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how many tasks a second `storm each` runs in a batch script, beside other
programs that run many, by turns.

The first table is of true. floor is the better of a loop of posix_spawn, two at a time,
and of two such loops: all hosts of a lab are on this machine. parallel is GNU parallel
-j2. hyperqueue is HyperQueue's LocalCluster of 2 cores, without its start. srun is
xargs -P with `srun --exact`, one for each host at a time. The slow ones get fewer tasks.

The second is of tasks that compute, two at a time: a host for each, beside the same loop
in C. The third is how much memory the processes of storm each took at most on the job's
first host.
"""
import re
import time

from measure import background, target
from measure.result import NotRun
from measure.turns import numbers, words_of

HELP = "storm each beside GNU parallel, HyperQueue, srun and a loop in C"
SOURCE = ""
QUICK = {"nodes": 2, "tasks": 400, "repeat": 2, "seconds": 0.2, "memory": 2000}
COLUMNS = ("storm", "floor", "parallel", "hyperqueue", "srun")
AT_ONCE = 2
LIMIT = 3600
SCRIPT = """#!/bin/bash
trap ': >each.over' EXIT
timed() {{ # name, command
  local name=$1 begun=${{EPOCHREALTIME/./}} code; shift
  "$@" </dev/null >/dev/null 2>err.$name; code=$?
  echo "$name $((${{EPOCHREALTIME/./}} - begun)) $code"
}}
told() {{ # name, a command whose last line is its microseconds
  local name=$1 said code; shift; said=$("$@" 2>err.$name); code=$?
  said=${{said##*$'\\n'}}
  echo "$name ${{said:-0}} $code"
}}
loops() {{ # how many, a command
  local n=$1; shift; for k in $(seq $n); do "$@" & done; wait
}}
storm run true
{body}
"""
HYPERQUEUE = """import sys, tempfile, time
from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
n, cores = map(int, sys.argv[1:])
with LocalCluster(tempfile.mkdtemp()) as cluster:
    cluster.start_worker(WorkerConfig(cores=cores))
    client = cluster.client()
    job = Job()
    for k in range(n):
        job.program(["true"], stdout=None, stderr=None)
    begun = time.monotonic()
    client.wait_for_jobs([client.submit(job)])
    print(int((time.monotonic() - begun) * 1000000))
"""
#: What the processes took at most so far, by their command
MEMORY = """
watch() {{
  for p in /proc/[0-9]*; do
    case $(cat $p/comm 2>err.watch) in storm_each|storm_launcher)
      # one that has just ended has neither
      most=$(grep VmHWM $p/status | tr -dc 0-9); line=$(tr '\\0' ' ' <$p/cmdline)
      [ -z "$most" ] || [ -z "$line" ] || echo "memory $most $line"
    esac
  done
}}
timed storm storm each -a lines.{n} true & each=$!
while kill -0 $each 2>err.watch; do watch 2>err.watch; sleep 0.2; done
"""


def options(parser):
    target.options(parser, site=False)
    background.build_option(parser)
    parser.add_argument("--nodes", type=int, default=8, metavar="N",
                        help="hosts, with a CPU each (default: 8)")
    parser.add_argument("--tasks", type=int, default=20000, metavar="N",
                        help="of storm each; 0: no first table (default: 20000)")
    parser.add_argument("--repeat", type=int, default=10, metavar="N",
                        help="turns of each contender (default: 10)")
    parser.add_argument("--columns", type=words_of(*COLUMNS), default=list(COLUMNS),
                        metavar="LIST", help="contenders of the first table "
                        f"(default: {','.join(COLUMNS)})")
    parser.add_argument("--compute", type=numbers, default=[10, 100], metavar="LIST",
                        help="ms that tasks of the second table compute; 0: no such "
                        "table (default: 10,100)")
    parser.add_argument("--seconds", type=float, default=10, metavar="S",
                        help="that the second table's tasks take in all (default: 10)")
    parser.add_argument("--memory", type=int, default=0, metavar="N",
                        help="tasks of the third table (default: 0: no such table)")
    parser.add_argument("--python", default="python3", metavar="PROGRAM",
                        help="the Python that has HyperQueue (default: python3)")


def job(where, nodes, body):
    """The lines that a batch job on these hosts prints, of a body in bash. Its end is a
    file: sbatch -W would look for it after 2, 10 and 42 s."""
    over, until = where.shared / "each.over", time.monotonic() + LIMIT
    over.unlink(missing_ok=True)
    (where.shared / "each.sh").write_text(SCRIPT.format(body=body))
    where.must(["sbatch", "-Q", f"-N{nodes}", *where.salloc, "-D", where.inside(""),
                "-o", where.inside("each.out"), where.inside("each.sh")])
    while not over.exists():
        if time.monotonic() > until:
            raise NotRun(f"the job has not ended after {LIMIT} s")
        time.sleep(0.05)
    return [line for line in (where.shared / "each.out").read_text().splitlines()
            if not line.startswith("storm run: started")]


def ask(where, nodes, turns):
    """{name: [seconds]} of {name: (a function of SCRIPT, a command)}, by turns; or the
    NotRun that is one's only value."""
    found = {}
    (where.shared / "in_turn.py").write_text(HYPERQUEUE)
    for line in job(where, nodes, turns):
        if not (m := re.fullmatch(r"(\w+) (\d+) (\d+)", line)):
            raise NotRun(f"the job says: {line}")
        name, took, code = m[1], int(m[2]) / 1e6, int(m[3])
        if code:
            said = target.last_lines((where.shared / f"err.{name}").read_text())
            found[name] = NotRun(f"{name}: exit code {code}: {said}")
        elif not isinstance(found.get(name), NotRun):
            found.setdefault(name, []).append(took)
    return found


def lines(where, count):
    """A file with so many arguments. Returns its name."""
    (where.shared / f"lines.{count}").write_text(
        "".join(f"{k}\n" for k in range(count)))
    return f"lines.{count}"


def rate(count, seconds):
    return seconds if isinstance(seconds, NotRun) else [count / s for s in seconds]


def lacking(args, where):
    """{contender: NotRun} of those that are not here."""
    asked = {"parallel": (["parallel", "--version"], "install the package parallel"),
             "hyperqueue": ([args.python, "-c", "import hyperqueue"],
                            "install hyperqueue by pip, or name a Python that has it "
                            "by --python")}
    return {name: NotRun(f"{name} is missing: {remedy}")
            for name, (argv, remedy) in asked.items()
            if where.run(["sh", "-c", '"$@" >/dev/null 2>&1', "sh", *argv]).returncode}


def contenders(args, where, bare):
    """{what a line of the job has as name: (tasks, shell)}; two of them are floor's."""
    n, few = args.tasks, max(args.tasks // 20, 20)
    least = max(args.tasks // 100, args.nodes)
    loop = f"{bare} floor"
    return {
        "storm": (n, f"timed storm storm each -a {lines(where, n)} true"),
        "floor": (n // 4, f"timed floor {loop} {n // 4}"),
        "floor2": (n // 4 // 2 * 2, f"timed floor2 loops 2 {loop} {n // 4 // 2}"),
        "parallel": (few, f"timed parallel parallel --will-cite -j{AT_ONCE} "
                     f"-a {lines(where, few)} true"),
        "hyperqueue": (few, f"told hyperqueue {args.python} in_turn.py {few} "
                       f"{AT_ONCE}"),
        "srun": (least, f"timed srun xargs -a {lines(where, least)} -n1 "
                 f"-P{args.nodes} srun --launch=slurm -N1 -n1 --exact true"),
    }


def of_true(args, where, bare):
    """{column: tasks a second}."""
    missing = lacking(args, where)
    take = {name: what for name, what in contenders(args, where, bare).items()
            if name.rstrip("2") in args.columns and name not in missing}
    body = "\n".join(command for _, command in take.values())
    found = ask(where, args.nodes,
                f"for turn in $(seq {args.repeat}); do\n{body}\ndone")
    rates = {name: rate(take[name][0], seconds) for name, seconds in found.items()}
    if "floor" in rates and "floor2" in rates:
        rates["floor"] = [max(pair) for pair in zip(rates["floor"],
                                                    rates.pop("floor2"))]
    return {**{k: v for k, v in missing.items() if k in args.columns}, **rates}


def of_compute(args, where, bare, burn, ms):
    """(tasks, {column: tasks a second}), each host with a task at a time."""
    count = max(int(args.seconds * 1000 / ms) * AT_ONCE, AT_ONCE)
    word = f"{burn} {ms * 1000}"
    found = ask(where, AT_ONCE, f"""for turn in $(seq {args.repeat}); do
timed storm storm each -a {lines(where, count)} {word}
timed loop {bare} floor {count} {word}
done""")
    return count, {name: rate(count, seconds) for name, seconds in found.items()}


def of_memory(args, where):
    """{column: MB at most}, and the rate."""
    lines(where, args.memory)
    kinds = {"--pull": "puller", "--head": "head", "--keep": "keeper"}
    found = {}
    for line in job(where, args.nodes, MEMORY.format(n=args.memory)):
        if m := re.fullmatch(r"memory (\d+) (.*)", line):
            kind = next((kind for word, kind in kinds.items() if word in m[2]),
                        "client" if "each" in m[2] else "launcher")
            found[kind] = max(found.get(kind, 0), int(m[1]) / 1024)
        elif m := re.fullmatch(r"storm (\d+) 0", line):
            found["rate"] = args.memory * 1e6 / int(m[1])
        else:
            raise NotRun(f"the job says: {line}")
    return found


def run(args, result):
    true = result.table(
        "true", by=("tasks", "hosts"), columns={name: "/s" for name in args.columns},
        ratios=[f"storm / {name}" for name in args.columns if name != "storm"],
        plot={"x": "tasks", "y": list(args.columns), "log": "y"}) \
        if args.tasks else None
    compute = result.table(
        "tasks that compute, two at a time", by=("ms", "tasks"),
        columns={"storm": "/s", "loop": "/s"}, ratios=["storm / loop"]) \
        if any(args.compute) else None
    memory = result.table(
        "memory at most, true", by=("tasks", "hosts"),
        columns={"client": "MB", "head": "MB", "launcher": "MB", "puller": "MB",
                 "keeper": "MB", "rate": "/s"}) if args.memory else None
    with target.open_target(args, result, max(args.nodes, AT_ONCE)) as where:
        bare = background.install(where, args, "bare_launch")
        burn = background.install(where, args, "burn")
        if true:
            true.row((args.tasks, args.nodes), of_true(args, where, bare))
        for ms in filter(None, args.compute):
            count, found = of_compute(args, where, bare, burn, ms)
            compute.row((ms, count), found)
        if memory:
            memory.row((args.memory, args.nodes), of_memory(args, where))
