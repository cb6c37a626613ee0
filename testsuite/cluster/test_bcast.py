# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""srun --bcast: the program reaches all nodes, complete and with its mode;
--bcast=PATH, =DIR/, --bcast-exclude, --send-libs."""
import os
import stat

import pytest

from harness import SIZE, STOCK, TIMEOUT, pad, project, same, until


@pytest.fixture
def tidy(cluster):
    yield
    for node in cluster.names:
        for name in cluster.listing(node):
            cluster.remove("/tmp/" + name, [node])


pytestmark = pytest.mark.usefixtures("tidy")


def everywhere(cluster, path, data, mode=0o755, nodes=None):
    """Every node has exactly this file, with the same bytes and the user as
    owner."""
    for node in nodes or cluster.names:
        assert cluster.file(node, path) == data, f"{node}: {path} differs"
        st = os.stat(cluster.lab.path(node, path))
        assert stat.S_IMODE(st.st_mode) == mode, f"{node}: {st.st_mode:o}"
        assert st.st_uid == 20001, f"{node}: uid {st.st_uid}"
        assert st.st_gid == 20001, f"{node}: gid {st.st_gid}"


def lost(cluster):
    return cluster.mode == "drop" and not STOCK


@pytest.mark.every_mode
def test_bcast_path(cluster):
    data = (cluster.bin / "big").read_bytes()
    assert len(data) == SIZE

    def check():
        everywhere(cluster, "/tmp/app", data)
        cluster.remove("/tmp/app")

    stock, storm = same(
        cluster, "--bcast=/tmp/app -N8 -n16 {big} node mode /tmp/app",
        code=0, between=check)
    everywhere(cluster, "/tmp/app", data)
    assert cluster.litter(keep=["app"]) == []
    cluster.by_storm(storm, repaired=lost(cluster))


@pytest.mark.every_mode
def test_bcast_failing_tasks(cluster):
    same(cluster, "--bcast=/tmp/app -N8 -n32 -O {big} @3 exit 7 @17 exit 200 "
         "@30 kill 9 say x", code=137, between=lambda: cluster.remove(
             "/tmp/app"))


def test_bcast_directory(cluster):
    """--bcast=DIR/: the file is named after job, step and node."""
    same(cluster, "--bcast=/tmp/ -N4 -n4 {do} args", code=0)


def test_bcast_without_path(cluster):
    """--bcast: into the step's working directory."""
    same(cluster, "--bcast -D /tmp -N4 -n4 {do} cwd args", code=0)


def test_bcast_relative_path_is_ignored(cluster):
    """As in stock: --bcast=name is the working directory."""
    same(cluster, "--bcast=name -D /tmp -N4 -n4 {do} args", code=0)


@pytest.mark.every_mode
def test_bcast_replaces_a_file(cluster):
    for node in cluster.names:
        p = cluster.lab.path(node, "/tmp/app")
        with open(p, "w") as f:
            f.write("old")
        os.chown(p, 20001, 20001)
    same(cluster, "--bcast=/tmp/app -N8 -n8 {do} say new", code=0)
    everywhere(cluster, "/tmp/app", (cluster.bin / "taskdo").read_bytes())


def test_bcast_a_running_program_can_be_replaced(cluster):
    """The rename does not change the file that running tasks execute."""
    if STOCK:
        pytest.skip("SKIP: stock writes into the file itself")
    a = cluster.start_srun("--overlap --bcast=/tmp/app -N4 -n4 {do} "
                           "touch up.%t wait {dir}/go say old")
    until(lambda: (a.dir / "up.3").exists(), "the tasks")
    b = cluster.srun("--overlap --bcast=/tmp/app -N4 -n4 {big} say new")
    (a.dir / "go").touch()
    for run in (a.finish(), b):
        assert run.code == 0, str(run)
        cluster.by_storm(run)


def test_bcast_keeps_mode_and_times(cluster):
    """Stock's srun --bcast preserves both, and so does STORM."""
    path = cluster.home / "bin" / "special"
    pad(cluster.bin / "taskdo", path, 200_001)
    os.chmod(path, 0o500)
    os.chown(path, 20001, 20001)
    os.utime(path, (1_000_000_000, 1_100_000_000))
    stock, storm = same(
        cluster, "--bcast=/tmp/app -N4 -n4 {bin}/special mode /tmp/app",
        code=0, between=lambda: cluster.remove("/tmp/app",
                                               cluster.names[:4]))
    assert "mode 0500" in storm.out and "mtime 1100000000" in storm.out


def test_bcast_into_a_project(cluster):
    """A directory that gives files its group: the file has the user's."""
    def check():
        everywhere(cluster, "/tmp/proj/app",
                   (cluster.bin / "taskdo").read_bytes(), mode=0o750)
        cluster.remove("/tmp/proj/app")

    path = cluster.home / "bin" / "special"
    pad(cluster.bin / "taskdo", path, (cluster.bin / "taskdo").stat().st_size)
    os.chmod(path, 0o750)
    os.chown(path, 20001, 20001)
    project(cluster)
    same(cluster, "--bcast=/tmp/proj/app -N8 -n8 {bin}/special say x", code=0,
         between=check)
    check()


