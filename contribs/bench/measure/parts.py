# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Where processor time goes: samples by perf, by process and by part."""
import collections
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from .result import NotRun

#: samples in a second of a processor; many would cost what they measure
FREQUENCY = 997
#: the innermost function of the kernel that one of these matches is the part
KERNEL = [(part, re.compile(rf"^({functions})")) for part, functions in (
    ("page faults", "asm_exc_page_fault|exc_page_fault|handle_mm_fault"),
    ("wake-ups", "schedule$|__schedule|try_to_wake_up|finish_task_switch"),
    ("forward", "net_rx_action|process_backlog|__netif_receive_skb|ip_rcv|"
                "ip_mc_output|br_handle_frame|__do_softirq|handle_softirqs"),
    ("receive", "udp_recvmsg|tcp_recvmsg|inet_recvmsg|__skb_recv_udp|"
                "do_recvmmsg"),
    ("send", "udp_sendmsg|tcp_sendmsg|inet_sendmsg"),
    ("local sockets", "unix_|scm_|____sys_recvmsg|____sys_sendmsg"),
    ("write files", "vfs_write|ksys_write|ksys_pwrite64|__x64_sys_pwrite64|"
                    "generic_perform_write|shmem_file_write_iter"),
    ("read files", "vfs_read|ksys_read|__x64_sys_pread64"),
    ("wait", "do_epoll|ep_|do_sys_poll|__x64_sys_poll|__x64_sys_epoll"),
    ("end of files, exit", "do_unlinkat|do_renameat2|evict$|__fput|"
                           "task_work_run|do_exit|exit_mmap|__x64_sys_munmap"),
)]
#: the same for a file that a user's program has mapped
USER = [(part, re.compile(files)) for part, files in (
    ("crypto", r"/libcrypto\."), ("C library", r"/libc\."),
    ("start", r"/ld-linux"), ("Slurm", r"/libslurm|/slurm(-wlm)?/"))]


def part_of(frames):
    """`frames` are pairs of function and file, the innermost first."""
    function, file = frames[0]
    if not file.startswith("[kernel"):
        return next((part for part, found in USER if found.search(file)),
                    "own code")
    for function, _ in frames:
        for part, found in KERNEL:
            if found.search(function):
                return part
    return "rest of the kernel"


def samples(data):
    """Pairs of process and frames in perf's file."""
    with subprocess.Popen(
            ["perf", "script", "-i", data, "-F", "comm,ip,sym,dso"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as perf:
        process, frames = None, []
        for line in perf.stdout:
            found = re.match(r"\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$",
                             line)
            if found:
                frames.append(found.groups())
            elif line.strip():
                process, frames = line.strip(), []
            elif frames:
                yield process, frames
                frames = []
        if frames:
            yield process, frames


class Samples:
    """A perf that samples this machine while a `with` of on() runs. In the end
    seconds() has {process: {part: seconds}}."""

    def __init__(self):
        if not shutil.which("perf"):
            raise NotRun("install linux-perf (perf)")
        self.directory = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.directory.name) / "data"
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        self.perf = subprocess.Popen(
            ["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F",
             str(FREQUENCY), "-D", "-1", "--control",
             f"fd:{orders},{answers}", "-o", self.data],
            pass_fds=(orders, answers), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(orders)
        os.close(answers)

    def order(self, text):
        with contextlib.suppress(BrokenPipeError):
            os.write(self.orders, f"{text}\n".encode())
        if not os.read(self.answers, 64):
            raise NotRun("needs a perf that may sample this machine")

    @contextlib.contextmanager
    def on(self):
        self.order("enable")
        yield
        self.order("disable")

    def seconds(self):
        self.end()
        found = collections.defaultdict(collections.Counter)
        for process, frames in samples(self.data):
            found[process][part_of(frames)] += 1 / FREQUENCY
        return found

    def end(self):
        if self.perf.poll() is None:
            self.perf.terminate()
            self.perf.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        os.close(self.orders)
        os.close(self.answers)
        self.directory.cleanup()
