# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Bad input. Each gives a clear error that names the node and the reason, and
the exit code of stock srun, and leaves no partial file on any node."""
import os
import pathlib
import re
import subprocess

import pytest

import normal
from harness import STOCK, TOP, Cluster, until
from lab.release import stage_dir
from lab.sysdep import kill_process, wait_process


@pytest.fixture
def tidy(cluster):
    yield
    for node in cluster.names:
        for name in cluster.listing(node):
            cluster.remove("/tmp/" + name, [node])


def on_nodes(cluster, script, nodes=None):
    for node in nodes or cluster.names:
        cluster.root(["sh", "-c", script], host=node)


def named(run):
    """The nodes that messages name."""
    found = set()
    for text in re.findall(r"\bn(?:\[[\d,-]+\]|\d+)", run.err):
        found |= set(normal.hosts(text))
    return found


def emptied(cluster, directory, nodes=None):
    """Wait until the nodes have nothing there: one may hear after srun's end that
    the broadcast has failed."""
    for node in nodes or cluster.names:
        until(lambda n=node: cluster.listing(n, directory) == [],
              lambda n=node: f"{n} to have nothing in {directory}: "
              f"{cluster.listing(n, directory)}")


def refused(cluster, args, reason, nodes=(), code=None,
            program="{big}", keep=(), **options):
    """By both launches: the same code, and nothing runs. STORM's message has
    the reason and the nodes. Nothing is left on any node."""
    runs = []
    for launch in ("slurm", "storm"):
        runs.append(cluster.srun(f"{args} {program} say ran", launch,
                                 **options))
        cluster.clean()
    stock, storm = runs
    assert storm.code == stock.code, f"{stock}\n{storm}"
    if code is not None:
        assert storm.code == code, str(storm)
    assert storm.code != 0 and "ran" not in storm.out, str(storm)
    assert re.search(reason, storm.err), f"no {reason!r} in {storm}"
    assert set(nodes) <= named(storm), f"{nodes} not all named: {storm}"
    if not STOCK and storm.timeline:
        assert storm.steps[0]["fallback"] is None, str(storm)
    cluster.tidied(*[f"{n}:/tmp/{f}" for n in cluster.names for f in keep])
    return stock, storm


@pytest.mark.every_mode
def test_binary_cannot_be_read(cluster, tidy):
    path = cluster.home / "bin" / "secret"
    path.write_bytes((cluster.bin / "taskdo").read_bytes())
    os.chmod(path, 0o711)           # executable, not readable
    refused(cluster, "--bcast=/tmp/app -N8 -n8", "Permission denied",
            program="{bin}/secret", code=1)


def test_binary_does_not_exist(cluster, tidy):
    refused(cluster, "--bcast=/tmp/app -N4 -n4",
            "Can not execute /not/there", program="/not/there")


@pytest.mark.every_mode
def test_destination_is_a_directory(cluster, tidy):
    on_nodes(cluster, "mkdir -m 777 /tmp/dir")
    refused(cluster, "--bcast=/tmp/dir -N8 -n8", "[Dd]irectory",
            cluster.names, code=1, keep=["dir"])
    emptied(cluster, "/tmp/dir", ["n1"])


def test_destination_is_a_directory_on_one_node(cluster, tidy):
    """All or nothing: the other nodes do not get the file either."""
    on_nodes(cluster, "mkdir -m 777 /tmp/app", ["n5"])
    storm = cluster.srun("--bcast=/tmp/app -N8 -n8 {big} say x")
    if STOCK:
        pytest.skip("SKIP: stock leaves the file on the others")
    assert storm.code == 1 and named(storm) == {"n5"}, str(storm)
    assert "irectory" in storm.err
    cluster.tidied("n5:/tmp/app")
    emptied(cluster, "/tmp/app", ["n5"])


@pytest.mark.every_mode
def test_destination_not_writable(cluster, tidy):
    on_nodes(cluster, "mkdir -m 755 /tmp/closed")
    refused(cluster, "--bcast=/tmp/closed/app -N8 -n8", "Permission denied",
            cluster.names, code=1, keep=["closed"])
    emptied(cluster, "/tmp/closed", ["n1"])


def test_destination_directory_missing_on_one_node(cluster, tidy):
    on_nodes(cluster, "mkdir -m 777 /tmp/there",
             [n for n in cluster.names if n != "n3"])
    storm = cluster.srun("--bcast=/tmp/there/app -N8 -n8 {big} say x")
    if STOCK:
        pytest.skip("SKIP: stock leaves the file on the others")
    assert storm.code == 1 and named(storm) == {"n3"}, str(storm)
    assert "No such file" in storm.err
    emptied(cluster, "/tmp/there", [n for n in cluster.names if n != "n3"])


@pytest.mark.storm_only
def test_destination_holds_dots(cluster, tidy):
    """Stock follows '..'; STORM refuses it."""
    run = cluster.srun("--bcast=/tmp/../tmp/app -N4 -n4 {do} say ran")
    assert run.code == 1 and run.out == "", str(run)
    assert '..' in run.err and named(run) >= set(cluster.names[:4])
    cluster.tidied()


@pytest.mark.storm_only
@pytest.mark.parametrize("target", ["/etc/hostile", "/tmp/other-file"])
def test_destination_is_a_link_into_anothers_files(cluster, tidy, target):
    """Neither followed nor replaced."""
    on_nodes(cluster, "echo mine > /tmp/other-file; chown 20002 "
             "/tmp/other-file; chmod 666 /tmp/other-file; "
             f"ln -s {target} /tmp/app; chown -h 20002 /tmp/app")
    run = cluster.srun("--bcast=/tmp/app -N4 -n4 {do} say ran")
    assert run.code == 1 and run.out == "", str(run)
    assert named(run) >= set(cluster.names[:4])
    assert "it is a symbolic link" in run.err, str(run)
    for node in cluster.names[:4]:
        assert cluster.file(node, "/tmp/other-file") == b"mine\n"
        assert os.path.islink(cluster.lab.path(node, "/tmp/app"))
        until(lambda n=node: cluster.listing(n) == ["app", "other-file"],
              f"{node} to have no other file")


def test_destination_is_anothers_file(cluster, tidy):
    on_nodes(cluster, "echo mine > /tmp/app; chown 20002 /tmp/app")
    refused(cluster, "--bcast=/tmp/app -N4 -n4", "Permission denied",
            cluster.names[:4], code=1, keep=["app"])
    assert cluster.file("n1", "/tmp/app") == b"mine\n"


def test_destination_is_a_device(cluster, tidy):
    on_nodes(cluster, "mkfifo -m 666 /tmp/app", cluster.names[:2])
    run = cluster.srun("--bcast=/tmp/app -N2 -n2 {do} say ran") \
        if not STOCK else pytest.skip("SKIP: stock hangs on a pipe")
    assert run.code == 1 and named(run) == {"n1", "n2"}, str(run)
    assert "not a regular file" in run.err, str(run)


@pytest.mark.every_mode
def test_full_disk_on_one_node(cluster, tidy):
    """The other nodes must not show the file, nor keep a part of it. (Stock's
    slurmds keep theirs open, so each test has its own disk.)"""
    for node in cluster.names:
        cluster.lab.disk(node, "4m" if node == "n6" else "64m",
                         "/full-a")
    stock = cluster.srun("--bcast=/full-a/app -N8 -n8 {big} say ran", "slurm")
    cluster.clean()
    for node in cluster.names:
        cluster.remove("/full-a/app", [node])
    storm = cluster.srun("--bcast=/full-a/app -N8 -n8 {big} say ran")
    cluster.clean()
    assert storm.code == stock.code != 0, f"{stock}\n{storm}"
    if STOCK:
        return
    assert "No space left" in storm.err and named(storm) == {"n6"}, str(storm)
    emptied(cluster, "/full-a")
    # and the node works as before
    run = cluster.by_storm(cluster.srun("--bcast=/tmp/app -N8 -n8 {big} "
                                        "say fine"))
    assert run.code == 0, str(run)


@pytest.mark.storm_only
def test_full_disk_by_sbcast_storm(cluster, tidy):
    """It fails there, as with Slurm's. test_stopped.py looks at the others."""
    for node in cluster.names:
        cluster.lab.disk(node, "4m" if node == "n2" else "64m",
                         "/full-b")
    env = {"SLURM_JOB_ID": str(cluster.job)}
    run = cluster.run("sbcast_storm {big} /full-b/app", env=env)
    for node in cluster.names:
        cluster.remove("/full-b/app", [node])
    stock = cluster.run("sbcast {big} /full-b/app", env=env)
    assert "No space left" in run.err and named(run) == {"n2"}, str(run)
    assert run.code == stock.code != 0, f"{stock}\n{run}"
    for node in cluster.names:
        cluster.remove("/full-b/app", [node])
    emptied(cluster, "/full-b")


