# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""One host of the lab: a process tree with its own pid 1, its own namespaces
(network, host name, mounts, IPC, pids) and its own root directory. To kill
that pid 1 removes the host: its processes, its mounts and its interface.

The root is a tmpfs, into which the machine's directories are bound. The
exceptions hold a host's identity or state: /tmp, /run, /home, /dev, parts of
/etc and /var. These each host has for itself. So a lab that uses Slurm's usual
paths does not change the machine's files. Not even its devices: an owner and a
mode are of the node that is in /dev, so each host has nodes of its own.

For a release of Slurm that the machine does not have, an overlay on that
release's root file system takes the place of the machine's directories.
"""
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess

from . import cgroups, net, slurmconf
from .sysdep import (CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID,
                     CLONE_NEWUTS, MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID,
                     MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT, LabError,
                     mount, pivot_root, process_name, set_process_name,
                     start_time, unshare, wait_for)

SWITCH = "sw"

#: directories that each host has for itself; the machine's are hidden
PRIVATE = ("/tmp", "/run", "/home", "/var/tmp", "/var/spool", "/var/log",
           "/var/lib/slurm", "/var/lib/munge", "/etc/munge", "/dev/shm")

#: In a host's /dev, as on the machine; what the machine lacks is left out.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "fuse",
           "infiniband")

#: ... and what the kernel's documentation wants there
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1",
         "stderr": "fd/2", "ptmx": "pts/ptmx"}

TTY = 5     # the group of ttys, as distributions number it

DAEMON_ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}

MUNGED = ["munged", "--key-file=/etc/munge/munge.key", "--num-threads=4"]


#: capabilities(7)
REAL_TIME = {"sys_nice": 23, "ipc_lock": 14}


def _with_real_time(argv):
    """Give slurmctld's strober real-time priority, as User=slurm and
    AmbientCapabilities= of a unit would. (LimitRTPRIO= would also do, but in
    a container root cannot always raise a limit.) Without these capabilities
    the daemon runs without real-time priority."""
    with open("/proc/self/status") as f:
        bound = next(int(line.split()[1], 16) for line in f
                     if line.startswith("CapBnd:"))
    if not all(bound >> bit & 1 for bit in REAL_TIME.values()):
        return argv
    caps = ",".join(f"+{name}" for name in REAL_TIME)
    return ["setpriv", "--reuid=slurm", "--regid=slurm", "--init-groups",
            f"--inh-caps={caps}", f"--ambient-caps={caps}", *argv]


def daemon_command(host, daemon):
    if daemon == "munged":
        return MUNGED
    if daemon == "slurmctld" and host == "ctl":
        return _with_real_time(["slurmctld"])
    if daemon == "slurmd" and host not in ("ctl", "login"):
        return ["slurmd", "-N", host]
    return None


def daemons_of(host):
    if host == "ctl":
        return ["munged", "slurmctld"]
    return ["munged"] if host == "login" else ["munged", "slurmd"]


def hidden(path):
    return any(path == p or path.startswith(p + "/") for p in PRIVATE)


def _tmpfs(path, mode):
    os.makedirs(path, exist_ok=True)
    mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode:o}")


def _bind(source, target):
    mount(source, target, None, MS_BIND | MS_REC)


def _show(source, target):
    """Show a directory of the machine read-only where a host has its own
    files: a cleanup on the host must not delete the machine's."""
    mount(source, target, None, MS_BIND)
    mount(None, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY)


def _bind_machine(root):
    for entry in os.scandir("/"):
        inside = f"{root}/{entry.name}"
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), inside)
        elif entry.is_dir():
            os.mkdir(inside)
            if entry.path not in PRIVATE + ("/dev", "/proc", "/sys"):
                _bind(entry.path, inside)


def _overlay(lower, scratch):
    """Show the root file system `lower`, which does not change: what the host
    writes goes to `scratch`, a tmpfs. Returns the path of the mount."""
    paths = [f"{scratch}/{name}" for name in ("upper", "work", "merged")]
    for path in paths:
        os.mkdir(path)
    upper, work, merged = paths
    mount("overlay", merged, "overlay", 0,
          f"lowerdir={lower},upperdir={upper},workdir={work}")
    return merged


