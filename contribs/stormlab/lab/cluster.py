# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A lab as a whole: its record on disk; how to create, use and remove it.

On the machine a lab consists of one directory (the record, logs, the shared
/home) and the first process of each host. The record lists these processes by
pid and start time. It is written before a host may proceed, and a host dies
if its starter dies before the end of `up`. So `down` finds everything at any
time.
"""
import contextlib
import errno
import fcntl
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import typing

from . import host as hosts
from . import (cgroups, fault_record, faults, machine, net, release,
               sanitized, slurmconf, upgrade)
from .release import top_dir
from .sysdep import (LabError, boot_id, cpu_ticks, kill_process, parent_of,
                     pids_in_namespace, process_name, stands, start_time,
                     wait_for, wait_process, where_threads_wait)

SWITCH = hosts.SWITCH

#: command -> Debian package
TOOLS = {"ip": "iproute2", "tc": "iproute2", "bridge": "iproute2",
         "nsenter": "util-linux"}
SLURM = {"slurmctld": "slurmctld", "slurmd": "slurmd",
         "srun": "slurm-client", "sinfo": "slurm-client", "munged": "munge"}

DAEMONS = {"slurmd": "slurmd", "slurmctld": "slurmctld", "munged": "munged",
           "agent": "storm_agent"}


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")

#: In slurmd's log: the agent that it goes on with.
AGENT_KEPT = re.compile(r"(?:storm: adopted the agent|"
                        r"storm_agent: version .*), pid (\d+)$", re.M)
#: An error of the agent's own
AGENT_ERROR = re.compile(r"\berror: storm_agent: ")
#: s without an agent: then slurmd does not start the next one at once any more
AGENT_GONE = 5
#: s until slurmd gets the next SIGTERM. It loses one that comes between a look at
#: its flag and accept(), and then ends after the next connection.
AGAIN = 5
#: s until a daemon has started, has ended, or has answered. Only a fault needs so
#: long, but a busy machine can need much more than an idle one.
LONG = 120


class Plan(typing.NamedTuple):
    """The parameters of a lab, from which its hosts are made."""
    name: str
    dir: str
    nodes: int
    cpus: int
    mtu: int
    switch: str              # storm or none
    stage: str               # STORM's plugins and programs; None: Slurm alone
    slurm_plugins: str
    conf: list
    storm_conf: list
    visible: list            # paths to show in hosts although private
    cgroups: list            # top groups; empty: Slurm uses none
    instead: dict            # {path in hosts: file that replaces it}
    gang: int = 0            # jobs that share a core in partition gang; 0: no
    networks: int = 1        # interfaces of every host
    slurm: str = release.MACHINES
    rootfs: typing.Optional[str] = None     # None: the machine's directories


def base_dirs():
    """The directories for labs; the first writable one is used."""
    own = os.environ.get("STORMLAB_DIR")
    return [own] if own else ["/run/stormlab", "/tmp/stormlab"]


def check_name(name):
    if not NAME.fullmatch(name):
        raise LabError(f"invalid lab name {name!r}: use at most 32 letters, "
                       "digits, '-', '_' and '.', and begin with a letter or "
                       "digit")
    return name


def check_root():
    if os.geteuid() != 0:
        raise LabError("only root can create and enter namespaces; run it "
                       "with sudo")


def check_machine(rootfs=None):
    """Raise LabError if this machine cannot run a lab. With a root file system
    it needs no Slurm itself."""
    check_root()
    path = hosts.DAEMON_ENV["PATH"]
    needed = TOOLS if rootfs else {**SLURM, **TOOLS}
    missing = [c for c in needed if not shutil.which(c, path=path)]
    packages = sorted({needed[c] for c in missing})
    if not slurm_plugin_dir(rootfs):
        packages.append("slurm-wlm-basic-plugins")
    if packages:
        what = "the programs " + ", ".join(missing) if missing \
            else "Slurm's plugins"
        raise LabError(f"{what} are missing; install them with: "
                       "apt-get install --no-install-recommends "
                       + " ".join(packages))


def slurm_plugin_dir(rootfs=None):
    """The directory of Slurm's plugins, as the hosts see it."""
    rootfs = rootfs or ""
    for pattern in ("/usr/lib/*/slurm-wlm", "/usr/lib64/slurm",
                    "/usr/lib/*/slurm", "/usr/lib/slurm"):
        for path in sorted(glob.glob(rootfs + pattern)):
            if os.path.exists(path + "/auth_munge.so"):
                return path.removeprefix(rootfs)
    return None


def check_stage(stage, slurm):
    launch = "lib/slurm-storm/launch_storm.so" if slurm == release.MACHINES \
        else "libexec/slurm-storm/srun"
    for name in ("lib/slurm-storm/switch_storm.so", launch,
                 "lib/slurm-storm/spank_storm.so",
                 "libexec/slurm-storm/storm_agent"):
        if not os.path.exists(f"{stage}/{name}"):
            raise LabError(
                f"{stage}/{name} is missing; build the plugins with "
                "contribs/prepare, give another directory with --plugins or "
                "STORM_STAGE, or use --stock")


