# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm check on a lab: it finds nothing missing where all is well, and names each
fault of a broken set-up, with its remedy, also where no program of Slurm runs, and
nodes are busy or down."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import Lab, munged_off, until
from lab.release import stage_dir

pytestmark = pytest.mark.storm_only

CHECK = "/run/stormlab/stage/bin/storm"
WELL = "n[1-3]: TCP port 8383; UDP port 8383 and back, by the group too, " \
    "packets of 1500 bytes"


@pytest.fixture(scope="module")
def made():
    lab = Lab(f"check{os.getpid()}")
    try:
        lab.up(3, cpus=4, gang=2)
        yield lab
    finally:
        lab.down()


@pytest.fixture
def lab(made):
    """Its files below /etc/slurm are good before and after each test."""
    files = {}
    for name in os.listdir(etc(made)):
        with open(etc(made, name)) as f:
            files[name] = f.read()
    yield made
    for name in set(os.listdir(etc(made))) - set(files):
        os.unlink(etc(made, name))
    for name, text in files.items():
        write(made, name, text)


def etc(lab, name=""):
    return lab.path("ctl", "/etc/slurm/" + name)


def write(lab, name, text):
    with open(etc(lab, name), "w") as f:
        f.write(text)


def add(lab, name, text):
    with open(etc(lab, name), "a") as f:
        f.write(text)


def replace(lab, name, old, new):
    with open(etc(lab, name)) as f:
        text = f.read()
    assert old in text
    write(lab, name, text.replace(old, new))


def check(lab, *options, host="n1", code=1, env=None):
    """Its lines, each with one of the three words in front; faults come first."""
    done = lab.run([CHECK, "check", *options], host=host, cwd="/", env=env)
    lines = done.stdout.splitlines()
    assert code in (None, done.returncode), done.stdout + done.stderr
    assert not done.stderr, done.stderr
    words = [line.split()[0] for line in lines]
    assert set(words) <= {"ok", "missing", "note"}, done.stdout
    assert ("missing" in words) == (done.returncode == 1), done.stdout
    assert "--verbs" in options or \
        words == sorted(words, key=["missing", "note", "ok"].index), done.stdout
    return lines


def only(lines, *parts):
    """The one line that something is missing has these parts."""
    missing = [line for line in lines if line.startswith("missing")]
    assert len(missing) == 1, missing
    (line,) = missing
    for part in parts:
        assert part in line, line


def asked(lab, nodes="n[1-3]", host="login"):
    """What is missing of other nodes, by their names."""
    lines = check(lab, "-q", "-w", nodes, host=host, code=None)
    return dict(line.split(None, 1)[1].split(": ", 1) for line in lines)


def test_nothing_is_missing(lab):
    """And that is told in few lines."""
    lines = check(lab, "-w", "n[1-3]", host="login", code=0)
    assert "ok       " + WELL in lines
    assert any("SwitchType=switch/storm" in line for line in lines)
    assert len(lines) <= 12, lines
    lines = check(lab, host="n1", code=0)
    assert any("port 8383 is the agent's" in line for line in lines)
    assert not check(lab, "-q", "-w", "n[1-3]", host="login", code=0)
    other_name = lab.run([CHECK + "_check", "-q"], host="login", cwd="/")
    assert other_name.returncode == 0 and not other_name.stdout


def test_by_a_job(lab):
    """All of it on each node, where equal lines are one."""
    lines = check(lab, "-j", "-w", "n[1-3]", host="login", code=0)
    assert "ok       n[1-3]: this host takes its MUNGE credentials" in lines
    assert "ok       n[1-3]: the same storm.conf, as far as it must be" in lines
    assert any(line.startswith("ok       here and n[1-3]: interface eth0") for
               line in lines), lines
    # another process on each
    assert "ok       n[1-3]: port 8383 is the agent's" in lines


def test_as_a_user(lab):
    """Who cannot see whose port it is, and may ask agents, too."""
    done = lab.run([CHECK, "check", "-w", "n[1-3]"], host="login", cwd="/",
                   user="user")
    assert done.returncode == 0, done.stdout + done.stderr
    assert WELL in done.stdout
    done = lab.run([CHECK, "check"], host="n1", cwd="/", user="user")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "port 8383 is the agent's" in done.stdout


