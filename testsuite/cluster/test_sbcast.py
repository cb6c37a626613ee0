# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""sbcast_storm beside sbcast: the same options, variables, exit codes, files."""
import contextlib
import os
import pathlib
import pty
import re
import select
import signal
import stat

import pytest

from harness import SIZE, LabError, acl, number, pad, project, until

pytestmark = pytest.mark.storm_only

HANG = pathlib.Path(__file__).with_name("fuse_hang.py")


@pytest.fixture(autouse=True)
def tidy(cluster):
    (cluster.home / "bin" / "data").write_bytes(os.urandom(300_007))
    os.chmod(cluster.home / "bin" / "data", 0o640)
    os.chown(cluster.home / "bin" / "data", 20001, 20001)
    os.utime(cluster.home / "bin" / "data", (1_000_000_000, 1_200_000_000))
    yield
    wipe(cluster)


def wipe(cluster):
    for node in cluster.names:
        for name in cluster.listing(node):
            cluster.remove("/tmp/" + name, [node])


def facts(cluster, path="/tmp/out", times=True):
    """The listing of this name on each node."""
    found = {}
    for node in cluster.names:
        p = cluster.lab.path(node, path)
        if not os.path.lexists(p):
            found[node] = None
            continue
        st = os.lstat(p)
        found[node] = (cluster.file(node, path) if stat.S_ISREG(st.st_mode)
                       else None, oct(st.st_mode), st.st_uid,
                       int(st.st_mtime) if times else None, st.st_gid,
                       acl(p))
    return found


def both(cluster, args, path="/tmp/out", before=None, env=None, code=None,
         times=False, job=True, errors=False, **options):
    """Run sbcast, then sbcast_storm; compare status and files."""
    results = []
    for tool in ("sbcast", "sbcast_storm"):
        wipe(cluster)
        if before:
            before()
        full = {"SLURM_JOB_ID": str(cluster.job)} if job else {}
        full.update(env or {})
        run = cluster.run([tool] + args.split(), label=tool, env=full,
                          **options)
        results.append((run, facts(cluster, path, times)))
    (stock, have), (storm, got) = results
    if code is not None:
        assert stock.code == code, f"sbcast itself: {stock}"
    assert storm.code == stock.code, f"{stock}\n{storm}"
    assert got == have, f"files differ\n{stock}\n{storm}"
    if errors:
        assert storm.err.replace("sbcast_storm", "sbcast") == stock.err, \
            f"{stock}\n{storm}"
    elif storm.timeline:
        cluster.by_storm(storm, launched=False)
    return stock, storm


@pytest.mark.every_mode
def test_plain(cluster):
    stock, storm = both(cluster, "{bin}/data /tmp/out", code=0)
    assert storm.out == stock.out == ""
    assert all(facts(cluster)[n] for n in cluster.names)


@pytest.mark.every_mode
def test_12_megabytes(cluster):
    stock, storm = both(cluster, "{big} /tmp/out", code=0)
    assert len(cluster.file("n8", "/tmp/out")) == SIZE
    cluster.by_storm(storm, launched=False, repaired=cluster.mode == "drop")


def test_preserve(cluster):
    """-p: modes and times"""
    both(cluster, "-p {bin}/data /tmp/out", code=0, times=True)
    assert facts(cluster, times=True)["n1"][3] == 1_200_000_000


@pytest.mark.parametrize("mode", [0o4755, 0o2711, 0o1777])
def test_no_set_id_bits(cluster, mode):
    """Neither tool copies these, not even with -p."""
    os.chmod(cluster.home / "bin" / "data", mode)
    both(cluster, "-p {bin}/data /tmp/out", code=0, times=True)


def test_preserve_long(cluster):
    both(cluster, "--preserve {bin}/data /tmp/out", code=0, times=True)


def occupy(cluster, uid=20001, data=b"old", mode=0o644, path="/tmp/out"):
    def put():
        for node in cluster.names:
            p = cluster.lab.path(node, path)
            os.makedirs(os.path.dirname(p), exist_ok=True)
            with open(p, "wb") as f:
                f.write(data)
            os.chown(p, uid, uid)
            os.chmod(p, mode)
    return put


