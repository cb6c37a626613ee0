# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Hosts in a Debian root file system with stock Slurm.

All hosts share one root directory, as if each had installed the same packages. What
hosts must not share (/run, /tmp, logs, spools) is a tmpfs in each one's mount
namespace, so running them changes nothing in the directory. Nothing is mounted in this
machine's namespace; a host is gone when its first process is killed.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import time

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "iproute2", "procps",
            "passwd", "python3",
            # what ours depend on: these hosts know no archive to get it from
            "libibverbs1", "librdmacm1", "libhwloc15", "libpmix2", "libdw1",
            "libncursesw6")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
ENV = {"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8",
       "DEBIAN_FRONTEND": "noninteractive"}
ADDRESS = {"ctl": "10.84.0.1", "n1": "10.84.0.11", "n2": "10.84.0.12"}
NODES = ("n1", "n2")

#: what dpkg itself writes whenever it is used
LEDGERS = ("var/lib/dpkg/", "var/lib/apt/", "var/cache/apt/", "var/cache/ldconfig/",
           "var/cache/debconf/", "var/log/",
           # and what adduser keeps of the last change, and its lock
           "etc/passwd-", "etc/shadow-", "etc/group-", "etc/gshadow-", "run/adduser")

SLURM_CONF = """\
ClusterName=bare
SlurmctldHost=ctl(10.84.0.1)
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmdParameters=config_overrides
NodeName=n1 NodeAddr=10.84.0.11 CPUs=4 RealMemory=1000
NodeName=n2 NodeAddr=10.84.0.12 CPUs=4 RealMemory=1000
PartitionName=all Nodes=n1,n2 Default=YES State=UP OverSubscribe=YES
"""
#: what jobs that take turns need; a job's tasks have all CPUs of both nodes
GANG_CONF = """\
SchedulerType=sched/storm
PreemptMode=OFF
SelectTypeParameters=CR_CPU_Memory
PartitionName=gang Nodes=n1,n2 OverSubscribe=FORCE:2 DefMemPerCPU=100
"""
AGENT = "/usr/libexec/slurm-storm/storm_agent"
#: known from 24.05 on
CGROUP_CONF = "CgroupPlugin=disabled\n"

#: A host's mounts, then its first process, which collects orphans.
INIT = """
mount --make-rprivate / && mount --bind "$R" "$R" || exit
hostname "$H"
mount -t proc proc "$R/proc" && mount -t sysfs -o ro sysfs "$R/sys" &&
mount -t tmpfs -o mode=755,nosuid tmpfs "$R/dev" || exit
for d in null zero full random urandom tty; do
	cp -a "/dev/$d" "$R/dev/" || exit
done
mkdir -m 1777 "$R/dev/shm" && mkdir "$R/dev/pts" && ln -s pts/ptmx "$R/dev/ptmx" &&
ln -s /proc/self/fd "$R/dev/fd" &&
mount -t devpts -o newinstance,ptmxmode=666 devpts "$R/dev/pts" || exit
[ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup "$R/sys/fs/cgroup" || exit
for d in run tmp var/log var/lib/slurm var/lib/munge; do
	mount -t tmpfs -o mode=755 tmpfs "$R/$d" || exit
done
mount --bind "$R/dev/null" "$R/etc/resolv.conf" || exit
cd "$R" && chmod 1777 tmp && mkdir -p var/log/munge var/log/slurm run/munge \
	var/lib/slurm/slurmctld var/lib/slurm/slurmd
exec chroot "$R" /usr/bin/python3 -c '
import os, time
os.system("chown munge: /var/log/munge /run/munge /var/lib/munge; "
          "chown -R slurm: /var/lib/slurm /var/log/slurm")
print("up", flush=True)
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.05)'
"""
NAMESPACES = ["-m", "-u", "-i", "-n", "-p"]


def until(condition, what, timeout=120):
    """What the condition returns as soon as it is true; `what` is a text or makes one."""
    limit = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < limit, \
            f"not in {timeout} s: {what if isinstance(what, str) else what()}"
        time.sleep(0.05)
    return found


def mirror():
    """The archive that this machine's apt has its own release from."""
    out = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)",
         "Created-By: Packages", "Component: main"],
        capture_output=True, text=True, check=True).stdout.split()
    return next((uri for uri in out if "security" not in uri),
                "http://deb.debian.org/debian")


def root_archive(suite, cache):
    """The root file system of a release as a tar file, made if it is missing, or has
    other packages."""
    path = pathlib.Path(cache) / f"bare-{suite}.tar"
    made_of = path.with_suffix(".packages")
    wanted = " ".join(PACKAGES)
    if not (path.exists() and made_of.exists() and made_of.read_text() == wanted):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}.tar")
        options = [f"--aptopt={o}" for o in (
            'Acquire::Languages "none"', 'APT::Install-Recommends "false"',
            # a mirror that is behind; signatures are checked all the same
            'Acquire::Check-Valid-Until "false"')]
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root",
                        "--include=" + ",".join(PACKAGES), *options, suite,
                        str(new), mirror()], check=True, timeout=400)
        new.rename(path)
        made_of.write_text(wanted)
    return path