@pytest.mark.storm_only
def test_file_cannot_be_shown_on_one_node(cluster, tidy):
    """The file is complete on all nodes, and then the rename fails on one. The
    message names it and the reason, and the file runs nowhere."""
    on_nodes(cluster, "echo old > /tmp/app; chown 20001 /tmp/app; "
             "mount --bind /tmp/app /tmp/app", ["n3"])
    try:
        for launched in (True, False):
            run = cluster.srun("--bcast=/tmp/app -N4 -n4 {big} say ran") \
                if launched else cluster.run(
                    "sbcast_storm -f {big} /tmp/app",
                    env={"SLURM_JOB_ID": str(cluster.job)})
            assert run.code != 0 and run.out == "", str(run)
            assert named(run) == {"n3"}, str(run)
            assert "/tmp/app" in run.err and "busy" in run.err, str(run)
            cluster.clean()
            assert cluster.file("n3", "/tmp/app") == b"old\n"
            until(lambda: cluster.listing("n3") == ["app"],
                  "n3 to have no other file")
            assert cluster.file("n1", "/tmp/app") != b"old\n"
    finally:
        on_nodes(cluster, "umount /tmp/app", ["n3"])


@pytest.mark.storm_only
def test_source_is_no_regular_file(cluster, tidy):
    run = cluster.run("sbcast_storm /proc/kmsg /tmp/app",
                      env={"SLURM_JOB_ID": str(cluster.job)})
    assert run.code != 0, str(run)
    cluster.tidied()