def test_bcast_part_of_the_allocation(cluster):
    """Only the step's nodes get the file."""
    run = cluster.srun("--bcast=/tmp/app -w n3,n5 -N2 -n2 {do} say x")
    assert run.code == 0, str(run)
    have = [n for n in cluster.names if cluster.file(n, "/tmp/app")]
    stock = cluster.srun("--bcast=/tmp/app2 -w n3,n5 -N2 -n2 {do} say x",
                         "slurm")
    assert stock.code == 0, str(stock)
    have2 = [n for n in cluster.names if cluster.file(n, "/tmp/app2")]
    assert set(have) >= {"n3", "n5"} and set(have) <= set(have2)


@pytest.mark.parametrize("size", [16_384 * 2 + 1, 65_536 * 3, 8 << 20,
                                  (16 << 20) + 7, 40_000_000])
def test_bcast_sizes(cluster, size):
    """Sizes around blocks, and beyond the window."""
    path = cluster.home / "bin" / "sized"
    pad(cluster.bin / "taskdo", path, size)
    run = cluster.by_storm(cluster.srun(
        "--bcast=/tmp/app -N8 -n8 {bin}/sized say x"))
    assert run.code == 0 and run.out == "x\n" * 8, str(run)
    everywhere(cluster, "/tmp/app", path.read_bytes())


@pytest.mark.every_mode
def test_bcast_own_allocation(cluster):
    same(cluster, "--bcast=/tmp/app -N8 -n8 {big} say x", code=0, alone=True,
         between=lambda: cluster.remove("/tmp/app"))


def test_bcast_multi_prog(cluster):
    """argv[0] is the configuration file: stock broadcasts that. Then it looks
    for it on srun's host, under the name that it has on the nodes."""
    conf = "0-3 /home/user/bin/taskdo say x\n"
    stock, storm = same(
        cluster, "--bcast=/tmp/m.conf --multi-prog -N4 -n4 m.conf",
        given={"m.conf": conf}, only=("code", "out"),
        between=lambda: cluster.remove("/tmp/m.conf", cluster.names[:4]))
    assert STOCK or storm.err == "", f"{stock}\n{storm}"


@pytest.mark.parametrize("how", ["--compress=lz4", "SLURM_COMPRESS"])
def test_bcast_compress_is_refused(cluster, how):
    """Not ignored."""
    if STOCK:
        pytest.skip("SKIP: stock compresses")
    env = {how: "lz4"} if how == "SLURM_COMPRESS" else {}
    option = "" if env else how
    run = cluster.srun(f"{option} --bcast=/tmp/app -N4 -n4 {{do}} say x",
                       env=env)
    assert run.code != 0 and run.out == "", str(run)
    assert "error: storm: --compress is not supported: " in run.err, str(run)
    cluster.tidied()


def put_greet(cluster):
    """The library is in /tmp of the login host, so on no other host."""
    cluster.lab.put(cluster.bin / "libgreet.so", "login", "/tmp/libgreet.so")
    cluster.root("chmod 755 /tmp/libgreet.so")


GREET = {"LD_LIBRARY_PATH": "/tmp"}


def test_send_libs(cluster):
    put_greet(cluster)
    stock, storm = same(
        cluster, "--send-libs --bcast=/tmp/uselib -N4 -n4 {bin}/uselib",
        code=0, env=GREET,
        between=lambda: [cluster.remove("/tmp/uselib", cluster.names[:4]),
                         cluster.remove("/tmp/uselib_libs",
                                        cluster.names[:4])])
    assert storm.out == "greetings from the library\n" * 4
    assert "libgreet.so" in cluster.listing("n1", "/tmp/uselib_libs")


def test_send_libs_no(cluster):
    put_greet(cluster)
    same(cluster, "--send-libs=no --bcast=/tmp/uselib -N2 -n2 {bin}/uselib",
         code=127, env=GREET,
         between=lambda: cluster.remove("/tmp/uselib", cluster.names[:2]))


def test_bcast_exclude(cluster):
    """--bcast-exclude=DIR: libraries from there are not sent."""
    put_greet(cluster)
    stock, storm = same(
        cluster, "--send-libs --bcast-exclude=/lib,/usr/lib,/lib64,/tmp "
        "--bcast=/tmp/uselib -N2 -n2 {bin}/uselib", code=127, env=GREET,
        between=lambda: [cluster.remove("/tmp/uselib", cluster.names[:2]),
                         cluster.remove("/tmp/uselib_libs",
                                        cluster.names[:2])])


@pytest.mark.long       # the agents check every half minute
@pytest.mark.storm_only
def test_send_libs_removed_after_the_job(cluster):
    """The agents remove PATH_libs when the job ends."""
    put_greet(cluster)
    run = cluster.srun("--send-libs --bcast=/tmp/uselib -N4 -n4 {bin}/uselib",
                       alone=True, env=GREET)
    assert run.code == 0, str(run)
    cluster.by_storm(run)
    until(lambda: not any("uselib_libs" in cluster.listing(n)
                          for n in cluster.names), "the removal", 300)


@pytest.mark.long
@pytest.mark.every_mode
def test_bcast_200_megabytes(cluster):
    path = cluster.home / "bin" / "huge"
    pad(cluster.bin / "taskdo", path, 200_000_000)
    try:
        run = cluster.by_storm(cluster.srun(
            "--bcast=/tmp/app -N8 -n8 {bin}/huge say x", timeout=TIMEOUT * 4))
        assert run.code == 0, str(run)
        everywhere(cluster, "/tmp/app", path.read_bytes())
    finally:
        path.unlink()
