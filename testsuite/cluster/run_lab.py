# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What the tests of storm run are written in: batch jobs whose scripts call it, their
launchers, and what must be gone behind them. A module imports end_run and lab."""
import os
import re
import select
import signal
from types import SimpleNamespace

import pytest

from harness import until
from tree import TOP

NODES = 4
VERSION = re.search(r"define RUN_VERSION (\d+)", (
    TOP / "src/storm_launcher/run_wire.h").read_text())[1]
ENDED = "^storm run: error: the launchers(' step has ended with its srun, and all tasks "\
    "with it| have ended, and all tasks with them)$"
CPUS = 2        # of each node, that a job here has
#: A busy machine can make any run say it
WAITS = re.compile(r"^(?:storm run|storm each|srun): waits for .*\n", re.M)
STARTED = re.compile(r"^(?:storm run|storm each|srun): started launchers on (\d+)(?: of \d+)? nodes in "
                     r"\d+ ms; later runs find them there$", re.M)


@pytest.fixture
def lab(run_lab):
    return run_lab


@pytest.fixture(autouse=True)
def end_run(request, lab):
    lab.current = re.sub(r"\W+", "_", request.node.name)
    yield
    lab.end_all()
    lab.root("scancel -u user")
    until(lambda: not lab.root("squeue -h").strip(),
          lambda: "jobs to end: " + lab.root("squeue"))
    try:
        nothing_left(lab)
    finally:
        clear(lab)


def processes(lab, *names):
    """["node:name", ...] that run, of the user's."""
    names = names or ("storm_launcher", "storm_pmix", "storm", "taskdo", "sleep")
    return [f"{node}:{name}" for node in lab.names for name in names
            for _ in lab.lab.pids(node, name)]


def files(lab):
    """What storm run has in /tmp."""
    return [f"{host}:{name}" for host in [*lab.names, "login"]
            if "storm-20001" in lab.listing(host)
            for name in lab.listing(host, "/tmp/storm-20001")]


def nothing_left(lab):
    """A launcher that Slurm kills leaves the name of its door, to which nobody listens."""
    until(lambda: not processes(lab), lambda: f"{processes(lab)} to end")
    for name in files(lab):
        host, file = name.split(":")
        if host != "n1" and file.endswith(f".{host}.sock"):
            lab.remove(f"/tmp/storm-20001/{file}", [host])
    until(lambda: not files(lab), lambda: f"{files(lab)} to be removed")


def clear(lab):
    """One test that leaves something fails alone, not each one behind it after a wait."""
    for name in files(lab):
        host, file = name.split(":")
        lab.remove(f"/tmp/storm-20001/{file}", [host])


def begin(lab, script, nodes=NODES, options=()):
    """A batch job; Job.log() is what it prints."""
    one = lab.start(
        ["sbatch", "-Q", f"-N{nodes}", f"--ntasks-per-node={CPUS}", "-o",
         "{dir}/log", *options, "job.sh"],
        given={"job.sh": "#!/bin/bash\nover=$PWD/over; trap 'echo $? >$over' EXIT\n"
               + script})
    one.log = lambda: (one.dir / "log").read_text(errors="replace") \
        if (one.dir / "log").exists() else ""
    one.finish = lambda: finish(one)    # sbatch -W looks after 2, 10, 42 s
    return one


def finish(one):
    over = one.dir / "over"
    until(lambda: over.exists() and over.read_text(),
          lambda: "the end of the script: " + one.log())
    return SimpleNamespace(code=int(over.read_text()))


def batch(lab, script, code=0, **options):
    """The lines that a script prints, without that of the launchers' start,
    which comes once."""
    return printed(begin(lab, script, **options), code)


def printed(one, code=0):
    """batch()'s lines, of a job that has begun."""
    done = one.finish()
    assert done.code == code, f"{done}{one.log()}"
    log, times = STARTED.subn("", WAITS.sub("", one.log()))
    assert times == 1, one.log()
    return [line for line in log.splitlines() if line]


def said(one, text):
    until(lambda: text in one.log(),
          lambda: f"{text!r} in what the job says: {one.log()}")


def launchers(lab, node):
    """Pids of the launchers, without the head and the keeper."""
    return [pid for pid in lab.lab.pids(node, "storm_launcher")
            if b"\0--" not in cmdline(pid)]


def launchers_log(lab, host):
    """What the keeper, its srun and the launchers have said, while they are there."""
    return lab.lab.run(["sh", "-c", "cat /tmp/storm-20001/*.log"], host=host).stdout


def the_keeper(lab):
    pid, = [pid for pid in lab.lab.pids("n1", "storm_launcher")
            if b"--keep" in cmdline(pid)]
    return pid


def heads(lab):
    return [pid for pid in lab.lab.pids("n1", "storm_launcher")
            if b"--head" in cmdline(pid)]


def the_head(lab):
    pid, = heads(lab)
    return pid


def the_srun(lab):
    return [pid for pid in lab.lab.pids("n1", "srun")
            if b"storm-launcher" in cmdline(pid)][0]


