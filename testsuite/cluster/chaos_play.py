# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Play a plan of chaos (chaos_plan.py) on a lab with a real slurmdbd, and hold each
job's end against what was recorded and printed (chaos_judge.py). At the end the
daemons must be those of the begin, but for what the faults ended; no process may
stand, and nothing may be left.
"""
import collections
import concurrent.futures
import heapq
import os
import pathlib
import re
import threading
import time

from accounting import account
from chaos_judge import RUNNING, Trouble, Unit, judge
from chaos_plan import NODES
from gang import Gang, groups_below
from harness import LabError, pad, until
from lab.sysdep import pids_in_namespace
from mix_play import expand
from soaking import daemons

#: short enough that lost nodes end their jobs while it plays
CONF = ["SlurmdTimeout=15", "MessageTimeout=10", "KillWait=2", "MinJobAge=20"]

#: s after the last fault in which one more job must have ended; their time limit is
#: three minutes
SETTLE = 240

#: s that a client may run behind its job's end
CLIENT = 30

#: bytes of a program that is broadcast
PROGRAM = 400_000

#: what no daemon should say
CRASH = re.compile(r"fatal:|segfault|Assertion|core dumped|stack smashing|double free"
                   r"|terminated by signal (?!9\b)\d+|Sanitizer|ended by signal (?!9\b)",
                   re.I)

#: faults behind which an agent is another one
ENDS_AGENT = {"kill", "stop", "pause", "hang", "fill"}

SCRIPT = """#!/bin/bash
cd {dir}
{body}
code=$?
echo "code $code"
exit $code
"""


class Chaos:
    def __init__(self, cluster, plan, say, launch):
        self.c, self.lab, self.plan, self.say = cluster, cluster.lab, plan, say
        self.dir = cluster.home / "chaos"
        self.dir.mkdir()
        os.chown(self.dir, 20001, 20001)
        pad(cluster.bin / "taskdo", cluster.bin / "mid", PROGRAM)
        self.clients = {}           # name: Started
        self.troubles = []
        self.now_broken = {}        # node: Trouble
        self.notes = []             # (kind, words)
        self.drained = []           # nodes that slurmd has drained
        self.skipped = collections.Counter()
        self.workers = concurrent.futures.ThreadPoolExecutor(4)
        self.work = []
        self.alone = threading.Lock()       # faults are made one after the other
        self.launch = launch

    # -- jobs ---------------------------------------------------------------------

    def task(self, job, where, program="/home/user/bin/taskdo"):
        work = ["sleep", f"{job.work:.2f}"]
        if job.kind == "gang":
            work = ["spin", str(int(job.work * 60) + 5), *work]
        return [program, "say", "begin", "touch", f"{where}/begun.%t", *work, "touch",
                f"{where}/ended.%t", "say", "end"]

    def submit(self, job):
        outer = self.dir / job.name
        where = f"/home/user/chaos/{job.name}"
        for path in [outer] + ([outer / str(k) for k in range(job.parts)]
                               if job.kind == "array" else []):
            path.mkdir()
            os.chown(path, 20001, 20001)
        size = [f"-N{job.nodes}", f"--ntasks-per-node={job.tasks}", "-t3", "-J",
                job.name]
        srun = ["srun", f"--launch={self.launch}", "-l"]
        if job.kind == "launch":
            argv = srun + size + self.task(job, where)
        elif job.kind == "bcast":
            argv = srun + size + [f"--bcast=/tmp/{job.name}"] + self.task(
                job, where, "/home/user/bin/mid")
        elif job.kind == "het":
            argv = srun
            for k in range(job.parts):
                argv = argv + ([":"] if k else []) + size + self.task(job, where)
        else:
            argv = ["sbatch", "--no-requeue", *size, "-o", where + "/out"]
            inner = srun + self.task(job, where)
            if job.kind == "gang":
                argv += ["-pgang"]
            elif job.kind == "array":
                argv[-1] = where + "/%a/out"
                argv += [f"--array=0-{job.parts - 1}"]
                inner = srun + self.task(job, where + "/$SLURM_ARRAY_TASK_ID")
            elif job.kind == "sbcast":
                inner = ["sbcast_storm", "/home/user/bin/mid", f"/tmp/{job.name}",
                         "&&", *srun, *self.task(job, where, f"/tmp/{job.name}")]
            elif job.kind == "each":
                argv += ["--no-kill"]
                inner = [f"seq 0 {self.tasks(job) - 1} |", "storm each",
                         f"--joblog={where}/joblog",
                         f"'sleep {job.work / 10:.2f}; echo {{}}: end'"]
            argv += ["job.sh"]
            self.clients[job.name] = self.c.start(
                argv, label=job.name, given={"job.sh": SCRIPT.format(
                    dir=where, body=" ".join(inner))})
            return
        self.clients[job.name] = self.c.start(argv, label=job.name)

    @staticmethod
    def tasks(job):
        """Of one unit."""
        each = job.nodes * job.tasks
        return {"each": 6 * each, "het": job.parts * each}.get(job.kind, each)

    # -- faults -------------------------------------------------------------------

    def fault(self, fault):
        trouble = Trouble(fault.kind, fault.node, time.time(), float("inf"))
        try:
            with self.alone:
                self.lab.fault(fault.kind, fault.node, **fault.options)
        except LabError as e:
            self.skipped[fault.kind] += 1
            self.say(f"{fault}: not made: {e}")
            return
        self.troubles.append(trouble)
        self.later(fault.hold, self.heal, trouble)

    def heal(self, trouble):
        try:
            with self.alone:
                if any(f["host"] == trouble.node for f in self.lab.faults()):
                    self.lab.heal(trouble.node)     # a flood may have ended
        except LabError as e:
            self.note("not healed", f"{trouble}: {e}")
        trouble.healed = time.time()

    def note(self, kind, words):
        self.say(f"{kind}: {words}")
        self.notes.append((kind, words))

    # -- time -----------------------------------------------------------------------

    def later(self, seconds, call, *args):
        heapq.heappush(self.todo, (time.monotonic() + seconds, id(args), call, args))

    def play(self):
        self.todo = []
        self.daemons = daemons(self.lab, self.c.names)
        self.logs = {h: len(self.log(h)) for h in ["ctl", *self.c.names]}
        self.start = time.time()
        for job in self.plan.jobs:
            self.later(job.at, self.submit, job)
        for fault in self.plan.faults:
            self.later(fault.at, self.fault, fault)
        told = time.monotonic()
        while self.todo or not all(w.done() for w in self.work):
            if time.monotonic() > told + 30:
                told = time.monotonic()
                self.say(f"{time.time() - self.start:.0f} s: {len(self.clients)} jobs, "
                         f"{len(self.troubles)} faults")
            if not self.todo or self.todo[0][0] > time.monotonic():
                time.sleep(0.02)
                continue
            _, _, call, args = heapq.heappop(self.todo)
            if call == self.submit:
                call(*args)
            else:
                self.work.append(self.workers.submit(call, *args))
        for worker in self.work:
            worker.result()             # its exception, if any
        if self.lab.faults():
            self.note("not healed", str(self.lab.faults()))
            self.lab.heal()
        self.healed = time.time()
        self.say(f"{self.healed - self.start:.0f} s: all is healed")
        self.settle()
        units = list(self.units())
        found = [{"job": u.name, "kind": kind, "words": words, "stock": why,
                  "state": u.state,
                  "nodes": u.nodes, "began": round(u.began - self.start, 1),
                  "ended": round(u.ended - self.start, 1), "code": u.code,
                  "err": u.err[-1500:], "out": u.out[-500:],
                  "faults": [f"{t.kind} {t.node} {t.began - self.start:.1f}-"
                             f"{t.healed - self.start:.1f}" for t in self.troubles
                             if t.node in u.nodes]}
                 for u in units for kind, words, why in judge(u, self.troubles)]
        self.check_daemons()
        self.check_left()
        return self.summary(units, found)

    def settle(self):
        """Wait until all jobs have ended; name and cancel those that do not."""
        def wait(left, seconds):
            count, since = len(left()), time.monotonic()
            while count and time.monotonic() < since + seconds:
                time.sleep(0.5)
                if len(left()) != count:
                    count, since = len(left()), time.monotonic()

        def jobs():
            return self.c.root(["squeue", "-h", "-o", "%i %j %T %r %N"]).splitlines()

        def clients():
            return [n for n, one in self.clients.items() if one.running()]

        wait(jobs, SETTLE)
        self.stuck = {row.split()[1] for row in jobs()}
        for row in jobs():
            self.note("hung", row)
        self.c.root("scancel -u user")
        until(lambda: not jobs(), "jobs to end")
        wait(clients, CLIENT)
        self.hang = set(clients())
        for name in self.hang:
            self.clients[name].signal(9)
            self.clients[name].process.wait(60)
        self.say(f"{time.time() - self.start:.0f} s: jobs have ended, but for "
                 f"{len(self.stuck)}, and clients, but for {len(self.hang)}")

    # -- what was recorded ------------------------------------------------------------

    def records(self):
        text = self.lab.run(
            ["sacct", "-a", "-n", "-P", "-X", "-S", time.strftime(
                "%Y-%m-%dT%H:%M:%S", time.localtime(self.start - 5)), "-o",
             "JobID,JobName,State,ExitCode,Start,End,NodeList"], host="ctl", cwd="/",
            env={"SLURM_TIME_FORMAT": "%s"}, check=True).stdout
        rows = collections.defaultdict(list)
        for line in text.splitlines():
            job, name, state, code, start, end, nodes = line.split("|")
            rows[name].append((job, state.split()[0], code, start, end, nodes))
        return rows

    def units(self):
        def all_ended():
            rows = self.records()
            missing = [j.name for j in self.plan.jobs
                       if len(rows[j.name]) < (1 if j.kind != "array" else j.parts)
                       or any(r[4] == "Unknown" for r in rows[j.name])]
            return not missing or missing

        deadline = time.monotonic() + 30
        while all_ended() is not True and time.monotonic() < deadline:
            time.sleep(0.5)
        rows = self.records()
        for job in self.plan.jobs:
            parts = job.parts if job.kind == "array" else 1
            for part in range(parts):
                mine = rows[job.name]
                if job.kind == "array":
                    mine = [r for r in mine if r[0].endswith(f"_{part}")]
                yield self.unit(job, part, mine)

    def unit(self, job, part, rows):
        where = self.dir / job.name
        out, code, err = "", None, ""
        client = self.clients[job.name]
        if job.kind in ("launch", "bcast", "het"):
            code, out, err = client.process.returncode, client.out(), client.err()
        else:
            where = where / str(part) if job.kind == "array" else where
            if (where / "out").exists():
                err = out = (where / "out").read_text(errors="replace")
        marks = {} if job.kind == "each" else {
            what: dict.fromkeys((int(p.suffix[1:]) for p in where.glob(what + ".*")), 1)
            for what in ("begun", "ended")}
        states = [r[1] for r in rows]
        state = next((s for s in states if s != "COMPLETED"),
                     states[0] if states else "")
        if job.name in self.stuck and state not in RUNNING:
            state = "RUNNING"       # until we cancelled it
        times = [int(t) for r in rows for t in r[3:5] if t.isdigit()]
        if code is None:
            said = re.search(r"^code (\d+)$", out, re.M)
            code = int(said[1]) if said else None
        return Unit(f"{job.name}.{part}" if job.kind == "array" else job.name,
                    job.kind, self.tasks(job), state,
                    sorted({n for r in rows if r[5] != "None assigned"
                            for n in expand(r[5])}),
                    min(times, default=self.start), max(times, default=time.time()),
                    code, out, err, job.name in self.hang, marks)

    # -- what is left -----------------------------------------------------------------

    def log(self, host):
        return self.lab.log(host, "slurmctld" if host == "ctl" else "slurmd")

    def resume(self):
        """Nodes that slurmd has drained: doc/failures.md, Limits, has why."""
        rows = self.c.root(["sinfo", "-h", "-N", "-p", "all", "-o", "%N %E"])
        for node in re.findall(r"^(\S+) Kill task failed$", rows, re.M):
            self.c.root(f"scontrol update nodename={node} state=resume")
            self.drained.append(node)

    def check_daemons(self):
        """Those that are others than at the begin, without a fault that explains it."""
        def back():
            states = self.lab.node_states()
            return states and set(states.values()) == {"idle"}

        limit = time.monotonic() + 90       # UnkillableStepTimeout is 60
        while not back() and time.monotonic() < limit:
            self.resume()
            time.sleep(0.5)
        if not back():
            self.note("nodes", self.c.root(["sinfo", "-h", "-N", "-p", "all", "-o",
                                            "%N %T %E"]))
        now = daemons(self.lab, self.c.names)
        for what, pid in self.daemons.items():
            host, name = what.split(" ", 1)
            had = {t.kind for t in self.troubles if t.node == host}
            allowed = {"kill"} if name == "slurmd" else ENDS_AGENT
            if now.get(what) != pid and not had & allowed:
                self.note("daemon", f"{what} was {pid} and is {now.get(what)}; the "
                          f"node had {sorted(had)}")
        for what in now.keys() ^ self.daemons.keys():
            self.note("daemon", f"{what}: is {'new' if what in now else 'gone'}")
        for host, seen in self.logs.items():
            for line in self.log(host)[seen:].splitlines():
                if CRASH.search(line):
                    self.note("crash", f"{host}: {line}")

    def left(self):
        """What should not be there, as lines."""
        found = []
        names = {j.name for j in self.plan.jobs}
        for node in self.c.names:
            for what in ("slurmstepd", "taskdo", "mid", "storm_launcher", "storm_pmix",
                         "storm_file", "srun", "sbcast_storm", "storm_each", "storm"):
                found += [f"{node}: process {what} {p}"
                          for p in self.lab.pids(node, what)]
            found += [f"{node}: /tmp/{f}" for f in self.c.listing(node)
                      if f not in names and not f.startswith(("storm-", "slurm-storm-"))]
            if "storm-20001" in self.c.listing(node):
                found += [f"{node}: /tmp/storm-20001/{f}" for f in
                          self.c.listing(node, "/tmp/storm-20001")
                          if not f.endswith((".sock", ".log"))]
            sessions = self.c.agent(node)["sessions"]
            if sessions > 1:
                found.append(f"{node}: {sessions} sessions")
        for top in self.lab.record["cgroups"]:
            for group in groups_below(top, "cgroup.freeze"):
                if (group / "cgroup.freeze").read_text() == "1\n":
                    found.append(f"frozen group {group}")
        for host in ["login", "ctl", *self.c.names]:
            for pid in self.c.standing(host):
                found.append(f"{host}: process {pid} stands")
        return found

    def check_left(self):
        limit = time.monotonic() + 60
        while (left := self.left()) and time.monotonic() < limit:
            time.sleep(0.5)
        for line in left:
            self.note("left", line)

    def summary(self, units, found):
        by = collections.Counter
        return {
            "seed": self.plan.seed, "seconds": self.plan.seconds,
            "jobs": len(self.plan.jobs), "units": len(units),
            "states": by(u.state for u in units), "kinds": by(u.kind for u in units),
            "faults": by(t.kind for t in self.troubles),
            "not made": self.skipped, "drained by slurmd": self.drained,
            "untruths": by(f["kind"] for f in found if not f["stock"]),
            "untruths of stock, too": by(f["kind"] for f in found if f["stock"]),
            "others": by(kind for kind, _ in self.notes),
            "settled": round(time.time() - self.healed, 1),
            "found": found, "notes": self.notes}


class ChaosLab(Gang):
    """16 nodes whose jobs may take turns, and slurmdbd."""

    def __init__(self, name, nodes=NODES, **options):
        self.database = None
        super().__init__(name, nodes, gang=2, quantum=20, cpus=4, conf=CONF,
                         storm_conf={"LaunchNodes": "1"}, **options)
        try:
            self.database = account(self.lab)
        except BaseException:
            self.lab.down()
            raise

    def standing(self, host):
        """Processes that were stopped."""
        found = []
        for pid in pids_in_namespace(self.lab.pid(host)):
            try:
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
            except OSError:
                continue
            if stat.rsplit(")", 1)[1].split()[0] in "Tt":
                found.append(pid)
        return found

    def down(self):
        super().down()
        if self.database:
            self.database.wait(60)


def play(cluster, plan, say=lambda _: None, launch="storm"):
    """Returns the summary; it is good if "untruths" and "others" are empty."""
    return Chaos(cluster, plan, say, launch).play()


def save(cluster, to):
    """What the jobs printed, and the daemons' logs."""
    to.mkdir(parents=True, exist_ok=True)
    for host in ["ctl", *cluster.names]:
        (to / f"{host}.log").write_text(cluster.lab.log(
            host, "slurmctld" if host == "ctl" else "slurmd"))
    for kind in ("t", "chaos"):
        for path in (cluster.home / kind).rglob("*"):
            if path.is_file() and path.name in ("stdout", "stderr", "out", "job.sh"):
                copy = to / path.relative_to(cluster.home)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