def _make_device(source, target):
    """One like the machine's, or a directory of such."""
    st = os.lstat(source)
    if stat.S_ISDIR(st.st_mode):
        os.mkdir(target)
        for name in os.listdir(source):
            _make_device(f"{source}/{name}", f"{target}/{name}")
        return
    if not stat.S_ISCHR(st.st_mode):
        return
    try:
        os.mknod(target, st.st_mode, st.st_rdev)
    except PermissionError:
        raise LabError(f"cannot make a device like {source}; a container "
                       "needs CAP_MKNOD") from None
    os.chmod(target, stat.S_IMODE(st.st_mode))
    os.chown(target, st.st_uid, st.st_gid)


def _make_dev(dev):
    """It is a tmpfs that may hold devices, with terminals of its own."""
    os.makedirs(dev, exist_ok=True)
    mount("tmpfs", dev, "tmpfs", MS_NOSUID, "mode=755")
    for name in DEVICES:
        if os.path.lexists("/dev/" + name):
            _make_device("/dev/" + name, f"{dev}/{name}")
    for name, to in LINKS.items():
        os.symlink(to, f"{dev}/{name}")
    os.mkdir(dev + "/pts")
    mount("devpts", dev + "/pts", "devpts", MS_NOSUID | MS_NOEXEC,
          f"newinstance,ptmxmode=666,mode=620,gid={TTY}")