def test_busy_down_and_without_slurmctld(lab):
    """The agents are asked, not Slurm."""
    job = lab.popen(["srun", "-N3", "--exclusive", "-pdebug", "sleep", "600"],
                    user="user", stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT)
    try:
        set_down(lab, "n2", "down")
        done = lab.run([CHECK, "check", "-w", "n[1-3]"], host="login", cwd="/")
        assert done.returncode == 0, done.stdout + done.stderr
        assert WELL in done.stdout
        assert "note     n2: slurmctld has it as DOWN" in done.stdout
        lab.end("ctl", "slurmctld")
        assert "ok       " + WELL in check(lab, "-w", "n[1-3]", host="login",
                                           code=0)
    finally:
        lab.restart("ctl", "slurmctld")
        set_down(lab, "n2", "resume")
        job.send_signal(signal.SIGKILL)
        job.wait(120)
        lab.run(["scancel", "-u", "user"], cwd="/")


def set_down(lab, node, state):
    done = lab.run(["scontrol", "update", f"node={node}", f"state={state}",
                    "reason=test"], host="ctl", cwd="/")
    assert done.returncode == 0, done.stderr


def test_it_needs_no_daemon(lab):
    """slurmd does not run: that is no fault of STORM's. An agent that is not there
    is one for the hosts that ask it."""
    lab.end("n2", "slurmd")
    lab.end("n2", "agent")
    try:
        assert "ok       port 8383 is free, and no slurmd runs" in \
            check(lab, host="n2", code=0)
        assert asked(lab) == {"n2": "no agent runs: restart slurmd, and run "
                              "storm check there if that does not help"}
    finally:
        lab.restart("n2", "slurmd")
    lab.wait_agents(["n2"])


def test_slurmd_from_before_the_installation(lab):
    """It runs, and its agent does not."""
    lab.end("n2", "slurmd")
    lab.end("n2", "agent")
    old = lab.popen(["python3", "-c", "import ctypes\n"
                     "ctypes.CDLL(None).prctl(15, b'slurmd')\n"
                     "print('ready', flush=True)\ninput()"],
                    host="n2", cwd="/", stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True)
    try:
        assert old.stdout.readline() == "ready\n"
        only(check(lab, host="n2"), "no agent runs: restart slurmd")
    finally:
        old.stdin.close()
        old.stdout.close()
        old.wait(120)
        lab.restart("n2", "slurmd")
    lab.wait_agents(["n2"])


def test_agent_is_stopped(lab):
    """slurmd would kill it after 5 s, and so is stopped, too."""
    lab.kill("n2", "slurmd", signal.SIGSTOP)
    lab.kill("n2", "agent", signal.SIGSTOP)
    try:
        only(check(lab, host="n2"), "the agent (process ", "is stopped: 'kill "
             "-CONT")
        said = asked(lab)
        assert list(said) == ["n2"] and \
            "its agent gives no answer: it is stopped" in said["n2"], said
    finally:
        lab.kill("n2", "agent", signal.SIGCONT)
        lab.kill("n2", "slurmd", signal.SIGCONT)
    lab.wait_agents(["n2"])


@contextlib.contextmanager
def firewall(lab, host, rules):
    if not shutil.which("nft"):
        pytest.skip("nft is missing: install nftables")
    done = lab.run(["nft", "-f", "-"], host=host, cwd="/", input=f"""
        table inet check {{ chain c {{ type filter hook input priority 0;
            {rules}
        }}
        }}
        """)
    assert done.returncode == 0, done.stderr
    try:
        yield
    finally:
        lab.run(["nft", "delete", "table", "inet", "check"], host=host, cwd="/")


@pytest.mark.parametrize("host, rules, parts", [
    ("n2", "tcp dport 8383 drop", ("nothing answers on TCP port 8383",)),
    ("n2", "tcp dport 8383 reject with tcp reset", ("no agent runs",)),
    ("n2", "udp dport 8383 drop", ("none from here reach its UDP port 8383",)),
    ("login", "ip saddr 10.0.0.12 udp sport 8383 drop", ("none of its datagrams reach this host", "let UDP")),
    ("n2", "meta pkttype multicast udp dport 8383 drop",
     ("no multicast from this host reaches it", "set Multicast=no")),
    ("n2", "udp dport 8383 meta length > 1000 drop",
     ("no packets of 1500 bytes", "raise the MTU")),
], ids=["tcp", "refused", "udp-in", "udp-back", "group", "size"])
def test_firewall(lab, host, rules, parts):
    address = lab.run(["getent", "hosts", "n2"], cwd="/").stdout.split()[0]
    with firewall(lab, host, rules.replace("10.0.0.12", address)):
        said = asked(lab)
        assert list(said) == ["n2"], said
        for part in parts:
            assert part in said["n2"], said