def test_existing_file_without_force(cluster):
    stock, storm = both(cluster, "{bin}/data /tmp/out",
                        before=occupy(cluster), code=17)
    assert stock.err.count("File exists") == len(cluster.names), str(stock)
    (line,) = storm.err.splitlines()        # one for all nodes
    assert re.search(r"storm: /tmp/out exists on n\[1-\d+\]; use --force to "
                     "replace it$", line), str(storm)
    cluster.tidied(keep=["out"])


def test_force(cluster):
    both(cluster, "-f {bin}/data /tmp/out", before=occupy(cluster), code=0)


def test_force_long(cluster):
    both(cluster, "--force {bin}/data /tmp/out", before=occupy(cluster),
         code=0)


def test_force_does_not_take_a_read_only_file(cluster):
    """Its owner has protected it."""
    both(cluster, "-f {bin}/data /tmp/out",
         before=occupy(cluster, mode=0o444), code=13)
    assert cluster.file("n1", "/tmp/out") == b"old"
    cluster.tidied(keep=["out"])


def differs(cluster, path, before, reason):
    """Stock writes into what is there; sbcast_storm refuses, with this reason."""
    before()
    run = cluster.run(["sbcast_storm", "-f", "{bin}/data", path],
                      env={"SLURM_JOB_ID": str(cluster.job)})
    assert run.code != 0 and f"storm: {path}: nodes n[1-8]: {reason}\n" \
        in run.err, str(run)
    return run


def test_force_in_a_directory_of_others(cluster):
    """Without the right to rename there (NOTES of sbcast_storm(1))."""
    run = differs(cluster, "/tmp/dir/out",
                  occupy(cluster, path="/tmp/dir/out"), "Permission denied")
    assert run.code == 13 and cluster.file("n1", "/tmp/dir/out") == b"old"


def test_force_onto_a_device(cluster):
    """Stock writes to it, and changes its owner and mode."""
    def put():
        for node in cluster.names:
            os.mknod(cluster.lab.path(node, "/tmp/null"),
                     stat.S_IFCHR | 0o666, os.makedev(1, 3))
    before = os.stat("/dev/null")
    differs(cluster, "/tmp/null", put, "not a usable destination: "
            "it is not a regular file")
    differs(cluster, "/dev/null", lambda: None, "not a usable destination: "
            "it is not a regular file")
    assert os.stat("/dev/null")[:6] == before[:6]


def test_force_over_a_hard_link(cluster):
    """Its other names keep what they had (NOTES)."""
    occupy(cluster)()
    for node in cluster.names:
        os.link(cluster.lab.path(node, "/tmp/out"),
                cluster.lab.path(node, "/tmp/link"))
    run = cluster.run("sbcast_storm -f {bin}/data /tmp/out",
                      env={"SLURM_JOB_ID": str(cluster.job)})
    assert run.code == 0, str(run)
    data = (cluster.home / "bin" / "data").read_bytes()
    for node in cluster.names:
        assert cluster.file(node, "/tmp/out") == data
        assert cluster.file(node, "/tmp/link") == b"old"


@pytest.mark.parametrize("option", ["", "-p"])
@pytest.mark.parametrize("listed", [False, True])
def test_group_in_a_project(cluster, option, listed):
    """In a directory that gives files its group, or whose default access list
    names one, the file is the user's group's, and as readable as stock's."""
    os.chmod(cluster.home / "bin" / "data", 0o640)
    both(cluster, option + " {bin}/data /tmp/proj/out", "/tmp/proj/out",
         before=lambda: project(cluster, listed), code=0, times=bool(option))
    found = facts(cluster, "/tmp/proj/out")["n1"]
    assert found[4] == 20001 and bool(found[5]) == listed, found


def test_group_in_a_project_of_what_was_there(cluster):
    """-f: the access list stays that of the file, not the directory's."""
    def put():
        project(cluster, True)
        for node in cluster.names:
            p = cluster.lab.path(node, "/tmp/proj/out")
            with open(p, "wb") as f:
                f.write(b"old")
            os.removexattr(p, "system.posix_acl_access")
            os.chown(p, 20001, 20001)
    both(cluster, "-f {bin}/data /tmp/proj/out", "/tmp/proj/out", before=put,
         code=0)
    assert facts(cluster, "/tmp/proj/out")["n1"][5] == b""


