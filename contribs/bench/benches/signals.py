# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how soon a signal to a step ends all of its tasks.

A step has a task on each node, which sleeps. Each has the same pipe open, which closes
with the last of them. ctrl-C: from SIGINT to srun, which forwards it
(--disable-status). bad exit: from when a task ends with 1, with
--kill-on-bad-exit. terminate: from SIGTERM to srun. "end" is until the last
task's end, "srun" until srun's. STORM and stock Slurm alternate on one lab. Its nodes
share this machine's processors, and each signal is work for each of them.
"""
import os
import signal
import subprocess
import threading
import time

from measure import target
from measure.result import NotRun
from measure.turns import pick, take_turns, words_of

HELP = "from ctrl-C or a bad exit to the last task's end"
SOURCE = "Cplant, SC 2001: fan-out of signals"
QUICK = {"nodes": [2], "repeat": 1}
KINDS = ("ctrl-C", "bad exit", "terminate")
PATIENCE = 60       # seconds
TASK = """exec 3>"$1"
if [ "$SLURM_PROCID$3" = 0bad ]; then echo up >&3; read x <"$2"; exit 1; fi
echo up >&3
exec sleep 600"""


def options(parser):
    target.options(parser, site=False)
    target.nodes_option(parser, (8, 32, 64))
    parser.add_argument("--repeat", type=int, default=20, metavar="N",
                        help="steps of each contender (default: 20)")
    parser.add_argument("--kinds", type=words_of(*KINDS), default=KINDS, metavar="LIST",
                        help=f"of {','.join(KINDS)} (default: all)")


class Steps:
    """Steps of one contender in a job, which end in one way."""

    def __init__(self, where, job, nodes, launch, kind):
        self.where, self.nodes, self.kind = where, nodes, kind
        options = {"ctrl-C": ["--disable-status"], "bad exit": ["--kill-on-bad-exit=1"],
                   "terminate": []}[kind]
        self.srun = ["srun", f"--launch={launch}", f"--jobid={job}", f"-N{nodes}",
                     f"-n{nodes}", "--overcommit", *options, "sh", "-c", TASK, "sh",
                     where.inside("alive"), where.inside("go"),
                     "bad" if kind == "bad exit" else ""]

    def __call__(self):
        pipes = [self.where.shared / name for name in ("alive", "go")]
        for pipe in pipes:
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe, 0o666)
            pipe.chmod(0o666)
        alive = os.open(pipes[0], os.O_RDONLY | os.O_NONBLOCK)
        process = self.where.lab.popen(
            self.srun, user="user", cwd="/tmp", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.begun(alive, process)
            ended = []
            waits = threading.Thread(target=lambda: ended.append(
                (process.wait(PATIENCE), time.monotonic())[1]))
            waits.start()
            begin = time.monotonic()
            if self.kind == "bad exit":
                pipes[1].write_text("\n")
            else:
                process.send_signal(signal.SIGINT if self.kind == "ctrl-C"
                                    else signal.SIGTERM)
            while os.read(alive, 65536):
                pass
            end = time.monotonic()
            waits.join()
        finally:
            os.close(alive)
            if process.poll() is None:
                process.kill()
                process.wait()
        if not ended:
            raise NotRun(f"srun did not end in {PATIENCE} s")
        return {"end": (end - begin) * 1000, "srun": (ended[0] - begin) * 1000}

    def begun(self, alive, process):
        """Wait until each task has written its line, and read what comes later when
        it comes."""
        said, end = b"", time.monotonic() + PATIENCE
        while said.count(b"\n") < self.nodes:
            if time.monotonic() > end or process.poll() is not None:
                raise NotRun(f"{said.count(b'up')} of {self.nodes} tasks began")
            try:
                said += os.read(alive, 65536)
            except BlockingIOError:
                pass
            time.sleep(0.005)
        os.set_blocking(alive, True)
        time.sleep(0.3)     # until srun has heard of all


def run(args, result):
    table = result.table(
        "from a signal to the end of a step", by=("nodes", "kind", "until"),
        columns={"storm": "ms", "stock": "ms"}, ratios=["storm / stock"],
        plot={"x": "nodes", "y": ["storm", "stock"], "log": "x",
              "facets": ["kind", "until"]})
    with target.open_target(args, result, max(args.nodes),
                            storm_conf={"LaunchNodes": "2"}) as where:
        for nodes in args.nodes:
            with where.allocation(nodes) as job:
                for kind in args.kinds:
                    found = take_turns({
                        name: Steps(where, job, nodes, launch, kind)
                        for name, launch in (("storm", "storm"), ("stock", "slurm"))},
                        args.repeat)
                    for until in ("end", "srun"):
                        table.row((nodes, kind, until),
                                  {name: pick(values, until)
                                   for name, values in found.items()})
