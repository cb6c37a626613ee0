# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Emulated machines that have RDMA by software: see README.

    with Machines(4, "/tmp/there") as m:
        m.boot()
        for done in m.run("ibv_devinfo"):
            print(done.machine, done.code, done.out)
"""
import ctypes
import fcntl
import glob
import lzma
import mmap
import os
import platform
import pathlib
import re
import selectors
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
CACHE = pathlib.Path(os.environ.get("STORM_CACHE") or TOP / ".cache")

#: commands that are needed, and the packages that have them
NEEDED = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "modprobe": "kmod",
    "ip": "iproute2",
    "rdma": "iproute2",
    "unshare": "util-linux",
}
#: where systemd is process 1, in the machine's root file system, and the packages
NEEDED_BY_SYSTEMD = {
    "lib/systemd/systemd": "systemd",
    "usr/bin/dbus-daemon": "dbus",
    "sbin/modprobe": "kmod",
}
#: what finds the root file system; all other modules the machine takes from it
EARLY = ["virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_net"]
#: network cards of a machine, each on a network of its own: a UDP port
CARDS, PORT = 2, 7777
#: a processor without what QEMU emulates slowly, and the kernel would use: copying
#: byte by byte, and products of polynomials
CPU = "max,-erms,-pclmulqdq"
#: the exit status of a command whose machine died
DIED = 125
#: limit of everything that takes long
SECONDS = float(os.environ.get("STORM_MACHINES_SECONDS") or 300)


class Trouble(Exception):
    """This host cannot run machines; the text has a remedy."""


def until(condition, what, timeout=SECONDS):
    """Wait until condition() is true, and return its value. `what`, or its
    result, is the text of the error on a timeout."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s for "
                                 f"{what() if callable(what) else what}")
        time.sleep(0.02)
    return value


# ---------------------------------------------------------------- the kernel ---

class Kernel:
    """A Debian kernel: its version, compressed image and modules."""

    def __init__(self, image, modules):
        self.image, self.modules = pathlib.Path(image), pathlib.Path(modules)
        self.version = self.modules.name
        self.deps = {}

    def complete(self):
        return (os.access(self.image, os.R_OK)
                and (self.modules / "modules.dep").exists()
                and any(self.modules.glob("**/rdma_rxe.ko*")))


def check_needed(systemd=False, root="/"):
    missing = {p for c, p in NEEDED.items() if not shutil.which(c)}
    if systemd:
        missing |= {p for f, p in NEEDED_BY_SYSTEMD.items()
                    if not os.path.exists(os.path.join(root, f))}
    # busybox must be the static one: at first there is no library beside it
    if shutil.which("busybox") and b"ld-linux" in pathlib.Path(
            shutil.which("busybox")).read_bytes()[:4096]:
        missing.add("busybox-static")
    if missing:
        raise Trouble("these packages are missing, here or in "
                      f"{root}: {' '.join(sorted(missing))}; "
                      "'testsuite/machines/prepare' as root installs them "
                      "(for another release of Slurm, with --slurm)")


def find_kernel():
    """The newest kernel that is installed or that prepare has unpacked."""
    found = []
    for root in (CACHE / "kernel", pathlib.Path("/")):
        for modules in glob.glob(f"{root}/lib/modules/*"):
            version = os.path.basename(modules)
            k = Kernel(f"{root}/boot/vmlinuz-{version}", modules)
            if k.complete():
                found.append(k)
    if not found:
        raise Trouble("there is no kernel with rdma_rxe: "
                      "'testsuite/machines/prepare' gets one (Debian's package "
                      "linux-image-amd64; installed is as good)")
    return max(found, key=lambda k: [int(n) for n in
                                     re.findall(r"\d+", k.version)])


def uncompressed(image):
    """The ELF file in a bzImage. QEMU starts it directly, so that it need not
    be unpacked under emulation."""
    data = image.read_bytes()
    unpack = {
        b"\xfd7zXZ\0": lambda d: lzma.LZMADecompressor().decompress(d),
        b"\x1f\x8b\x08": lambda d: zlib.decompressobj(31).decompress(d),
        b"\x28\xb5\x2f\xfd": lambda d: subprocess.run(
            ["zstd", "-dcq"], input=d, capture_output=True).stdout,
    }
    for magic, function in unpack.items():
        for at in re.finditer(re.escape(magic), data):
            try:
                elf = function(data[at.start():])
            except (lzma.LZMAError, zlib.error, OSError):
                continue
            if elf.startswith(b"\x7fELF"):
                return elf
    raise Trouble(f"{image} cannot be unpacked (is zstd installed?)")