def test_libraries_in_a_project(cluster):
    cluster.lab.put(cluster.bin / "libgreet.so", "login", "/tmp/libgreet.so")
    cluster.root("chmod 755 /tmp/libgreet.so")
    both(cluster, "--send-libs {bin}/uselib /tmp/proj/out",
         "/tmp/proj/out_libs/libgreet.so", before=lambda: project(cluster),
         code=0, env={"LD_LIBRARY_PATH": "/tmp"})


def test_force_by_variable(cluster):
    both(cluster, "{bin}/data /tmp/out", before=occupy(cluster), code=0,
         env={"SBCAST_FORCE": "1"})


def test_force_does_not_take_anothers_file(cluster):
    both(cluster, "-f {bin}/data /tmp/out",
         before=occupy(cluster, uid=20002))
    assert cluster.file("n1", "/tmp/out") == b"old"
    cluster.tidied(keep=["out"])


@pytest.mark.parametrize("option", [
    "-s 64k", "--size=1m", "-s 100000", "-F 2", "--fanout=3", "-t 60",
    "--timeout=90"])
def test_option(cluster, option):
    both(cluster, option + " {bin}/data /tmp/out", code=0)


@pytest.mark.parametrize("variable", [
    "SBCAST_SIZE=64k", "SBCAST_FANOUT=2", "SBCAST_TIMEOUT=60",
    "SBCAST_PRESERVE=1", "SBCAST_COMPRESS=none", "SBCAST_SEND_LIBS=no",
    "SBCAST_EXCLUDE=/lib"])
def test_variable(cluster, variable):
    key, value = variable.split("=")
    both(cluster, "{bin}/data /tmp/out", code=0, env={key: value},
         times=key == "SBCAST_PRESERVE")


def test_compress_none(cluster):
    both(cluster, "--compress=none {bin}/data /tmp/out", code=0)


NO_COMPRESS = "error: storm: --compress is not supported: "


@pytest.mark.parametrize("how", ["-C", "--compress=lz4", "SBCAST_COMPRESS"])
def test_compress_is_refused(cluster, how):
    """Not ignored."""
    env = {"SLURM_JOB_ID": str(cluster.job)}
    if how == "SBCAST_COMPRESS":
        env[how], how = "lz4", ""
    run = cluster.run(f"sbcast_storm {how} {{bin}}/data /tmp/out".split(),
                      env=env)
    assert run.code == 1 and NO_COMPRESS in run.err, str(run)
    cluster.tidied()


def test_jobid_option(cluster):
    both(cluster, "-j {job} {bin}/data /tmp/out", code=0, job=False)


def test_jobid_of_a_step(cluster):
    """-j JOB.STEP: only the step's nodes."""
    s = cluster.start_srun("-w n2,n4 -N2 -n2 {do} touch up.%t wait {dir}/go")
    until(lambda: (s.dir / "up.1").exists(), "the step")
    (step,) = cluster.steps()
    both(cluster, f"-j {step} {{bin}}/data /tmp/out", code=0, job=False)
    have = [n for n in cluster.names if cluster.file(n, "/tmp/out")]
    assert have == ["n2", "n4"]
    (s.dir / "go").touch()
    s.finish()


def test_no_job(cluster):
    both(cluster, "{bin}/data /tmp/out", job=False, code=1, errors=True)


def test_wrong_job(cluster):
    stock, _ = both(cluster, "-j 4000000 {bin}/data /tmp/out", errors=True)
    assert stock.code != 0, str(stock)


def test_one_name(cluster):
    both(cluster, "{bin}/data", code=1, errors=False)


def test_bad_option(cluster):
    both(cluster, "--nonsense {bin}/data /tmp/out", code=1)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(cluster, option):
    stock, storm = both(cluster, option, code=0)
    assert storm.out == stock.out or "slurm" in storm.out.lower()