def _build_root(plan, host, groups):
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    root = plan.dir + "/root"
    mount("tmpfs", root, "tmpfs", 0, "mode=755")
    if plan.rootfs:
        root = _overlay(plan.rootfs, root)
    else:
        _bind_machine(root)
    _make_dev(root + "/dev")
    for path in PRIVATE:
        if path == "/home":
            _bind(plan.dir + "/home", root + path)
        elif path == "/var/log":
            _bind(f"{plan.dir}/hosts/{host}/log", root + path)
        else:
            open_to_all = path in ("/tmp", "/var/tmp", "/dev/shm")
            _tmpfs(root + path, 0o1777 if open_to_all else 0o755)
    for name in ("passwd", "group", "hosts", "nsswitch.conf", "slurm"):
        if os.path.exists(f"{root}/etc/{name}"):
            _bind(f"{plan.dir}/etc/{name}", f"{root}/etc/{name}")
    if plan.stage:
        os.makedirs(root + slurmconf.STAGE)
        _show(plan.stage, root + slurmconf.STAGE)
    for path in plan.visible:
        if plan.rootfs or hidden(path) and not os.path.exists(root + path):
            os.makedirs(root + path, exist_ok=True)
            _show(path, root + path)
    for path, source in plan.instead.items():
        if not os.path.exists(root + path):
            os.makedirs(root + path)
        _show(source, root + path)
    _mount_sys(root, groups)
    pivot_root(root)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def _mount_sys(root, groups):
    """Mount a new sysfs, because a sysfs shows the network namespace of the
    process that mounted it. Add the host's control groups, or the
    machine's."""
    mount("sysfs", root + "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if groups:
        cgroups.mount_all(groups, root)
    elif os.path.isdir("/sys/fs/cgroup"):
        _bind("/sys/fs/cgroup", root + "/sys/fs/cgroup")


def _make_state_dirs(plan, host):
    for path in ("/run/munge", "/run/slurm", "/run/lock",
                 "/var/log/munge", "/var/log/slurm"):
        os.makedirs(path, exist_ok=True)
    if host == "ctl":
        # Below /home a second slurmctld on another host can share it.
        state = dict(plan.conf).get("StateSaveLocation",
                                    "/var/lib/slurm/slurmctld")
        os.makedirs(state, 0o755, exist_ok=True)
        for path in ("/run/slurm", "/var/log/slurm", state):
            shutil.chown(path, "slurm", "slurm")
    elif host != "login":
        os.mkdir("/var/lib/slurm/slurmd", 0o755)


def _install_munge_key(key):
    fd = os.open("/etc/munge/munge.key", os.O_CREAT | os.O_WRONLY, 0o400)
    os.write(fd, key)
    os.close(fd)


def start_daemon(argv):
    """Start a daemon that puts itself into the background."""
    done = subprocess.run(argv, env=DAEMON_ENV, cwd="/",
                          stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False)
    if done.returncode:
        raise LabError(f"{argv[0]} exited with {done.returncode}: "
                       + done.stdout.strip())


def _slurmctld_listens():
    if net.listening(slurmconf.CTL_PORT):
        return True
    if not any(process_name(p) == "slurmctld" and start_time(p)
               for p in os.listdir("/proc") if p.isdigit()):
        with open("/var/log/slurm/slurmctld.log", errors="replace") as f:
            raise LabError("slurmctld exited: "
                           + "".join(f.readlines()[-4:]))
    return False


def _raise_limits():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _pin(plan, host):
    """For gangs, bind every node to its own cores if there are enough. The
    first core, and those that no node uses, are for ctl and login."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > plan.nodes:
        others = cores[:1] + cores[1 + plan.nodes * plan.cpus:]
        cores = cores[1:]
    else:
        others = cores
    nodes = slurmconf.node_names(plan.nodes)
    if host in nodes:
        first = nodes.index(host) * plan.cpus
        others = {cores[(first + i) % len(cores)] for i in range(plan.cpus)}
    os.sched_setaffinity(0, others)


def _await(go, byte):
    """Wait for a byte from the starter. Exit if the starter dies: then the
    host may be in no record."""
    if os.read(go, 1) != byte:
        os._exit(1)


def _reap_forever():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        signal.sigwait({signal.SIGCHLD})


def _init(plan, host, go, report):
    """The life of a host's pid 1. report(text) writes to the starter."""
    set_process_name("stormlab:" + host)
    socket.sethostname(host)
    os.umask(0o022)
    if host == SWITCH:
        mount("none", "/", None, MS_REC | MS_PRIVATE)
        mount("proc", "/proc", "proc")
        net.disable_ipv6()
        report("up")
        _await(go, b"n")
        report("ready")
    else:
        with open(plan.dir + "/etc/munge.key", "rb") as f:
            key = f.read()
        groups = cgroups.enter(plan.cgroups, host) if plan.cgroups else []
        _build_root(plan, host, groups)
        _make_state_dirs(plan, host)
        _install_munge_key(key)
        _raise_limits()
        if plan.gang:
            _pin(plan, host)
        net.disable_ipv6()
        _await(go, b"n")
        net.configure_host(slurmconf.address_of(host), plan.networks)
        start_daemon(MUNGED)
        report("up")
        _await(go, b"s")
        for daemon in daemons_of(host)[1:]:
            start_daemon(daemon_command(host, daemon))
        if host == "ctl":
            # A slurmd that starts too early retries only after a second.
            wait_for(_slurmctld_listens, 120,
                     "slurmctld does not listen", 0.005)
        report("ready")
    _await(go, b"r")
    os.close(go)


def _first_process(plan, host, go, ready):
    """Runs in the new namespaces; never returns."""
    log = os.open(f"{plan.dir}/hosts/{host}/init.log",
                  os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # Close all that the starter had open: the other hosts' pipes, and pipes
    # on which the starter's caller waits for end of file.
    for fd in [int(f) for f in os.listdir("/proc/self/fd")]:
        if fd > 2 and fd not in (go, ready):
            try:
                os.close(fd)
            except OSError:
                pass

    def report(text):
        os.write(ready, f"{host}\t{text}\n".encode())

    try:
        _init(plan, host, go, report)
        os.close(ready)
    except BaseException as e:
        line = " ".join(str(e).split())[:1000]
        report("failed " + (line or repr(e)))
        os._exit(1)
    _reap_forever()


def spawn(plan, host, ready):
    """Make a host. Returns the pid of its first process and a pipe for
    commands to it: 'n' the network is connected, 's' start Slurm, 'r' the
    lab is recorded and stays. The host writes lines
    'HOST\\tup|ready|failed REASON' to `ready`. The caller must have blocked
    SIGINT, SIGTERM and SIGHUP."""
    os.makedirs(f"{plan.dir}/hosts/{host}/log")
    pid_r, pid_w = os.pipe()
    go_r, go_w = os.pipe()
    middle = os.fork()
    if middle == 0:
        status = 1
        try:
            os.setsid()
            for sig in (signal.SIGINT, signal.SIGTERM,
                        signal.SIGHUP):
                signal.signal(sig, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, set())
            unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC
                    | CLONE_NEWPID | CLONE_NEWNET)
            first = os.fork()
            if first == 0:
                _first_process(plan, host, go_r, ready)
            os.write(pid_w, str(first).encode())
            status = 0
        except OSError as e:
            os.write(pid_w, f"!{e.strerror}".encode())
        finally:
            os._exit(status)
    os.close(pid_w)
    os.close(go_r)
    answer = os.read(pid_r, 256).decode()
    os.close(pid_r)
    os.waitpid(middle, 0)
    if not answer.isdigit():
        os.close(go_w)
        raise LabError(
                "cannot create namespaces: "
                f"{answer.lstrip('!') or 'no reason given'}; a container "
                "needs CAP_SYS_ADMIN and CAP_NET_ADMIN")
    return int(answer), go_w
