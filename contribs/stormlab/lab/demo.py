# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The demonstration: broadcast and run a program by STORM and by Slurm."""
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import threading
import time

from . import cluster, release
from .sysdep import LabError

RATE = "1gbit"
RUNS = 3
SIZE = 12000000

#: Slurm prints no timeline; lines of `srun -vv` mark where its phases begin:
#: (text in the line, phase that begins with it).
MARKS = (("modes    = ", "send, write"),
         ("launch_p_step_launch", "exec"),
         ("_task_finish", "exit"))

STORM_PHASES = (("step_create", "create the step"),
                ("open", "open the domain"),
                ("send", "send"),
                ("repair", "repair"),
                ("write", "written everywhere"),
                ("verify", "verified, renamed"),
                ("exec", "launch, all tasks started"),
                ("run", "run"),
                ("exit", "exits reported"))


def demo(lab, nodes, prepare, slurm):
    cluster.check_root()
    script = release.top_dir() + "/contribs/prepare"
    # The package stormlab has no sources; what it needs is installed.
    if prepare and os.path.exists(script):
        _say("preparing: packages, Slurm's source, the build")
        if subprocess.run([script, "all", "--slurm", slurm],
                          check=False).returncode:
            raise LabError("contribs/prepare failed; see above")
    _say(f"starting {nodes} nodes, links of 1 Gbit/s in both directions")
    try:
        lab.create(nodes, "storm", [], [], 4, 1500,
                   release.stage_dir(slurm), slurm=slurm)
        lab.shape(RATE)
        _show(lab, nodes)
    finally:
        with cluster.no_interrupts():
            lab.down()
    return 0


def _say(text):
    print(f"\n== {text}", flush=True)


def _make_app(lab):
    """Compile the program on the machine into the lab's /home/user."""
    home = lab.dir + "/home/user"
    source = os.path.join(os.path.dirname(__file__), "demo_app.c")
    # CC may have arguments: "ccache gcc"
    compiler = shlex.split(os.environ.get("CC", "gcc")) or ["gcc"]
    for argv in ([*compiler, "-O2", "-o", home + "/app.elf", source],
                 [home + "/app.elf", "--make", home + "/app"]):
        try:
            done = subprocess.run(argv, capture_output=True, text=True,
                                  check=False)
        except FileNotFoundError:
            raise LabError(f"{argv[0]} is missing; install it with: "
                           "apt-get install gcc libc6-dev") from None
        if done.returncode:
            raise LabError(f"{argv[0]}: {done.stderr.strip()}")
    if os.path.getsize(home + "/app") != SIZE:
        raise LabError(f"{home}/app has {os.path.getsize(home + '/app')} "
                       f"bytes, not {SIZE}")
    os.chmod(home + "/app", 0o755)