# -- nodes without an agent: labs of their own --------------------------------

def without_agent(lab, node):
    """The node's agent is dead, and slurmd cannot start another."""
    (pid,) = lab.pids(node, "agent")
    agent = os.readlink(f"/proc/{pid}/exe")
    done = lab.run(["mount", "--bind", "/bin/false", agent], host=node,
                   cwd="/")
    assert done.returncode == 0, done.stderr
    lab.kill(node, "agent")
    until(lambda: not lab.pids(node, "agent"), "the agent's end")


@pytest.mark.storm_only
def test_agent_absent(fresh):
    """One warning with node and reason, and Slurm launches on that node."""
    without_agent(fresh.lab, "n3")
    run = fresh.srun("--bcast=/tmp/app -N4 -n8 {do} @5 exit 3 say ran")
    assert run.code == 3 and run.out == "ran\n" * 7, str(run)
    warnings = [l for l in run.err.splitlines() if "storm" in l]
    assert len(warnings) == 1 and "n3" in warnings[0], str(run)
    assert "agent" in warnings[0] or "listens" in warnings[0], str(run)
    assert run.steps[0]["odd"] == "n3", str(run)
    # STORM launches on the nodes that have an agent
    run = fresh.srun("-w n1,n2,n4 -N3 -n3 {do} say ran")
    assert run.code == 0, str(run)
    fresh.by_storm(run)
    run = fresh.run("sbcast_storm -f {do} /tmp/b",
                    env={"SLURM_JOB_ID": str(fresh.job)})
    assert run.code == 0 and "n3" in run.err, str(run)
    assert all(fresh.file(n, "/tmp/b") for n in fresh.names)


@pytest.mark.storm_only
def test_agent_absent_and_fallback_never(fresh):
    conf = fresh.lab.dir + "/etc/slurm/storm.conf"
    with open(conf, "w") as f:
        f.write("Fallback=never\nLaunchNodes=2\n")
    without_agent(fresh.lab, "n3")
    for args in ("--bcast=/tmp/app -N4 -n4 {do} say ran",
                 "-N4 -n4 {do} say ran"):
        run = fresh.srun(args)
        assert run.code != 0 and "ran" not in run.out, str(run)
        assert "n3" in run.err, str(run)
        fresh.clean()
    fresh.tidied()


@pytest.mark.storm_only
def test_interface_that_does_not_exist(fresh):
    """One warning has the interface and its key; Slurm launches the step."""
    with open(fresh.lab.dir + "/etc/slurm/storm.conf", "a") as f:
        f.write("Interface=eth7\n")
    run = fresh.srun("-N2 -n2 {do} say ran")
    file = fresh.run("sbcast_storm -f {do} /tmp/b",
                     env={"SLURM_JOB_ID": str(fresh.job)})
    for r, otherwise in ((run, "launch"), (file, "broadcast")):
        assert r.code == 0, str(r)
        (line,) = [l for l in r.err.splitlines() if "storm: " in l]
        assert "no interface eth7" in line and "Interface" in line, str(r)
        assert f"; falling back to Slurm's standard {otherwise}" in line, \
            str(r)
        assert "no interface eth7" in r.steps[0]["fallback"], str(r)
    assert run.out == "ran\n" * 2, str(run)