def load_order(kernel, names):
    """The files of these modules and of all that they depend on, in order."""
    deps = {}
    for line in (kernel.modules / "modules.dep").read_text().splitlines():
        file, needs = line.split(":")
        name = os.path.basename(file).split(".")[0]
        deps[name] = [file] + needs.split()
    order = []
    for name in names:
        # what is not listed is built in
        for file in reversed(deps.get(name, [])):
            if file not in order:
                order.append(file)
    return order


def module_bytes(path):
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq"], input=data, check=True,
                              stdout=subprocess.PIPE).stdout
    return data


def make_initrd(kernel, to):
    with tempfile.TemporaryDirectory() as t:
        tree = pathlib.Path(t)
        for d in ("bin", "mod", "proc", "sys", "dev", "lower", "tmp"):
            (tree / d).mkdir()
        shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
        (tree / "bin/sh").symlink_to("busybox")
        names = []
        for file in load_order(kernel, EARLY):
            name = re.sub(r"\.(xz|zst)$", "", os.path.basename(file))
            (tree / "mod" / name).write_bytes(
                module_bytes(kernel.modules / file))
            names.append(name)
        (tree / "mod/order").write_text("".join(n + "\n" for n in names))
        shutil.copy(HERE / "init", tree / "init")
        listing = subprocess.run(["find", "."], cwd=tree, check=True,
                                 stdout=subprocess.PIPE).stdout
        with open(to, "wb") as f:
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=tree,
                           input=listing, stdout=f, check=True)


def prepared(kernel):
    """The directory with vmlinux and initrd. Makes them if they are missing or
    older than their sources."""
    to = CACHE / "machines" / kernel.version
    to.mkdir(parents=True, exist_ok=True)
    with open(to / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [kernel.image, HERE / "init", HERE / "vm.py"]
        newest = max(s.stat().st_mtime for s in sources)
        made = [to / "vmlinux", to / "initrd"]
        if all(m.exists() and m.stat().st_mtime >= newest for m in made):
            return to
        (to / "vmlinux").write_bytes(uncompressed(kernel.image))
        make_initrd(kernel, to / "initrd.new")
        os.rename(to / "initrd.new", to / "initrd")
    return to


# ----------------------------------------------------------------- the clock ---

def counter_khz():
    """The frequency of this processor's time stamp counter, which the machines
    use, too; None if unknown. A kernel that measures it on a loaded host can
    be wrong, and then its clock runs up to twenty times too fast."""
    if platform.machine() != "x86_64":
        return None
    try:
        with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ
                       | mmap.PROT_WRITE | mmap.PROT_EXEC) as code:
            # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
            code.write(b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3")
            at = ctypes.c_char.from_buffer(code)
            read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(at))
            try:
                return _measured(read)
            finally:
                del at      # it keeps the page
    except OSError:
        return None


