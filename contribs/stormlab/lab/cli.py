# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The command line of stormlab."""
import argparse
import json
import os
import signal
import sys
import time

from . import cluster, slurmconf
from .cluster import Lab
from .sysdep import LabError, run_inside

OVERVIEW = """\
A Slurm cluster on one machine, for trying STORM out and for its tests.

A lab is a number of hosts: ctl (slurmctld), login (where you are when you
use a cluster) and the nodes n1, n2, ... (slurmd). Each is a process tree in
namespaces of its own with its own network interface eth0 at one switch, its
own /tmp, /run and Slurm files; /home is common to all of them. Slurm is the
machine's own installation; the users are root, user and other (these two
exist inside the lab only).
"""

EPILOG = """\
examples:
  stormlab demo                       see it all, from nothing
  stormlab up 8                       a cluster of 8 nodes
  stormlab run srun --launch=storm -N8 hostname
  stormlab run --user user bash       log in
  stormlab shape 1gbit                links as fast as a cluster's
  stormlab drop 5                     every receiver loses 5 % of datagrams
  stormlab exec n3 ps ax              look into a node
  stormlab down

environment:
  STORMLAB        the lab's name where --name is not given
  STORM_STAGE     where the plugins were installed (TOP/_stage)
  STORMLAB_DIR    where labs are recorded (/run/stormlab, /tmp/stormlab)

Several labs may be up at once; they share nothing. 'down' leaves nothing
behind: everything of a lab is in its namespaces and in its directory.
"""