class _Run:
    """One srun, its phases, and the counters of the host login."""

    def __init__(self, lab, job, nodes, how, target):
        srun = ["srun", f"--jobid={job}", f"--launch={how}", "-vv",
                f"-N{nodes}", f"-n{nodes}", f"--bcast={target}", "./app"]
        timeline = "/home/user/timeline.json"
        outside = lab.dir + timeline
        if os.path.exists(outside):
            os.unlink(outside)
        before = lab.counters("login")
        self.begun = time.monotonic()
        process = lab.popen(srun, user="user", cwd="/home/user", text=True,
                            env={"STORM_TIMELINE": timeline},
                            stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.log = []           # (seconds since the start, line)
        reader = threading.Thread(target=self._read, args=(process.stderr,))
        reader.start()
        self.output = process.stdout.read()
        reader.join()
        status = process.wait()
        self.ms = (time.monotonic() - self.begun) * 1000
        after = lab.counters("login")
        self.moved = {k: after[k] - before[k] for k in before}
        lines = self.output.splitlines()
        if status or len([l for l in lines if "whole" in l]) != nodes:
            raise LabError(f"{' '.join(srun)} failed with status {status}:\n"
                           + self.output
                           + "\n".join(l for _, l in self.log[-20:]))
        self.timeline = None
        if how == "storm":
            try:
                with open(outside) as f:
                    self.timeline = json.load(f)
            except FileNotFoundError:
                raise LabError("srun --launch=storm wrote no timeline; it "
                               "may have fallen back to Slurm; its log:\n"
                               + "\n".join(l for _, l in self.log)) from None

    def _read(self, stream):
        for line in stream:
            self.log.append((time.monotonic() - self.begun, line.rstrip()))

    def stock_phases(self):
        """[(name, start, ms)] from the arrival times of srun's messages."""
        starts = [("create the step", 0.0)]
        for text, phase in MARKS:
            for at, line in self.log:
                if text in line:
                    starts.append((phase, at * 1000))
                    break
        ends = [s for _, s in starts[1:]] + [self.ms]
        return [(name, start, end - start)
                for (name, start), end in zip(starts, ends)]

    def broadcast_ms(self):
        """From the opening of the domain until all nodes have the file."""
        if self.timeline is None:
            return dict((n, ms) for n, _, ms in self.stock_phases())[
                "send, write"]
        phases = self.timeline["phases"]
        return phases["verify"]["start"] + phases["verify"]["ms"] \
            - phases["open"]["start"]

    def storm_phases(self):
        phases = self.timeline["phases"]
        return [(text, phases[name]["start"], phases[name]["ms"])
                for name, text in STORM_PHASES if phases.get(name)]


def _show(lab, nodes):
    _make_app(lab)
    granted = lab.run(["salloc", f"-N{nodes}", "--no-shell"], user="user",
                      cwd="/home/user", check=True).stderr
    job = re.search(r"job allocation (\d+)", granted)[1]
    commands = {"storm": "srun --launch=storm", "slurm": "srun"}
    runs = {how: [] for how in commands}
    _say("running as an ordinary user, in an allocation of all nodes:\n"
         "   srun --launch=storm --bcast=/tmp/app ./app")
    for i in range(RUNS):
        for how in commands:
            runs[how].append(_Run(lab, job, nodes, how,
                                  f"/tmp/app.{how}.{i}"))
            if not i and how == "storm":
                print(runs[how][0].output, end="")
    lab.run(["scancel", job], user="user", cwd="/home/user")
    typical = {how: sorted(of, key=lambda r: r.ms)[RUNS // 2]
               for how, of in runs.items()}
    for how, title in (("storm", "by STORM"), ("slurm", "by Slurm alone")):
        run = typical[how]
        _say(f"{title}: the phases, in ms since srun's start"
             if how == "slurm" else
             f"{title}: the phases, in ms since the step's creation began")
        phases = run.storm_phases() if how == "storm" \
            else run.stock_phases()
        _draw(phases)
        if how == "storm":
            counted = run.timeline["counters"]
            print(f"   launched by {run.timeline['launch']}, multicast "
                  f"{'yes' if run.timeline['multicast'] else 'no'}, "
                  f"chunks retransmitted {counted['repaired']}, fallback: "
                  f"{run.timeline['fallback'] or 'none'}")
    _say(f"cost, median of {RUNS} runs of each")
    rows = [("srun in all", "ms", lambda r: r.ms, "{:10.0f}"),
            ("broadcast alone", "ms", _Run.broadcast_ms, "{:10.0f}")]
    for label, unit, key, scale, form in (
            ("login host sent", "MB", "tx_bytes", 1e-6, "{:10.2f}"),
            ("login host received", "KB", "rx_bytes", 1e-3, "{:10.1f}"),
            ("packets sent", "", "tx_packets", 1, "{:10.0f}"),
            ("packets received", "", "rx_packets", 1, "{:10.0f}"),
            ("TCP connections accepted", "", "accepted", 1, "{:10.0f}"),
            ("TCP connections opened", "", "opened", 1, "{:10.0f}")):
        rows.append((label, unit,
                     lambda r, k=key, s=scale: r.moved[k] * s, form))
    print(f"   {'':28}{'STORM':>10}{'Slurm':>10}{'ratio':>9}")
    for label, unit, value, form in rows:
        a, b = (statistics.median(value(r) for r in runs[how])
                for how in ("storm", "slurm"))
        ratio = f"{b / a:8.1f}x" if a else ""
        label = f"{label}, {unit}" if unit else label
        print(f"   {label:28}{form.format(a)}{form.format(b)}{ratio}")
    print("\n   One copy of the file alone takes "
          f"{SIZE * 8 / 1e6:.0f} ms on such a link.", flush=True)


def _draw(phases, width=40):
    """Print a line for each phase, with a bar on a common scale."""
    end = max(start + ms for _, start, ms in phases)
    for name, start, ms in phases:
        left = int(start / end * (width - 1))
        bar = " " * left + "#" * max(1, round(ms / end * width))
        print(f"   {name:26}{start:8.1f} +{ms:8.1f}  |{bar[:width]:{width}}|")
    sys.stdout.flush()