@pytest.mark.parametrize("option", ["--help", "--usage"])
def test_help(cluster, option):
    stock, storm = both(cluster, option, code=0)
    for word in ("SOURCE", "DEST"):
        assert word in storm.out
    if option == "--help":
        # releases name some of them otherwise, and add others
        words = set(re.findall(r"--[a-z-]+", stock.out))
        assert {"--force", "--jobid", "--preserve"} < words, str(stock)
        assert words == set(re.findall(r"--[a-z-]+", storm.out)), str(storm)


OPTIONS = {
    "srun": "--bcast=/tmp/out",
    "fallback": "--send-libs --bcast=/tmp/",
}
SOURCES = {
    "shorter": "it became shorter while it was sent",
    "broken": "Input/output error",
}


@pytest.mark.parametrize("command", ["sbcast_storm", "srun", "fallback"])
@pytest.mark.parametrize("fault", SOURCES)
def test_source_that_cannot_be_read(cluster, command, fault):
    """It becomes shorter, or its disk fails: an error with its name, no signal,
    and no node shows it. (Stock's commands die by SIGBUS.)"""
    if fault == "shorter":
        source = cluster.home / "bin" / "cut"
        pad(cluster.bin / "taskdo", source, SIZE)
        os.chown(source, 20001, 20001)
        path, disk = f"/home/user/bin/{source.name}", None
    else:
        path, disk = "/tmp/disk/source", BrokenDisk(cluster)
    # 12 MB take 5 s, if nothing happens; Slurm's own broadcast sends them 8 times, and
    # gives each message 20 s
    cluster.lab.shape("100mbit" if command == "fallback" else "20mbit")
    try:
        env = {"SLURM_JOB_ID": str(cluster.job)}
        one = cluster.start(f"sbcast_storm {path} /tmp/out", env=env) \
            if command == "sbcast_storm" else \
            cluster.start_srun(f"{OPTIONS[command]} -N8 -n8 {path} say never")
        if fault == "shorter":
            # The first node that has a part: Slurm's own broadcast, the
            # fallback, reads the rest when all have it.
            until(lambda: cluster.litter() or not one.running(),
                  "the broadcast to begin")
            os.truncate(source, 4096)
        cluster.lab.shape(None)
        run = one.finish()
    finally:
        cluster.lab.shape(None)
        if disk:
            disk.end()
    assert run.code > 0 and run.out == "", str(run)
    assert f"error: storm: {path}: {SOURCES[fault]}\n" in run.err, str(run)
    # Slurm's own broadcast, to which this one falls back, leaves a part
    if command != "fallback":
        cluster.tidied()


class BrokenDisk:
    """/tmp/disk on the login host: fuse_hang.py's file of 12 MB, of which one half
    cannot be read."""

    def __init__(self, cluster):
        if not os.path.exists("/dev/fuse"):
            pytest.skip("SKIP: there is no /dev/fuse here")
        cluster.root("mkdir -p /tmp/disk")
        r, w = os.pipe()
        self.to = os.fdopen(w, "w")
        self.run = cluster.start(["python3", str(HANG), "/tmp/disk",
                                  str(SIZE)], host="login", user="root",
                                 cwd="/", label="disk", stdin=os.fdopen(r))
        until(lambda: "ready" in self.run.out(),
              lambda: f"the disk: {self.run.out()}{self.run.err()}")

    def end(self):
        self.to.close()
        self.run.process.wait(30)


def test_relative_destination(cluster):
    """Below the caller's working directory, on every node."""
    both(cluster, "{bin}/data out", code=0, cwd="/tmp")


def test_target_with_slash_at_the_end(cluster):
    stock, storm = both(cluster, "{bin}/data /tmp/", code=1, errors=True)


def test_source_is_a_directory(cluster):
    both(cluster, "/tmp /tmp/out", code=255, errors=True)


def test_source_missing(cluster):
    both(cluster, "/not/there /tmp/out", code=255, errors=True)


