# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""An ordinary user with a socket: garbage, wrong seals, old sequences and
foreign sessions change nothing and are counted. A process that joins the group
can read nothing."""
import os
import pathlib
import re

import pytest

from harness import TOP, until

pytestmark = pytest.mark.storm_only

#: common to all of the attacker's programs
HEAD = "VERSION = " + re.search(
    r"define STORM_WIRE_VERSION (\d+)",
    (TOP / "src/libstorm/wire/wire.h").read_text())[1] + """
import os, random, socket, struct, sys, time
GROUPS = ["239.192.83.%d" % i for i in range(16)]
def listener():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    s.bind(("", 8383))
    for g in GROUPS:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                     socket.inet_aton(g) + socket.inet_aton("0.0.0.0"))
    return s
def sender():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    return s
out = sender()
def everywhere(data):
    for to in GROUPS[:2] + sys.argv[1:]:
        try:
            out.sendto(data, (to, 8383))
        except OSError:
            pass
"""

SNIFF = HEAD + """\
s = listener()
print("ready", flush=True)
with open("captured", "wb") as f:
    while True:
        data = s.recv(65536)
        f.write(struct.pack(">I", len(data)) + data)
        f.flush()
"""

GARBAGE = HEAD + """\
r = random.Random(5)
print("ready", flush=True)
for i in range(1500):
    n = r.choice([0, 1, 7, 51, 52, 67, 68, 100, 1400])
    data = bytearray(r.randbytes(n))
    if i % 2 and n > 4:     # a header that looks right
        data[0:4] = bytes([VERSION, r.randint(1, 9), 0, 0])
    everywhere(bytes(data))
    if i % 50 == 0:
        time.sleep(0.002)
"""

#: send again all that is received, unchanged or with one bit changed
ECHO = HEAD + """\
s = listener()
print("ready", flush=True)
left = 4000
while left:
    data = s.recv(65536)
    left -= 1
    if MODE == "replay":
        everywhere(data)
    else:
        bad = bytearray(data)
        bad[random.choice([-1, -20, 60 % len(bad), 44])] ^= 1
        everywhere(bytes(bad))
"""

OLD = HEAD + """\
data = open(sys.argv.pop(1), "rb").read()
print("ready", flush=True)
while data:
    (n,) = struct.unpack(">I", data[:4])
    everywhere(data[4:4 + n])
    data = data[4 + n:]