def test_reset_and_asked_again(lab):
    """A connection can end by a reset when its agent does: the next agent is asked."""
    with firewall(lab, "n2", "tcp dport 8383 tcp flags & psh == psh numgen inc mod "
                  "1000000 0 counter reject with tcp reset"):
        assert asked(lab) == {}
        rules = lab.run(["nft", "list", "table", "inet", "check"], host="n2",
                        cwd="/").stdout
        assert "counter packets 1 " in rules, rules


def test_audit(lab):
    """All that one check opens is one line of the agent's log, with its name."""
    since = len(lab.log("n3", "slurmd"))
    lab.kill("n3", "agent")

    def log():
        """What the agent has said, as slurmd hands it on later."""
        return lab.log("n3", "slurmd")[since:].partition("serves node")[2]

    until(lambda: log() and asked(lab) == {}, "another agent")
    asked(lab)
    address = lab.run(["getent", "hosts", "login"], cwd="/").stdout.split()[0]
    lines = until(lambda: [line for line in log().splitlines()
                           if f"audit: OPEN by uid 0 at {address}" in line],
                  "the agent's line")
    assert len(lines) == 1 and lines[0].endswith(
        f"audit: OPEN by uid 0 at {address} for storm check on 1 nodes: accepted"), \
        lines


def test_between_nodes(lab):
    """This host reaches n3, and n1, which passes OPENs on to it, does not."""
    address = lab.run(["getent", "hosts", "n1"], cwd="/").stdout.split()[0]
    with firewall(lab, "n3", f"ip saddr {address} tcp dport 8383 drop"):
        said = asked(lab)
        assert list(said) == ["n3"], said
        assert "this host reaches it, and node n1 does not" in said["n3"], said


def test_no_such_node(lab):
    lines = check(lab, "-q", "-w", "n[1-2],nowhere", host="login")
    only(lines, "nowhere: Slurm has no address for it")


def test_clock_of_a_node(lab):
    """munged there lives in another time, and so does what it signs."""
    with munged_off(lab, "n2", -1000):
        assert asked(lab) == {"n2": "its clock is 17 min behind this host's, too "
                              "much for MUNGE: run chrony or ntpd on both"}
        # which asks its neighbours
        only(check(lab, host="n2"), "this host's clock is 17 min behind that of "
             "n[1,3], too much for MUNGE: run chrony")
        assert not [line for line in check(lab, host="n1", code=0)
                    if "clock" in line]
    with munged_off(lab, "n2", 7200):
        assert "its clock is 2 h ahead of this host's" in asked(lab)["n2"]


def test_own_name_is_loopback(lab):
    """Debian's default. Other hosts have the node's address, and all works."""
    hosts = lab.path("n1", "/etc/hosts")
    with open(hosts) as f:
        good = f.read()
    with open(hosts, "w") as f:
        f.write("127.0.1.1 n1\n" + "".join(
            l + "\n" for l in good.splitlines() if " n1" not in l))
    try:
        lines = check(lab, host="n1", code=0)
        assert any("note     this host's own name n1 is 127.0.1.1" in line
                   for line in lines), lines
        replace(lab, "slurm.conf", "NodeName=n[1-3]",
                "NodeName=n[1-3] NodeAddr=127.0.1.[1-3]")
        only(check(lab, host="n1"), "find node n1 at 127.0.1.1, which is their "
             "own: set another NodeAddr")
    finally:
        with open(hosts, "w") as f:
            f.write(good)


def test_interface_without_the_address(lab):
    lab.run(["ip", "link", "add", "other0", "type", "veth", "peer",
             "name", "other1"], host="n1", cwd="/")
    lab.run(["ip", "addr", "add", "192.0.2.1/24", "dev", "other0"], host="n1",
            cwd="/")
    lab.run(["ip", "link", "set", "other0", "up"], host="n1", cwd="/")
    try:
        add(lab, "storm.conf", "Interface=other0\nMulticast=no\n")
        only(check(lab), "Interface=other0 in storm.conf does not have the address "
             "of node n1", "which eth0 has: set Interface=eth0")
    finally:
        lab.run(["ip", "link", "del", "other0"], host="n1", cwd="/")


