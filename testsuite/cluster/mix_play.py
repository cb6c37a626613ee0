# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Play a mix of jobs (mix_plan.py) on a lab, and check what must hold afterwards:

	each job has ended as it should: all of its tasks have left their mark, or
	an action on it, or a fault of one of its nodes, explains why not
	no process is stopped on any node or gives way, and nothing is left
	the traces of all nodes keep the rules (gang_rules.py)
"""
import collections
import os
import re
import shlex
import signal
import subprocess
import time

import gang_rules
import mix_plan
from harness import LabError, chosen

LIMIT = 400             # seconds for one mix
POLL = 0.25
ENDED = {"COMPLETED", "CANCELLED", "FAILED", "NODE_FAIL", "TIMEOUT",
         "BOOT_FAIL", "OUT_OF_MEMORY", "DEADLINE", "PREEMPTED"}
#: faults that may end a job of the node, or prevent its start
BREAK = {"slurmd killed", "node down"}


def expand(names):
    """n1,n[3-5] -> n1 n3 n4 n5"""
    found = []
    for prefix, inside in re.findall(r"([^,\[]+)(?:\[([^]]*)\])?", names):
        if not inside:
            found.append(prefix)
        for part in inside.split(",") if inside else []:
            low, _, high = part.partition("-")
            found += [f"{prefix}{i}"
                      for i in range(int(low), int(high or low) + 1)]
    return found


def members(ids):
    """0,2-3 -> {0, 2, 3}"""
    found = set()
    for part in ids.split(","):
        low, _, high = part.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


class Playing:
    """A job that was submitted."""

    def __init__(self, plan):
        self.plan, self.name = plan, plan.name
        self.id = None
        self.client = None          # srun or sbatch
        self.tries = 0
        self.state = self.reason = None
        self.nodes = set()          # all that it has ever had
        self.cores = {}             # node: [sets]
        self.begun = None           # all of its tasks have
        self.deeds = sorted(plan.deeds)
        self.done = set()           # actions on it
        self.broken = False         # a fault may have ended it
        self.hurried = -9
        self.runs_since = None

    def client_runs(self):
        return bool(self.client) and self.client.running()

    def over(self):
        return self.id and self.state in ENDED and not self.client_runs()

    def marks(self, directory, what):
        return len(list(directory.glob(f"{self.name}.{what}.*")))


class Play:
    def __init__(self, cluster, plan):
        self.c, self.plan = cluster, plan
        self.jobs = [Playing(j) for j in plan.jobs]
        self.named = {j.name: j for j in self.jobs}
        self.waiting = list(self.jobs)
        self.todo = list(plan.faults)
        self.undo = []              # (time, function)
        self.children = []
        self.faults = []
        self.traces = {}
        self.disturbed = set()      # kinds of faults so far
        self.undrained = 0          # when it was last checked
        self.dir = cluster.home / f"mix{plan.seed}"
        self.dir.mkdir()
        os.chown(self.dir, 20001, 20001)

    # -- small ones -------------------------------------------------------------

    def now(self):
        return time.monotonic() - self.start

    def fault(self, what):
        self.faults.append(what)

    def command(self, *argv):
        """Start a command. Does not wait for it or check it: its target may
        have ended."""
        self.children.append(self.c.lab.popen(
            list(map(str, argv)), cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def later(self, seconds, call, *args):
        self.undo.append((self.now() + seconds, call, args))

    # -- jobs -------------------------------------------------------------------

    def task(self, job):
        at = f"/home/user/{self.dir.name}/{job.name}"
        return ["/home/user/bin/taskdo", "catch", "10", "touch",
                f"{at}.begun.%t", *job.plan.work, "touch", f"{at}.ended.%t"]

    def submit(self, job):
        p = job.plan
        options = [f"-p{p.partition}", "-J", p.name, f"-N{p.nodes}",
                   f"--ntasks-per-node={p.tasks}"]
        if p.partition != "gang":
            options.append("--mem=60")
        if p.exclusive:
            options.append("--exclusive")
        srun = ["srun", f"--launch={p.launch}"]
        job.tries += 1
        if p.kind == "srun":
            argv = srun + options + self.task(job)
            job.client = self.c.start(argv, label=p.name)
            return
        line = shlex.join((srun if p.kind == "batch" else []) + self.task(job))
        held = any(what == "hold" for _, what, _ in p.deeds)
        job.client = self.c.start(
            ["sbatch", *options, "--requeue", "-o", "/dev/null"]
            + (["-H"] if held else []) + ["script"], label=p.name,
            given={"script": f"#!/bin/sh\nexec {line}\n"})

    def do(self, job, what, hold):
        # scancel retries, and may act after the job's restart, before its
        # tasks catch signals.
        if what == "usr1" and "requeue" in job.done:
            return
        # slurmctld 24.11 keeps a job that it requeues and that was suspended
        # in its lists of the nodes' jobs. Exclusive jobs wait for such a node
        # for ever, or slurmctld crashes once the job's record is gone
        # (MinJobAge). So does stock.
        if what == "requeue" and chosen() == "24.11" and \
                any(deed == "suspend" for _, deed, _ in job.plan.deeds):
            return
        job.done.add(what)
        if what == "cancel":
            self.command("scancel", job.id)
        elif what in ("usr1", "term", "kill"):
            self.command("scancel", "-s", what.upper(), job.id)
        elif what == "suspend":
            self.command("scontrol", "suspend", job.id)
            self.later(hold, self.command, "scontrol", "resume", job.id)
        elif what == "requeue":
            self.command("scontrol", "requeue", job.id)

    def hurry(self, job):
        """Slurm delays a requeued job by two minutes; shorten that. (Without a
        delay nodes would refuse a credential of the same second in which they
        ended the job, and the job would fail.)"""
        if self.now() < job.hurried + 4:
            return
        job.hurried = self.now()
        if job.reason == "BeginTime":
            self.command("scontrol", "update", f"JobId={job.id}",
                         "StartTime=now+2")
        elif job.reason and "held" in job.reason.lower() and \
                (job.broken or job.done & {"hold", "suspend"}):
            # also one that was requeued while it was suspended
            self.command("scontrol", "release", job.id)

    def see(self, text):
        """The jobs as slurmctld shows them."""
        for line in text.splitlines():
            values = dict(re.findall(r"(\S+?)=(\S*)", line))
            job = self.named.get(values.get("JobName"))
            if not job:
                continue
            job.id = int(values["JobId"])
            job.state, job.reason = values["JobState"], values["Reason"]
            for names, ids in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+)", line):
                for node in expand(names):
                    job.nodes.add(node)
                    sets = job.cores.setdefault(node, [])
                    if members(ids) not in sets:
                        sets.append(members(ids))
            if job.state == "PENDING" and job.reason != "None":
                self.hurry(job)
            self.launch_lost(job)

    def launch_lost(self, job):
        """A slurmctld that ends never sends the messages that it had not sent.
        Then a script that it has started is on no node. It notices that only
        when the node registers next, which can take many minutes."""
        if job.state != "RUNNING":
            job.runs_since = None
            return
        if job.runs_since is None:
            job.runs_since = self.now()
        if "slurmctld restarted" in self.disturbed and \
                job.plan.kind != "srun" and not job.begun and \
                self.now() > job.runs_since + 20 and not any(
                    step.startswith(f"{job.id}.") for node in job.nodes
                    for step in self.c.groups(node)):
            job.runs_since = None
            self.command("scontrol", "requeue", job.id)

    def poll(self):
        done = self.c.lab.run(["scontrol", "-o", "-d", "show", "jobs"],
                              cwd="/")
        if not done.returncode:
            self.see(done.stdout)
            self.lost()
        if BREAK & self.disturbed and self.now() > self.undrained + 5:
            self.undrained = self.now()
            self.undrain()

    def undrain(self):
        """Slurm drains a node that was down and gets a job again, while the
        job's earlier processes are still on the node."""
        text = self.c.lab.run(["sinfo", "-h", "-N", "-o", "%N|%T|%E"],
                              cwd="/").stdout
        for node in sorted({line.split("|")[0] for line in text.splitlines()
                            if "drain" in line and "Duplicate jobid" in line}):
            self.set_node(node, "resume")

    def lost(self):
        """Restart clients that failed before their job existed, if slurmctld
        was away."""
        for job in self.jobs:
            if not job.client or job.client.running() or job.id:
                continue
            failed = job.client.process.returncode
            if failed and "slurmctld restarted" in self.disturbed and \
                    job.tries < 5:
                self.submit(job)
            elif failed:
                self.fault(f"{job.name} was not taken: {job.client.err()}")
                job.client, job.id, job.state = None, -1, "FAILED"

    # -- faults -----------------------------------------------------------------

    def breaks(self, node, what):
        if what not in BREAK:
            return
        for job in self.jobs:
            if job.client and job.state not in ENDED and \
                    (node in job.nodes or not job.begun):
                if what == "node down" or not job.begun:
                    job.broken = True

    def kill(self, host, daemon, sig=signal.SIGKILL):
        try:
            return self.c.lab.kill(host, daemon, sig)
        except LabError:            # it begins just now
            return []

    def let_go(self, host, daemon, pids):
        if set(pids) & set(self.c.lab.pids(host, daemon)):
            self.kill(host, daemon, signal.SIGCONT)

    def slurmd_again(self, node):
        self.poll()                 # find jobs that should have begun meanwhile
        self.breaks(node, "slurmd killed")
        self.c.lab.restart(node, "slurmd")
        # a resume that this slurmd was processing is lost, in stock Slurm, too
        for job in self.jobs:
            if "suspend" in job.done and node in job.nodes and \
                    job.state not in ENDED:
                self.do(job, "kill", 0)

    def set_node(self, node, state):
        """Run a command and wait for it: commands that run at the same time
        may act in any order. Retry while slurmctld is away."""
        why = [] if state == "resume" else ["Reason=mix"]
        done = self.c.lab.run(["scontrol", "update", f"NodeName={node}",
                               f"State={state}", *why], cwd="/")
        back = state == "resume" and not re.search(
            "down|drain", self.c.lab.node_states().get(node, "down"))
        if done.returncode and not back:
            self.later(0.5, self.set_node, node, state)

    def strike(self, f):
        self.disturbed.add(f.what)
        self.poll()
        self.breaks(f.node, f.what)
        if f.what == "agent killed":
            self.kill(f.node, "agent")
        elif f.what == "strober killed":
            self.kill("ctl", "storm_strober")
        elif f.what == "slurmd killed":
            self.kill(f.node, "slurmd")
            self.later(f.hold, self.slurmd_again, f.node)
        elif f.what in ("agent stopped", "strober stopped"):
            which = ("ctl", "storm_strober") if "strober" in f.what \
                else (f.node, "agent")
            pids = self.kill(*which, signal.SIGSTOP)
            self.later(f.hold, self.let_go, *which, pids)
        elif f.what in ("node down", "node drained"):
            self.set_node(f.node, f.what.split()[1].removesuffix("ed"))
            self.later(f.hold, self.set_node, f.node, "resume")
        elif f.what == "reconfigure":
            self.command("scontrol", "reconfigure")
        elif f.what == "slurmctld restarted":
            self.c.lab.restart("ctl", "slurmctld")

    # -- the play ---------------------------------------------------------------

    def due(self):
        now = self.now()
        for job in [j for j in self.waiting if j.plan.arrival <= now]:
            self.waiting.remove(job)
            self.submit(job)
            if any(what == "hold" for _, what, _ in job.plan.deeds):
                job.done.add("hold")
        for job in self.jobs:
            if not job.begun and job.id and job.marks(
                    self.dir, "begun") == job.plan.nodes * job.plan.tasks:
                job.begun = now
            while job.begun and job.deeds and \
                    job.begun + job.deeds[0][0] <= now:
                _, what, hold = job.deeds.pop(0)
                self.do(job, what, hold)
        for f in [f for f in self.todo if f.at <= now]:
            self.todo.remove(f)
            self.strike(f)
        for item in [u for u in self.undo if u[0] <= now]:
            self.undo.remove(item)
            item[1](*item[2])

    def over(self):
        return not self.waiting and not self.todo and not self.undo and \
            all(j.over() for j in self.jobs)

    def unfinished(self):
        return ", ".join(
            f"{j.name} ({j.id}) is {j.state} ({j.reason}), its client "
            + ("runs" if j.client_runs() else "has ended")
            for j in self.jobs if not j.over())

    def play(self):
        self.c.current = self.dir.name
        marks = {n: self.c.mark(n) for n in self.c.names}
        self.start = time.monotonic()
        polled = -1
        while not self.over():
            if self.now() > LIMIT:
                self.fault(f"not over after {LIMIT} s: {self.unfinished()}; "
                           + self.c.root("sinfo -h -N -o '%N %T %E'"))
                break
            self.due()
            if self.now() - polled > POLL:
                polled = self.now()
                self.poll()
            time.sleep(0.02)
        for child in self.children:
            child.wait(60)
        self.settle()
        for job in self.jobs:
            self.judge_job(job)
        return self.judge_traces(marks)

    # -- afterwards -------------------------------------------------------------

    def wait(self, condition, what, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                self.fault(f"after {seconds} s: {what()}")
                return
            time.sleep(0.05)

    def settle(self):
        """After all jobs: check that nothing is left."""
        c = self.c
        for line in c.end_all():
            self.fault(f"still there: {line}")
        for node, state in c.lab.node_states().items():
            if "down" in state or "drain" in state:
                if not {"node down", "node drained", "slurmd killed"} & \
                        self.disturbed:
                    self.fault(f"{node} is {state}: " + c.root(
                        f"scontrol show node {node}"))
                self.command("scontrol", "update", f"NodeName={node}",
                             "State=resume")
        self.wait(lambda: set(c.lab.node_states().values()) == {"idle"},
                  lambda: f"not idle: {c.lab.node_states()}")
        for node in c.names:
            self.wait(lambda: not c.groups(node),
                      lambda: f"{node} has {c.groups(node)}")
            self.wait(lambda: not any(c.cpu_groups(node).values()),
                      lambda: f"{node}: give way: {c.cpu_groups(node)}")
        self.wait(lambda: not c.stopped_processes(), lambda:
                  f"processes are stopped: {c.stopped_processes()}")
        still = c.frozen()
        if still:
            self.fault(f"frozen: {still}")

    def judge_job(self, job):
        p, done = job.plan, job.done
        ended = job.marks(self.dir, "ended")
        want = p.nodes * p.tasks
        if job.state not in ENDED:
            return                  # reported by play()
        if job.state == "COMPLETED":
            # a script does not get the status of a step that is killed
            if ended != want:
                self.fault(f"{p.name} (job {job.id}) is completed, and {ended} "
                           f"of its {want} tasks are")
            elif p.kind == "srun" and job.client.process.returncode and \
                    not job.broken and not done & {"cancel", "term", "kill"}:
                self.fault(f"{p.name} (job {job.id}) is completed, and its "
                           f"srun says {job.client.process.returncode}: "
                           f"{job.client.err()}")
            return
        if not job.broken and not done & {"cancel", "term", "kill"}:
            self.fault(f"{p.name} (job {job.id}) is {job.state} "
                       f"({job.reason}), and nobody did anything to it but "
                       f"{sorted(done)}: {job.client.err()}")

    def judge_traces(self, marks):
        free = {j.id for j in self.jobs
                if j.done or j.broken or j.plan.partition != "gang"}
        if self.disturbed & {"slurmd killed", "node down",
                             "slurmctld restarted"}:
            free = {j.id for j in self.jobs}
        cores = collections.defaultdict(dict)
        for job in self.jobs:
            for node, sets in job.cores.items():
                cores[node][job.id] = sets
        traces = {n: self.c.trace(n, since) for n, since in marks.items()}
        for node, trace in traces.items():
            if trace and trace[0]["n"] != marks[node]:
                self.fault(f"{node}: the trace's ring was too short")
        self.traces = traces
        nodes, faults = gang_rules.judge(traces, cores, free,
                                         yields=self.c.yields)
        self.faults += faults
        return self.figures(nodes)

    def figures(self, nodes):
        skews = gang_rules.skews(nodes)
        return {
            "jobs": collections.Counter(j.state or "UNKNOWN"
                                        for j in self.jobs),
            "switches": sum(t.switches for t in nodes),
            "turns": sum(sum(t.turns.values()) for t in nodes),
            "skews": skews, "seconds": self.now(),
        }


def play(cluster, plan):
    """Play a mix. Returns (figures, violations, {node: its trace})."""
    p = Play(cluster, plan)
    figures = p.play()
    return figures, p.faults, p.traces


class Labs:
    """The lab for a seed: the current one, or a new one by make(nodes=, cpus=,
    gang=, quantum=). policy: the gang partition's."""

    def __init__(self, make, policy="gang"):
        self.make, self.policy = make, policy
        self.shape = self.lab = None

    def of(self, seed):
        shape = mix_plan.shape(seed)
        if self.lab and shape != self.shape:
            self.down()
        if not self.lab:
            yields = self.policy == "yield"
            # in shorter turns nobody gives way
            quantum = max(shape.quantum, 50 if yields else 0)
            self.lab = self.make(nodes=shape.nodes, cpus=shape.cpus,
                                 gang=shape.jobs, quantum=quantum,
                                 storm_conf={
                                     "Partition": f"gang Policy={self.policy}"},
                                 mode="drop" if shape.lossy else "multicast")
            self.lab.yields = yields
            self.shape = shape
        return self.lab

    def down(self):
        lab, self.lab = self.lab, None
        if lab:
            lab.down()