class Root:
    """A root directory that is unpacked below `where`, and commands in it."""

    def __init__(self, archive, where):
        self.root = pathlib.Path(where) / "root"
        self.root.mkdir()
        subprocess.run(["tar", "-C", self.root, "--numeric-owner", "-xpf", archive],
                       check=True)
        (self.root / "etc/resolv.conf").touch()

    def install(self, argv, check=True, shown=None, answer="", timeout=600, **env):
        """Run a command on the file system, as no host, in this machine's network;
        `shown` is seen at /mnt."""
        script = ('mount --make-rprivate / && mount --bind "$R" "$R" && '
                  'mount -t proc proc "$R/proc" && mount --rbind /dev "$R/dev" && '
                  'mount --bind /etc/resolv.conf "$R/etc/resolv.conf" && '
                  '{ [ -z "$S" ] || mount --bind "$S" "$R/mnt"; } && '
                  'exec chroot "$R" "$@"')
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "_", *argv],
            env={**ENV, **env, "R": str(self.root), "S": str(shown or "")}, text=True,
            input=answer, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=check, timeout=timeout)

    def picture(self):
        """{path: what it is}, without what dpkg keeps for itself."""
        found = {}
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                path = os.path.join(folder, name)
                short = os.path.relpath(path, self.root)
                if not short.startswith(LEDGERS):
                    found[short] = self.described(path)
        return found

    @staticmethod
    def described(path):
        st = os.lstat(path)
        what = None
        if stat.S_ISLNK(st.st_mode):
            what = os.readlink(path)
        elif stat.S_ISREG(st.st_mode):
            what = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
        return oct(st.st_mode), st.st_uid, st.st_gid, what

    def changes(self, before):
        """{path: (before, now)} of what is not as it was in that picture."""
        now = self.picture()
        return {p: (before.get(p), now.get(p)) for p in before.keys() | now.keys()
                if before.get(p) != now.get(p)}

    def down(self):
        assert str(self.root) not in pathlib.Path(
            "/proc/self/mountinfo").read_text()
        shutil.rmtree(self.root)


