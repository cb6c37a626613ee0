# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The Debian packages on bare hosts: see README."""
import os
import re
import shutil
import subprocess

import pytest

from bare_hosts import ADDRESS, AGENT, GANG_CONF, NODES, until

NAMES = ("slurm-storm-client", "slurm-storm-node", "slurm-storm-ctld",
         "slurm-storm-hwloc", "slurm-storm-monitoring", "slurm-storm-pmix",
         "slurm-storm-unwind", "libstorm0", "libstorm-dev", "stormlab")


#: whose logs say how a program of ours ended
LOGS = ("slurmctld", "slurmd")
ABORT = re.compile(r"detected \*\*\*|signal (4|6|8|11)\b|SIG(ABRT|SEGV)")


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", deb, name], check=True, text=True,
                          capture_output=True).stdout.strip()


def renamed(deb, folder, **fields):
    """A copy of a package with other fields, as a later build has them."""
    work = folder / "work"
    subprocess.run(["dpkg-deb", "-R", deb, work], check=True)
    control = work / "DEBIAN" / "control"
    text = control.read_text()
    for name, (old, new) in fields.items():
        line = re.search(rf"^{name}: .*$", text, re.M)[0]
        text = text.replace(line, line.replace(old, new))
    control.write_text(text)
    # files of their own, not links to those that are installed
    subprocess.run(["dpkg-deb", "-b", work, folder / deb.name], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(work)


def apt(hosts, *args, shown=None):
    return hosts.install(["apt-get", "-q", "-y", "-o", "APT::Sandbox::User=root",
                          *args], shown=shown, check=False)


def install(hosts, folder):
    names = sorted(f"/mnt/{p.name}" for p in folder.iterdir())
    done = apt(hosts, "install", *names, shown=folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


def known(hosts):
    """Those of the packages that dpkg still has, or has configuration of."""
    listed = hosts.run("ctl", ["dpkg-query", "-W", "-f", "${Package} "]).stdout
    return [name for name in listed.split() if name in NAMES]


def launches_by_storm(hosts):
    hosts.launches(*hosts.srun_argv("--launch=storm", "-vv", "--bcast=/tmp/h",
                                    "hostname"))


def test_bare_hosts_launch_by_slurm(hosts):
    done = hosts.srun("hostname")
    assert sorted(done.stdout.split()) == ["n1", "n2"] and not done.stderr, done
    assert "unrecognized option '--launch=storm'" in \
        hosts.srun("--launch=storm", "hostname").stderr


def test_devices_are_not_the_machines(hosts):
    """Stock's sbcast -f changes whose device it is."""
    for name, (_, pid) in hosts.inits.items():
        there = os.stat(f"/proc/{pid}/root/dev/null")
        assert not os.path.samestat(there, os.stat("/dev/null")), name
        assert there.st_rdev == os.stat("/dev/null").st_rdev, name


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, text=True,
                          capture_output=True).stdout


def compiled(path):
    """What the compiler made of a file's functions: {(name, size)}."""
    found = set()
    for words in map(str.split, readelf(path, "--syms").splitlines()):
        if len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND":
            found.add((words[7], words[2]))
    return found


def imported(path):
    """Names from other files. The checked functions of FORTIFY_SOURCE are among them."""
    return {words[7].split("@")[0] for words in map(
        str.split, readelf(path, "--dyn-syms").splitlines())
        if len(words) >= 8 and words[6] == "UND"}


def images(directory):
    """The programs and libraries below it: a script can have the name of one."""
    return [path for path in directory.rglob("*")
            if path.is_file() and not path.is_symlink()
            and path.read_bytes()[:4] == b"\x7fELF"]


def test_the_stage_is_the_same(release, tmp_path):
    """What all other tests test: the same functions of the same size, which call the
    same. So they are compiled with the same flags, and inlined alike."""
    if not release.stage.is_dir():
        pytest.skip(f"SKIP: no {release.stage}: run 'contribs/prepare "
                    f"{' '.join(['build', *release.option])}'")
    for deb in release.debs.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, tmp_path], check=True)
    ours = {path.name: path for path in images(tmp_path) if path.suffix != ".debug"}
    compared, differ = [], {}
    for path in sorted(images(release.stage)):
        package = ours.get(path.name)
        if not package:
            differ[path.name] = [f"in no package: remove {release.stage} and build again"]
            continue
        digits = re.search(r"Build ID: (\w\w)(\w+)", readelf(package, "-n"))
        debug = tmp_path / f"usr/lib/debug/.build-id/{digits[1]}/{digits[2]}.debug"
        compared.append(path.name)
        other = sorted(compiled(path) ^ compiled(debug)) + \
            sorted(imported(path) ^ imported(package))
        if other:
            differ[path.name] = other
    assert len(compared) > 8, compared
    assert not differ


