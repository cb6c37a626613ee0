# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What each of twelve faults looks like on hosts with packages: what srun says, what
"scontrol show node" has in Extra, and what storm_check says, here and on the node.

Each fault is on n2. A step that asks for STORM ends as one of stock Slurm does under
the same fault, a little later at the most. What is said names the fault. The last
test prints the table of doc/troubleshooting.md.
"""
import contextlib
import os
import pathlib
import re
import resource
import shutil
import subprocess
import threading
import time

import pytest

from bare_hosts import AGENT, GANG_CONF, NODES, until
from conftest import TOP
from test_packages import install, jobs

pytestmark = pytest.mark.long

#: a busy machine may take longer for a multicast than the default
STORM_CONF = "LaunchNodes=2\nQuantum=50\nMulticastTimeout=2s\n"
#: srun's memory of nodes that it could not reach
KNOWN = "rm -rf /tmp/slurm-storm-*"
#: seconds that a step may need more than by stock Slurm, on a busy machine
MORE = 8
#: seconds until Extra has what it has to show, or shows nothing
EXTRA = 16


# -- faults ---------------------------------------------------------------------

def inside(hosts, name, path):
    """A path of a host, seen from here."""
    return pathlib.Path(f"/proc/{hosts.inits[name][1]}/root{path}")


@contextlib.contextmanager
def instead(hosts, path, data):
    """On n2 alone, another file than the one that all hosts share."""
    mine = "/var/log/" + os.path.basename(path)
    inside(hosts, "n2", mine).write_bytes(data)
    hosts.run("n2", ["chmod", "755", mine])
    hosts.run("n2", ["mount", "--bind", mine, path])
    try:
        yield
    finally:
        hosts.run("n2", ["umount", "-l", path])


def next_agent(hosts):
    """Its agent begins anew."""
    if hosts.agent("n2"):
        hosts.signal("n2", "storm_agent")


@contextlib.contextmanager
def wrong_interface(hosts):
    with instead(hosts, "/etc/slurm/storm.conf",
                 (STORM_CONF + "Interface=nosuch\n").encode()):
        next_agent(hosts)
        yield


@contextlib.contextmanager
def firewall(hosts, hook, what):
    def nft(text):
        subprocess.run(["nsenter", "-t", str(hosts.inits["n2"][1]), "-n", "nft", "-f",
                        "-"], input=text, text=True, check=True)
    nft(f"table inet f {{ chain c {{ type filter hook {hook} priority 0; "
        f"{what} drop; }}; }}")
    try:
        yield
    finally:
        nft("delete table inet f")


@contextlib.contextmanager
def small_mtu(hosts):
    # a switch of hardware knows no larger packets
    hosts.ip("switch", ["link set vn2 gso_max_segs 1"])
    hosts.ip("n2", ["link set eth0 mtu 1300"])
    try:
        yield
    finally:
        hosts.ip("n2", ["link set eth0 mtu 1500"])
        hosts.ip("switch", ["link set vn2 gso_max_segs 65535"])


@contextlib.contextmanager
def no_munged(hosts):
    hosts.run("n2", ["munged", "--stop"])
    try:
        yield
    finally:
        hosts.run("n2", ["munged"], "munge")


@contextlib.contextmanager
def clock(hosts):
    """munged there lives 1000 s ago."""
    library = "/var/log/clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", inside(hosts, "n2", library),
                    TOP / "testsuite/programs/clock.c"], check=True)
    with no_munged(hosts):
        hosts.run("n2", ["env", "LD_PRELOAD=" + library, "CLOCK_OFF=-1000", "munged"],
                  "munge")
        try:
            yield
        finally:
            hosts.run("n2", ["munged", "--stop"])


@contextlib.contextmanager
def no_inotify(hosts):
    """All instances of root on this machine, for the few seconds of the test."""
    limit = int(pathlib.Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit + 100 > most:
        pytest.skip(f"SKIP: {limit} inotify instances, and {most} descriptors")
    keeper = subprocess.Popen(
        ["python3", "-c", "import ctypes, resource\n"
         f"resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))\n"
         "while ctypes.CDLL(None).inotify_init() >= 0:\n    pass\n"
         "print('spent', flush=True)\ninput()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert keeper.stdout.readline() == "spent\n"
        next_agent(hosts)
        until(lambda: hosts.agent("n2"), "another agent")
        yield
    finally:
        keeper.communicate("\n")


@contextlib.contextmanager
def other_slurm(hosts):
    """Its libslurmfull.so is of another build."""
    library, = hosts.root.glob("usr/lib/*/slurm-wlm/libslurmfull.so")
    notes = subprocess.run(["readelf", "-n", library], check=True, text=True,
                           capture_output=True).stdout
    mine = bytes.fromhex(re.search(r"Build ID: (\w+)", notes)[1])
    data = library.read_bytes()
    assert data.count(mine) == 1
    try:
        with instead(hosts, "/" + str(library.relative_to(hosts.root)),
                     data.replace(mine, mine[::-1])):
            hosts.restart("n2", "slurmd")
            next_agent(hosts)
            yield
    finally:
        hosts.restart("n2", "slurmd")


@contextlib.contextmanager
def full_disk(hosts):
    """/tmp and /run. An agent needs room when it begins."""
    def lacks_room():
        # an agent that fails takes the pages of the last one away
        hosts.run("n2", ["sh", "-c", "cat /dev/zero >>/run/full"], check=False)
        stats = hosts.run("n2", [AGENT, "--node", "n2", "--stats"], check=False)
        return "no-gang(disk)" in stats.stdout
    try:
        inside(hosts, "n2", "/tmp/some").write_bytes(bytes(4096))
        for folder in "/tmp", "/run":
            hosts.run("n2", ["sh", "-c", f"mount -o remount,size=$(df -k --output=used "
                             f"{folder} | tail -n 1 | tr -d ' ')k {folder}"])
        next_agent(hosts)
        until(lacks_room, "an agent without room")
        yield
    finally:
        hosts.run("n2", ["rm", "-f", "/tmp/full", "/run/full", "/tmp/some"])
        for folder in "/tmp", "/run":
            hosts.run("n2", ["mount", "-o", "remount,size=50%", folder])


@contextlib.contextmanager
def stopped(hosts):
    """Whatever agent slurmd starts."""
    over = threading.Event()

    def stop():
        while not over.wait(0.1):
            hosts.run("n2", ["pkill", "-STOP", "-x", "storm_agent"], check=False)
    thread = threading.Thread(target=stop)
    hosts.signal("n2", "storm_agent", "STOP")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        hosts.run("n2", ["pkill", "-CONT", "-x", "storm_agent"], check=False)


LOST = r"storm:out=(node-lost|not-heard)"
DEAF = r"storm:out=strobes-lost"
SILENT = r"(?!.*storm:out)"
WELL = r"\Z"
WALL = r"\(is a (smaller MTU or a )?firewall in between\?\); falling back"
#: name: what makes it, srun's words, Extra's, storm_check's here, and on the node.
#: "": it says nothing of the fault
FAULTS = {
    "wrong interface": (
        wrong_interface, r"n2: .*falling back", LOST,
        r"n2: no agent runs: .*run storm check there",
        r"no interface nosuch: correct Interface"),
    "UDP in": (
        lambda h: firewall(h, "input", "udp dport 8383"),
        r"n2: no datagram from this host comes to UDP port 8383 there .*" + WALL,
        DEAF, r"n2: .*none from here reach its UDP port 8383", WELL),
    "UDP out": (
        lambda h: firewall(h, "output", "udp sport 8383"),
        r"n2: no datagram comes from there to UDP port .*" + WALL,
        LOST, r"n2: .*none of its datagrams reach this host", WELL),
    "TCP": (
        lambda h: firewall(h, "input", "tcp dport 8383"),
        r"n2: no connection from this host to TCP port 8383: .*" + WALL,
        "", r"n2: nothing answers on TCP port 8383", WELL),
    "multicast": (
        lambda h: firewall(h, "input", "ip daddr 224.0.0.0/4"),
        r"multicast does not reach all nodes: data go along the chain",
        # strobes go down the tree
        SILENT, r"n2: no multicast from this host reaches it", WELL),
    "MTU": (
        small_mtu, r"n2: only short datagrams come to UDP port 8383 there .*" + WALL,
        SILENT, r"n2: short datagrams .*raise the MTU", ""),
    "munged": (
        no_munged, r"n2: its munged gives no answer: restart munge there", "",
        r"n2: its munged gives no answer", r"munged does not work here"),
    "clock": (
        clock, r"n2: its clock is 17 min behind this host's", "",
        r"n2: its clock is 17 min behind this host's",
        r"this host's clock is 17 min behind that of n1"),
    "inotify": (no_inotify, r"on 2 nodes, by multicast", SILENT, WELL, WELL),
    "other Slurm": (
        other_slurm, r"n2: .*falling back", LOST,
        r"n2: no agent runs: .*run storm check there",
        r"libslurmfull\.so"),
    "full disk": (
        full_disk, r"n2.*No space left on device", r"storm:out=no-gang\(disk\)",
        r"n2: it takes no turns \(no-gang\(disk\)\): .*make room",
        r"/tmp .*make room"),
    "agent stopped": (
        stopped, r"n2: its agent gives no answer: it is stopped, .*falling back", LOST,
        # slurmd kills it after 5 s, and starts another one
        r"n2: (.*it is stopped|no agent runs)",
        r"is stopped: 'kill -CONT|no agent runs"),
}

# -- displays -------------------------------------------------------------------

def step(hosts, launch):
    """(srun, its seconds)"""
    began = time.monotonic()
    more = ["-v", "--launch=storm"] if launch == "storm" else []
    # slurmd writes a file into one of that name which the job could not send before
    done = hosts.srun(f"--jobid={hosts.job}", "--overlap", *more,
                      f"--bcast=/tmp/fault.{time.time_ns()}", "hostname")
    return done, time.monotonic() - began


def extra(hosts):
    shown = hosts.run("ctl", ["scontrol", "-o", "show", "node", "n2"]).stdout
    return (re.findall(r"storm:\S+", shown) + [""])[0]


def check(hosts, host, *options):
    """(what is missing, seconds)"""
    began = time.monotonic()
    done = hosts.run(host, ["storm_check", "-q", *options], check=False)
    assert done.returncode == bool(done.stdout) and not done.stderr, done
    return done.stdout, time.monotonic() - began


def well(hosts):
    """All are as without a fault."""
    hosts.run("ctl", ["sh", "-c", KNOWN])

    def says():
        return [text for text in (check(hosts, "ctl", "-w", "n[1-2]")[0],
                                  check(hosts, "n2")[0], extra(hosts))
                if re.search("missing|out=", text)]
    until(lambda: not says(), says, 90)
    done, _ = step(hosts, "storm")
    assert "on 2 nodes, by multicast" in done.stderr, done
    hosts.run("ctl", ["sh", "-c", KNOWN])
    for node in NODES:
        hosts.run(node, ["sh", "-c", "rm -f /tmp/fault.*"])


@pytest.fixture(scope="module")
def installed(hosts, debs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("debs")
    for deb in debs.values():
        shutil.copy(deb, folder)
    install(hosts, folder)
    hosts.configure(GANG_CONF.replace("FORCE:2 DefMemPerCPU=100", "FORCE:3 DefMemPerCPU=80"), STORM_CONF)
    hosts.restart("ctl", "slurmctld")
    hosts.restart_nodes()
    hosts.serve()
    # two jobs that take turns all the time
    runs = [hosts.begin_run("ctl", ["srun", "-pgang", "-N2", "-n2", "-c4", "-D/tmp",
                                    "sleep", "10000"]) for _ in range(2)]
    hosts.alternate(*until(lambda: len(j := jobs(hosts)) == 2 and j, "two jobs"))
    # and one for the steps: after a fault of MUNGE its node takes no new job for minutes
    said = hosts.run("ctl", ["salloc", "-pgang", "-N2", "-n2", "--no-shell"], "user")
    hosts.job = int(re.search(r"job allocation (\d+)", said.stderr)[1])
    well(hosts)
    yield hosts
    hosts.run("ctl", ["scancel", "-u", "user"])
    for run in runs:
        run.communicate(timeout=120)


@pytest.fixture(scope="module")
def table():
    return []


def cell(text, took=None):
    """Of a table, without what Slurm's own programs say at -v."""
    lines = [line for line in text.splitlines()
             if "storm:" in line or not re.match(r"srun: (?!error)", line)]
    lines = [re.sub(r"^(srun: (error: )?storm: |missing +)", "", line)
             .replace("|", "\\|") for line in lines]
    when = "" if took is None else f" ({took:.1f} s)"
    return ("<br>".join(lines) or "-") + when


