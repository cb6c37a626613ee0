# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A Slurm cluster on machines (../machines/slurm_machines.py) with the interface of
a lab, so that tests for a lab run on it. Its ctl and login are the first machine;
all hosts share etc and home, as in a lab."""
import os
import re
import shlex
import signal
import subprocess

from lab import Lab, LabError
from slurm_machines import AS_USER
from vm import SECONDS

COMM = {"agent": "storm_agent"}
STEPS = "/machines/steps-here"
OF_STEPS = re.compile(r"(turn|slurm) (\S+) (\w+ |)([01])$", re.M)


def parse_steps(text, whose):
    return {step: still == "1" for which, step, _, still in
            OF_STEPS.findall(text) if which == whose}


class HostProcess:
    """The part of Lab.popen()'s result that tests use."""

    def __init__(self, machines, command):
        self.machines, self.command = machines, command

    @property
    def returncode(self):
        return self.command.code

    def poll(self):
        self.machines.wait([self.command], 0)
        return self.returncode

    def ended(self, timeout):
        return self.machines.wait([self.command], max(timeout, SECONDS))

    def wait(self, timeout=SECONDS):
        if not self.ended(timeout):
            raise subprocess.TimeoutExpired(self.command.words, timeout)
        return self.returncode

    def send_signal(self, sig):
        if self.poll() is None:
            # it may be about to end
            self.machines.run(f"kill -{int(sig)} $(cat {self.pid_file})",
                              [self.command.machine], SECONDS)

    @property
    def pid_file(self):
        return f"/machines/{os.path.relpath(self.command.files, self.machines.dir)}pid"


class HostLab(Lab):
    """The machines make and remove it."""

    def __init__(self, slurm):
        super().__init__("hosts")
        self.slurm, self.machines = slurm, slurm.machines
        slurm.good(self.machines.run(
            f"cd /machines/{slurm.directory} && "
            "mount --bind etc/slurm /etc/slurm && mount --bind home /home",
            timeout=SECONDS))

    @property
    def dir(self):
        return str(self.machines.dir / self.slurm.directory)

    @property
    def nodes(self):
        return self.slurm.names

    def down(self):
        return True

    def sanitizer_reports(self):
        return {}

    def machine(self, host):
        return int(host[1:]) - 1 if host in self.nodes else 0

    def path(self, host, path):
        """Only for paths that all hosts share."""
        for top in ("/etc/slurm/", "/home/"):
            if path.startswith(top):
                return self.dir + path
        raise LabError(f"{path} is in a machine")

    # -- commands --------------------------------------------------------------

    def inside(self, stream):
        """The path of a file of the test, in the machines."""
        if stream is subprocess.DEVNULL:
            return "/dev/null"
        return "/machines/" + os.path.relpath(
            os.path.realpath(stream.name), self.machines.dir)

    def line(self, argv, user, env, cwd, streams):
        """For the shell in a machine."""
        if isinstance(argv, str):
            argv = ["sh", "-c", argv]
        home = "/root" if user == "root" else "/home/user"
        full = {"HOME": home, "USER": user, "LOGNAME": user, **(env or {})}
        words = [f"cd {shlex.quote(cwd or home)} &&",
                 'echo $$ >"${RXE_RC%rc}pid" &&', "exec env",
                 *(shlex.quote(f"{k}={v}") for k, v in full.items())]
        if user != "root":
            words.append(AS_USER)
        words.append(shlex.join(str(a) for a in argv))
        for sign, stream in zip(("<", ">", "2>"), streams):
            if stream is not None:
                words.append(sign + shlex.quote(self.inside(stream)))
        return " ".join(words)

    def popen(self, argv, host="login", user="root", env=None, cwd=None,
              stdin=None, stdout=None, stderr=None):
        """stdin and so on: files of the lab's"""
        return HostProcess(self.machines, self.machines.start(
            self.machine(host), self.line(argv, user, env, cwd,
                                          (stdin, stdout, stderr))))

    def run(self, argv, host="login", user="root", env=None, cwd=None,
            timeout=SECONDS, check=False):
        process = self.popen(argv, host, user, env, cwd)
        process.wait(timeout)
        done = subprocess.CompletedProcess(
            argv, process.returncode, process.command.out,
            process.command.err)
        if check:
            done.check_returncode()
        return done

    def shell(self, host, line):
        """The output of a command that must succeed, without more processes
        than needed."""
        [c] = self.machines.run(line, [self.machine(host)], SECONDS)
        if c.code:
            raise LabError(str(c))
        return c.out

    # -- steps -----------------------------------------------------------------

    def steps(self, host, whose="turn"):
        """{step: whether it is stopped} according to the kernel. turn: only
        steps that take turns; slurm: also those that Slurm may keep
        stopped."""
        return parse_steps(self.shell(host, STEPS), whose)

    def standing(self, host):
        """Jobs with a stopped step."""
        return [int(step.split(".")[0]) for step, still in
                self.steps(host).items() if still]

    # -- daemons ---------------------------------------------------------------

    def log(self, host, daemon):
        return self.shell(host, f"cat /var/log/slurm/{daemon}.log")

    def pids(self, host, name):
        """The pids, on the host, of the processes of this name."""
        return [int(p) for p in self.shell(
            host, f"pgrep -x {COMM.get(name, name)} || true").split()]

    def signal_all(self, host, names, sig):
        """Signal all of them at once. Returns the pids. With SIGKILL, wait for
        their end."""
        names = "|".join(COMM.get(n, n) for n in names)
        line = f"p=$(pgrep -x '{names}') && kill -{int(sig)} $p && echo $p"
        if sig == signal.SIGKILL:
            line += ("; for q in $p; do while read -r _ _ state _ "
                     "<\"/proc/$q/stat\" && [ \"$state\" != Z ]; do "
                     "sleep 0.01; done; done 2>/dev/null; [ -n \"$p\" ]")
        return [int(p) for p in self.shell(host, line).split()]

    def kill(self, host, daemon, sig=signal.SIGKILL):
        return self.signal_all(host, [daemon], sig)

    def restart(self, host, daemon, timeout=SECONDS):
        self.shell(host, f"systemctl reset-failed {daemon}; "
                   f"systemctl restart {daemon}")
