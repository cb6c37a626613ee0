# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Programs that bring a file to all nodes of a job: ours, Slurm's, a TCP chain,
udpcast and uftp. Each is a class: once() does it, and returns milliseconds.

The peers run in a lab, where all receivers wait before the time begins. Their
fixed waits are off where an option allows that.
"""
import contextlib
import shutil
import subprocess
import time

from .result import NotRun, TOP
from .settling import settle
from .storm_step import run_storm, sent_ms

#: seconds: a peer that is not done then has failed
LIMIT = 100
PORT = 9200


class Broadcast:
    """`where` is a Target, `names` its nodes; the file "data" of its shared
    directory is sent, `size` bytes. `rate` is that of a lab's links."""
    #: names whose processor time parts.py tells apart
    processes = ()
    #: ms of the last run from the first byte sent to the end, if it is known
    cast = None

    def __init__(self, where, job, names, size, rate):
        self.where, self.job, self.names = where, job, names
        self.size, self.rate = size, rate
        self.source = where.inside("data")
        self.to = where.scratch("out")

    def ready(self):
        """Whatever takes place once, and does not count."""

    def once(self):
        raise NotImplementedError

    def check(self):
        """The last node must have the file."""
        if not self.where.lab:
            return
        with open(self.where.lab.path(self.names[-1], self.to), "rb") as f, \
                open(self.where.shared / "data", "rb") as source:
            while block := source.read(1 << 20):
                if f.read(len(block)) != block:
                    raise NotRun("the last node did not get the file")

    def over(self):
        self.where.clear("out", self.job)


class Storm(Broadcast):
    multicast = True
    processes = ("sbcast_storm", "storm_domain", "storm_agent", "storm_file",
                 "storm_nursery", "storm_auth")

    def once(self):
        whole, steps = run_storm(
            self.where, ["sbcast_storm", "-f", self.source, self.to],
            self.multicast, {"SLURM_JOB_ID": self.job})
        self.cast = sent_ms(steps[0])
        return whole


class Relayed(Storm):
    multicast = False


class Stock(Broadcast):
    def once(self):
        return self.where.timed(["sbcast", "-f", self.source, self.to],
                                env={"SLURM_JOB_ID": self.job})


class Receivers(Broadcast):
    """A peer with a receiver on each node, which ends with the file."""
    package, program = "", ""

    def ready(self):
        if not self.where.lab:
            raise NotRun("needs a lab, where its receivers are started")
        if not shutil.which(self.program):
            raise NotRun(f"install {self.package} ({self.program})")

    def receiver(self, i):
        """The argv of node i's."""
        raise NotImplementedError

    def root(self):
        raise NotImplementedError

    def listens(self, host):
        """Whether its receiver waits for the sender."""
        text = open(f"/proc/{self.where.lab.pid(host)}/net/udp").read()
        return any(line.split()[1].endswith(f":{PORT:04X}")
                   for line in text.splitlines()[1:])

    @contextlib.contextmanager
    def receivers(self):
        lab, row = self.where.lab, []
        try:
            for i, name in enumerate(self.names):
                row.append(lab.popen(
                    self.receiver(i), host=name, user="user", cwd="/tmp",
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL))
            end = time.monotonic() + 30
            while not all(map(self.listens, self.names)):
                if time.monotonic() > end:
                    raise NotRun("its receivers did not listen in 30 s")
                time.sleep(0.01)
            settle()
            yield row
        finally:
            for process in row:
                if process.poll() is None:
                    process.kill()
                process.wait()
            # a sender that did not end would keep its port
            self.where.run(["pkill", "-KILL", "-x", self.program])

    def once(self):
        with self.receivers() as row:
            took = self.where.timed(self.root(), timeout=LIMIT)
            begun = time.monotonic()
            for process in row:
                if not process.ended(LIMIT):
                    raise NotRun(f"a receiver was not done after {LIMIT} s")
            return took + (time.monotonic() - begun) * 1000


class Chain(Receivers):
    """testsuite/programs/chain.c: no check, no recovery."""
    program = "cc"
    package = "gcc"
    processes = ("chain",)

    def ready(self):
        super().ready()
        subprocess.run(["cc", "-O2", TOP / "testsuite/programs/chain.c", "-o",
                        self.where.shared / "chain"], check=True)
        self.ips = [self.where.address(name) for name in self.names]

    def receiver(self, i):
        return [self.where.inside("chain"), "node", str(PORT), self.to,
                *self.ips[i + 1:i + 2]]

    def listens(self, host):
        # Its row is connected.
        text = open(f"/proc/{self.where.lab.pid(host)}/net/tcp").read()
        return any(line.split()[1].endswith(f":{PORT:04X}") and
                   line.split()[3] == ("0A" if host == self.names[0]
                                       else "01")
                   for line in text.splitlines()[1:])

    def root(self):
        return [self.where.inside("chain"), "root", PORT, self.source,
                self.ips[0]]


class Udpcast(Receivers):
    package, program = "udpcast", "udp-sender"
    more = ()

    def receiver(self, i):
        return ["udp-receiver", "--nokbd", "--interface", "eth0", "--portbase",
                str(PORT), "--file", self.to]

    def root(self):
        # The wait for more receivers is the interval of hellos.
        return ["udp-sender", "--nokbd", "--interface", "eth0",
                "--portbase", PORT, "--min-receivers", len(self.names),
                "--full-duplex", "--rexmit-hello-interval", 10, *self.more,
                "--file", self.source]


class UdpcastFec(Udpcast):
    more = ("--fec", "8x2/128")


class Uftp(Receivers):
    package, program = "uftp", "uftp"
    more, keys = (), ()
    #: Kbit/s: somewhat below the link's
    rates = {"1gbit": 950_000, "100mbit": 95_000}

    def ready(self):
        super().ready()
        self.ips = [self.where.address(name) for name in self.names]

    def receiver(self, i):
        return ["uftpd", "-d", "-q", "-p", str(PORT), "-t", "-D", "/tmp",
                "-I", "eth0", "-P", "/tmp/uftpd.pid", "-L", "/tmp/uftpd.log",
                *self.keys]

    def root(self):
        return ["uftp", "-q", "-p", PORT, "-I", "eth0", "-R",
                self.rates.get(self.rate, -1), "-r", "0.02:0.01:0.5", *self.more,
                "-H", ",".join(self.ips), "-D", self.to.split("/")[-1],
                self.source]

    def once(self):
        # Its receivers are daemons, and the sender waits for all of them.
        with self.receivers():
            return self.where.timed(self.root(), timeout=LIMIT)


class UftpSealed(Uftp):
    more = ("-Y", "aes256-gcm", "-h", "sha256", "-e", "ecdh_ecdsa", "-K",
            "prime256v1")
    keys = ("-K", "ec:prime256v1")


#: {name: class}
ALL = {"sbcast_storm": Storm, "sbcast": Stock, "chain": Chain,
       "udpcast": Udpcast, "udpcast-fec": UdpcastFec, "uftp": Uftp,
       "uftp-aes": UftpSealed}