def _parser():
    formatter = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        prog="stormlab", formatter_class=formatter, description=OVERVIEW,
        epilog=EPILOG)
    commands = top.add_subparsers(dest="command", metavar="COMMAND",
                                  required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", metavar="LAB",
                        help="the lab's name (default: $STORMLAB, or "
                        "'default')")

    def add(name, text, more="", function=None):
        p = commands.add_parser(
            name, parents=[common], help=text, formatter_class=formatter,
            description=text[0].upper() + text[1:] + ".\n" + (
                "\n" + more if more else ""))
        p.set_defaults(function=function or globals()["_" + name])
        return p

    p = add("up", "make a lab and wait until all its nodes are idle", """\
Every node gets the same CPUs and 1000 MB of memory by name only: they all
share the machine's. There are three partitions: all (the default), short
(a time limit of one minute) and shared (up to four jobs on a CPU).

When anything fails or you interrupt it, nothing is left behind.
""")
    p.add_argument("nodes", type=_count, metavar="N",
                   help="how many nodes: 1 to 500")
    p.add_argument("--switch", choices=("storm", "none"), default="storm",
                   help="SwitchType of slurm.conf (default: storm, with all "
                   "of STORM; none: starts and exits of tasks go Slurm's "
                   "own way)")
    p.add_argument("--conf", action="append", default=[],
                   metavar="KEY=VALUE",
                   help="a line for slurm.conf, instead of the lab's own of "
                   "that key; may be repeated")
    p.add_argument("--storm-conf", action="append", default=[],
                   metavar="KEY=VALUE",
                   help="a line for storm.conf; may be repeated")
    p.add_argument("--cpus", type=_count, metavar="C",
                   help="CPUs of every node (default: 4, with --gang 1)")
    p.add_argument("--gang", type=_count, metavar="M",
                   help="SchedulerType=sched/storm and a partition gang in "
                   "which up to M jobs take turns on every CPU; in the "
                   "partition shared the kernel alone sees to that. Each node "
                   "is bound to a core of its own, as far as there are some")
    p.add_argument("--quantum", type=float, metavar="MS",
                   help="with --gang: how long a turn is, in milliseconds")
    p.add_argument("--mtu", type=int, default=1500, metavar="M",
                   help="MTU of the network (default: 1500)")
    p.add_argument("--networks", type=int, choices=(1, 2), default=1,
                   help="2: every host has a second interface, eth1, in a "
                   "network of its own, say for StrobeRail=eth1")
    which = p.add_mutually_exclusive_group()
    which.add_argument("--plugins", metavar="DIR",
                       help="where our plugins were installed, the prefix "
                       "(default: $STORM_STAGE, or _stage in the source "
                       "tree, where contribs/prepare puts it)")
    which.add_argument("--stock", action="store_true",
                       help="Slurm alone, without our plugins")

    p = add("run", "run a command on the host login", """\
The command has your terminal and your environment, and its exit status is
stormlab's. The working directory stays the same if the host shows it: all
the machine's directories but /tmp, /run, /home and some below /var;
otherwise it is the user's home.
""")
    p.usage = "stormlab run [-h] [--name LAB] [--user USER] CMD [ARG...]"
    p.add_argument("--user", default="root",
                   help="root (the default), user or other")
    p.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD [ARG...]",
                   help="with its options")

    p = add("exec", "run a command on any host", """\
As stormlab run does on the host login.
""", function=_run)
    p.usage = "stormlab exec [-h] [--name LAB] [--user USER] HOST CMD " \
        "[ARG...]"
    p.add_argument("--user", default="root",
                   help="root (the default), user or other")
    p.add_argument("host", metavar="HOST", help="ctl, login, n1, n2, ...")
    p.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD [ARG...]",
                   help="with its options")

    p = add("put", "copy a file into a host")
    p.add_argument("file", metavar="FILE")
    p.add_argument("target", metavar="HOST:PATH")

    p = add("shape", "limit the speed of all links", """\
Every host's sending and every port of the switch towards a host are limited
(tc's tbf), so RATE is each link's in each direction. Without a limit the lab
is as fast as the machine copies, and its CPUs decide, not the protocol.
""")
    p.add_argument("rate", metavar="RATE|off", help="1gbit, 100mbit, ...")

    p = add("drop", "lose datagrams at every receiver", """\
The node agents (and every command started from now on, by storm.conf) throw
away this share of the datagrams that they receive, before looking at them.
Which ones is random, but the same for the same seed.
""")
    p.add_argument("percent", type=float, metavar="PERCENT",
                   help="0 to below 100; 0 ends it")
    p.add_argument("--seed", type=int, default=1, metavar="S",
                   help="(default: 1)")

    p = add("multicast", "let the switch forward multicast, or drop it")
    p.add_argument("state", choices=("on", "off"))

    p = add("kill", "send a signal to a daemon of a host", """\
With SIGKILL (the default) the command returns when the process is gone.
""")
    p.add_argument("host", metavar="HOST")
    p.add_argument("daemon", metavar="DAEMON",
                   help="slurmd, agent, slurmctld, munged, or any program's "
                   "name")
    p.add_argument("--signal", default="KILL", metavar="S",
                   help="number or name (default: KILL)")

    p = add("restart", "stop a daemon of a host, if it runs, and start it")
    p.add_argument("host", metavar="HOST")
    p.add_argument("daemon", metavar="DAEMON",
                   choices=sorted(cluster.DAEMONS))

    p = add("disk", "mount a small disk on a host", """\
It is empty, and everybody may write to it. On the same PATH it replaces the
one before.
""")
    p.add_argument("host", metavar="HOST")
    p.add_argument("size", metavar="SIZE", help="such as 4m")
    p.add_argument("path", metavar="PATH", nargs="?", default="/small",
                   help="(default: /small)")

    p = add("counters", "print what a host sent and received, as JSON", """\
Of its interface eth0: rx_bytes, rx_packets, tx_bytes, tx_packets. Of TCP:
connections accepted and opened, segments in and out. Of UDP: datagrams in,
out and lost for want of buffer. All since the host began.
""")
    p.add_argument("host", metavar="HOST")

    p = add("log", "print the log of a host's daemon")
    p.add_argument("host", metavar="HOST")
    p.add_argument("daemon", metavar="DAEMON",
                   choices=["slurmctld", "slurmd", "munged"])

    p = add("wait", "wait until all nodes are idle")
    p.add_argument("--timeout", type=float, default=60, metavar="SECONDS",
                   help="(default: 60)")

    p = add("status", "describe the lab and its nodes")
    p.add_argument("--json", action="store_true", help="for programs")

    add("list", "list all labs of this machine")

    p = add("down", "remove the lab", """\
All its processes are killed. To remove a lab that is not there is no error.
""")
    p.add_argument("--all", action="store_true", help="remove all labs")

    p = add("demo", "show STORM and Slurm at the same work", """\
Gets ready what is missing (contribs/prepare: Debian packages, the source of
the installed Slurm, the build), makes a lab of 8 nodes with links of 1
Gbit/s, and has a program of 12 MB broadcast to all nodes and run there, by
STORM and by Slurm alone. Prints the phases of both and what the login host
sent and received. Removes the lab.
""")
    p.add_argument("--nodes", type=_count, default=8, metavar="N",
                   help="(default: 8)")
    p.add_argument("--no-prepare", action="store_true",
                   help="do not look for what is missing")
    return top


def _count(text):
    number = int(text)
    if not 1 <= number <= 500:
        raise argparse.ArgumentTypeError("must be from 1 to 500")
    return number


def _lab(args):
    return Lab(args.name)


def _up(args):
    lab = _lab(args)
    if not 576 <= args.mtu <= 65535:
        raise LabError(f"--mtu {args.mtu}: must be from 576 to 65535")
    conf = slurmconf.parse_pairs(args.conf, "--conf")
    storm = slurmconf.parse_pairs(args.storm_conf, "--storm-conf")
    if args.stock and storm:
        raise LabError("--storm-conf makes no sense with --stock")
    stage = None if args.stock else args.plugins or cluster.stage_dir()
    cpus = args.cpus or (1 if args.gang else 4)
    if args.gang and args.stock:
        raise LabError("--gang makes no sense with --stock")
    if args.gang:
        conf += slurmconf.gang_lines(args.nodes, cpus, args.gang, conf)
    if args.quantum and not args.gang:
        raise LabError("--quantum makes no sense without --gang")
    if args.gang:
        storm.append(("LocalPartitions", "shared"))
    if args.quantum:
        storm.append(("Quantum", f"{args.quantum:g}"))
    seconds = lab.create(
        args.nodes, "none" if args.stock else args.switch, conf, storm,
        cpus, args.mtu, stage, gang=args.gang or 0, networks=args.networks)
    print(f"lab '{lab.name}': {args.nodes} nodes idle after "
          f"{seconds:.2f} s")


