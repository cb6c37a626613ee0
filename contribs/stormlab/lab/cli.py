# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The command line of stormlab."""
import argparse
import json
import os
import signal
import sys
import time

from . import cli_fault, cluster, faults, release, slurmconf
from .cluster import Lab
from .sysdep import LabError, run_inside

OVERVIEW = """\
A Slurm cluster on one machine, to try STORM and to test it.

A lab is a set of hosts: ctl (slurmctld), login (where commands run) and the
nodes n1, n2, ... (slurmd). Each host is a process tree in its own namespaces.
It has its own interface eth0, connected to one switch, and its own /tmp, /run
and Slurm files. All hosts share /home. Slurm is the machine's installation, or
with --slurm that of a later Debian, in a root file system that contribs/prepare
makes. The users are root, user and other; the last two exist only inside the lab.
"""

EPILOG = """\
examples:
  stormlab demo                       prepare, start a lab, compare, clean up
  stormlab up 8                       start a cluster of 8 nodes
  stormlab run srun --launch=storm -N8 --bcast=/tmp/h hostname
  stormlab run --user user bash       log in
  stormlab shape 1gbit                limit all links to 1 Gbit/s
  stormlab drop 5                     every receiver drops 5 % of datagrams
  stormlab exec n3 ps ax              run a command on a node
  stormlab fault kill n3              n3 loses power; 'fault heal' gives it back
  stormlab down

environment:
  STORMLAB        the lab's name without --name (default: default)
  STORM_SLURM     the release of Slurm without --slurm (default: 22.05)
  STORM_STAGE     the plugins' installation (default: _stage in the source tree,
                  or _stage-24.11, _stage-26.05 with these releases)
  STORM_CACHE     the cache of contribs/prepare, where the root file systems are
  STORMLAB_DIR    the directory of labs (default: /run/stormlab or /tmp/stormlab)

Several labs can run at the same time; they share nothing. A lab exists only in
its namespaces and its directory; 'down' removes both.
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

    def add(name, text, more="", function=None, parents=()):
        p = commands.add_parser(
            name, parents=[common, *parents], help=text, formatter_class=formatter,
            description=text[0].upper() + text[1:] + ".\n" + (
                "\n" + more if more else ""))
        p.set_defaults(function=function or globals()["_" + name])
        return p

    releases = argparse.ArgumentParser(add_help=False)
    releases.add_argument("--slurm", choices=release.RELEASES,
                          help="the release of Slurm (default: $STORM_SLURM, "
                          "or 22.05, the machine's installation). The others "
                          "need contribs/prepare packages --slurm RELEASE")

    p = add("up", "start a lab and wait until all its nodes are idle", """\
Every node reports the same number of CPUs and 1000 MB of memory to Slurm. In
fact all nodes share the machine's. There are three partitions: all (the
default), short (a time limit of one minute) and shared (up to four jobs on a
CPU).

With more than 21 nodes, the limits of the kernel's table of neighbours (ARP) are
raised until 'down'. A node takes about 8 MB, and 13 processes and threads.

If the command fails or is interrupted, it removes the lab.
""", parents=[releases])
    p.add_argument("nodes", type=_count, metavar="N",
                   help="number of nodes: 1 to 500")
    p.add_argument("--switch", choices=("storm", "none"), default="storm",
                   help="SwitchType of slurm.conf (default: storm; with none "
                   "Slurm starts the tasks and collects their exits)")
    p.add_argument("--conf", action="append", default=[],
                   metavar="KEY=VALUE",
                   help="a line for slurm.conf; replaces the lab's lines with "
                   "the same key; may be repeated")
    p.add_argument("--storm-conf", action="append", default=[],
                   metavar="KEY=VALUE",
                   help="a line for storm.conf; may be repeated")
    p.add_argument("--cpus", type=_count, metavar="C",
                   help="CPUs of every node (default: 4; with --gang: 1)")
    p.add_argument("--gang", type=_count, metavar="M",
                   help="use SchedulerType=sched/storm and add a partition "
                   "gang, in which up to M jobs take turns on every CPU; in "
                   "the partition shared the kernel alone schedules them. "
                   "Binds each node to its own core if there are enough")
    p.add_argument("--quantum", type=float, metavar="MS",
                   help="with --gang: the length of a turn in milliseconds")
    p.add_argument("--mtu", type=int, default=1500, metavar="M",
                   help="MTU of the network (default: 1500)")
    p.add_argument("--networks", type=int, choices=(1, 2), default=1,
                   help="2: every host has a second interface, eth1, in a "
                   "separate network, for example for StrobeRail=eth1 "
                   "(default: 1)")
    which = p.add_mutually_exclusive_group()
    which.add_argument("--plugins", metavar="DIR",
                       help="the prefix of STORM's installation (default: "
                       "$STORM_STAGE, or _stage in the source tree, which "
                       "contribs/prepare creates)")
    which.add_argument("--stock", action="store_true",
                       help="Slurm alone, without STORM's plugins")

    p = add("run", "run a command on the host login", """\