def other_prefix(stage):
    """The plugins know their programs by configure's prefix. If the stage is a
    copy of an installation that is still there: {its prefix: the copy}."""
    prefix = None
    with contextlib.suppress(OSError):
        with open(f"{stage}/lib/pkgconfig/libstorm.pc", encoding="utf-8") as f:
            prefix = next((line[len("prefix="):].strip() for line in f
                           if line.startswith("prefix=")), None)
    if not prefix or os.path.realpath(prefix) == os.path.realpath(stage) \
            or not os.path.exists(f"{prefix}/libexec/slurm-storm"):
        return {}
    return {prefix: stage}


@contextlib.contextmanager
def no_interrupts():
    """Block SIGINT, SIGTERM and SIGHUP inside the `with` block."""
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    old = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


class NoLab(LabError):
    """There is no lab of this name."""


def _try_lock(fd):
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def _same_file(fd, path):
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


class LabProcess(subprocess.Popen):
    """A process in a host. It is a child of nsenter, which does not forward
    signals; so they are sent to the child. nsenter ends as its child does."""

    def child(self):
        """The pid of the process itself in this namespace."""
        path = f"/proc/{self.pid}/task/{self.pid}/children"
        try:
            with open(path) as f:
                return int(f.read().split()[0])
        except (OSError, IndexError):
            return None

    def send_signal(self, sig):
        if self.poll() is not None:
            return
        # Before nsenter has forked there is nothing else to signal.
        child = self.child()
        try:
            os.kill(self.pid if child is None else child, sig)
        except ProcessLookupError:
            pass

    def ended(self, timeout):
        """Wait for the process to end. Returns False on a timeout.
        (Popen.wait() with a timeout sleeps up to 50 ms longer.)"""
        return self.poll() is not None or \
            wait_process(os.pidfd_open(self.pid), timeout)