def _run(args):
    argv = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if not argv:
        raise LabError("which command? (see stormlab run --help)")
    host = getattr(args, "host", "login")
    pid, uid, cwd, env = _lab(args).situation(host, args.user)
    status = run_inside(pid, argv, uid, cwd, env)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) \
            if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-status})
        os.kill(os.getpid(), -status)
    return status


def _put(args):
    host, colon, path = args.target.partition(":")
    if not colon or not path.startswith("/"):
        raise LabError(f"{args.target!r}: expected HOST:/PATH")
    _lab(args).put(args.file, host, path)


def _shape(args):
    _lab(args).shape(args.rate)


def _drop(args):
    _lab(args).drop(args.percent, args.seed)


def _multicast(args):
    _lab(args).multicast(args.state == "on")


def _kill(args):
    text = args.signal.upper()
    try:
        sig = signal.Signals(int(text)) if text.isdigit() else \
            signal.Signals["SIG" + text.removeprefix("SIG")]
    except (KeyError, ValueError):
        raise LabError(f"there is no signal {args.signal!r}") from None
    _lab(args).kill(args.host, args.daemon, sig)


def _restart(args):
    _lab(args).restart(args.host, args.daemon)


def _disk(args):
    _lab(args).disk(args.host, args.size, args.path)


def _counters(args):
    print(json.dumps(_lab(args).counters(args.host)))


def _log(args):
    lab = _lab(args)
    lab.pid(args.host)
    sys.stdout.write(lab.log(args.host, args.daemon))


def _wait(args):
    _lab(args).wait_idle(args.timeout)


def _status(args):
    lab = _lab(args)
    record = lab.record
    dead = [h for h, (p, s) in record["pids"].items()
            if cluster.start_time(p) != s]
    states = {} if dead else lab.node_states()
    if args.json:
        print(json.dumps({
            **record, "dir": lab.dir, "dead": dead, "states": states,
            "addresses": {h: slurmconf.address_of(h) for h in lab.hosts}}))
        return 1 if dead else 0
    tally = {}
    for state in states.values():
        tally[state] = tally.get(state, 0) + 1
    plugins = record["stage"] or "none, Slurm alone"
    drop = f"{record['drop']:g} %" if record["drop"] else "none"
    print(f"lab          {lab.name}\n"
          f"nodes        {record['nodes']}: "
          + (", ".join(f"{c} {s}" for s, c in tally.items())
             or "slurmctld does not answer") + "\n"
          f"switch       switch/{record['switch']}\n"
          f"plugins      {plugins}\n"
          f"links        {record['shape'] or 'as fast as they go'}, "
          f"MTU {record['mtu']}, multicast "
          f"{'on' if record['multicast'] else 'off'}, loss {drop}\n"
          f"directory    {lab.dir}")
    if dead:
        print("dead hosts   " + " ".join(dead))
    return 1 if dead else 0


def _list(args):
    for lab in cluster.all_labs():
        if lab.busy():
            print(f"{lab.name}\tbusy")
        elif lab.alive():
            age = time.time() - lab.record["made"]
            print(f"{lab.name}\t{lab.record['nodes']} nodes\t"
                  f"up for {int(age) // 60} min {int(age) % 60} s")
        else:
            print(f"{lab.name}\tdead; remove it with: stormlab down "
                  f"--name {lab.name}")


def _down(args):
    if args.all:
        for lab in cluster.all_labs():
            lab.down()
    else:
        _lab(args).down()


def _demo(args):
    from . import demo
    return demo.demo(Lab(args.name or "demo"), args.nodes,
                     not args.no_prepare)


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Ended(BaseException):
    """One of these signals came."""


_ending = []


def _on_signal(number, _frame):
    # After the first, the tidying up is under way: let it come to its end.
    if _ending:
        return
    _ending.append(number)
    raise _Ended(number)


def main():
    for number in ENDING:
        signal.signal(number, _on_signal)
    args = _parser().parse_args()
    try:
        if args.command != "list":
            cluster.check_root()
        return args.function(args)
    except LabError as e:
        print(f"stormlab: {e}", file=sys.stderr)
        return 1
    except _Ended as e:
        ended = e.args[0]
    except BrokenPipeError:
        return 1
    except OSError as e:
        print(f"stormlab: {e}", file=sys.stderr)
        return 1
    print("stormlab: interrupted", file=sys.stderr)
    signal.signal(ended, signal.SIG_DFL)
    os.kill(os.getpid(), ended)
    return 128 + ended