"""


def attack(cluster, program, *args):
    """Started by the user `other` on the host ctl."""
    p = cluster.start(["python3", "-c", program, *args], host="ctl",
                      user="other", cwd="/tmp", label="attack")
    until(lambda: "ready" in p.out(), lambda: f"the attacker: {p.err()}")
    return p


def addresses(cluster):
    return [cluster.root(f"getent hosts {n}").split()[0]
            for n in cluster.names]


def counts(cluster):
    """The sum of the agents' counters of refused datagrams; socket_drops has
    what the kernel dropped for an agent: by its filter, or as its buffer was full."""
    names = ("bad_seal", "bad_wire", "bad_session", "replayed",
             "socket_drops")
    sums = dict.fromkeys(names, 0)
    for node in cluster.names:
        stats = cluster.agent(node)
        for name in names:
            sums[name] += stats[name]
    return sums


def risen(cluster, before, *names):
    """Has one of them risen?"""
    now = counts(cluster)
    return any(now[n] > before[n] for n in names)


def works(cluster):
    """A broadcast and run, checked to the last byte."""
    cluster.remove("/tmp/app")
    run = cluster.srun("--bcast=/tmp/app -N8 -n16 {big} @5 exit 3 say fine")
    assert run.code == 3 and run.out == "fine\n" * 15, str(run)
    cluster.by_storm(run)
    want = (cluster.bin / "big").read_bytes()
    for node in cluster.names:
        assert cluster.file(node, "/tmp/app") == want, node
    cluster.remove("/tmp/app")
    return run


def captured(cluster):
    return pathlib.Path(cluster.lab.path("ctl", "/tmp/captured"))


def stop(p):
    p.signal(9)
    p.process.wait(60)


@pytest.mark.every_mode
def test_garbage_datagrams(cluster):
    before = counts(cluster)
    p = attack(cluster, GARBAGE, *addresses(cluster))
    works(cluster)
    assert p.finish().code == 0
    # some headers look right, and name a session that there is not
    until(lambda: risen(cluster, before, "bad_wire") and
          risen(cluster, before, "bad_session"), "the counters to rise")
    works(cluster)


@pytest.mark.by_group
def test_wrong_seal(cluster):
    """Datagrams of the session itself with one bit changed, to the group and
    to every agent, while the session runs."""
    before = counts(cluster)
    p = attack(cluster, "MODE = 'tamper'\n" + ECHO, *addresses(cluster))
    works(cluster)
    until(lambda: risen(cluster, before, "bad_seal"), "bad seals counted")
    stop(p)
    works(cluster)


@pytest.mark.by_group
def test_old_sequence(cluster):
    """Every datagram of the session again, at once."""
    before = counts(cluster)
    p = attack(cluster, "MODE = 'replay'\n" + ECHO, *addresses(cluster))
    works(cluster)
    until(lambda: risen(cluster, before, "replayed"), "replays counted")
    stop(p)
    works(cluster)


@pytest.mark.by_group
def test_foreign_session(cluster):
    """The datagrams of a session that has ended, during the next one."""
    sniffer = attack(cluster, SNIFF)
    works(cluster)
    until(lambda: captured(cluster).stat().st_size > 1_000_000,
          "something to replay")
    stop(sniffer)
    before = counts(cluster)
    p = attack(cluster, OLD, "/tmp/captured", *addresses(cluster))
    works(cluster)
    until(lambda: risen(cluster, before, "bad_session", "socket_drops"),
          "foreign sessions counted")
    stop(p)
    works(cluster)


@pytest.mark.by_group
def test_member_of_the_group_reads_nothing(cluster):
    """The program, the arguments and the environment cannot be seen, and a
    file of one repeated byte shows no pattern."""
    marker = b"THIS-IS-THE-PLAIN-TEXT-OF-THE-PROGRAM. "
    path = cluster.home / "bin" / "legible"
    data = (cluster.bin / "taskdo").read_bytes()
    path.write_bytes(data + marker * 20_000 + b"\0" * 500_000)
    os.chmod(path, 0o755)
    secret = "secret-of-the-environment"
    sniffer = attack(cluster, SNIFF)
    run = cluster.srun("--bcast=/tmp/app -N8 -n8 {bin}/legible env SECRET "
                       "args -- secret-argument", env={"SECRET": secret})
    assert run.code == 0 and secret in run.out, str(run)
    cluster.by_storm(run)
    size = path.stat().st_size
    until(lambda: captured(cluster).stat().st_size > size,
          "the whole file on the wire")
    stop(sniffer)
    heard = captured(cluster).read_bytes()
    for plain in (marker[:20], secret.encode(), b"secret-argument",
                  b"\x7fELF", b"\0" * 64, b"/tmp/app", b"SLURM_"):
        assert plain not in heard, f"{plain!r} can be read"
    cluster.remove("/tmp/app")


def test_garbage_on_the_stream(cluster):
    """Connections to the agents' TCP port: garbage, nothing, half an OPEN."""
    program = HEAD + """\
r = random.Random(6)
held = []
print("ready", flush=True)
for to in sys.argv[1:]:
    for data in (b"", b"\\0", b"\\xff" * 4, b"\\0\\0\\0\\x10" + bytes(16),
                 b"\\0\\x10\\0\\0" + r.randbytes(5000), r.randbytes(900)):
        c = socket.create_connection((to, 8383), 60)
        try:
            c.sendall(data)
        except OSError:
            pass
        held.append(c)
time.sleep(1)
"""
    p = attack(cluster, program, *addresses(cluster))
    works(cluster)
    assert p.finish().code == 0
    works(cluster)


def test_many_idle_connections(cluster):
    """They take places only from each other, not from a peer that sends a
    request."""
    program = HEAD + """\
held = []
for to in sys.argv[1:]:
    for i in range(200):
        c = socket.create_connection((to, 8383), 60)
        if i % 2:
            c.send(b"\\0")
        held.append(c)
print("ready", flush=True)
time.sleep(600)
"""
    p = attack(cluster, program, *addresses(cluster)[:1])
    for _ in range(3):
        run = cluster.srun("-N8 -n8 {do} say x")
        assert run.code == 0 and run.out == "x\n" * 8, str(run)
        cluster.by_storm(run)
    stop(p)


def test_agent_socket_is_roots(cluster):
    """An ordinary user cannot use the agent's local socket."""
    run = cluster.run(["python3", "-c", """\
import glob, socket
for p in glob.glob("/run/slurm-storm/*/agent.sock"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        try:
            socket.socket(socket.AF_UNIX, kind).connect(p)
            print("connected")
        except OSError as e:
            print(e.strerror)
"""], host="n1", user="user")
    assert "Permission denied" in run.out and "connected" not in run.out, \
        str(run)


def test_stats_are_roots(cluster):
    run = cluster.run(["/run/stormlab/stage/libexec/slurm-storm/storm_agent",
                       "--node", "n1", "--stats"], host="n1", user="user")
    assert run.code != 0 and run.out == "", str(run)