def _measured(read):
    """The median of some measurements, each between two readings of the
    clock."""
    found = []
    for _ in range(5):
        ticks, ns = read(), time.monotonic_ns()
        time.sleep(0.01)
        ticks, ns = read() - ticks, time.monotonic_ns() - ns
        found.append(ticks * 1_000_000 // ns)
    return sorted(found)[2]


# -------------------------------------------------------------- the machines ---

#: what is started so ends when we do, however we do
WITH_US = ["setpriv", "--pdeathsig", "KILL"]


class Network:
    """A network namespace for this run: no packet leaves it, and runs never
    interfere. A process that does nothing keeps it alive."""

    SETUP = ("ip link set lo up && ip link set lo mtu 65536 && "
             "ip link set lo multicast on && "
             "ip route add 239.0.0.0/8 dev lo && echo up && exec sleep inf")

    def __init__(self):
        user = [] if os.geteuid() == 0 else ["-r"]
        self.process = subprocess.Popen(
            ["unshare", "-n", *user, *WITH_US, "sh", "-c", self.SETUP],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "up\n":
            self.close()
            raise Trouble("no network namespace can be made here; a "
                          "container must be started with CAP_SYS_ADMIN and "
                          "CAP_NET_ADMIN")
        self.inside = ["nsenter", "-n", "-t", str(self.process.pid)]
        if user:
            self.inside += ["-U", "--preserve-credentials"]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Cable:
    """The host's end of a network card: a UDP socket of QEMU's. Datagrams wait
    there while the machine does not run. Those without room are lost, and the
    kernel counts them."""

    ROOM = 16 << 20
    SYS_PIDFD_GETFD, SO_RCVBUFFORCE = 438, 33

    def __init__(self, pid, port):
        self.pid, self.port = pid, port
        self.inode = None
        links = {}
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                links[os.readlink(f"/proc/{pid}/fd/{fd}")] = int(fd)
            except FileNotFoundError:
                pass
        for inode, _ in self._sockets():
            fd = links.get(f"socket:[{inode}]")
            if fd is not None:
                self.inode = inode
                self._widen(fd)

    def _sockets(self):
        """(inode, datagrams dropped) of all on this network."""
        text = pathlib.Path(f"/proc/{self.pid}/net/udp").read_text()
        for words in map(str.split, text.splitlines()[1:]):
            if int(words[1].split(":")[1], 16) == self.port:
                yield words[9], int(words[12])

    def _widen(self, fd):
        """Enlarge the buffer as far as permitted: QEMU does not do so."""
        try:
            pidfd = os.pidfd_open(self.pid)
            ours = ctypes.CDLL(None).syscall(self.SYS_PIDFD_GETFD, pidfd, fd,
                                             0)
            os.close(pidfd)
            if ours < 0:
                return
            with socket.socket(fileno=ours) as s:
                try:
                    s.setsockopt(socket.SOL_SOCKET, self.SO_RCVBUFFORCE,
                                 self.ROOM)
                except PermissionError:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                 self.ROOM)
        except (AttributeError, OSError):
            pass

    def dropped(self):
        return next(n for i, n in self._sockets() if i == self.inode)


class Command:
    """A command that was started in a machine: code is None until it ends."""

    def __init__(self, machine, words, files):
        self.machine, self.words, self.files = machine, words, files
        self.code = None

    def _text(self, what):
        try:
            return pathlib.Path(f"{self.files}{what}").read_text(
                errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def out(self):
        return self._text("stdout")

    @property
    def err(self):
        return self._text("stderr")

    def __str__(self):
        return (f"rx{self.machine}: {self.words}\n-> {self.code}\n"
                f"--- stdout\n{self.out[-4000:]}"
                f"--- stderr\n{self.err[-4000:]}")


class Machines:
    """Some machines on one network, with their logs in a directory.  Each receives
    the names of commands on its second serial line, and reports there when one
    has ended.  The commands and their output are files in the directory."""

    inside = "/machines"        # the directory, as the machines see it

    def __init__(self, count, directory, smp=1, memory=512, mtu=1500,
                 cwd=None, env=None, systemd=None, rdma=True, root="/",
                 visible=()):
        """systemd: process 1 is systemd, with these words on the kernel's
        command line. units: its directory "units", if it exists at boot, is
        /etc/systemd/system. rdma: whether there are RDMA devices. root: the
        directory that is the machines' /, read-only; visible: what of this
        host's own / they see in it, at the same paths."""
        check_needed(systemd is not None, root)
        self.kernel = find_kernel()
        self.image = prepared(self.kernel)
        self.count, self.smp, self.memory, self.mtu = count, smp, memory, mtu
        self.words = [] if rdma else ["rxe.rdma=no"]
        khz = counter_khz()
        if khz:
            self.words.append(f"tsc_early_khz={khz}")
        if systemd is not None:
            self.words += ["rxe.init=systemd", *systemd]
        if root != "/":
            self.words.append(f"rxe.root={root}")
            self.words += [f"rxe.visible={os.path.realpath(v)}" for v in
                           (self.kernel.modules, *visible)]
        self.cwd = cwd or os.getcwd()
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.dir = self.dir.resolve()
        self.processes = [None] * count
        self.lines = [None] * count         # our ends of the serial lines
        self.heard = [b""] * count          # half a line
        self.up = [False] * count
        self.cables = [None] * count        # of each: a list, by card
        self.pending = [{} for _ in range(count)]
        self.number = 0
        self.network = None
        self._lay_out(env or {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.off()

    def _lay_out(self, env):
        """The machines' path of their common directory."""
        for old in (*self.dir.glob("vm*"), self.dir / "barrier"):
            shutil.rmtree(old, ignore_errors=True)
        (self.dir / "bin").mkdir(exist_ok=True)
        shutil.copy(HERE / "guest", self.dir / "guest")
        shutil.copy(shutil.which("busybox"), self.dir / "busybox")
        for tool in ("rxe-barrier", "rxe-die"):
            shutil.copy(HERE / tool, self.dir / "bin" / tool)
        (self.dir / "env").write_text("".join(
            f"export {k}={shlex.quote(v)}\n" for k, v in env.items()))
        for i in range(self.count):
            (self.dir / f"vm{i}").mkdir()

    # -- power ----------------------------------------------------------------

    def boot(self, which=None, timeout=SECONDS):
        """Switch on these machines (default: all), and wait until they accept
        commands."""
        which = range(self.count) if which is None else which
        self.network = self.network or Network()
        for i in which:
            ours, theirs = socket.socketpair()
            with theirs, open(self.dir / f"vm{i}/qemu.log", "ab") as log:
                self.processes[i] = subprocess.Popen(
                    [*self.network.inside, *WITH_US,
                     *self._qemu(i, theirs.fileno())],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    pass_fds=[theirs.fileno()])
            self.lines[i], self.heard[i], self.up[i] = ours, b"", False
        end = time.monotonic() + timeout
        while not all(self.up[i] for i in which):
            dead = [i for i in which if self.lines[i] is None]
            if dead or not self._listen(end - time.monotonic()):
                late = [i for i in which if not self.up[i]]
                raise Trouble(
                    f"rx{(dead or late)[0]} "
                    f"{'died' if dead else 'was not up in time'}: "
                    + self.console((dead or late)[0]))
        for i in which:
            self.cables[i] = [Cable(self.processes[i].pid, PORT + k)
                              for k in range(CARDS)]

    def dropped(self, i, card=0):
        """Datagrams for a machine that this host has lost, since it booted."""
        return self.cables[i][card].dropped()

    def _qemu(self, i, line):
        words = [
            "console=ttyS0", "quiet", "loglevel=4", "panic=-1", "nokaslr",
            "mitigations=off", "apparmor=0", "audit=0", "no_timer_check",
            "cryptomgr.notests", "tsc=reliable", "random.trust_cpu=on",
            "net.ifnames=0", f"rxe.i={i}", f"rxe.n={self.count}",
            f"rxe.mtu={self.mtu}", f"rxe.cwd={self.cwd}",
            f"rxe.modules={self.kernel.modules.resolve()}", *self.words]
        share = f"local,security_model=none,id=share,path={self.dir}"
        root = ("local,security_model=none,id=root,path=/,readonly=on,"
                "multidevs=remap")
        cards = []
        for k in range(CARDS):
            cards += ["-netdev", f"socket,id=n{k},mcast=239.77.0.{k + 1}:"
                                 f"{PORT + k},localaddr=127.0.0.1",
                      "-device", f"virtio-net-pci,netdev=n{k},romfile=,"
                                 f"mac=52:54:00:77:0{k}:{i + 1:02x}"]
        return [
            "qemu-system-x86_64", "-M", "q35", "-cpu", CPU,
            "-accel", "tcg,thread=multi,tb-size=128",
            "-smp", str(self.smp), "-m", str(self.memory),
            "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none",
            "-serial", f"file:{self.dir}/vm{i}/console",
            "-chardev", f"socket,id=line,fd={line}",
            "-serial", "chardev:line",
            "-kernel", str(self.image / "vmlinux"),
            "-initrd", str(self.image / "initrd"),
            "-append", " ".join(words),
            "-fsdev", root,
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=hostroot",
            "-fsdev", share,
            "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
            *cards, "-device", "virtio-rng-pci",
        ]

    def kill(self, i):
        """Switch a machine off without a shutdown."""
        if self.processes[i]:
            self.processes[i].kill()
            self.processes[i].wait()
        self._died(i)

    def off(self):
        for i in range(self.count):
            self.kill(i)
        if self.network:
            self.network.close()
            self.network = None

    def console(self, i):
        """The end of its console output."""
        text = ""
        for name in ("qemu.log", "console", "boot.log"):
            try:
                text += (self.dir / f"vm{i}" / name).read_text(
                    errors="replace")[-2000:]
            except FileNotFoundError:
                pass
        return text

    # -- commands -------------------------------------------------------------

    def start(self, i, words, files=None):
        """Start it in bash; the files are vmI/NUMBER.{stdout,stderr,rc}."""
        assert self.up[i], f"rx{i} is not up"
        self.number += 1
        files = f"{self.number}." if files is None else files
        c = Command(i, words, f"{self.dir}/vm{i}/{files}")
        pathlib.Path(f"{c.files}cmd").write_text(words + "\n")
        self.pending[i][self.number] = c
        self.lines[i].sendall(f"run {self.number} {files}\n".encode())
        return c

    def wait(self, commands, timeout=SECONDS):
        """Wait until all commands have ended. Returns whether they have."""
        end = time.monotonic() + timeout
        while any(c.code is None for c in commands):
            if not self._listen(end - time.monotonic()):
                return False
        return True

    def run(self, words, where=None, timeout=SECONDS):
        """Run a command on these machines (default: all) at once. Returns the
        finished commands."""
        where = range(self.count) if where is None else where
        commands = [self.start(i, words) for i in where]
        if not self.wait(commands, timeout):
            late = next(c for c in commands if c.code is None)
            raise AssertionError(f"not done after {timeout} s: {late}")
        return commands

    def _listen(self, timeout):
        """Read reports of the machines. Returns False on a timeout."""
        with selectors.DefaultSelector() as s:
            for i, line in enumerate(self.lines):
                if line:
                    s.register(line, selectors.EVENT_READ, i)
            ready = s.select(max(0, timeout)) if s.get_map() else []
        for key, _ in ready:
            self._hear(key.data)
        return bool(ready)

    def _hear(self, i):
        try:
            data = self.lines[i].recv(4096)
        except ConnectionResetError:
            data = b""
        if not data:
            self._died(i)
            return
        *whole, self.heard[i] = (self.heard[i] + data).split(b"\n")
        for line in whole:
            word, *rest = line.decode(errors="replace").split()
            if word == "up":
                self.up[i] = True
            elif word == "ended":
                c = self.pending[i].pop(int(rest[0]))
                c.code = int(rest[1])

    def _died(self, i):
        if self.lines[i]:
            self.lines[i].close()
        self.lines[i], self.up[i] = None, False
        for c in self.pending[i].values():
            said = c._text("rc").strip()    # rxe-die
            c.code = int(said) if said else DIED
        self.pending[i] = {}


class Here:
    """This host with its RDMA device, in place of machines, as far as one host
    can serve."""

    count = 1

    def __init__(self, device, directory):
        if not os.path.exists(f"/sys/class/infiniband/{device}"):
            raise Trouble(f"there is no RDMA device {device} here: "
                          "ibv_devices shows which there are")
        self.dir = pathlib.Path(directory)
        self.inside = str(self.dir)
        self.number = 0
        (self.dir / "vm0").mkdir()
        self.env = {**os.environ, "RXE_INDEX": "0", "RXE_COUNT": "1",
                    "RXE_DEV": device, "RXE_ADDR": self._address(device),
                    "RXE_DIR": self.inside, "RXE_VMDIR": f"{self.dir}/vm0"}

    @staticmethod
    def _address(device):
        for port in sorted(glob.glob(f"/sys/class/infiniband/{device}/ports"
                                     "/*/gid_attrs/ndevs/0")):
            interface = pathlib.Path(port).read_text().strip()
            said = subprocess.run(["ip", "-4", "-o", "addr", "show", "dev",
                                   interface], capture_output=True, text=True)
            found = re.search(r"inet ([0-9.]+)", said.stdout)
            if found:
                return found[1]
        raise Trouble(f"{device} has no network interface with an IPv4 "
                      "address, which peers are found by")

    def start(self, _, words):
        self.number += 1
        c = Command(0, words, f"{self.dir}/vm0/{self.number}.")
        with open(f"{c.files}stdout", "wb") as out, \
                open(f"{c.files}stderr", "wb") as err:
            c.process = subprocess.Popen(
                [*WITH_US, "bash", "-c", words], env=self.env,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        return c

    def wait(self, commands, timeout=SECONDS):
        end = time.monotonic() + timeout
        for c in commands:
            try:
                c.code = c.process.wait(max(0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                c.process.kill()
                return False
        return True

    def run(self, words, where=(0,), timeout=SECONDS):
        c = self.start(0, words)
        assert self.wait([c], timeout), f"not done after {timeout} s: {c}"
        return [c]