The command inherits the terminal and the environment; stormlab exits with its
status. The working directory stays the same if the host has it. A host has all
the machine's directories but /tmp, /run, /home and some below /var. Otherwise
the command runs in the user's home directory.
""")
    p.usage = "stormlab run [-h] [--name LAB] [--user USER] CMD [ARG...]"
    p.add_argument("--user", default="root",
                   help="root (the default), user or other")
    p.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD [ARG...]",
                   help="the command and its arguments")

    p = add("exec", "run a command on any host", """\
Works like 'stormlab run', which runs a command on the host login.
""", function=_run)
    p.usage = "stormlab exec [-h] [--name LAB] [--user USER] HOST CMD " \
        "[ARG...]"
    p.add_argument("--user", default="root",
                   help="root (the default), user or other")
    p.add_argument("host", metavar="HOST", help="ctl, login, n1, n2, ...")
    p.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD [ARG...]",
                   help="the command and its arguments")

    p = add("put", "copy a file to a host")
    p.add_argument("file", metavar="FILE")
    p.add_argument("target", metavar="HOST:PATH",
                   help="with a / at the end: a directory, for a file of the same name")

    p = add("shape", "limit the speed of all links", """\
Limits what every host sends and what the switch sends to every host (tc's
tbf). RATE thus holds for each link in each direction. Without a limit the
machine's CPUs, not the protocol, determine the speed.
""")
    p.add_argument("rate", metavar="RATE|off",
                   help="1gbit, 100mbit, ...; off or none: no limit")

    p = add("drop", "drop datagrams at every receiver", """\
The node agents discard this share of the datagrams that they receive, unread.
So does every command that starts afterwards, which reads storm.conf. The choice
is random; the same seed gives the same choice.
""")
    p.add_argument("percent", type=float, metavar="PERCENT",
                   help="at least 0, below 100; 0 turns dropping off")
    p.add_argument("--seed", type=int, default=1, metavar="S",
                   help="seed of the random choice (default: 1)")

    p = add("multicast", "let the switch forward or drop multicast")
    p.add_argument("state", choices=("on", "off"))

    p = add("kill", "send a signal to a daemon of a host", """\
With SIGKILL (the default) the command returns when the process is gone.
""")
    p.add_argument("host", metavar="HOST")
    p.add_argument("daemon", metavar="DAEMON",
                   help="slurmd, agent, slurmctld, munged, or the name of any "
                   "program")
    p.add_argument("--signal", default="KILL", metavar="S",
                   help="number or name (default: KILL)")

    p = add("restart", "restart a daemon of a host, or start it")
    p.add_argument("host", metavar="HOST")
    p.add_argument("daemon", metavar="DAEMON",
                   choices=sorted(cluster.DAEMONS))

    cli_fault.add_to(add)

    p = add("upgrade", "give a host another release of Slurm", """\
As if its packages were upgraded: the daemon of Slurm on it ends, another one
starts, with the programs of that release and the plugins in _stage-RELEASE.
Steps, /etc/slurm, state and munged stay. For a lab with --slurm.
""")
    p.add_argument("host", metavar="HOST")
    p.add_argument("slurm", metavar="RELEASE", choices=release.RELEASES[1:],
                   help=", ".join(release.RELEASES[1:]))

    p = add("disk", "mount a small disk on a host", """\
The disk is empty, and every user may write to it. It replaces an earlier disk
at the same PATH.
""")
    p.add_argument("host", metavar="HOST")
    p.add_argument("size", metavar="SIZE", help="size with a unit, as in 4m")
    p.add_argument("path", metavar="PATH", nargs="?", default="/small",
                   help="mount point (default: /small)")

    p = add("counters", "print a host's network counters as JSON", """\