def test_empty_file(cluster):
    (cluster.home / "bin" / "data").write_bytes(b"")
    if number() == "26.05":
        # Its slurmd takes a block without bytes for one that it cannot
        # decompress, and keeps the file open for the next transfer.
        storm = cluster.run("sbcast_storm {bin}/data /tmp/out".split(),
                            env={"SLURM_JOB_ID": str(cluster.job)})
        assert storm.code == 0, str(storm)
        assert {f[0] for f in facts(cluster).values()} == {b""}
    else:
        stock, storm = both(cluster, "{bin}/data /tmp/out")
        assert "empty" in stock.err
    assert "empty" in storm.err


def test_one_byte(cluster):
    (cluster.home / "bin" / "data").write_bytes(b"x")
    both(cluster, "{bin}/data /tmp/out", code=0)


def test_verbose(cluster):
    stock, storm = both(cluster, "-v {bin}/data /tmp/out", code=0)
    for word in ("source", "dest", "modes", "node_list"):
        assert word in stock.err and word in storm.err, f"{stock}\n{storm}"


def test_mode_without_preserve_follows_the_umask_of_stock(cluster):
    both(cluster, "{bin}/data /tmp/out", code=0, prefix="umask 077")


def test_send_libs(cluster):
    cluster.lab.put(cluster.bin / "libgreet.so", "login", "/tmp/libgreet.so")
    cluster.root("chmod 755 /tmp/libgreet.so")
    stock, storm = both(cluster, "--send-libs {bin}/uselib /tmp/out", code=0,
                        env={"LD_LIBRARY_PATH": "/tmp"})
    assert "libgreet.so" in cluster.listing("n1", "/tmp/out_libs")


def test_send_libs_exclude(cluster):
    cluster.lab.put(cluster.bin / "libgreet.so", "login", "/tmp/libgreet.so")
    cluster.root("chmod 755 /tmp/libgreet.so")
    for option in ("--exclude=/tmp", "--exclude=/tmp,/lib,/usr/lib,/lib64"):
        lists = []
        for tool in ("sbcast", "sbcast_storm"):
            wipe(cluster)
            run = cluster.run(
                [tool, "--send-libs", option, "{bin}/uselib", "/tmp/out"],
                env={"LD_LIBRARY_PATH": "/tmp",
                     "SLURM_JOB_ID": str(cluster.job)})
            assert run.code == 0, str(run)
            names = cluster.listing("n1")
            lists.append((names, cluster.listing("n1", "/tmp/out_libs")
                          if "out_libs" in names else None))
        assert lists[0] == lists[1]


def on_terminal(cluster, start, meanwhile=None):
    """What a command that start(slave) starts writes to a terminal. meanwhile
    is called with the text so far until it returns false."""
    master, slave = pty.openpty()
    text = ""
    try:
        one = start(slave)
        os.close(slave)
        while one.running() or select.select([master], [], [], 0.05)[0]:
            if select.select([master], [], [], 0.05)[0]:
                try:
                    data = os.read(master, 65536)
                except OSError:
                    break
                if not data:
                    break
                text += data.decode(errors="replace")
            if meanwhile and not meanwhile(text):
                meanwhile = None
        return one.finish(), text
    finally:
        os.close(master)


def begin(cluster, command, slave):
    env = {"SLURM_JOB_ID": str(cluster.job)}
    if command == "sbcast_storm":
        return cluster.start("sbcast_storm -f {big} /tmp/out", tty=slave,
                             env=env)
    return cluster.start_srun("--bcast=/tmp/out -N8 -n8 {big}", tty=slave)


CLOSING = re.compile(r"\r(?:big|out): \d+\.\d MB to 8 nodes in \d+\.\d s, \d+\.\d MB/s"
                     r"(?:; slowest ([\w,\[\]-]+))?\x1b\[K\r\n")


