# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm_check on a lab: it finds nothing missing where all is well, and names each
fault of a broken set-up, with its remedy, also where no program of Slurm runs."""
import glob
import os
import re
import subprocess

import pytest

from harness import Lab
from lab.release import stage_dir

pytestmark = pytest.mark.storm_only

CHECK = "/run/stormlab/stage/bin/storm_check"


@pytest.fixture(scope="module")
def made():
    lab = Lab(f"check{os.getpid()}")
    try:
        lab.up(2, cpus=4, gang=2)
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
    """Its lines, each with one of the three words in front."""
    done = lab.run([CHECK, *options], host=host, cwd="/", env=env)
    lines = done.stdout.splitlines()
    assert done.returncode == code, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    words = [line.split()[0] for line in lines]
    assert set(words) <= {"ok", "missing", "note"}, done.stdout
    assert ("missing" in words) == (code == 1), done.stdout
    return lines


def only(lines, *parts):
    """The one line that something is missing has these parts."""
    (line,) = [line for line in lines if line.startswith("missing")]
    for part in parts:
        assert part in line, line


def test_nothing_is_missing(lab):
    lines = check(lab, "-w", "n[1-2]", host="login", code=0)
    for node in lab.nodes:
        assert f"ok       multicast reaches {node}, with packets of 1500 " \
            "bytes" in lines
        assert f"ok       this host takes {node}'s MUNGE credentials" in lines
        assert f"ok       the clocks of {node} and this host agree" in lines
        (port,) = [line for line in lines if f" {node}: port 8383" in line]
        assert "is the agent's" in port
    assert "ok       SwitchType=switch/storm" in lines


def test_as_a_user(lab):
    """Who cannot see whose port it is, and may run a job, too."""
    done = lab.run([CHECK, "-w", "n2"], host="login", cwd="/", user="user")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "multicast reaches n2" in done.stdout
    done = lab.run([CHECK], host="n1", cwd="/", user="user")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "port 8383 is root's, and an agent runs here" in done.stdout


def test_it_needs_no_daemon(lab):
    lab.end("n2", "slurmd")
    lab.end("n2", "agent")
    try:
        assert "ok       port 8383 is free" in check(lab, host="n2", code=0)
    finally:
        lab.restart("n2", "slurmd")


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


def test_a_file_before_it_is_installed(lab):
    """All faults are told. An unknown key is none that counts."""
    lab_file = lab.path("n1", "/home/new.conf")
    with open(lab_file, "w") as f:
        f.write("TTL=9\nQuantun=1\n")
    (line,) = [line for line in check(lab, "-c", "/home/new.conf", code=0)
               if "/home/new.conf" in line]
    assert line == "note     /home/new.conf:2: unknown key 'Quantun' has no " \
        "effect: did you mean Quantum?"
    with open(lab_file, "a") as f:
        f.write("DSCP=64\nPort=0\n")
    lines = [line for line in check(lab, "-c", "/home/new.conf")
             if "/home/new.conf" in line]
    assert [line.split()[0] for line in lines] == ["note"] + 2 * ["missing"]
    assert "new.conf:3: DSCP=64" in lines[1]
    assert "new.conf:4: Port=0" in lines[2]
    done = lab.run([CHECK, "-c", "/home/none.conf"], host="n1", cwd="/")
    assert done.returncode == 2 and "/home/none.conf" in done.stderr


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
    assert any("scontrol cannot read the list of nodes" in line and
               "run storm_check on each node by hand" in line
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
    library = line.split()[1]
    assert line == f"ok       {library} is the one that STORM was built for"
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
    assert any("loads spank_storm.so" in line for line in lines)


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
        one.wait(30)


def test_munged_does_not_run(lab):
    lab.end("n1", "munged")
    try:
        only(check(lab), "munged does not work here: ",
             "'systemctl start munge', with the cluster's")
    finally:
        lab.restart("n1", "munged")


def test_munge_keys_differ(lab):
    """Slurm fails there in the same way, so no job can look."""
    path = lab.path("login", "/etc/munge/munge.key")
    with open(path, "rb") as f:
        key = f.read()
    with open(path, "wb") as f:
        f.write(bytes(len(key)))
    lab.restart("login", "munged")
    try:
        lines = [line for line in check(lab, "-w", "n2", host="login")
                 if line.startswith("missing")]
        assert "the job on n2 failed: " in lines[-1], lines
        assert "compare 'md5sum /etc/munge/munge.key'" in lines[-1], lines
    finally:
        with open(path, "wb") as f:
            f.write(key)
        lab.restart("login", "munged")


def test_no_multicast(lab):
    """In the network, which no host can see by itself."""
    lab.multicast(False)
    try:
        lines = [line for line in check(lab, "-w", "n[1-2]", host="login")
                 if line.startswith("missing")]
        assert sorted(line.split()[7] for line in lines) == ["n1", "n2"]
        assert all("no multicast from this host reaches" in line and
                   "set Multicast=no in storm.conf" in line for line in lines)
    finally:
        lab.multicast(True)


def test_storm_confs_differ(lab):
    """-c is for this host alone."""
    with open(lab.dir + "/home/new.conf", "w") as f:
        f.write("GroupBase=239.9.9.9\nMulticast=no\n")
    lines = [line for line in check(lab, "-w", "n2", "-c", "/home/new.conf",
                                    host="login") if "storm.conf on n2" in line]
    assert len(lines) == 1 and "GroupBase=239.192.83.0 " in lines[0] and \
        "make them the same" in lines[0], lines


def test_verbs(lab):
    """Without an adapter. testsuite/unit/check_verbs has the rest."""
    add(lab, "storm.conf", "Transport=verbs\n")
    assert any("no RDMA device" in line for line in check(lab))
    assert any("no RDMA device" in line for line in check(lab, "--verbs"))
    done = lab.run([CHECK, "-d", "eth0"], host="n1", cwd="/")
    assert done.returncode == 2 and "Usage" in done.stderr