class Hosts(Root):
    """ctl, n1 and n2, whose root directory it is."""

    def __init__(self, archive, where):
        super().__init__(archive, where)
        self.inits = {}
        etc = self.root / "etc"
        (etc / "slurm/slurm.conf").write_text(SLURM_CONF)
        if int(self.version().split(".")[0]) > 23:
            (etc / "slurm/cgroup.conf").write_text(CGROUP_CONF)
        (etc / "hosts").write_text("127.0.0.1 localhost\n" + "".join(
            f"{address} {name}\n" for name, address in ADDRESS.items()))
        self.install(["useradd", "-m", "user"])

    def version(self):
        """The revision of Slurm's packages."""
        return self.install(["dpkg-query", "-W", "-f", "${Version}",
                             "slurmd"]).stdout

    # -- hosts --------------------------------------------------------------

    def up(self):
        for name in ("switch", *ADDRESS):
            self.begin(name)
        ip = ["link add br0 type bridge mcast_snooping 0 forward_delay 0",
              "link set br0 up"]
        for name in ADDRESS:
            ip += [f"link add v{name} type veth peer name eth0 netns "
                   f"{self.inits[name][1]}",
                   f"link set v{name} master br0 up"]
        self.ip("switch", ip)
        for name, address in ADDRESS.items():
            self.ip(name, ["link set lo up", "link set eth0 up",
                           f"addr add {address}/24 dev eth0"])
            self.run(name, ["munged"], "munge")
        self.start("ctl", "slurmctld")
        for node in NODES:
            self.start(node, "slurmd")
        self.settle()

    def begin(self, name):
        """Start a host's first process; remember it and its unshare."""
        process = subprocess.Popen(
            ["unshare", *NAMESPACES, "--fork", "--kill-child=KILL", "sh", "-c", INIT],
            env={**ENV, "R": str(self.root), "H": name}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        said = process.stdout.readline()
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        pid = pathlib.Path(children).read_text().split()
        self.inits[name] = (process, int(pid[0]) if pid else 0)
        assert said == "up\n", f"{name} does not start"

    def ip(self, name, lines):
        subprocess.run(["nsenter", "-t", str(self.inits[name][1]), "-n", "ip",
                        "-batch", "-"], input="\n".join(lines) + "\n", text=True,
                       check=True)

    def there(self, name, argv, user):
        """The command line that runs a command on a host."""
        ids = [] if user == "root" else [
            "setpriv", "--init-groups", "--reuid", user, "--regid", user]
        return ["nsenter", "-t", str(self.inits[name][1]), *NAMESPACES, "-r", "-w",
                "--", *ids, *argv]

    def run(self, name, argv, user="root", check=True):
        """Run a command on a host."""
        done = subprocess.run(
            self.there(name, argv, user), env=ENV, stdin=subprocess.DEVNULL, text=True,
            capture_output=True, check=False, timeout=120)
        assert not check or done.returncode == 0, f"{name}: {argv}: {done}"
        return done

    def begin_run(self, name, argv, user="user"):
        """Start a command on a host; it ends with the host at the latest."""
        return subprocess.Popen(
            self.there(name, argv, user), env=ENV, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @staticmethod
    def srun_argv(*args):
        return ["srun", "-D/tmp", "-N2", "-n2", *args]

    def srun(self, *args):
        return self.run("ctl", self.srun_argv(*args), "user", check=False)

    def launches(self, *argv):
        """A user's command launches a step on both nodes by STORM, and after some tries
        by multicast: a busy machine does not carry one within MulticastTimeout each
        time."""
        def by_multicast():
            done = self.run("ctl", argv, "user", check=False)
            assert sorted(done.stdout.split()) == ["n1", "n2"], done
            how = re.search(r"storm: launches StepId=\S+ on 2 nodes, (.*)", done.stderr)
            assert how and "falling back" not in done.stderr, done.stderr
            return how[1] == "by multicast"
        until(by_multicast, "a launch by multicast")

    def start(self, name, daemon):
        done = self.run(name, [daemon] + (["-N", name] if daemon == "slurmd"
                                          else []), check=False)
        assert done.returncode == 0, f"{name}: {done}\n{self.log(name, daemon)}"

    def signal(self, name, program, sig="KILL"):
        self.run(name, ["pkill", f"-{sig}", "-x", program[:15]])

    def restart(self, name, daemon):
        pid = self.run(name, ["cat", f"/run/{daemon}.pid"]).stdout.strip()
        self.run(name, ["kill", pid])
        until(lambda: self.run(name, ["test", "-e", f"/proc/{pid}"],
                               check=False).returncode, f"the end of {daemon}")
        self.start(name, daemon)

    def settle(self):
        until(lambda: self.run("ctl", ["sinfo", "-h", "-o", "%T %D"],
                               check=False).stdout.strip() == "idle 2", "idle nodes")

    def log(self, name, daemon="slurmd"):
        return self.run(name, ["cat", f"/var/log/slurm/{daemon}.log"]).stdout

    def restart_nodes(self):
        for node in NODES:
            self.restart(node, "slurmd")
        self.settle()

    def serve(self):
        """Wait for an agent on each node, of the slurmd that runs now."""
        for node in NODES:
            until(lambda: re.search("serves node|adopted", self.log(node).rsplit(
                "slurmd started", 1)[1]), f"an agent on {node}")

    def pid(self, name, program):
        """The pid of a program, within the host; None: it does not run there."""
        found = self.run(name, ["pgrep", "-ox", program], check=False)
        return found.stdout.strip() or None

    def agent(self, name):
        return self.pid(name, "storm_agent")

    # -- jobs that take turns -----------------------------------------------

    def configure(self, more="", storm=None):
        """Write slurm.conf, and storm.conf if there is to be one."""
        etc = self.root / "etc/slurm"
        keys = {line.split("=")[0] for line in more.splitlines()} - {"PartitionName"}
        (etc / "slurm.conf").write_text("".join(
            line for line in SLURM_CONF.splitlines(True)
            if line.split("=")[0] not in keys) + more)
        if storm is None:
            (etc / "storm.conf").unlink(missing_ok=True)
        else:
            (etc / "storm.conf").write_text(storm)

    def trace(self, node, since=0):
        """What its agent has done to steps that take turns."""
        done = self.run(node, [AGENT, "--node", node, "--trace", str(since)],
                        check=False)
        return [] if done.returncode else [
            json.loads(line) for line in done.stdout.splitlines()]

    def turns(self, node, since=0):
        """{job: turns that it got there}"""
        got = {}
        for e in self.trace(node, since):
            if e["what"] == "continue" and e["why"] == "slot":
                got[e["job"]] = got.get(e["job"], 0) + 1
        return got

    def alternate(self, *jobs, times=3):
        """Wait until jobs were stopped and continued on each node."""
        since = {n: ([{"n": -1}] + self.trace(n))[-1]["n"] + 1 for n in NODES}
        for node in NODES:
            until(lambda: all(self.turns(node, since[node]).get(job, 0) >= times
                              for job in jobs), f"jobs {jobs} to take turns on {node}")

    def down(self):
        for process, _ in self.inits.values():
            process.send_signal(signal.SIGKILL)
        for process, pid in self.inits.values():
            process.wait()
            process.stdout.close()
            until(lambda: not os.path.exists(f"/proc/{pid}"), "the end of a host")
        super().down()