class Lab:
    """A lab by its name. The methods are the commands of stormlab(1). A
    method that needs a running lab raises LabError if there is none.

    Texts are str; rates and sizes have the formats of tc and mount. Methods
    that wait have a timeout; on a timeout LabError names what is missing.
    """

    def __init__(self, name=None):
        self.name = check_name(name or os.environ.get("STORMLAB")
                               or "default")
        self._record = None

    # -- the record --------------------------------------------------------

    @property
    def dir(self):
        """The lab's directory: home/, etc/slurm/, hosts/HOST/log/..."""
        for base in base_dirs():
            if os.path.isdir(f"{base}/{self.name}"):
                return f"{base}/{self.name}"
        return f"{base_dirs()[0]}/{self.name}"

    @property
    def record(self):
        """The record of a lab that is up, a dict."""
        if self._record is None:
            self._record = self._load()
        if not self._record:
            raise self._none()
        return self._record

    def _load(self):
        try:
            with open(self.dir + "/lab.json") as f:
                record = json.load(f)
        except FileNotFoundError:
            return None
        except ValueError as e:
            raise LabError(f"{self.dir}/lab.json: {e}")
        if record["boot"] != boot_id():
            record["pids"] = {}
        return record

    def _save(self):
        slurmconf.write(self.dir + "/lab.json", json.dumps(self._record))

    @contextlib.contextmanager
    def _locked(self):
        """Exclude other stormlab processes from this lab. The lock is on the
        directory and ends with it, or with its holder."""
        reported = False
        while True:
            try:
                fd = os.open(self.dir, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                raise self._none() from None
            try:
                if not reported and not _try_lock(fd):
                    print("stormlab: waiting for another stormlab process "
                          f"that uses lab '{self.name}'", file=sys.stderr)
                    reported = True
                fcntl.flock(fd, fcntl.LOCK_EX)
                # Meanwhile the lab may have been removed and created again.
                if _same_file(fd, self.dir):
                    yield
                    return
            finally:
                os.close(fd)

    def _none(self):
        return NoLab(f"there is no lab '{self.name}'; start one with: "
                     "stormlab up N" + ("" if self.name == "default"
                                        else f" --name {self.name}"))

    @property
    def hosts(self):
        """The names of all hosts: ctl, login, n1, ..."""
        return [h for h in self.record["pids"] if h != SWITCH]

    @property
    def nodes(self):
        return slurmconf.node_names(self.record["nodes"])

    def pid(self, host):
        """The first process of a host."""
        pids = self.record["pids"]
        if host not in pids:
            self.known(host)
        pid, started = pids[host]
        if start_time(pid) != started:
            raise LabError(f"host {host} of lab '{self.name}' is dead; "
                           "remove the lab with: stormlab down")
        return pid

    def known(self, host):
        """Raise LabError if the lab has no such host."""
        if host not in self.hosts:
            known = "ctl, login, " + (
                "n1" if self.record["nodes"] == 1
                else f"n1 to n{self.record['nodes']}")
            raise LabError(f"lab '{self.name}' has no host {host!r}; "
                           f"it has {known}")

    def busy(self):
        """Whether another stormlab process uses the lab, or starts it."""
        try:
            fd = os.open(self.dir, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return False
        try:
            return not _try_lock(fd)
        finally:
            os.close(fd)

    def alive(self):
        """Whether the lab exists and all its hosts are alive."""
        self._record = None
        record = self._load()
        return bool(record) and bool(record["pids"]) and all(
            start_time(p) == s for p, s in record["pids"].values())

    # -- up and down -------------------------------------------------------

    def up(self, nodes, switch="storm", conf=(), storm_conf=(), cpus=4,
           mtu=1500, stage=None, stock=False, timeout=None, gang=0,
           quantum=None, networks=1, slurm=None):
        """Start the lab in a separate stormlab process, because the caller
        may have threads, which do not survive a fork. conf and storm_conf
        are dicts or lists of 'Key=Value'."""
        def pairs(given):
            if hasattr(given, "items"):
                return [f"{k}={v}" for k, v in given.items()]
            return list(given)

        program = os.path.join(os.path.dirname(__file__), "../stormlab")
        argv = [program, "up", str(nodes), "--name",
                self.name, "--cpus", str(cpus), "--mtu", str(mtu)]
        argv += ["--stock"] if stock else ["--switch", switch]
        argv += ["--plugins", stage] if stage and not stock else []
        argv += ["--slurm", slurm] if slurm else []
        argv += ["--gang", str(gang)] if gang else []
        argv += ["--quantum", str(quantum)] if quantum else []
        argv += ["--networks", str(networks)] if networks > 1 else []
        for option, given in (("--conf", conf), ("--storm-conf", storm_conf)):
            for pair in pairs(given):
                argv += [option, pair]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE,
                              timeout=timeout or 3 * LONG + 2 * nodes,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise LabError(done.stdout.strip())
        self._record = None
        return self

    def create(self, nodes, switch, conf, storm_conf, cpus, mtu, stage,
               timeout=None, gang=0, networks=1, slurm=None):
        """Start the lab in this process; stage None means Slurm alone. An
        error or a signal removes the lab again. Returns the seconds until
        all nodes were idle."""
        timeout = timeout or max(LONG, nodes)
        slurm = release.chosen(slurm)
        rootfs = release.root_of(slurm)
        check_machine(rootfs)
        machine.check(nodes)
        if stage:
            stage = os.path.realpath(stage)
            check_stage(stage, slurm)
        if os.path.isdir(self.dir):
            self._clear_remains()
        begun = time.monotonic()
        mine = False
        try:
            with no_interrupts():
                path = self._make_dir()
                mine = True
            plan = Plan(name=self.name, dir=path, nodes=nodes,
                        cpus=cpus, mtu=mtu, switch=switch, stage=stage,
                        slurm_plugins=slurm_plugin_dir(rootfs), conf=conf,
                        storm_conf=storm_conf,
                        visible=[top_dir()] + ([stage] if stage else []),
                        cgroups=[], instead={}, gang=gang,
                        networks=networks, slurm=slurm, rootfs=rootfs)
            with self._locked():
                self._start(plan, timeout)
        except BaseException:
            if mine:
                with no_interrupts():
                    self._remove()
            raise
        return time.monotonic() - begun

    def _clear_remains(self):
        """Remove what a crashed lab left. Raise LabError if the lab is up."""
        with contextlib.suppress(NoLab), self._locked():
            if self.alive():
                raise LabError(
                    f"lab '{self.name}' is up already, with "
                    f"{self.record['nodes']} nodes; remove it with 'stormlab "
                    "down' or choose another name with --name")
            with no_interrupts():
                self._remove()

    def _make_dir(self):
        for base in base_dirs():
            path = f"{base}/{self.name}"
            try:
                _make_below(base, path)
                return path
            except FileExistsError:
                raise LabError(f"another stormlab process is starting lab "
                               f"'{self.name}'")
            except OSError as e:
                if e.errno not in (errno.EROFS, errno.EACCES,
                                   errno.ENOSPC):
                    raise
                error = e
        raise LabError(f"cannot create {path}: {error.strerror}; set "
                       "STORMLAB_DIR to another directory")

    def _start(self, plan, timeout):
        slurmconf.write_etc(plan)
        os.mkdir(plan.dir + "/root")
        plan = plan._replace(
            instead=(other_prefix(plan.stage) if plan.stage else {})
            | sanitized.prepare(plan, slurmconf.STAGE))
        self._record = {
            "name": plan.name, "nodes": plan.nodes, "boot": boot_id(),
            "pids": {}, "switch": plan.switch, "stage": plan.stage,
            "slurm": plan.slurm, "rootfs": plan.rootfs, "upgraded": {},
            "cpus": plan.cpus, "mtu": plan.mtu, "made": time.time(),
            "networks": plan.networks,
            "cgroups": [], "machine": None, "shape": None, "drop": None,
            "multicast": True}
        self._save()
        names = [SWITCH, "ctl", "login"] + slurmconf.node_names(plan.nodes)
        with no_interrupts():
            self._record["machine"] = machine.make_room(
                os.path.dirname(plan.dir), len(names), self._made_by_others)
            self._save()
        # The agents name the groups that they freeze after the nodes, too.
        by_slurm = cgroups.wanted(plan.conf)
        if by_slurm or plan.gang or cgroups.agents_make(plan.conf):
            with no_interrupts():
                plan = plan._replace(
                    cgroups=cgroups.prepare(
                        plan.name, by_slurm,
                        cgroups.freezer_wanted(plan.storm_conf)))
                self._record["cgroups"] = plan.cgroups
                self._save()
        ready_r, ready_w = os.pipe()
        go = {}
        try:
            for name in names:
                with no_interrupts():
                    pid, go[name] = hosts.spawn(plan, name, ready_w)
                    self._record["pids"][name] = (pid, start_time(pid))
                    self._save()
            os.close(ready_w)
            ready_w = None
            self._conduct(plan, go, ready_r, timeout)
            self.wait_idle(timeout)
            self.wait_agents(since=0)
            for name in names:
                os.write(go[name], b"r")
        finally:
            for fd in list(go.values()) + [ready_r, ready_w]:
                if fd is not None:
                    os.close(fd)

    def _conduct(self, plan, go, ready, timeout):
        """Connect the hosts, start slurmctld, then every slurmd."""
        pids = {h: p for h, (p, _) in self._record["pids"].items()}
        switch = pids.pop(SWITCH)
        net.plug_in(switch, pids, plan.mtu, plan.networks)
        for name in go:
            os.write(go[name], b"n")
        waiting = {"up": set(go), "ready": set(go)}
        deadline = time.monotonic() + timeout
        buffered = b""
        while waiting["ready"]:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([ready], [], [], left)[0]:
                raise LabError("hosts that did not start within "
                               f"{timeout:g} s: "
                               + " ".join(sorted(waiting["ready"])))
            data = os.read(ready, 65536)
            if not data:
                raise LabError("hosts that died while starting: "
                               + " ".join(sorted(waiting["ready"])))
            *lines, buffered = (buffered + data).split(b"\n")
            for line in lines:
                name, what = line.decode().split("\t", 1)
                if what not in waiting:
                    raise LabError(f"host {name}: "
                                   + what.removeprefix("failed "))
                waiting[what].discard(name)
                if name == "ctl" and what == "up":
                    os.write(go[name], b"s")
                elif (name, what) == ("ctl", "ready"):
                    for other in go:
                        if other not in ("ctl", SWITCH):
                            os.write(go[other], b"s")

    def down(self):
        """Remove the lab in any state. Returns False if there is none."""
        check_root()
        try:
            with self._locked(), no_interrupts():
                self._remove()
        except NoLab:
            return False
        return True

    def _remove(self):
        record = self._load() or {"pids": {}}
        self._record = None
        ends = [kill_process(pid, started)
                for pid, started in record["pids"].values()
                if started is not None]
        stuck = [fd for fd in ends if fd is not None
                 and not wait_process(fd, LONG)]
        if stuck:
            raise LabError(f"cannot kill {len(stuck)} hosts of lab "
                           f"'{self.name}'; look for processes in state D")
        cgroups.remove({*record.get("cgroups", []), *fault_record.groups(self)})
        cgroups.remove_idle(record["pids"])
        machine.give_back(os.path.dirname(self.dir), record.get("machine"),
                          self._made_by_others)
        path = self.dir
        # Outside the hosts' namespaces this directory is empty. rmdir, in
        # contrast to rmtree, cannot delete what a mount shows.
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(path + "/root")
        shutil.rmtree(path, ignore_errors=False)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))

    def _made_by_others(self):
        """What the other labs of the machine have added to its limits."""
        records = [lab._load() for lab in all_labs() if lab.name != self.name]
        return [r.get("machine") for r in records
                if r and r["boot"] == boot_id()]

    # -- use ---------------------------------------------------------------

    def situation(self, host, user="root", env=None, cwd=None):
        """(pid of the host, uid, working directory, environment) for a
        command that a user runs on the host. The working directory is the
        user's home if the host does not have `cwd`."""
        pid = self.pid(host)
        uid = {"root": 0, **dict(slurmconf.USERS)}.get(user)
        if uid is None:
            raise LabError(f"unknown user {user!r}; a lab has the users "
                           "root, " + " and ".join(
                               n for n, _ in slurmconf.USERS))
        home = "/root" if uid == 0 else "/home/" + user
        cwd = cwd or os.getcwd()
        if not _may_enter(f"/proc/{pid}/root", cwd, uid):
            cwd = home
        full = {k: v for k, v in os.environ.items()
                if k not in ("STORMLAB", "STORMLAB_DIR", "STORM_STAGE",
                             "STORM_SLURM",
                             "TMPDIR", "XDG_RUNTIME_DIR", "MAIL",
                             "OLDPWD", "SUDO_USER")}
        full.update({"HOME": home, "USER": user, "LOGNAME": user,
                     "SHELL": "/bin/bash", "PWD": cwd})
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        full["PATH"] = os.environ.get("PATH", path)
        for directory in path.split(":")[2:4]:
            if directory not in full["PATH"].split(":"):
                full["PATH"] += ":" + directory
        if self.record["stage"]:
            full["PATH"] = f"{slurmconf.STAGE}/bin:" + full["PATH"]
        full.update(env or {})
        return pid, uid, cwd, full

    def command(self, host, argv, user="root", env=None, cwd=None):
        """The command line and environment to run argv on a host."""
        pid, uid, cwd, env = self.situation(host, user, env, cwd)
        line = ["nsenter", "-t", str(pid), "-m", "-u", "-i", "-n", "-p",
                "--wdns=" + cwd]
        if self.record["cgroups"]:
            line.append("-C")
        if uid:
            line += ["-S", str(uid), "-G", str(uid)]
        return line + ["--"] + list(argv), env

    def popen(self, argv, host="login", user="root", env=None, cwd=None,
              **options):
        """Start argv (a list, or a str for sh -c) on a host. Returns a
        subprocess.Popen whose send_signal() signals the process itself."""
        if isinstance(argv, str):
            argv = ["sh", "-c", argv]
        line, full = self.command(host, argv, user, env, cwd)
        return LabProcess(line, env=full, **options)

    def run(self, argv, host="login", user="root", input=None, timeout=120,
            check=False, env=None, cwd=None, text=True):
        """Run argv and wait for it. Returns a subprocess.CompletedProcess
        with stdout and stderr. On a timeout kills argv and raises
        subprocess.TimeoutExpired; with check=True, a status other than 0
        raises CalledProcessError."""
        stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
        with self.popen(argv, host, user, env, cwd, text=text, stdin=stdin,
                        errors="replace" if text else None,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE) as process:
            try:
                out, err = process.communicate(input, timeout)
            except BaseException:
                process.kill()
                raise
        done = subprocess.CompletedProcess(argv, process.returncode, out, err)
        if check:
            done.check_returncode()
        return done

    def exec(self, host, argv, **options):
        """run() on a given host."""
        return self.run(argv, host=host, **options)

    def put(self, source, host, path, mode=None):
        """Copy a file of the machine to a host, as the file `path` there."""
        if mode is None:
            mode = os.stat(source).st_mode & 0o777
        with open(source, "rb") as f:
            process = self.popen(
                ["sh", "-c", 'umask 077; if test -d "$1"; then echo "it is a '
                 'directory: end the path with a /, or name a file" >&2; exit 1; fi; '
                 'cat >"$1" && chmod "$2" "$1"', "sh",
                 path, f"{mode:o}"], host, stdin=f, cwd="/",
                stderr=subprocess.PIPE)
            error = process.communicate()[1]
        if process.returncode:
            raise LabError(f"cannot write {host}:{path}: "
                           + error.decode(errors="replace").strip())

    def path(self, host, path):
        """The path of a host's file for root on this machine."""
        return f"/proc/{self.pid(host)}/root{path}"

    def log(self, host, daemon):
        """The text of slurmctld's, slurmd's or munged's log."""
        names = {"munged": "munge/munged.log",
                 "slurmd": "slurm/slurmd.log",
                 "slurmctld": "slurm/slurmctld.log",
                 "init": "../init.log"}
        try:
            with open(f"{self.dir}/hosts/{host}/log/{names[daemon]}",
                      errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def sanitizer_reports(self):
        """{file: text} of the sanitizers' reports so far; empty if the
        plugins were built without sanitizers."""
        return sanitized.reports(self.dir)

    # -- Slurm's state -----------------------------------------------------

    def node_states(self):
        """{node: state} as sinfo prints it: idle, mixed, down*, ...; empty
        while slurmctld does not answer."""
        done = self.run(["sinfo", "-h", "-N", "-p", "all", "-o", "%N %T"],
                        host="ctl", cwd="/", timeout=LONG)
        return dict(line.split() for line in done.stdout.splitlines())

    def wait_idle(self, timeout=LONG):
        """Wait until every node is idle."""
        def idle():
            states = self.node_states()
            if states and set(states.values()) == {"idle"}:
                return True
            if not self.pids("ctl", "slurmctld"):
                raise LabError("slurmctld ended:\n" + self._tail("ctl"))
            return False

        try:
            wait_for(idle, timeout, "not all nodes are idle")
        except LabError as e:
            states = self.node_states()
            odd = [h for h, s in states.items() if s != "idle"]
            if not odd:
                raise
            raise LabError(
                f"{e}: " + ", ".join(f"{h} is {states[h]}" for h in odd[:8])
                + f"\n{odd[0]}: " + self._tail(odd[0])) from None

    def wait_agents(self, nodes=None, timeout=LONG, since=None):
        """Wait until the agents of these nodes (default: all) accept requests.
        A slurmd starts its agent and does not wait for it. Without plugins
        there is nothing to wait for. `since` is a length of slurmd's log: an
        agent that reports an error after it and ends is not waited for. slurmd
        starts another, but nobody is there to mend what ended the first."""
        if not self.record["stage"]:
            return
        port = self.agent_port()
        for node in nodes or self.nodes:
            what = f"{node}: no agent listens on port {port}"
            ran = time.monotonic()

            def listens():
                nonlocal ran
                if net.listening(port, self.pid(node)):
                    return True
                if since is None or \
                        not AGENT_ERROR.search(self.log(node, "slurmd")[since:]) \
                        or self.pids(node, "agent"):
                    ran = time.monotonic()
                elif time.monotonic() > ran + AGENT_GONE:
                    raise LabError(f"{what}, as it ended with an error")
                return False

            try:
                wait_for(listens, timeout, what, 0.005)
            except LabError as e:
                # Read the log now: during the wait it has grown.
                raise LabError(f"{e}:\n{self._tail(node)}\n"
                               + where_threads_wait(self.pid(node))) from None

    def agent_port(self):
        return int(dict((k.lower(), v) for k, v in slurmconf.read_storm_conf(
            self.dir)).get("port", slurmconf.STORM_PORT))

    def wait_attached(self, node, timeout=LONG, since=None):
        """Wait until slurmd has started or adopted the node's agent. `since`
        is the length of slurmd's log before that slurmd started: an agent
        that it says HELLO to and then replaces is attached, too, so the log
        must name the one that stays."""
        def attached():
            try:
                stats = self.agent_stats(node)
            except LabError:            # it does not answer yet
                return False
            if since is None:
                return stats["slurmd_attached"]
            kept = AGENT_KEPT.findall(self.log(node, "slurmd")[since:])
            return stats["slurmd_attached"] and \
                bool(kept) and int(kept[-1]) == stats["pid"]
        try:
            wait_for(attached, timeout, f"{node}: slurmd holds no agent", 0.01)
        except LabError as e:
            raise LabError(f"{e}:\n" + self._tail(node)) from None

    def _tail(self, host, lines=5):
        daemon = "slurmctld" if host == "ctl" else "slurmd"
        return "\n".join(self.log(host, daemon).splitlines()[-lines:]) \
            or f"the log of {daemon} is empty"

    # -- the network -------------------------------------------------------

    def _wires(self):
        return self.pid(SWITCH), {h: self.pid(h) for h in self.hosts}

    def shape(self, rate):
        """Limit every link in both directions, for example to '1gbit'; None
        removes the limit."""
        rate = None if rate in (None, "off", "none") else net.valid_rate(rate)
        with self._locked():
            if rate or self.record["shape"]:
                net.shape(*self._wires(), rate)
            self.record["shape"] = rate
            self._save()

    def multicast(self, on):
        """Make the switch forward (True) or drop (False) multicast."""
        with self._locked():
            net.set_multicast(self.pid(SWITCH), [
                faults.ports(self, h)[0] for h in self.hosts], on)
            self.record["multicast"] = bool(on)
            self._save()

    def counters(self, host):
        """See net.counters."""
        return net.counters(self.pid(host))

    def drop(self, percent, seed=1):
        """Make every receiver drop this percentage of datagrams at random:
        running agents at once, commands from their start. Nodes drop
        independently of each other; the same seed gives the same choice."""
        if not self.record["stage"]:
            raise LabError("cannot drop datagrams: the lab runs without "
                           "STORM's plugins (--stock)")
        if not 0 <= percent < 100:
            raise LabError(f"drop {percent:g}: must be at least 0 and below "
                           "100")
        with self._locked():
            kept = [(k, v) for k, v in slurmconf.read_storm_conf(self.dir)
                    if k.lower() not in ("droppercent", "dropseed")]
            if percent:
                kept += [("DropPercent", f"{percent:g}"),
                         ("DropSeed", str(seed))]
            slurmconf.write_storm_conf(self.dir, kept)
            agent = slurmconf.STAGE + "/libexec/slurm-storm/storm_agent"
            running = {h: self.popen(
                [agent, "--node", h, "--drop", f"{percent:g}",
                 str(seed * 1000003 + i)], host=h, cwd="/", text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                for i, h in enumerate(self.nodes, 1)
                if self.pids(h, "agent")}
            failed = []
            for h, process in running.items():
                out = process.communicate(timeout=LONG)[0]
                if process.returncode:
                    failed.append(f"{h}: {out.strip()}")
            self.record["drop"] = percent or None
            self._save()
        if failed:
            raise LabError("cannot set the drop rate of agents: "
                           + "; ".join(failed))

    def agent_stats(self, host):
        """The agent's counters, a dict (storm_agent --stats)."""
        done = self.run([slurmconf.STAGE + "/libexec/slurm-storm/storm_agent",
                         "--node", host, "--stats"], host=host, cwd="/",
                        timeout=LONG)
        if done.returncode:
            raise LabError(f"{host}: {done.stdout}{done.stderr}".strip())
        return json.loads(done.stdout)

    def gang_trace(self, host, since=0):
        """The gang scheduling events of the host's agent, beginning with
        number `since`: a list of dicts (storm_agent --trace)."""
        done = self.run([slurmconf.STAGE + "/libexec/slurm-storm/storm_agent",
                         "--node", host, "--trace", str(since)], host=host,
                        cwd="/", timeout=LONG)
        if done.returncode:
            raise LabError(f"{host}: {done.stdout}{done.stderr}".strip())
        return [json.loads(line) for line in done.stdout.splitlines()]

    # -- faults ------------------------------------------------------------

    def pids(self, host, name):
        """The pids, in this namespace, of a host's processes with this name.
        For a daemon (slurmd, slurmctld, munged, agent) without the children
        that it forked."""
        comm = DAEMONS.get(name, name)[:15]
        # Since 23.11 a reconfigure executes a daemon's file, which Debian names
        # so.
        comms = {comm, comm + "-wlm"} if name in DAEMONS else {comm}
        found = {p: parent_of(p) for p in pids_in_namespace(self.pid(host))
                 if process_name(p) in comms and start_time(p) is not None}
        # one without a parent has ended meanwhile, as a short-lived child does
        return [p for p, parent in found.items() if parent is not None and
                not (name in DAEMONS and parent in found)]

    def kill(self, host, daemon, sig=signal.SIGKILL):
        """Signal a daemon (slurmd, agent, slurmctld, munged, or any
        program's name); with SIGKILL, wait for its end, and with SIGSTOP until
        it stands. Returns the pids: none if what is to go on has ended, since
        its parent may replace one that is stopped."""
        found = [(p, start_time(p)) for p in self.pids(host, daemon)]
        fds = [kill_process(p, s, sig) for p, s in found]
        fds = [fd for fd in fds if fd is not None]
        if not fds and sig != signal.SIGCONT:
            raise LabError(f"{host} runs no {daemon}")
        for fd in fds:
            if sig != signal.SIGKILL:
                os.close(fd)
            elif not wait_process(fd, LONG):
                raise LabError(f"{host}: {daemon} still runs {LONG} s after "
                               "SIGKILL")
        if sig == signal.SIGSTOP:
            self.wait_stopped(host, daemon, [p for p, _ in found])
        return [p for p, _ in found]

    @staticmethod
    def wait_stopped(host, daemon, pids):
        wait_for(lambda: all(stands(p) for p in pids), LONG,
                 f"{host}: {daemon} does not stop", 0.001)

    def fault(self, kind, host, what=None, **options):
        """Put a fault in force until it is healed: kill, stop, pause, cut,
        cut-in, cut-out, delay, fill, hang, flood or age (see stormlab fault).
        `what` is the program of stop, and the path of fill and hang; options
        are ms, jitter, loss, duplicate and seed of delay, left of fill, rate
        and seconds of flood, seconds of age."""
        with self._locked():
            faults.begin(self, kind, host, what, options)

    def heal(self, *names):
        """Undo the faults of these hosts, or all. Returns them, as faults()."""
        with self._locked():
            return faults.heal(self, names)

    def faults(self):
        """The faults in force: dicts with kind, host, what, since, ..."""
        return faults.in_force(self)

    def end(self, host, daemon, timeout=LONG):
        """Stop a daemon with SIGTERM, if it runs."""
        for pid in self.pids(host, daemon):
            if _ends(pid, start_time(pid), timeout,
                     AGAIN if daemon == "slurmd" else timeout):
                continue
            if daemon != "slurmd" or not self.spins_at_its_end(host, pid):
                raise LabError(f"{host}: {daemon} still runs {timeout:g} s "
                               "after SIGTERM")
            print(f"stormlab: {host}: slurmd 24.11 hangs by its own fault: "
                  "killed", file=sys.stderr)
            self.kill(host, daemon)

    def spins_at_its_end(self, host, pid):
        """Slurm 24.11's own fault, before it ends plugins and removes its pid
        file: at SIGTERM slurmd had just accepted a connection. It waits for
        ever that the connection is established, and looks without a pause."""
        of = self.record["upgraded"].get(host, self.record["slurm"])
        used = cpu_ticks(pid)
        time.sleep(1)
        return of == "24.11" and \
            os.path.exists(self.path(host, "/run/slurm/slurmd.pid")) and \
            (cpu_ticks(pid) or 0) - (used or 0) > 20

    def restart(self, host, daemon, timeout=LONG):
        """Stop a daemon with SIGTERM, if it runs, and start it. (An agent is
        started by its slurmd, which notices that it has gone.)"""
        agent = daemon == "agent"
        argv = hosts.daemon_command(host, daemon)
        if argv is None and not (
                agent and hosts.daemon_command(host, "slurmd")):
            raise LabError(f"host {host} runs no {daemon}")
        self.end(host, daemon, timeout)
        if agent:
            wait_for(lambda: self.pids(host, "agent"), timeout,
                     f"{host}: slurmd started no new agent")
            self.wait_agents([host])
            return
        line, _ = self.command(host, argv, cwd="/")
        before = len(self.log(host, "slurmd"))
        done = subprocess.run(line, env=hosts.DAEMON_ENV, text=True,
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=timeout,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise LabError(f"{host}: {daemon} exited with "
                           f"{done.returncode}: {done.stdout.strip()}")
        if daemon == "slurmctld":       # or it has ended
            wait_for(lambda: net.listening(slurmconf.CTL_PORT, self.pid(host))
                     or not self.pids(host, daemon), timeout,
                     f"{host}: {daemon} does not listen")
        if daemon == "slurmd" and self.record["stage"]:
            self.wait_agents([host], since=before)
            self.wait_attached(host, timeout, before)

    def upgrade(self, host, to, timeout=LONG):
        """Give a host another release of Slurm, and the stage that is built for
        it. Its daemon of Slurm ends before and starts after; steps, munged and
        all files but programs stay. For a lab with a root file system."""
        if not self.record["rootfs"]:
            raise LabError(f"lab '{self.name}' runs the machine's Slurm, which "
                           "cannot be exchanged; start one with --slurm")
        rootfs = release.root_of(release.chosen(to))
        if not rootfs:
            raise LabError(f"Slurm {to} is the machine's, without a root file "
                           "system; choose another release")
        stage = self.record["stage"] and release.stage_of(to)
        if stage:
            check_stage(stage, to)
        daemon = hosts.daemons_of(host)[1:]
        pid = self.pid(host)
        for name in daemon:
            self.end(host, name, timeout)
        upgrade.show(pid, rootfs, stage)
        with self._locked():
            self.record["upgraded"][host] = to
            self._save()
        for name in daemon:
            self.restart(host, name, timeout)

    def disk(self, host, size, path="/small"):
        """Mount an empty disk of this size on a host, writable by all. It
        replaces an earlier one at this path."""
        if not re.fullmatch(r"[0-9]+[kKmMgG]?", str(size)):
            raise LabError(f"{size!r} is not a size: write 4m, 512k, ...")
        script = ('mkdir -p "$1" && { ! mountpoint -q "$1" || umount "$1"; } '
                  '&& mount -t tmpfs -o size="$2",mode=1777 stormlab "$1"')
        if not path.startswith("/") or (
                os.path.exists(path) and not hosts.hidden(path)):
            raise LabError(f"{path}: choose an absolute path that this "
                           "machine does not have")
        done = self.run(["sh", "-c", script, "sh", path, str(size)],
                        host=host, cwd="/")
        if done.returncode:
            raise LabError(f"{host}: {done.stderr.strip()}")


def _make_below(base, path):
    while True:
        os.makedirs(base, mode=0o755, exist_ok=True)
        # The last of the other labs, which goes just now, removes the base.
        with contextlib.suppress(FileNotFoundError):
            if os.stat(base).st_uid != 0:
                raise LabError(f"{base} does not belong to root; remove it or "
                               "set STORMLAB_DIR")
            os.mkdir(path, 0o755)
            return


def _ends(pid, started, timeout, again):
    """Whether a process ends by SIGTERM, which it gets every so many seconds."""
    deadline = time.monotonic() + timeout
    while (left := deadline - time.monotonic()) > 0:
        fd = kill_process(pid, started, signal.SIGTERM)
        if fd is None or wait_process(fd, min(left, again)):
            return True
    return False


def _may_enter(root, path, uid):
    """Whether `path` below `root` can be the user's working directory."""
    try:
        if not os.path.isdir(root + path):
            return False
        while uid and path != "/":
            st = os.stat(root + path)
            if not st.st_mode & (0o100 if st.st_uid == uid else 0o001):
                return False
            path = os.path.dirname(path)
        return True
    except OSError:
        return False


def all_labs():
    """Every lab that has a directory, including dead ones."""
    names = []
    for base in base_dirs():
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            names += [n for n in sorted(os.listdir(base))
                      if os.path.isdir(f"{base}/{n}") and NAME.fullmatch(n)]
    return [Lab(n) for n in dict.fromkeys(names)]
