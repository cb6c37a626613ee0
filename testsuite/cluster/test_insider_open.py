# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""An ordinary user with a valid MUNGE credential opens sessions: from a login host
and from a node, more than is fair, with other hosts' addresses, and without end.
Another user's srun still goes by storm."""
import os
import pathlib
import re
import socket
import subprocess

import pytest

from harness import HERE, TOP, Cluster, LabError, munged_off, until
from test_hostile import HEAD, addresses, stop

pytestmark = pytest.mark.storm_only

NODES = 16384
MB = 1 << 20


def build(to):
    """The attacker's program."""
    source = TOP / "src" / "libstorm"
    subprocess.run(
        ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-I", TOP, "-o", to,
         HERE.parent / "programs" / "insider.c",
         *sorted((source / "wire").glob("*.c")),
         *sorted((source / "base").glob("*.c")),
         "-lmunge", "-lcrypto", "-lpthread"], check=True)


@pytest.fixture(scope="module")
def insider(tmp_path_factory):
    to = tmp_path_factory.mktemp("insider") / "insider"
    build(to)
    return to


def start(c, insider, *args, host="login", user="other"):
    path = c.home.parent / "insider"
    if not path.exists():
        path.write_bytes(insider.read_bytes())
        os.chmod(path, 0o755)
    return c.start(["/home/insider", *map(str, args)], host=host,
                   user=user, cwd="/tmp", label="insider")


def opens(c, insider, *args, host="login", user="other"):
    """(accepted, bytes of answers, the last reason)"""
    run = start(c, insider, *args, host=host, user=user).finish()
    found = re.match(r"accepted (\d+), answers of (\d+) bytes, last: (.*)",
                     run.out)
    assert found, str(run) + run.err
    return int(found[1]), int(found[2]), found[3]


def address(c, host):
    return c.root(f"getent hosts {host}").split()[0]