def test_address_of_another_host(lab):
    with open(etc(lab, "slurm.conf")) as f:
        text = f.read()
    write(lab, "slurm.conf", re.sub(r"NodeAddr=\S+ ?", "", text))
    replace(lab, "slurm.conf", "NodeName=n[1-3]",
            "NodeName=n[1-3] NodeAddr=198.51.100.[1-3]")
    only(check(lab), "no interface has the address of node n1, 198.51.100.1: "
         "correct NodeAddr")


def test_disk_is_full(lab):
    lab.disk("n1", "1m", "/full")
    add(lab, "slurm.conf", "TmpFS=/full\n")
    only(check(lab), "/full (TmpFS) has ", "make room")


def test_no_turns_there(lab):
    """slurmctld's Extra has the reason; storm check has the remedy."""
    def is_told():
        # an agent that fails takes its predecessor's page away
        lab.run(["sh", "-c", "cat /dev/zero >>/run/full"], host="n2", cwd="/")
        said = lab.run([CHECK, "check", "-q", "-w", "n2"], host="login", cwd="/")
        return "n2: it takes no turns (no-gang(disk)): the disk of " \
            "/run/slurm-storm is full there: make room" in said.stdout

    def resize(size):
        lab.run(["sh", "-c", f"mount -o remount,size={size} /run"], host="n2",
                cwd="/", check=True)
    resize("$(df -k --output=used /run | tail -n 1 | tr -d ' ')k")
    try:
        lab.kill("n2", "agent")
        until(is_told, "the reason in storm check's lines", interval=0.2)
        only(check(lab, host="n2"), "/run/slurm-storm (the agent's own files) has ")
    finally:
        lab.run(["rm", "-f", "/run/full"], host="n2", cwd="/")
        resize("50%")
    until(lambda: not lab.run([CHECK, "check", "-q", "-w", "n2"], host="login",
                              cwd="/").stdout, "the reason to go", interval=0.2)


@pytest.mark.parametrize("line, parts", [
    ("Radix=1", (":%d: Radix=1 is invalid: ",
                 "set a number from 2 to 64")),
    ("Radix 4", (":%d: expected Key=Value, found 'Radix 4': correct",)),
    ("Radix=4 TTL=1", (":%d: ", "write one key per line")),
    ("DeadTimeout=1s", (":%d: DeadTimeout (1000 ms) must be at least twice",)),
    ("Interface=eth7", ("there is no interface eth7: correct Interface",
                        "eth0")),
])
def test_storm_conf(lab, line, parts):
    add(lab, "storm.conf", line + "\n")
    with open(etc(lab, "storm.conf")) as f:
        number = f.read().count("\n")
    only(check(lab), *(p % number if "%d" in p else p for p in parts))


def program(lab, mode=0o755, owner=0):
    path = lab.path("n1", "/run/site/check")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n")
    os.chmod(path, mode)
    os.chown(path, owner, -1)


@pytest.mark.parametrize("file, key", [("storm.conf", "HealthProgram"),
                                       ("slurm.conf", "HealthCheckProgram")])
def test_health_program(lab, file, key):
    """As storm_health judges it; a host without slurmd and without it needs none."""
    add(lab, file, f"{key}=/run/site/check\n")
    only(check(lab), f"{key} in {file} is not run, and nodes show health=program: ",
         "/run/site", "No such file or directory")
    assert not check(lab, "-q", host="login", code=0)
    for how, why in (({"mode": 0o757}, " can be written by others than root: give"),
                     ({"owner": 1234}, " is not root's: give"),
                     ({"mode": 0o644}, " cannot be executed: give")):
        program(lab, **how)
        only(check(lab), f"/run/site/check{why}")
    program(lab)
    assert f"ok       {key} in {file}: root may run /run/site/check" in check(lab, code=0)
    shutil.rmtree(lab.path("n1", "/run/site"))
    add(lab, "storm.conf", "Health=0\n")
    assert not any("/run/site" in line for line in check(lab, code=0))


def test_a_file_before_it_is_installed(lab):
    """All faults are told; a key that is not known was meant to be another."""
    lab_file = lab.path("n1", "/home/new.conf")
    with open(lab_file, "w") as f:
        f.write("TTL=9\nQuantun=1\n")
    (line,) = [line for line in check(lab, "-c", "/home/new.conf")
               if "/home/new.conf" in line]
    assert line == "missing  /home/new.conf:2: unknown key 'Quantun' has no " \
        "effect: did you mean Quantum?"
    with open(lab_file, "a") as f:
        f.write("DSCP=64\nPort=0\n")
    lines = [line for line in check(lab, "-c", "/home/new.conf")
             if "/home/new.conf" in line]
    assert [line.split()[0] for line in lines] == 3 * ["missing"]
    assert "new.conf:3: DSCP=64" in lines[1]
    assert "new.conf:4: Port=0" in lines[2]
    done = lab.run([CHECK, "check", "-c", "/home/none.conf"], host="n1", cwd="/")
    assert done.returncode == 2 and "/home/none.conf" in done.stderr