def of_version(tmp_path, version):
    """An agent with another protocol version: what knows the version is compiled
    again, in a copy of the build that is staged."""
    stage, build = pathlib.Path(stage_dir()), tmp_path / "build"
    subprocess.run(["cp", "-a", stage.with_name(
        stage.name.replace("_stage", "_build")), build], check=True)
    for path in (TOP / "src" / "libstorm").rglob("*.c"):
        if "STORM_WIRE_VERSION" in path.read_text():
            (build / path.relative_to(TOP)).with_suffix(".lo").unlink()
    # what depends on what; ccache can make these paths relative
    for path in build.rglob("*.P*o"):
        path.write_text("")
    for directory, what in (("libstorm", "all"), ("storm_common", "all"),
                            ("storm_agent", "storm_agent")):
        subprocess.run(
            [TOP / "contribs" / "prepare", "run", "--build-dir", build, "--",
             "make", "-C", build / "src" / directory, what,
             f"CPPFLAGS=-DSTORM_WIRE_VERSION={version}"],
            check=True, timeout=600)
    return build / "src/storm_agent/storm_agent"


def replace_agent(cluster, node, program):
    """From now on the node runs another agent (slurmd restarts it)."""
    data = program.read_bytes()
    shared = cluster.home / f"agent.{node}"
    shared.write_bytes(data)
    shared.chmod(0o755)
    (pid,) = cluster.lab.pids(node, "agent")
    cluster.root(["mount", "--bind", f"/home/user/{shared.name}",
                  os.readlink(f"/proc/{pid}/exe")], host=node)
    cluster.lab.kill(node, "agent")
    cluster.lab.wait_attached(node)


@pytest.mark.storm_only
def test_agent_of_another_version(tmp_path):
    """At any place in the tree, srun and sbcast_storm report at once the node,
    both versions and what to do. Then they act as Fallback orders."""
    theirs = of_version(tmp_path, 3)
    c = Cluster(f"test{os.getpid()}-version", 4, storm_conf={"Radix": "2"})
    try:
        c.current = "version"
        others = [n for n in c.names if n != "n4"]
        replace_agent(c, "n4", theirs)      # n4's parent is n1
        for args in ("--bcast=/tmp/app -N4 -n4 {big} say ran",
                     "-N4 -n4 {do} say ran"):
            run = c.srun(args)
            assert run.code == 0 and run.out == "ran\n" * 4, str(run)
            said = [l for l in run.err.splitlines() if "storm" in l]
            assert len(said) == 1 and named(run) == {"n4"}, str(run)
            for words in ("protocol version 3", "version 2", "install"):
                assert words in said[0], str(run)
            assert run.steps[0]["odd"] == "n4", str(run)
        assert c.agent("n4", "opens_refused") >= 2
        until(lambda: "protocol version 2, but this is version 3" in
              c.lab.log("n4", "slurmd"), "n4's agent to say so")
        for n in c.names:
            c.remove("/tmp/app", [n])
        # STORM serves the other nodes as usual
        run = c.srun(f"-w {','.join(others)} -N3 -n3 --bcast=/tmp/app "
                     "{big} say ran")
        assert run.code == 0 and run.out == "ran\n" * 3, str(run)
        c.by_storm(run)
        c.remove("/tmp/app")
        # a node directly below the root
        replace_agent(c, "n1", theirs)
        run = c.run("sbcast_storm {big} /tmp/app",
                    env={"SLURM_JOB_ID": str(c.job)})
        assert run.code == 0 and "n1" in named(run), str(run)
        c.remove("/tmp/app")

        with open(c.lab.dir + "/etc/slurm/storm.conf", "a") as f:
            f.write("Fallback=never\n")
        # 233: "Communication connection failure", as from stock srun
        for args, code in (("--bcast=/tmp/app -N4 -n4 {big} say ran", 1),
                           ("-N4 -n4 {do} say ran", 233)):
            run = c.srun(args)
            assert run.code == code and run.out == "", str(run)
            assert "n1" in named(run), str(run)
            assert "protocol version 3" in run.err, str(run)
            c.clean()
        c.tidied()
    finally:
        c.down()


SPEAKER = """\
import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 8383))
s.listen(64)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.send(b"\\x00\\x00\\x00\\x04STRM version 99")
    c.shutdown(socket.SHUT_WR)
    while c.recv(65536):    # or what is left unread would reset the connection
        pass
    c.close()
"""