def test_another_slurm_is_refused(hosts, debs, tmp_path):
    """The packages are for one revision of Slurm's."""
    assert set(debs) == set(NAMES)
    slurm = hosts.version()
    for name, needs in (("client", "slurm-client"), ("node", "slurmd"),
                        ("ctld", "slurmctld")):
        assert f"{needs} (= {slurm})" in field(debs[f"slurm-storm-{name}"],
                                               "Depends").split(", ")
    deb = debs["slurm-storm-node"]
    renamed(deb, tmp_path, Depends=(f"slurmd (= {slurm})",
                                    f"slurmd (= {slurm}.1)"))
    done = apt(hosts, "install", f"/mnt/{deb.name}", shown=tmp_path)
    assert done.returncode != 0 and "slurmd (=" in done.stdout, done.stdout


def test_install(hosts, debs, tmp_path):
    """One restart of slurmd, and not a line of configuration."""
    for deb in debs.values():
        shutil.copy(deb, tmp_path)
    assert "slurm-storm-node: no agent runs on this host until slurmd is " \
        "restarted" in install(hosts, tmp_path)
    hosts.restart_nodes()
    hosts.serve()
    launches_by_storm(hosts)
    said = hosts.run("ctl", ["sbcast_storm", "--version"]).stdout
    assert "the same here: libslurmfull.so" in said, said
    for page in ("storm.7", "storm_agent.8", "stormlab.1"):
        assert list(hosts.root.glob(f"usr/share/man/man?/{page}.gz")), page


#: units of slurm-storm-monitoring that can be enabled, and where that puts links
UNITS = {"slurm-storm-metrics.service": "multi-user.target.wants",
         "slurm-storm-textfile.timer": "timers.target.wants"}


def test_monitoring_waits(hosts, debs, tmp_path):
    """The administrator enables its units; test_removed sees what stays of that."""
    subprocess.run(["dpkg-deb", "-e", debs["slurm-storm-monitoring"], tmp_path],
                   check=True)
    script = (tmp_path / "postinst").read_text()
    assert "slurm-storm-metrics.service" in script
    assert not re.search(r"deb-systemd-helper.* enable|deb-systemd-invoke (\$|start)|"
                         r"systemctl.* (enable|start)", script), script
    assert re.search("^storm-metrics:", (hosts.root / "etc/passwd").read_text(), re.M)
    for unit, wants in UNITS.items():
        assert (hosts.root / "usr/lib/systemd/system" / unit).is_file()
        link = hosts.root / "etc/systemd/system" / wants / unit
        assert not link.is_symlink(), link
        # as systemctl does it
        assert link.parent.is_dir()
        link.symlink_to(f"/usr/lib/systemd/system/{unit}")