@pytest.mark.parametrize("name", FAULTS)
def test_fault(installed, table, name):
    hosts = installed
    make, by_srun, by_extra, by_check, by_node = FAULTS[name]
    missed = []

    def must(pattern, said, who):
        if not re.search(pattern, said) if pattern != WELL else said:
            missed.append(f"{who}: not {pattern!r}: {said}")
    try:
        with make(hosts):
            began = time.monotonic()
            run, took = step(hosts, "storm")
            while time.monotonic() < began + EXTRA and (
                    by_extra in ("", SILENT) or not re.match(by_extra, extra(hosts))):
                time.sleep(0.2)
            shown, after = extra(hosts), time.monotonic() - began
            said, asked = check(hosts, "ctl", "-w", "n[1-2]")
            there, _ = check(hosts, "n2")
            stock, usual = step(hosts, "slurm")
    finally:
        well(hosts)
    print(began, shown, said, there)
    table.append([name, cell(run.stderr, took) + f"; stock {usual:.1f} s, ends with "
                  f"{run.returncode}, stock with {stock.returncode}",
                  cell(shown, after), cell(said, asked), cell(there)])
    print(run.stderr, stock.stderr, sep="\n-- stock:\n")
    assert (run.returncode, sorted(run.stdout.split())) == \
        (stock.returncode, sorted(stock.stdout.split())), (run, stock)
    assert took < usual + MORE
    must(by_srun, run.stderr, "srun")
    must(by_extra, shown, "Extra")
    must(by_check, said, "storm_check")
    must(by_node, there, "storm_check on n2")
    assert not missed, "\n".join(missed)


def test_table(table, capsys):
    with capsys.disabled():
        print("\n| fault | srun | Extra of n2 | storm_check -q -w n[1-2] | "
              "storm_check -q on n2 |\n| --- | --- | --- | --- | --- |")
        for row in table:
            print("|", " | ".join(row), "|")
