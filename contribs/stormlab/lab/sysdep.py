# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""System calls and /proc files that the lab needs and Python 3.11 does not
offer, and LabError, the exception whose text users see."""
import contextlib
import ctypes
import errno
import glob
import os
import select
import signal
import time

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
MS_RDONLY, MS_REMOUNT = 1, 32
MNT_DETACH = 2
PR_SET_NAME = 15
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "ppc64le": 203,
                  "riscv64": 41, "s390x": 217}
# the same number on all machines
SYS_OPEN_TREE, SYS_MOVE_MOUNT = 428, 429
AT_FDCWD, OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH = -100, 1, 4

_libc = ctypes.CDLL(None, use_errno=True)


class LabError(Exception):
    """An error for the user; printed without a stack trace."""


def _check(rc, what):
    if rc != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _bytes(text):
    return None if text is None else os.fsencode(text)


def mount(source, target, fstype, flags=0, data=None):
    _check(_libc.mount(_bytes(source), _bytes(target), _bytes(fstype),
                       ctypes.c_ulong(flags), _bytes(data)),
           f"mount {fstype or source} on {target}")


def detach(path):
    """Unmount lazily, without a look at the file system."""
    _check(_libc.umount2(_bytes(path), MNT_DETACH), f"umount {path}")


def unshare(flags):
    _check(_libc.unshare(flags), "unshare")


def pivot_root(new):
    """Make the mount `new` the root of this mount namespace and unmount the
    old one. (A plain chroot would not do: a process that enters the
    namespace later starts at the namespace's root.)"""
    number = SYS_PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, "pivot_root: unknown machine type "
                      + os.uname().machine)
    os.chdir(new)
    _check(_libc.syscall(number, b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")


def clone_mount(path):
    """A copy of what is mounted at a path, not attached anywhere: a descriptor.
    move_mount() attaches it, also in another mount name space."""
    tree = _libc.syscall(SYS_OPEN_TREE, AT_FDCWD, _bytes(path),
                         OPEN_TREE_CLONE | os.O_CLOEXEC)
    _check(-(tree < 0), f"open_tree {path}")
    return tree


def move_mount(tree, path):
    _check(_libc.syscall(SYS_MOVE_MOUNT, tree, b"", AT_FDCWD, _bytes(path),
                         MOVE_MOUNT_F_EMPTY_PATH), f"move_mount {path}")


def setns(space, kind):
    _check(_libc.setns(space, kind), "setns")


def set_process_name(name):
    _libc.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)


def boot_id():
    with open("/proc/sys/kernel/random/boot_id") as f:
        return f.read().strip()


def _stat_fields(pid):
    """The fields of /proc/PID/stat behind the name, which may itself hold
    blanks and parentheses."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None


def start_time(pid):
    """The start of a process in clock ticks since boot, or None if there is
    no such process or only a zombie. Pid and start time together identify a
    process: pids are reused."""
    fields = _stat_fields(pid)
    if fields is None or fields[0] in "ZX":
        return None
    return int(fields[19])


def cpu_ticks(pid):
    """The processor time that a process has used, in clock ticks; None if there
    is no such process."""
    fields = _stat_fields(pid)
    return fields and int(fields[11]) + int(fields[12])


def process_name(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().rstrip("\n")
    except OSError:
        return None


def parent_of(pid):
    fields = _stat_fields(pid)
    return int(fields[1]) if fields else None


def stands(pid):
    """Whether a process has stopped, with all of its threads, or has ended. A
    thread in state D stops before it goes on."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    fields = [_stat_fields(f"{pid}/task/{t}") for t in threads]
    return all(f is None or f[0] in "TtDZX" for f in fields)


def pids_in_namespace(pid):
    """The pids, in this namespace, of all processes in the pid namespace of
    `pid`."""
    try:
        wanted = os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return []
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if os.stat(f"/proc/{entry}/ns/pid").st_ino == wanted:
                found.append(int(entry))
        except OSError:
            pass
    return sorted(found)


def where_threads_wait(pid):
    """A line for each thread of a namespace's processes: what it is, its state,
    and where in the kernel it waits. For messages."""
    lines = []
    for p in pids_in_namespace(pid):
        for task in sorted(glob.glob(f"/proc/{p}/task/*")):
            try:
                with open(task + "/comm") as f, open(task + "/wchan") as g, \
                        open(task + "/stat") as h:
                    state = h.read().rpartition(")")[2].split()[0]
                    lines.append(f"process {p}: {f.read().strip()} {state} "
                                 f"{g.read()}")
            except OSError:             # it has just ended
                continue
    return "\n".join(lines)


def kill_process(pid, started, sig=signal.SIGKILL):
    """Signal exactly the process (pid, started). Returns a pidfd, which
    polls readable when the process ends, or None if it has ended already."""
    try:
        fd = os.pidfd_open(pid)
    except OSError as e:
        # the last two: its number is that of another process's thread by now
        if e.errno not in (errno.ESRCH, errno.ENOENT, errno.EINVAL):
            raise
        return None
    if start_time(pid) != started:
        os.close(fd)
        return None
    try:
        signal.pidfd_send_signal(fd, sig)
    except ProcessLookupError:
        pass
    return fd


def in_namespace(space, number):
    """The pid, in this namespace, of the process that has pid `number` in the pid
    namespace of process `space`; None: there is none."""
    for pid in pids_in_namespace(space):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/status") as f:
                if any(line.startswith("NSpid:") and
                       int(line.split()[-1]) == number for line in f):
                    return pid
    return None


def wait_process(fd, timeout):
    """Wait for the process of a pidfd to end, and close the pidfd. The
    timeout is in seconds; returns False when it passes."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    try:
        return bool(poll.poll(int(timeout * 1000)))
    finally:
        os.close(fd)


def run_inside(pid, argv, uid, cwd, env):
    """Run argv in all namespaces of `pid`, in the foreground. Forwards the
    signals that this process receives. Returns the exit status, or the
    negated number of the signal that ended argv. The terminal sends its
    signals (ctrl-C) to argv itself, so these are not forwarded."""
    passed = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
              signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT,
              signal.SIGWINCH}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK,
                                  passed | {signal.SIGCHLD})
    spaces = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
              for kind in ("pid", "uts", "ipc", "net", "mnt")]
    for fd in spaces:
        setns(fd, 0)
        os.close(fd)
    child = os.fork()
    if child == 0:
        try:
            for sig in (signal.SIGINT, signal.SIGPIPE):
                signal.signal(sig, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if uid:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            os.chdir(cwd)
            os.execvpe(argv[0], argv, env)
        except OSError as e:
            os.write(2, f"stormlab: {argv[0]}: {e.strerror}\n".encode())
            os._exit(126 if e.errno == errno.EACCES else 127)
    while True:
        info = signal.sigwaitinfo(passed | {signal.SIGCHLD})
        if info.si_signo == signal.SIGCHLD:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
        elif info.si_code <= 0:         # sent by a process
            os.kill(child, info.si_signo)


def wait_for(condition, timeout, what, interval=0.02):
    """Call `condition` until it returns something true, at growing
    intervals, and return that. `what` completes the message of a timeout."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise LabError(f"timed out after {timeout:g} s: {what}")
        time.sleep(interval)
        interval = min(interval * 1.1, 0.25)