@pytest.mark.storm_only
def test_no_agent_on_the_port(fresh):
    """Another program listens on the agent's port: it was there before slurmd,
    which keeps the port from then on."""
    fresh.lab.end("n2", "slurmd")
    fresh.lab.end("n2", "agent")
    other = fresh.start(["python3", "-c", SPEAKER], host="n2", user="root",
                        cwd="/")
    until(lambda: "ready" in other.out(), "the other program")
    line = fresh.lab.command("n2", ["slurmd"], cwd="/")[0]
    subprocess.run(line, stdin=subprocess.DEVNULL, check=True, timeout=120)
    run = fresh.srun("--bcast=/tmp/app -N4 -n4 {do} say ran")
    assert run.code == 0 and run.out == "ran\n" * 4, str(run)
    assert "n2" in run.err and "not a STORM agent" in run.err, str(run)
    assert run.steps[0]["odd"] == "n2", str(run)


@pytest.mark.storm_only
def test_agent_comes_back(fresh):
    """slurmd restarts an agent that died, and STORM serves again."""
    fresh.lab.kill("n2", "agent")
    until(lambda: fresh.lab.pids("n2", "agent"), "a new agent")
    fresh.lab.wait_agents(["n2"])
    run = fresh.srun("--bcast=/tmp/app -N4 -n4 {do} say ran")
    assert run.code == 0, str(run)
    fresh.by_storm(run)


@pytest.mark.storm_only
def test_node_down(fresh):
    """The whole host is dead: stock's exit code, the node is named, no file
    stays."""
    end = kill_process(*fresh.lab.record["pids"]["n4"])
    assert wait_process(end, 120)
    codes = []
    for tool in ("sbcast", "sbcast_storm"):
        run = fresh.run(f"{tool} -t 5 {{do}} /tmp/app",
                        env={"SLURM_JOB_ID": str(fresh.job)}, timeout=120)
        codes.append(run.code)
        alive = ["n1", "n2", "n3"]
        if tool == "sbcast_storm":
            assert "n4" in run.err, str(run)
        else:
            fresh.remove("/tmp/app", alive)
    assert codes[1] == codes[0] != 0, codes
    for node in ("n1", "n2", "n3"):
        until(lambda n=node: fresh.listing(n) in ([], ["app"]),
              f"{node} to have no other file")


@pytest.mark.storm_only
@pytest.mark.parametrize("line, wanted", [
    ("Multicast=perhaps", "Multicast=perhaps is invalid, allowed: yes or no"),
    ("Port=0", "Port=0 is invalid, allowed: a number from 1 to 65535"),
    ("Radix=1", "Radix=1 is invalid, allowed: a number from 2 to 64"),
    ("Window=lots", "Window=lots is invalid, allowed: bytes from 64K to 1G"),
    ("DropPercent=250", "DropPercent=250 is invalid, allowed: "),
    ("Fallback=sometimes",
     "Fallback=sometimes is invalid, allowed: nodes or warn or never"),
    ("TTL=1000", "TTL=1000 is invalid, allowed: a number from 0 to 255"),
    ("GroupBase=10.0.0.1", "GroupBase=10.0.0.1 is invalid, allowed: an IPv4 "),
    ("Radix 4", "expected Key=Value, found 'Radix 4'"),
    ("Radix=", "Radix has no value"),
    ("Radix=4 TTL=1", "'TTL=1' follows Radix=4: "),
    ("Include nowhere.conf", "Include: ")])
def test_wrong_line_in_storm_conf(cluster, line, wanted):
    """The value is refused in one line with the place, the error and the
    remedy."""
    path = cluster.lab.dir + "/etc/slurm/storm.conf"
    before = open(path).read() if os.path.exists(path) else None
    with open(path, "w") as f:
        f.write((before or "") + line + "\n")
    try:
        run = cluster.run("sbcast_storm -f {do} /tmp/app",
                          env={"SLURM_JOB_ID": str(cluster.job)})
        srun = cluster.srun("-N2 -n2 {do} say ran")
    finally:
        if before is None:
            os.unlink(path)
        else:
            with open(path, "w") as f:
                f.write(before)
    number = (before or "").count("\n") + 1
    for r in (run, srun):
        assert r.code == 0, str(r)      # Fallback=nodes is the default
        told = [l for l in r.err.splitlines() if "storm" in l]
        assert len(told) == 1, f"{line}: {r}"
        assert f"storm.conf:{number}: {wanted}" in told[0], f"{line}: {r}"
        assert r.steps[0]["fallback"], str(r)