def the_launcher(lab, node):
    pid, = launchers(lab, node)
    return pid


def cmdline(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        return f.read()


def client(lab):
    pid, = lab.lab.pids("n1", "storm")
    return pid


def ends(said):
    """{task: how it has ended}, of lines of either program."""
    found = {}
    for tasks, how in re.findall(r"^\w[\w ]*: error: \S+: tasks? (\S+): (.*)$", said, re.M):
        for part in tasks.split(","):
            first, _, last = part.partition("-")
            for k in range(int(first), int(last or first) + 1):
                found[k] = how
    return found


def ended(lab, one, *lines):
    """It ends, with these lines and the next run's."""
    done = one.finish()
    assert done.code == 0, one.log()
    for line in lines:
        assert re.search(line, one.log(), re.M), one.log()
    assert "next 0" in one.log(), one.log()


#: Each case is run by both; what they print, and how they end, is in files
BOTH = """
unset SLURM_NTASKS_PER_NODE SLURM_NTASKS SLURM_NPROCS
storm run true
n=0
# srun of 22.05 hangs now and then with files as standard streams
stock() {
  for try in 1 2 3; do
    BY=srun timeout 20 srun --launch=slurm "$@"; code=$?
    [ $code = 124 ] || return $code
  done
}
both() {
  n=$((n + 1))
  stock "$@" >$n.srun 2>$n.srun.err </dev/null; echo $? >>$n.srun.err
  BY=storm storm run "$@" >$n.storm 2>$n.storm.err </dev/null; echo $? >>$n.storm.err
}
"""


def run_both(lab, script, **options):
    """[{"srun": (what is printed, what is said and the code), "storm": ...}, ...]"""
    one = begin(lab, BOTH + script, **options)
    assert one.finish().code == 0, one.log()
    cases = []
    while (one.dir / f"{len(cases) + 1}.storm").exists():
        n = len(cases) + 1
        cases.append({by: ((one.dir / f"{n}.{by}").read_text(),
                           (one.dir / f"{n}.{by}.err").read_text())
                      for by in ("srun", "storm")})
    assert cases, one.log()
    return cases


#: One launcher is kept from its start by a TaskProlog, until there is a file
HELD_START = """
echo '#!/bin/sh
[ $SLURM_PROCID != 2 ] || until [ -e '$PWD'/go ]; do sleep 0.05; done' >hold
mkdir bin; echo '#!/bin/sh
exec '$(command -v srun) --task-prolog=$PWD'/hold "$@"' >bin/srun
chmod +x hold bin/srun; PATH=$PWD/bin:$PATH
"""


def held(lab, one):
    """The launchers are there, but for the one that is kept from its start."""
    until(lambda: all(launchers(lab, n) for n in ("n1", "n2", "n4")) and heads(lab),
          lambda: "the other launchers: " + one.log())


def stopped(lab, daemon, *nodes):
    """Send SIGSTOP; returns what sends SIGCONT."""
    pids = [pid for node in nodes for pid in lab.lab.pids(node, daemon)]
    assert len(pids) == len(nodes)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return lambda: [os.kill(pid, signal.SIGCONT) for pid in pids]


def limit(lab, node, what, files):
    """Set how many descriptors a process of storm_launcher's may have. root of a lab
    may not."""
    done = lab.lab.run(["sh", "-c", f"prlimit --pid $(pgrep -f '{what}') --nofile={files}:"],
                       host=node, user="user", cwd="/")
    assert done.returncode == 0, done.stderr


def runs_now(pid):
    """Neither stopped nor frozen."""
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0] not in "TtD"


def listens(pid):
    """The TCP ports on which a process listens."""
    own = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in
           os.listdir(f"/proc/{pid}/fd")}
    with open(f"/proc/{pid}/net/tcp") as f:
        rows = [line.split() for line in f.readlines()[1:]]
    return {int(row[1].split(":")[1], 16) for row in rows
            if row[3] == "0A" and f"socket:[{row[9]}]" in own}


def full(pid):
    """Is the pipe that is a process's standard output full? One that has ended has none."""
    try:
        fd = os.open(f"/proc/{pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    try:
        return not select.select([], [fd], [], 0)[1]
    finally:
        os.close(fd)


def name_is_taken(lab, host, script):
    """Another user has made the directory of storm run on a host: what the script says
    there names its owner."""
    lab.remove("/tmp/storm-20001")
    made = lab.lab.run(["mkdir", "-m", "777", "/tmp/storm-20001"], host=host,
                       user="other", cwd="/")
    assert made.returncode == 0
    try:
        one = begin(lab, script + "; echo code $?\n")
        one.finish()
        assert "code 1" in one.log()
        assert re.search(r"storm run: /tmp/storm-20001 is not a directory of uid "
                         r"20001 with mode 0700, but one of uid \d+ with mode 0777",
                         one.log()), one.log()
    finally:
        lab.remove("/tmp/storm-20001")