def test_the_old_form(lab):
    """It counts, and the lines that take its place are printed whole."""
    add(lab, "storm.conf", "PartitionPolicy=gang:flexible\n"
        "TimeLimitByTurns=gang,debug\n")
    with open(etc(lab, "storm.conf")) as f:
        number = f.read().splitlines().index("PartitionPolicy=gang:flexible") + 1
    done = lab.run([CHECK, "check"], host="n1", cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"note     /etc/slurm/storm.conf:{number}: the next version does not read " \
        "PartitionPolicy, TimeLimitByTurns: write in place of these keys: the lines " \
        "below\n" in done.stdout
    new = "Partition=gang Policy=flexible LimitByTurns=yes\n" \
        "Partition=debug LimitByTurns=yes\n"
    assert done.stdout.endswith("\n" + new), done.stdout
    assert not check(lab, "-q", code=0)
    replace(lab, "storm.conf",
            "PartitionPolicy=gang:flexible\nTimeLimitByTurns=gang,debug\n", new)
    assert not [line for line in check(lab, code=0) if "version" in line]


def test_no_storm_conf(lab):
    os.unlink(etc(lab, "storm.conf"))
    assert any("storm.conf is not there: every key has its default" in line
               for line in check(lab, code=0))


def test_wrong_plugin_dir(lab):
    """There no program of Slurm runs."""
    replace(lab, "slurm.conf", "PluginDir=", "PluginDir=/not/there:")
    dead = lab.run(["scontrol", "show", "config"], host="n1", cwd="/")
    assert dead.returncode != 0
    only(check(lab), "PluginDir in /etc/slurm/slurm.conf names /not/there, "
         "which is not there: no program of Slurm runs on this host: ",
         "install STORM there, or take it out of PluginDir")
    lines = check(lab, "-w", "n[1-2]", host="login")
    assert any("n[1-2]: not asked, as Slurm's programs do not run here" in line
               and "run storm check on each node by hand" in line
               for line in lines)


def test_plugins_are_not_in_plugin_dir(lab):
    with open(etc(lab, "slurm.conf")) as f:
        text = f.read()
    (line,) = [l for l in text.splitlines() if l.startswith("PluginDir=")]
    write(lab, "slurm.conf", text.replace(line, "PluginDir=" +
                                          line.rsplit(":")[-1]))
    lines = [l for l in check(lab) if l.startswith("missing")]
    assert len(lines) == len(glob.glob(stage_dir() + "/lib/slurm-storm/*.so"))
    assert "spank_storm.so is in no directory of PluginDir" in lines[0]


def test_plugins_of_another_slurm(lab, tmp_path):
    """Their version is read from the files, which are not loaded."""
    with open(stage_dir() + "/lib/slurm-storm/spank_storm.so", "rb") as f:
        image = f.read()
    said = lab.run(["scontrol", "-V"], host="n1", cwd="/").stdout
    is_now = re.search(r"[\d.]+", said)[0]
    major, minor, micro = map(int, is_now.split("."))
    number = major << 16 | minor << 8 | micro
    ours = number.to_bytes(4, "little")
    assert ours in image
    os.mkdir(lab.dir + "/home/plugins")
    with open(lab.dir + "/home/plugins/spank_storm.so", "wb") as f:
        f.write(image.replace(ours, (number - 1).to_bytes(4, "little")))
    replace(lab, "slurm.conf", "PluginDir=", "PluginDir=/home/plugins:")
    only(check(lab), f"/home/plugins/spank_storm.so is for Slurm {major}."
         f"{minor:02}.{micro - 1}, and this is Slurm {is_now}: build and "
         f"install STORM for {is_now}")


def test_plugins_of_another_build(lab):
    """The guard would refuse them; this tells before a job does."""
    lines = check(lab, code=0)
    (line,) = [l for l in lines if "libslurmfull.so" in l]
    library = re.search(r"\S+/libslurmfull.so", line)[0]
    assert line.endswith(f"; {library} is the one that STORM was built for")
    said = lab.run(["/run/stormlab/stage/bin/sbcast_storm", "--version"],
                   host="n1", cwd="/").stdout
    revision, mine = re.search(r"built for Slurm (\S+), libslurmfull.so (\S+)",
                               said).groups()
    with open(stage_dir() + "/lib/slurm-storm/spank_storm.so", "rb") as f:
        image = f.read()
    assert image.count(mine.encode()) == 1
    os.makedirs(lab.dir + "/home/other", exist_ok=True)
    with open(lab.dir + "/home/other/spank_storm.so", "wb") as f:
        f.write(image.replace(mine.encode(), mine[::-1].encode()))
    replace(lab, "slurm.conf", "PluginDir=", "PluginDir=/home/other:")
    only(check(lab), f"{library} is not the one of Slurm {revision}, which "
         "/home/other/spank_storm.so was built for: all steps get Slurm's own "
         "launch: install STORM for this Slurm, or build it again")


def test_plugstack(lab):
    write(lab, "plugstack.conf", "# optional spank_storm.so\n")
    only(check(lab), "plugstack.conf does not load spank_storm.so",
         "add the line 'optional spank_storm.so'")
    # by an included file, with a key that is wrong
    write(lab, "plugstack.conf", "include more.d*\n")
    write(lab, "more.d1", "optional spank_storm.so Radix=99\n")
    lines = check(lab)
    only(lines, "more.d1:1: Radix=99 is invalid")


def test_preempt_mode(lab):
    add(lab, "slurm.conf", "PreemptMode=SUSPEND,GANG\n")
    only(check(lab), "PreemptMode=SUSPEND,GANG has GANG",
         "take GANG out of PreemptMode")


def test_port_is_taken(lab):
    add(lab, "storm.conf", "Port=8500\n")
    one = lab.popen(["python3", "-c", "import socket\n"
                     "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                     "s.bind(('', 8500))\nprint('ready', flush=True)\n"
                     "input()"], host="n1", cwd="/", stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True)
    try:
        assert one.stdout.readline() == "ready\n"
        only(check(lab), "port 8500 is in use by process ", "(python3",
             "end it, or set another Port")
    finally:
        one.stdin.close()
        one.stdout.close()
        one.wait(120)


def test_munged_does_not_run(lab):
    lab.end("n1", "munged")
    try:
        only(check(lab), "munged does not work here: ",
             "'systemctl start munge', with the cluster's")
        assert asked(lab) == {"n1": "its munged gives no answer: restart munge "
                              "there"}
    finally:
        lab.restart("n1", "munged")


def test_munge_keys_differ(lab):
    """The agents say no more than that to whom they do not know."""
    path = lab.path("login", "/etc/munge/munge.key")
    with open(path, "rb") as f:
        key = f.read()
    with open(path, "wb") as f:
        f.write(bytes(len(key)))
    lab.restart("login", "munged")
    try:
        said = asked(lab)
        assert list(said) == ["n[1-3]"], said
        assert "compare /etc/munge/munge.key" in said["n[1-3]"], said
    finally:
        with open(path, "wb") as f:
            f.write(key)
        lab.restart("login", "munged")


def test_no_multicast(lab):
    """In the network, which no host can see by itself."""
    lab.multicast(False)
    try:
        said = asked(lab)
        assert list(said) == ["n[1-3]"], said
        assert "no multicast from this host reaches it" in said["n[1-3]"] and \
            "set Multicast=no in storm.conf" in said["n[1-3]"], said
    finally:
        lab.multicast(True)


def test_storm_confs_differ(lab):
    """-c is for this host alone."""
    with open(lab.dir + "/home/new.conf", "w") as f:
        f.write("GroupBase=239.9.9.9\nMulticast=no\n")
    lines = [line for line in check(lab, "-j", "-w", "n2", "-c",
                                    "/home/new.conf", host="login")
             if "n2: storm.conf gives" in line]
    assert len(lines) == 1 and "GroupBase=239.192.83.0 " in lines[0] and \
        "make them the same" in lines[0], lines


def test_verbs(lab):
    """Without an adapter. testsuite/unit/check_verbs has the rest."""
    add(lab, "storm.conf", "Transport=verbs\n")
    assert any("no RDMA device" in line for line in check(lab))
    assert any("no RDMA device" in line for line in check(lab, "--verbs"))
    done = lab.run([CHECK, "check", "-d", "eth0"], host="n1", cwd="/")
    assert done.returncode == 2 and "Usage" in done.stderr
