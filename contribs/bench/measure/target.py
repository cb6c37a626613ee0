# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Where a measurement runs: a lab that it makes and removes, or the site's
cluster."""
import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import time

from lab import Lab
from lab.release import MACHINES, RELEASES, chosen

from .result import NotRun
from .turns import numbers

#: seconds that a job of a site waits for its nodes
WAIT = 300

#: argv: where to write stderr, a command. Prints its exit code and how many
#: microseconds it took.
TIMED = """err=$1; shift; begun=${EPOCHREALTIME/./}
"$@" </dev/null >/dev/null 2>"$err"
code=$? ended=${EPOCHREALTIME/./}
echo $code $((ended - begun))"""


def options(parser, site=True):
    """The options that open_target() reads. Without `site` a measurement needs
    a lab."""
    parser.add_argument("--slurm", choices=RELEASES, metavar="RELEASE",
                        help=f"the lab's release of Slurm: {', '.join(RELEASES)}"
                        f" (default: $STORM_SLURM, or {MACHINES})")
    if not site:
        return
    parser.add_argument("--site", action="store_true",
                        help="run on this site's cluster instead of a lab, as "
                        "the user who starts this")
    parser.add_argument("--site-options", default=[], type=shlex.split,
                        metavar="TEXT", help="options of salloc for --site, "
                        "as '-p batch -A project'. It waits for its nodes for "
                        f"{WAIT} s, or as --immediate=SECONDS says here")
    parser.add_argument("--site-dir", default=os.getcwd(), metavar="DIR",
                        help="for --site: a directory that all nodes share "
                        "(default: the current one)")


def nodes_option(parser, default=(1, 2, 4, 8, 16, 32, 64)):
    """args.nodes: of how many nodes each measurement is."""
    parser.add_argument("--nodes", default=list(default), type=numbers,
                        metavar="LIST", help="numbers of nodes (default: "
                        f"{','.join(map(str, default))})")


def last_lines(text, count=3):
    return " / ".join(text.strip().splitlines()[-count:])


class Target:
    """Commands run on the login host, as a user."""

    def run(self, argv, timeout=600, env=None):
        """A subprocess.CompletedProcess of text."""
        raise NotImplementedError

    def must(self, argv, **options):
        """The output of a command that must succeed."""
        done = self.run(argv, **options)
        if done.returncode:
            raise NotRun(f"{shlex.join(map(str, argv))}: exit code "
                         f"{done.returncode}: {last_lines(done.stderr)}")
        return done.stdout

    def timed(self, argv, **options):
        """Run a command that must succeed. Returns milliseconds, without those
        that entering a lab's host takes."""
        said = self.inside("stderr")
        try:
            code, took = self.must(["bash", "-c", TIMED, "timed", said,
                                    *map(str, argv)], **options).split()
        except subprocess.TimeoutExpired as e:
            raise NotRun(f"{argv[0]}: not done after {e.timeout:g} s") from e
        if code != "0":
            raise NotRun(f"{shlex.join(map(str, argv))}: exit code {code}: "
                         + last_lines((self.shared / "stderr").read_text()))
        return int(took) / 1000

    def allocate(self, nodes, *more):
        """Make a job of whole nodes without a process. Returns its id."""
        done = self.run(["salloc", "--no-shell", f"-N{nodes}", *self.salloc,
                         *more])
        found = re.search(r"job allocation (\d+)", done.stderr)
        if done.returncode or not found:
            raise NotRun(f"salloc of {nodes} nodes: {done.stderr.strip()}")
        return found[1]

    def free(self, job):
        """Cancel a job, and wait until its nodes are free."""
        self.must(["scancel", job])
        while self.run(["squeue", "-h", "-j", job]).stdout.strip():
            time.sleep(0.02)

    @contextlib.contextmanager
    def allocation(self, nodes, *more):
        """A job of that many nodes, for the time of a `with`."""
        job = self.allocate(nodes, *more)
        try:
            yield job
        finally:
            self.free(job)

    def nodes_of(self, job):
        """The names of a job's nodes, in order."""
        listed = self.must(["squeue", "-h", "-j", job, "-o", "%N"]).strip()
        return self.must(["scontrol", "show", "hostnames", listed]).split()

    def address(self, name):
        """The IPv4 address of a host."""
        return self.must(["getent", "ahostsv4", name]).split()[0]

    def inside(self, name):
        """The path on the hosts of a file of `shared`."""
        raise NotImplementedError

    def scratch(self, name):
        """The path of a file that each node has for itself."""
        return f"/tmp/storm_bench.{os.getpid()}.{name}"

    def clear(self, name, job):
        """Remove such a file from the nodes of a job."""
        self.must(["srun", f"--jobid={job}", "rm", "-f", self.scratch(name)])


class LabTarget(Target):
    """`lab` is the Lab."""
    salloc = ("--ntasks-per-node=1",)

    def __init__(self, nodes, release=None, **options):
        options.setdefault("cpus", 8)
        self.release = chosen(release)
        self.lab = Lab(f"bench{os.getpid()}-{self.release.replace('.', '')}")
        self.nodes = nodes
        self.lab.down()
        try:
            self.lab.up(nodes, slurm=self.release, **options)
            self.lab.wait_agents()
        except BaseException:
            self.lab.down()
            raise
        self.names = list(self.lab.nodes)
        #: a directory that all hosts share, seen from here
        self.shared = pathlib.Path(self.lab.dir) / "home" / "user"

    def run(self, argv, timeout=600, env=None):
        return self.lab.run(list(map(str, argv)), user="user", cwd="/tmp",
                            timeout=timeout, env=env)

    def inside(self, name):
        return f"/home/user/{name}"

    def clear(self, name, job):
        for host in self.names:
            pathlib.Path(self.lab.path(host, self.scratch(name))) \
                .unlink(missing_ok=True)

    def down(self):
        self.lab.down()


class SiteTarget(Target):
    """`lab` is None."""
    lab = None

    def __init__(self, args):
        self.salloc = ("--ntasks-per-node=1", "--exclusive",
                       f"--immediate={WAIT}", *args.site_options)
        self.release = "site"
        try:
            self.must(["srun", "--version"])
            where = tempfile.mkdtemp(prefix="storm_bench.", dir=args.site_dir)
        except OSError as e:
            raise NotRun(f"--site needs srun and a directory: {e}") from e
        self.shared = pathlib.Path(where)

    def run(self, argv, timeout=600, env=None):
        with subprocess.Popen(
                list(map(str, argv)), text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=self.shared if hasattr(self, "shared") else None,
                env={**os.environ, **(env or {})}) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                process.terminate()     # salloc and srun end their jobs then
                raise
        return subprocess.CompletedProcess(process.args, process.returncode,
                                           out, err)

    def inside(self, name):
        return str(self.shared / name)

    def down(self):
        for path in self.shared.iterdir():
            path.unlink()
        self.shared.rmdir()


@contextlib.contextmanager
def open_target(args, result, nodes, release=None, **lab_options):
    """A Target with that many nodes. `lab_options` are those of Lab.up()."""
    if getattr(args, "site", False):
        target = SiteTarget(args)
    else:
        target = LabTarget(nodes, release or getattr(args, "slurm", None),
                           **lab_options)
    try:
        result.versions["slurm " + target.release] = \
            target.must(["srun", "--version"]).strip()
        yield target
    finally:
        target.down()