@pytest.mark.parametrize("command", ["sbcast_storm", "srun"])
def test_progress_bar_on_a_terminal_only(cluster, command):
    """A progress bar appears on a terminal, but not in a pipe."""
    cluster.lab.shape("100mbit")    # long enough to see it grow
    try:
        run = cluster.run("sbcast_storm -f {big} /tmp/out",
                          env={"SLURM_JOB_ID": str(cluster.job)}) \
            if command == "sbcast_storm" else \
            cluster.srun("--bcast=/tmp/out -N8 -n8 {big}")
        assert run.code == 0 and run.out == run.err == "", str(run)
        run, text = on_terminal(cluster,
                                lambda slave: begin(cluster, command, slave))
        assert run.code == 0, text
    finally:
        cluster.lab.shape(None)
    assert "MB/s" in text and " s left" in text and CLOSING.search(text), text


@pytest.mark.parametrize("command", ["sbcast_storm", "srun"])
def test_progress_bar_names_who_stalls_it(cluster, command):
    """n8's disk stands, for as long as a node may wait for one at the most."""
    cluster.lab.shape("20mbit")
    state = {"stopped": False}

    def stall(text):
        if not state["stopped"] and re.search(r" [1-9]\d?% of", text):
            cluster.lab.kill("n8", "storm_file", signal.SIGSTOP)
            state["stopped"] = True
        if not re.search(r"stalled for \d+ s, waiting for n8\x1b", text):
            return True
        cluster.lab.kill("n8", "storm_file", signal.SIGCONT)
        state["stopped"] = False
        cluster.lab.shape(None)
        return False

    try:
        run, text = on_terminal(
            cluster, lambda slave: begin(cluster, command, slave), stall)
    finally:
        cluster.lab.shape(None)
        if state["stopped"]:
            with contextlib.suppress(LabError):
                cluster.lab.kill("n8", "storm_file", signal.SIGCONT)
    assert "waiting for n8" in text, text
    assert run.code == 0 and CLOSING.search(text)[1] == "n8", text


def test_timeline(cluster):
    """At -v a line says how fast it was, as on a terminal."""
    run = cluster.run("sbcast_storm -v -f {big} /tmp/out",
                      env={"SLURM_JOB_ID": str(cluster.job)})
    assert re.search(r"storm: out: \d+\.\d MB to 8 nodes in ", run.err), str(run)
    step = cluster.by_storm(run, launched=False).steps[0]
    assert step["transfers"][0]["bytes"] == SIZE
    assert step["command"].startswith("sbcast")


def test_timeline_that_cannot_be_written(cluster):
    """The system's reason, on one line."""
    run = cluster.run("sbcast_storm -f {bin}/data /tmp/out",
                      env={"SLURM_JOB_ID": str(cluster.job),
                           "STORM_TIMELINE": "/not/there/t"})
    assert run.code == 0 and run.err == "sbcast_storm: error: storm: cannot " \
        "write STORM_TIMELINE=/not/there/t: No such file or directory\n", \
        str(run)


def test_in_a_batch_script(cluster):
    """sbcast_storm on the first node, as scripts use it."""
    text = ("#!/bin/sh\nsbcast_storm /home/user/bin/big /tmp/out && "
            "srun -n8 -N8 /tmp/out say from-there\n")
    run = cluster.run(["sbatch", "-W", "-N8", "-o", "{dir}/log", "job.sh"],
                      given={"job.sh": text})
    assert run.code == 0 and run.files()["log"] == "from-there\n" * 8, \
        f"{run}\n{run.files()}"


def test_warning_names_who_stalls_it(cluster):
    """Without a terminal. n8's disk stands, not its agent, which slurmd would
    replace."""
    cluster.lab.shape("20mbit")
    try:
        one = cluster.start("sbcast_storm -f {big} /tmp/out",
                            env={"SLURM_JOB_ID": str(cluster.job)})
        until(lambda: cluster.listing("n8"), "the broadcast to begin")
        cluster.lab.kill("n8", "storm_file", signal.SIGSTOP)
        try:
            until(lambda: re.search("warning: storm: /tmp/out: no progress "
                                    r"for \d+ s, waiting for n8$", one.err(),
                                    re.M) or not one.running(),
                  "the warning")
        finally:
            cluster.lab.kill("n8", "storm_file", signal.SIGCONT)
    finally:
        cluster.lab.shape(None)
    run = one.finish()
    assert run.code == 0 and run.err.count("no progress for") == 1, str(run)