def test_example(hosts):
    """What libstorm-dev has is enough to build its example, which runs with libstorm0."""
    if not shutil.which("gcc") or not shutil.which("pkg-config"):
        pytest.skip("SKIP: install the packages gcc and pkg-config")
    root, program = hosts.root, hosts.root / "usr/local/bin/storm_tour"
    pc, = root.glob("usr/lib/*/pkgconfig/libstorm.pc")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libstorm"], check=True, text=True,
        capture_output=True, env={
            **os.environ, "PKG_CONFIG_LIBDIR": str(pc.parent),
            "PKG_CONFIG_SYSROOT_DIR": str(root), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
            "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}).stdout.split()
    # libstorm's own libraries are there, and may be of a later Debian than this machine
    done = subprocess.run(
        ["gcc", root / "usr/share/doc/libstorm-dev/examples/storm_tour.c", "-o", program,
         *flags, "-Wl,--allow-shlib-undefined"], text=True, capture_output=True,
        check=False)
    assert done.returncode == 0, done.stderr
    try:
        said = hosts.run("ctl", ["/usr/local/bin/storm_tour"], "user").stdout
    finally:
        program.unlink()
    assert said.count("in phase 2, with the file\n") == 4, said
    assert "owner: done\n" in said, said


def aborts(hosts):
    """What the logs say of programs that ended by a signal of their own."""
    return [f"{name}: {line}" for name in ADDRESS for daemon in LOGS
            for line in hosts.run(name, ["cat", f"/var/log/slurm/{daemon}.log"],
                                  check=False).stdout.splitlines()
            if ABORT.search(line)]


@pytest.fixture(autouse=True)
def nothing_aborts(hosts):
    yield
    assert not aborts(hosts)


def answers(hosts, node):
    """Whether its agent does; there is none, as long as one after the other aborts."""
    assert not aborts(hosts)
    return hosts.run(node, [AGENT, "--node", node, "--stats"],
                     check=False).returncode == 0


def another_agent(hosts, node, old):
    until(lambda: hosts.agent(node) not in (None, old) and answers(hosts, node),
          lambda: f"another agent on {node}; slurmd's log:\n{hosts.log(node)[-3000:]}")


def test_libraries(hosts):
    """What a user's program needs is sent, too; and its agent can start again."""
    done = hosts.run("ctl", ["salloc", "-Q", "-N2", "sbcast_storm", "-v", "-f",
                             "--send-libs", "/usr/bin/hostname", "/tmp/libs"], "user")
    assert "falling back" not in done.stderr, done
    for node in NODES:
        old = hosts.agent(node)
        hosts.signal(node, "storm_agent")
        another_agent(hosts, node, old)
    launches_by_storm(hosts)


def test_stopped_agent(hosts):
    """slurmd ends it, and starts another one."""
    old = hosts.agent("n1")
    hosts.signal("n1", "storm_agent", "STOP")
    done = hosts.srun("--launch=storm", "--bcast=/tmp/h", "hostname")
    assert sorted(done.stdout.split()) == ["n1", "n2"] or "n1" in done.stderr, done
    another_agent(hosts, "n1", old)
    # n1 is remembered, until a step that Slurm launches finds that it answers
    until(lambda: "falling back" not in hosts.srun(
        "--launch=storm", "--bcast=/tmp/h", "hostname").stderr,
        "n1 to be forgotten")
    launches_by_storm(hosts)


def ctl_log(hosts):
    return hosts.log("ctl", "slurmctld")


def logs(hosts):
    return {"ctl": ctl_log(hosts), **{node: hosts.log(node) for node in NODES}}


def jobs(hosts):
    return [int(word) for word in hosts.run(
        "ctl", ["squeue", "-h", "-pgang", "-tR", "-o%A"]).stdout.split()]


def begin_job(hosts):
    """A job whose task on each node computes."""
    before = set(jobs(hosts))
    run = hosts.begin_run("ctl", ["srun", "-pgang", "-N2", "-n2", "-c4", "-D/tmp",
                                  "--launch=storm", "--bcast=/tmp/job.%j",
                                  "/bin/sh", "-c", "while :; do :; done"])
    job, = until(lambda: set(jobs(hosts)) - before,
                 lambda: f"a job; slurmctld's log:\n{ctl_log(hosts)[-3000:]}")
    return job, run


def test_wrong_file(hosts):
    """slurmctld goes on with the last good one, at each start."""
    hosts.configure(GANG_CONF, "Quantum=50\n")
    hosts.restart("ctl", "slurmctld")
    hosts.settle()
    hosts.configure(GANG_CONF, "Quantum=soon\n")
    for start in (1, 2):
        hosts.restart("ctl", "slurmctld")
        until(lambda: ctl_log(hosts).count("Quantum=soon") >= start or
              not hosts.pid("ctl", "slurmctld"),
              lambda: f"a word about it:\n{ctl_log(hosts)[-3000:]}")
        assert hosts.pid("ctl", "slurmctld"), \
            f"slurmctld is gone:\n{ctl_log(hosts)[-3000:]}"


#: storm.conf as it was written before a partition had a line, and with these lines
OLD_FORM = "PartitionQuantum=gang:40\nTimeLimitByTurns=gang\nLocalPartitions=all\n"
NEW_FORM = "Partition=gang Quantum=40 LimitByTurns=yes\nPartition=all Policy=local\n"


@pytest.fixture(scope="module")
def two(hosts):
    """Jobs that take turns, from here until they are removed."""
    hosts.configure(GANG_CONF, OLD_FORM)
    hosts.restart("ctl", "slurmctld")
    hosts.restart_nodes()
    for node in NODES:
        until(lambda: answers(hosts, node), f"an agent on {node}")
    pair = [begin_job(hosts)[0] for _ in range(2)]
    hosts.alternate(*pair)
    return pair


def shown(hosts, job):
    """What slurmctld shows of its turns."""
    return re.findall(r"storm:\S+", hosts.run(
        "ctl", ["scontrol", "-o", "show", "job", str(job)]).stdout)


def test_turns(hosts, two):
    for job in two:
        until(lambda: any("turns=1/2" in word for word in shown(hosts, job)),
              lambda: f"job {job} to have half of the turns, not {shown(hosts, job)}")


def test_agent_beside_turns(hosts, two):
    """It finds what the last one knew, and goes on."""
    old = hosts.agent("n1")
    hosts.signal("n1", "storm_agent")
    another_agent(hosts, "n1", old)
    hosts.alternate(*two)
    old = hosts.agent("n2")
    hosts.signal("n2", "storm_agent", "STOP")
    another_agent(hosts, "n2", old)
    hosts.alternate(*two)


def test_hold(hosts, two):
    first, second = two
    done = hosts.run("ctl", ["storm", "hold", str(first)], "user")
    assert f"job {first} is held on 2 nodes" in done.stdout + done.stderr, done
    done = hosts.run("ctl", ["storm", "release", str(first)], "user")
    assert f"job {first} is released" in done.stdout + done.stderr, done
    hosts.alternate(first, second)


def test_daemons_restart(hosts, two):
    hosts.restart("ctl", "slurmctld")
    for node in NODES:
        hosts.restart(node, "slurmd")
    hosts.alternate(*two)


def test_upgrade(hosts, debs, tmp_path, two):
    """A later build of the same version: slurmd's restart replaces the agent, while
    jobs take turns. A storm.conf of the old form counts."""
    since = {host: len(log) for host, log in logs(hosts).items()}
    old = {node: hosts.agent(node) for node in NODES}
    assert all(old.values())
    for deb in debs.values():
        version = field(deb, "Version")
        renamed(deb, tmp_path, Version=(version, version + "+more"),
                **{"Depends": (version, version + "+more")})
    install(hosts, tmp_path)
    hosts.restart("ctl", "slurmctld")
    for node in NODES:
        hosts.restart(node, "slurmd")
        another_agent(hosts, node, old[node])
        assert f"replacing the agent (pid {old[node]}): it does not run " \
            f"{AGENT} as it is now" in hosts.log(node)
    hosts.alternate(*two)
    assert sorted(jobs(hosts)) == sorted(two)
    said = {host: log[since[host]:] for host, log in logs(hosts).items()}
    assert said["ctl"].count("does not read") == 1, said["ctl"]
    assert "write in place of these keys:\n" + NEW_FORM in said["ctl"], said["ctl"]
    assert not [n for n in NODES if "does not read" in said[n]], said


def test_new_form(hosts, two, release):
    """storm check prints the lines; with them all is as it was."""
    for job in two:
        assert any("quantum=40ms" in word for word in shown(hosts, job)), \
            shown(hosts, job)
    done = hosts.run("ctl", ["storm", "check"], check=False)
    assert done.stdout.endswith("\n" + NEW_FORM), done
    since = len(ctl_log(hosts))
    pids = [hosts.agent(node) for node in NODES]
    hosts.configure(GANG_CONF, "Quantum=50\n" + NEW_FORM)
    hosts.run("ctl", ["scontrol", "reconfigure"])
    hosts.alternate(*two)
    for job in two:
        until(lambda: any("turns=1/2,quantum=40ms" in word
                          for word in shown(hosts, job)),
              lambda: f"the same turns for job {job}, not {shown(hosts, job)}")
    # since Slurm 23.11 the command starts another slurmd, and that another agent
    if release.name == "22.05":
        assert [hosts.agent(node) for node in NODES] == pids
    assert sorted(jobs(hosts)) == sorted(two)
    log = ctl_log(hosts)[since:]
    assert "does not read" not in log and "storm.conf:" not in log, log


def test_back_to_whole_nodes(hosts, two):
    hosts.run("ctl", ["scancel", *map(str, two)])
    until(lambda: not hosts.run("ctl", ["squeue", "-h"]).stdout, "the jobs' end")
    # agents end sooner than by default once their slurmd has no plugin
    hosts.configure(storm="AgentLinger=2s\n")
    hosts.restart("ctl", "slurmctld")
    hosts.restart_nodes()
    hosts.serve()
    launches_by_storm(hosts)


def test_plugins_alone(hosts):
    """A login host has no agent, and slurmd says so once."""
    done = apt(hosts, "remove", "slurm-storm-node")
    assert done.returncode == 0, done.stdout
    hosts.restart_nodes()
    for node in NODES:
        line, = until(lambda: [l for l in hosts.log(node).splitlines() if
                               "this host has no " + AGENT in l],
                      lambda: f"a word about it; slurmd's log:\n{hosts.log(node)[-2000:]}")
        assert "error" not in line


def test_removed(hosts):
    """What stays is configuration, which does nothing."""
    hosts.configure()
    done = apt(hosts, "remove", *known(hosts))
    assert done.returncode == 0, done.stdout
    left = hosts.changes(hosts.before)
    assert set(left) == {"etc/slurm/storm-plugstack.conf",
                         "etc/bash_completion.d",
                         "etc/bash_completion.d/storm_srun.bash",
                         # the user storm-metrics
                         "etc/passwd", "etc/shadow", "etc/group", "etc/gshadow"}, left
    for node in NODES:
        before = len(hosts.log(node))
        hosts.restart(node, "slurmd")
        until(lambda: "slurmd started" in hosts.log(node)[before:],
              f"a word of the slurmd on {node} that has begun")
        started = hosts.log(node).rsplit("slurmd version", 1)[1]
        assert "storm" not in started and "spank" not in started, started
    hosts.restart("ctl", "slurmctld")
    hosts.settle()
    done = hosts.srun("hostname")
    assert sorted(done.stdout.split()) == ["n1", "n2"] and not done.stderr, done
    for node in NODES:
        until(lambda: not hosts.agent(node), f"the end of the agent on {node}")


def test_purged(hosts):
    """Nothing is left."""
    assert set(known(hosts)) == {"slurm-storm-client", "slurm-storm-monitoring",
                                 "slurm-storm-node"}
    done = apt(hosts, "purge", *known(hosts))
    assert done.returncode == 0, done.stdout
    assert not hosts.changes(hosts.before)
    assert not known(hosts)
