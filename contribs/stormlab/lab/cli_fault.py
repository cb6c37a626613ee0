# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The command line of stormlab fault."""
import argparse

from . import fault_kinds
from .cluster import Lab

OVERVIEW = """\
A fault stays in force until 'stormlab fault heal' undoes it, or 'down' removes the
lab; a flood ends by itself. 'stormlab status' names all that are in force. A host
can have several of different kinds. NODE can also be ctl or login.

Exit status: 0; 1 if there is no such host or it cannot be done; 2 for a wrong
command line; 3 if the fault is in force already, or if there is none to heal.
"""

EPILOG = """\
examples:
  stormlab fault kill n3              n3 loses power
  stormlab run srun -N4 hostname      what do the users see?
  stormlab fault heal                 n3 starts again
  stormlab fault delay n2 50 1        n2 is 50 ms away, and 1 % is lost
  stormlab fault heal n2
"""


def add_to(add):
    """stormlab fault KIND NODE, with a parser for each kind."""
    # The name can stand before KIND and behind it.
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", metavar="LAB", default=argparse.SUPPRESS,
                        help="the lab's name")
    top = add("fault", "break a host in a chosen way, and mend it", OVERVIEW, run)
    top.epilog = EPILOG
    kinds = top.add_subparsers(dest="kind", metavar="KIND", required=True)

    def kind(name, text, more="", node=True):
        p = kinds.add_parser(
            name, parents=[common], help=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            description=text[0].upper() + text[1:] + ".\n"
            + ("\n" + more if more else ""))
        if node:
            p.add_argument("host", metavar="NODE")
        return p

    kind("kill", "the host loses power", """\
First its links are cut, so that nobody sees a connection end. Then all of its
processes are killed at once. heal starts the host's daemons again; /run, /tmp and
/dev/shm are then empty, as after a boot.
""")
    p = kind("stop", "a program of the host stands (SIGSTOP)", """\
heal lets it go on (SIGCONT). slurmd replaces an agent that has not answered for 5 s.
""")
    p.add_argument("what", metavar="WHAT", nargs="?",
                   help="agent (the default), slurmd, slurmctld, munged, strober, "
                   "nursery, launcher, keeper, head, or the name of any program")
    kind("pause", "all processes of the host stand", """\
They are frozen by a control group, and no program of theirs can notice. The host's
kernel lives: it accepts connections and acknowledges data. With 'cut' beside it
nothing answers any more.
""")
    kind("cut", "the host's cables are pulled")
    kind("cut-in", "nothing reaches the host, but it can send")
    kind("cut-out", "nothing leaves the host, but it can receive")
    p = kind("delay", "packets from and to the host are late or lost", """\
Each way has the delay and the loss. A packet here can be a super-packet of up to 64
KiB, which real hardware would send as many.
""")
    p.add_argument("ms", metavar="MS", type=float,
                   help="milliseconds; 0 with a loss is a loss alone")
    p.add_argument("loss", metavar="LOSS", type=_percent, nargs="?", default=0,
                   help="percent that is lost (default: 0)")
    p.add_argument("--jitter", metavar="MS", type=float, default=0,
                   help="up to so much later, at random for each packet, so that "
                   "packets overtake each other (default: 0)")
    p.add_argument("--duplicate", metavar="PERCENT", type=_percent, default=0,
                   help="percent that comes twice (default: 0)")
    p.add_argument("--seed", metavar="S", type=int, default=1,
                   help="seed of the random choices but for a loss without delay "
                   "(default: 1)")
    p = kind("fill", "the host's disk is full", """\
The file system at PATH is limited to what it holds. Files that are removed make
room, as on any full disk.
""")
    p.add_argument("what", metavar="PATH", nargs="?",
                   help="a file system that the host has for itself (default: /tmp)")
    p.add_argument("--left", metavar="BYTES", type=int, default=0,
                   help="bytes that are left (default: 0)")
    p = kind("hang", "a file system of the host hangs", """\
A process that touches PATH, or what is below it, waits, and can only be killed. Files that
are open stay as they are. heal lets those that wait go on, with an error.
""")
    p.add_argument("what", metavar="PATH", nargs="?",
                   help="a directory (default: /tmp); /home hangs for this host "
                   "alone")
    p = kind("flood", "the port of the host's agent gets much rubbish", """\
The host login sends datagrams of random bytes. (ctl sends them to login.)
""")
    p.add_argument("--rate", metavar="N", type=int, default=5000,
                   help=f"datagrams a second, at most {fault_kinds.MOST_RATE} "
                   "(default: %(default)s)")
    p.add_argument("--seconds", metavar="S", type=float, default=10,
                   help=f"how long, at most {fault_kinds.MOST_SECONDS} s "
                   "(default: %(default)s)")
    p = kind("age", "the switch forgets that the host wants multicast", """\
As a switch with IGMP snooping does in a network where nobody asks who wants what
(no querier). A host that joins again is known again for SECONDS.
""")
    p.add_argument("seconds", metavar="SECONDS", type=float, nargs="?", default=2,
                   help="how long the switch remembers (default: 2)")
    p = kind("heal", "undo the faults of some hosts, or all", node=False)
    p.add_argument("hosts", metavar="NODE", nargs="*",
                   help="hosts (default: all)")


def _percent(text):
    return float(text.removesuffix("%"))


def run(args):
    lab = Lab(args.name)
    if args.kind == "heal":
        lab.heal(*args.hosts)
        return
    options = {key: getattr(args, key)
               for key in fault_kinds.OPTIONS.get(args.kind, {})}
    lab.fault(args.kind, args.host, getattr(args, "what", None), **options)