def rss(c, node):
    """MB of the node's agent."""
    status = pathlib.Path(f"/proc/{agent(c, node)}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def agent(c, node):
    """Its pid, the main process."""
    return c.lab.pids(node, "agent")[0]


def quiet_time(c):
    """Seconds of a launch, the best of three."""
    best = 1e9
    for _ in range(3):
        run = c.srun("-N8 -n8 {do} say x")
        assert run.code == 0, str(run)
        c.by_storm(run)
        best = min(best, run.seconds)
    return best


def no_sessions(c):
    def none(node):
        try:
            return c.agent(node, "sessions") == 0
        except LabError:    # the next agent does not answer yet
            return False

    for node in c.names:
        until(lambda: none(node), f"the sessions of {node} to end")


def end_sessions(c):
    """At once: those of silent owners take their time."""
    for node in c.names:
        c.lab.kill(node, "agent")
    no_sessions(c)


def test_audit(cluster, insider):
    """A user's lines of a minute are counted, and tests before this one can have used
    them up: each OPEN is repeated until it is shown."""
    nodes = addresses(cluster)
    own = address(cluster, "login")
    uid = cluster.root("id -u user").strip()

    def audited(act, line):
        whole = line + r"( \(\d+ not shown\))?\n"

        # slurmd writes what its agent says, a moment later
        def shown():
            act()
            try:
                return until(lambda: re.search(whole,
                                               cluster.lab.log("n3", "slurmd")),
                             line, timeout=5)
            except AssertionError:
                return None
        until(shown, line)

    def refused():
        # n3 is not in this list
        assert opens(cluster, insider, "good", nodes[2], nodes[0], own, 2, 1,
                     user="user")[2] == "not allowed"

    def step():
        run = cluster.srun("-N8 -n8 {do} say x")
        cluster.by_storm(run)

    def broadcast():
        run = cluster.run("sbcast_storm -f {do} /tmp/audited",
                          env={"SLURM_JOB_ID": str(cluster.job)})
        assert run.code == 0, str(run)
        cluster.remove("/tmp/audited")

    audited(refused, rf"audit: OPEN by uid {uid} at {re.escape(own)} for step 1\.0 on "
                     "2 nodes: not allowed")
    audited(step, rf"audit: OPEN by uid {uid} at .* on 8 nodes: accepted")
    audited(broadcast, rf"audit: OPEN by uid {uid} at \S+ for job {cluster.job} on 8 "
                       "nodes: accepted")


@pytest.mark.parametrize("host", ["login", "n8"])
def test_flood(cluster, insider, host):
    """300 sessions of 16,384 nodes, and then while the flood goes on."""
    nodes = addresses(cluster)
    quiet = quiet_time(cluster)
    before = rss(cluster, "n1")
    own = address(cluster, host)
    accepted, _, why = opens(cluster, insider, "good", nodes[0], nodes[0], own,
                             NODES, 300, host=host)
    assert accepted == 128 and "limit" in why, (accepted, why)
    after = rss(cluster, "n1")
    print(f"agent: {before:.1f} MB, with {accepted} sessions {after:.1f} MB")
    assert after < 64
    floods = [start(cluster, insider, "good", nodes[i], nodes[0], own, NODES,
                    100000, host=host) for i in (0, 2)]
    times = []
    for _ in range(3):
        run = cluster.srun("-N8 -n8 {do} say x")
        assert run.code == 0 and run.out == "x\n" * 8, str(run)
        cluster.by_storm(run)
        times.append(run.seconds)
    for one in floods:
        assert one.running(), "the flood was over before"
        stop(one)
    # others may use this machine, too, from now on
    quiet = max(quiet, quiet_time(cluster))
    print(f"srun: {quiet:.2f} s, during the flood {min(times):.2f} s")
    # two cores run 8 nodes, munged and the attackers
    assert min(times) < 2 * quiet + 1
    assert rss(cluster, "n1") < 64
    end_sessions(cluster)


def test_all_sessions(cluster, insider):
    """All 256 that an agent has, of 16,384 nodes each: two users have what is for
    users, and root the rest."""
    nodes, own = addresses(cluster), address(cluster, "login")
    got = [opens(cluster, insider, "good", nodes[0], nodes[0], own, NODES, 200,
                 user=user)[0] for user in ("other", "user", "root")]
    used = rss(cluster, "n1")
    print(f"sessions: {got}, agent: {used:.1f} MB")
    assert got == [128, 96, 32] and used < 64, (got, used)
    end_sessions(cluster)


def test_memory(cluster, insider):
    """Transfers to memory, 16 MB each: one user has 20 MB."""
    nodes = addresses(cluster)
    own = address(cluster, "login")
    opens(cluster, insider, "good", nodes[0], nodes[0], own, 3, 40, 16 * MB)
    assert rss(cluster, "n1") < 64
    run = cluster.srun("--bcast=/tmp/app -N8 -n8 {big} say x")
    assert run.code == 0 and run.out == "x\n" * 8, str(run)
    cluster.by_storm(run)
    cluster.remove("/tmp/app")
    end_sessions(cluster)


VICTIM = HEAD + """\
t = socket.socket()
t.bind(("", 8383))
t.listen(100)
t.settimeout(0.2)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("", 8383))
u.setblocking(False)
print("ready", flush=True)
while True:
    try:
        t.accept()
        print("connection", flush=True)
    except OSError:
        pass
    try:
        print("datagram", len(u.recv(65536)), flush=True)
    except OSError:
        pass
"""


def test_third_host(cluster, insider):
    """A host that is no node, as a node and as the owner: it gets nothing, and
    the attacker does not learn whether it listens."""
    nodes = addresses(cluster)
    own, victim = address(cluster, "login"), address(cluster, "ctl")
    p = cluster.start(["python3", "-c", VICTIM], host="ctl", cwd="/tmp",
                      user="root", label="victim")
    until(lambda: "ready" in p.out(), lambda: f"the victim: {p.err()}")
    # n1 at the victim's address: refused where n1 is a neighbour
    for what in ((nodes[0], victim, own), (nodes[0], nodes[0], victim)):
        accepted, _, why = opens(cluster, insider, "good", *what, 8, 5)
        assert not accepted and why == "not allowed", (what, accepted, why)
    assert p.out() == "ready\n", p.out()
    stop(p)
    # slurmd writes what its agent says, a moment later
    for words in "as the address of node", f"gives {victim} as its own address":
        until(lambda: words in cluster.lab.log("n1", "slurmd"), words)


SINK = """\
import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("", 40000))
u.settimeout(20)
print("ready", flush=True)
n = size = 0
try:
    while True:
        size += 28 + len(u.recv(65536))
        n += 1
        print("so far", n, size, flush=True)
        u.settimeout(4)
except OSError:
    print("in all", n, size, flush=True)
"""


def test_silent_owner(cluster, insider):
    """An owner that sends an OPEN and nothing more gets no more than it sent, and
    its session ends, whatever time-outs it named."""
    nodes, own = addresses(cluster), address(cluster, "login")
    no_sessions(cluster)
    p = cluster.start(["python3", "-c", SINK], host="login", cwd="/tmp",
                      user="other", label="sink")
    until(lambda: "ready" in p.out(), lambda: f"the sink: {p.err()}")
    run = start(cluster, insider, "good", nodes[0], nodes[0], own, 1,
                1).finish()
    assert run.out.startswith("accepted 1"), str(run)
    sent = 5 * 40 + int(re.search(r"sent (\d+) bytes", run.out)[1])
    until(lambda: "in all" in p.out(), "the agent to be silent")
    count, size = map(int, p.out().split()[-2:])
    assert count and size <= sent, f"{size} bytes for {sent}: {p.out()}"
    p.finish()
    no_sessions(cluster)


#: what an attacker without MUNGE's word can send, and one who repeats another's
DATAGRAMS = HEAD + """\
def header(kind, session, sender=0xffffffff, flags=0):
    return struct.pack(">BBHIQ16sIQQ", VERSION, kind, flags, 1, session,
                       b"\\1" * 16, sender, 1, 0)
n = 0
for kind in range(256):
    for session in (0, 1, int(sys.argv[2], 16)):
        for size in (16, 100, 1400):
            data = header(kind, session) + bytes(size)
            out.sendto(data, (sys.argv[1], 8383))
            n += len(data)
print("sent", n, flush=True)
"""


def out_datagrams(c, node):
    """UDP datagrams that a host has sent."""
    text = c.root("cat /proc/net/snmp", host=node)
    head, value = [l.split() for l in text.splitlines() if l.startswith("Udp:")]
    return int(value[head.index("OutDatagrams")])


def test_nothing_for_what_nobody_vouches_for(cluster, insider):
    """Bytes out, for each type of message: none at all."""
    nodes = addresses(cluster)
    own = address(cluster, "login")
    no_sessions(cluster)
    before = out_datagrams(cluster, "n1")
    strange = cluster.agent("n1", "bad_session")
    p = cluster.start(["python3", "-c", DATAGRAMS, nodes[0], "1234"],
                      host="ctl", user="other", cwd="/tmp")
    assert "sent" in p.finish().out
    # all headers were right, but for the sessions
    until(lambda: cluster.agent("n1", "bad_session") >= strange + 9 * 3 * 3,
          "them to be read")
    assert out_datagrams(cluster, "n1") == before
    # streams: a refusal has 8 bytes, for a sender that MUNGE knows, alone
    for what, size in (("forged", 0), ("lie", 0), ("other", 8), ("name", 8)):
        accepted, answer, _ = opens(cluster, insider, what, nodes[0], nodes[0],
                                    own, 2, 1)
        assert accepted == 0 and answer == size, (what, accepted, answer)
    for data in (b"", b"\0", b"\xff" * 4, b"\0\0\0\4abcd",
                 b"\0\0\0\x14STRM" + bytes(16)):
        text = cluster.run(["python3", "-c", f"""\
import socket
c = socket.create_connection(("{nodes[0]}", 8383), 5)
try:
    c.sendall({data!r})
    c.shutdown(socket.SHUT_WR)
    print("answer", c.recv(100))
except OSError:
    print("reset")
"""], host="ctl", user="other", cwd="/tmp").out
        assert text in ("answer b''\n", "reset\n"), (data, text)


def test_why_munge_refuses(cluster, insider):
    """8 bytes say that munged does not run, or that the clocks differ, of what is
    authentic; nothing is said of what is not, nor of what is repeated."""
    nodes = addresses(cluster)
    own = address(cluster, "login")

    def size(what, sent=1):
        accepted, answer, _ = opens(cluster, insider, what, nodes[1], nodes[0], own,
                                    2, sent)
        assert accepted == 0, what
        return answer

    def says():
        run = cluster.run("sbcast_storm -f {do} /tmp/why",
                          env={"SLURM_JOB_ID": str(cluster.job)})
        cluster.remove("/tmp/why")
        return run.err
    for off in (-1000, 1000):
        with munged_off(cluster.lab, "n2", off):
            assert [size("good"), size("forged")] == [8, 0]
            assert opens(cluster, insider, "good", nodes[1], nodes[0], own, 2,
                         1)[2] == "credential refused"
            assert "node n2: its clock is 17 min " + \
                ("behind" if off < 0 else "ahead of") in says()
    cluster.lab.end("n2", "munged")
    try:
        assert [size("good"), size("forged")] == [8, 8]
        assert "node n2: its munged gives no answer" in says()
    finally:
        cluster.lab.restart("n2", "munged")
    assert "storm" not in says()


def test_log(cluster, insider):
    """A thousand OPENs of each kind: some lines, and a count."""
    nodes = addresses(cluster)
    own = address(cluster, "login")
    for what in ("forged", "name", "other", "files", "good"):
        def streams():
            return cluster.lab.counters("n2")["accepted"]

        size, before = len(cluster.lab.log("n2", "slurmd")), streams()
        flood = start(cluster, insider, what, nodes[1], nodes[0], own, 1,
                      100000)
        until(lambda: streams() >= before + 1000, f"1000 OPENs, {what}")
        stop(flood)
        log = cluster.lab.log("n2", "slurmd")[size:]
        assert len(log) < 20000, (what, len(log), log[:3000])


FORGED = """/nonexistent/x
error: node n1: disk failure imminent
audit: OPEN by uid 0 at 10.83.0.1 for step 1.0 on 4 nodes: accepted (0 not shown)
y"""


def test_path_in_log(cluster):
    """A user's path makes no line of its own in the log, and paths that are long,
    and fail again and again, leave little there."""
    def send(path):
        run = cluster.run(["sbcast_storm", "/home/user/bin/taskdo", path],
                          env={"SLURM_JOB_ID": "{job}"})
        assert run.code, str(run)

    size = len(cluster.lab.log("n1", "slurmd"))
    send(FORGED)
    until(lambda: "/nonexistent/x" in cluster.lab.log("n1", "slurmd")[size:],
          "the failure in the log")
    log = cluster.lab.log("n1", "slurmd")[size:]
    assert "x\\x0aerror: node n1" in log, log
    assert not re.search("(?m)^.{,60}(audit: OPEN by uid 0 |error: node n1)",
                         log), log
    for _ in range(20):
        send("/nonexistent" + ("/" + "a" * 200) * 18 + "/z")
    assert len(cluster.lab.log("n1", "slurmd")[size:]) < 20000


def test_root_of_a_user_namespace(cluster, insider):
    """It is root there, and the user for everybody else."""
    nodes, own = addresses(cluster), address(cluster, "login")
    uid = cluster.root("id -u other").strip()
    opens(cluster, insider, "good", nodes[3], nodes[3], own, 1, 1)
    size = len(cluster.lab.log("n4", "slurmd"))
    run = cluster.start(
        ["unshare", "-Ur", "sh", "-c", "id -u && exec \"$@\"", "sh",
         "/home/insider", "good", nodes[3], nodes[0], own, "4", "200"],
        user="other", cwd="/tmp", label="namespace").finish()
    if run.code and "unshare" in run.err:
        pytest.skip("SKIP: users may make no namespaces here")
    assert run.out.startswith("0\n"), str(run)
    accepted = int(re.search(r"accepted (\d+)", run.out)[1])

    def log():
        return cluster.lab.log("n4", "slurmd")[size:]
    until(lambda: f"audit: OPEN by uid {uid} at" in log(), lambda: log()[-3000:])
    log = log()
    assert "audit: OPEN by uid 0 at" not in log, log[-3000:]
    assert accepted <= 128, "it has root's reserve"
    no_sessions(cluster)


def falls_back(c, why, **options):
    run = c.srun("-N4 -n4 {do} say x", **options)
    assert run.code == 0 and run.out == "x\n" * 4, str(run)
    assert why in run.steps[0]["fallback"], str(run)


#: a name service that is silent, on the host's loopback
SILENCE = """\
printf 'passwd: files\\ngroup: files\\nhosts: dns\\n' >/tmp/nsswitch
printf 'nameserver 127.0.0.1\\noptions timeout:30 attempts:5\\n' >/tmp/resolv
mount --bind /tmp/nsswitch /etc/nsswitch.conf
mount --bind /tmp/resolv /etc/resolv.conf
exec python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
print("ready", flush=True)
while True:
    s.recv(512)'
"""


def launches_without_names(c, node):
    """slurmd listens on the node's address alone, and the name service does not
    answer: the agent knows the address, and its main loop asks nobody."""
    # a session without a launch, so that all know all nodes
    done = c.run("sbcast_storm {big} /tmp/app", env={"SLURM_JOB_ID": "{job}"})
    assert done.code == 0, str(done)
    was = agent(c, node)
    silent = c.start(["sh", "-c", SILENCE], host=node, user="root", cwd="/",
                     label="silence")
    until(lambda: "ready" in silent.out(), silent.err)
    run = c.start_srun("-N4 -n4 {do} say x")
    # a name takes 150 s: longer than this waits
    until(lambda: run.out() == "x\n" * 4, lambda: f"its output: {run.err()}")
    assert agent(c, node) == was
    c.agent(node)       # it answers
    c.root("umount /etc/nsswitch.conf /etc/resolv.conf", host=node)
    stop(silent)
    c.by_storm(run.finish())


def test_allow_lists():
    """Radix=2, so that nodes vouch for the owner to those below them."""
    c = Cluster(f"test{os.getpid()}-allow", 4,
                conf={"CommunicationParameters": "NoInAddrAny"},
                storm_conf={"Radix": "2", "AllowUsers": "root,user,777"})
    try:
        c.current = "allow"
        launches_without_names(c, "n4")
        run = c.srun("-N4 -n4 {do} say x")
        assert run.out == "x\n" * 4, str(run)
        c.by_storm(run)
        for key, value, good in (("AllowUsers", "other,@root", False),
                                 ("AllowUsers", "@user", True),
                                 ("AllowHosts", "n[1-4]", False),
                                 ("AllowHosts", "n[1-4],login", True),
                                 ("AllowHosts", address(c, "login") + "/24",
                                  True)):
            with open(c.lab.dir + "/etc/slurm/storm.conf") as f:
                text = re.sub(r"(?m)^Allow.*\n", "", f.read())
            with open(c.lab.dir + "/etc/slurm/storm.conf", "w") as f:
                f.write(f"{text}{key}={value}\n")
            for node in c.names:
                c.lab.restart(node, "slurmd")
            c.lab.wait_agents()
            if good:
                run = c.srun("-N4 -n4 {do} say x")
                assert run.out == "x\n" * 4, str(run)
                c.by_storm(run)
            else:
                falls_back(c, "not allowed")
    finally:
        c.down()