Interface eth0: rx_bytes, rx_packets, tx_bytes, tx_packets. TCP: connections
accepted and opened, segments in and out. UDP: datagrams in, out and lost
because a buffer was full. All count from the start of the host.
""")
    p.add_argument("host", metavar="HOST")

    p = add("log", "print the log of a host's daemon")
    p.add_argument("host", metavar="HOST")
    p.add_argument("daemon", metavar="DAEMON",
                   choices=["slurmctld", "slurmd", "munged"])

    p = add("wait", "wait until all nodes are idle")
    p.add_argument("--timeout", type=float, default=cluster.LONG,
                   metavar="SECONDS", help="(default: %(default)s)")

    p = add("status", "describe the lab and its nodes")
    p.add_argument("--json", action="store_true", help="print JSON")

    add("list", "list all labs on this machine")

    p = add("down", "remove the lab", """\
Kills all processes of the lab. It is no error if there is no such lab.
""")
    p.add_argument("--all", action="store_true", help="remove all labs")

    p = add("demo", "compare STORM and Slurm at the same work", """\
Calls contribs/prepare, which installs or builds what is missing: Debian
packages, the source of the installed Slurm, STORM. Starts a lab of 8 nodes
with links of 1 Gbit/s. Broadcasts a program of 12 MB to all nodes and runs it,
by STORM and by Slurm alone. Prints the phases of both, and what the login host
sent and received. Removes the lab.
""", parents=[releases])
    p.add_argument("--nodes", type=_count, default=8, metavar="N",
                   help="number of nodes (default: 8)")
    p.add_argument("--no-prepare", action="store_true",
                   help="do not call contribs/prepare")
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
        raise LabError("--storm-conf cannot be used with --stock")
    stage = None if args.stock else args.plugins or \
        release.stage_dir(args.slurm)
    cpus = args.cpus or (1 if args.gang else 4)
    if args.gang and args.stock:
        raise LabError("--gang cannot be used with --stock")
    if args.gang:
        conf += slurmconf.gang_lines(args.nodes, cpus, args.gang, conf)
    if args.quantum and not args.gang:
        raise LabError("--quantum requires --gang")
    if args.gang:
        storm.append(("Partition", "shared Policy=local"))
    if args.quantum:
        storm.append(("Quantum", f"{args.quantum:g}"))
    seconds = lab.create(
        args.nodes, "none" if args.stock else args.switch, conf, storm,
        cpus, args.mtu, stage, gang=args.gang or 0, networks=args.networks,
        slurm=args.slurm)
    print(f"lab '{lab.name}': {args.nodes} nodes idle after "
          f"{seconds:.2f} s")


def _run(args):
    argv = args.argv[1:] if args.argv[:1] == ["--"] else args.argv
    if not argv:
        raise LabError("no command given; see 'stormlab "
                       f"{args.command} --help'")
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
    if path.endswith("/"):
        path += os.path.basename(os.path.abspath(args.file))
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
        raise LabError(f"--signal {args.signal!r}: no such signal") from None
    _lab(args).kill(args.host, args.daemon, sig)


def _restart(args):
    _lab(args).restart(args.host, args.daemon)


def _upgrade(args):
    _lab(args).upgrade(args.host, args.slurm)


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
            "faults": lab.faults(),
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
          f"Slurm        {record['slurm']}"
          + "".join(f", {host} {to}" for host, to in
                    record["upgraded"].items()) + "\n"
          f"switch       switch/{record['switch']}\n"
          f"plugins      {plugins}\n"
          f"links        {record['shape'] or 'no limit'}, "
          f"MTU {record['mtu']}, multicast "
          f"{'on' if record['multicast'] else 'off'}, loss {drop}\n"
          f"directory    {lab.dir}")
    for fault in lab.faults():
        print(f"fault        {faults.text(fault)}, for "
              f"{time.time() - fault['since']:.0f} s")
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
                     not args.no_prepare, release.chosen(args.slurm))


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Ended(BaseException):
    """One of the signals in ENDING arrived."""


_ending = []


def _on_signal(number, _frame):
    # A second signal must not interrupt the cleanup that the first began.
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
        return getattr(e, "status", 1)
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
