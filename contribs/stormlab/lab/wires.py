# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Faults of the network, made at the switch: a host does not see them but by what
comes no more. A host's port has its name. While its frames are delayed a helper
carries them from there to a second port, NAME~, which is then the bridge's.
"""
import subprocess

from . import net
from .sysdep import LabError

#: centiseconds: the switch never asks again who listens; its first question is
#: answered at once
NEVER, AT_ONCE = 8640000, 10
#: ... and the kernel's own values
USUAL = {"mcast_query_interval": 12500, "mcast_query_response_interval": 1000,
         "mcast_membership_interval": 26000, "mcast_startup_query_count": 2}


def networks(host, count):
    """The names of a host's ports, one for each network."""
    return [f"{host}-{k}" if k else host for k in range(count)]


def _nft(switch, text):
    try:
        done = subprocess.run(net.enter(switch, ["nft", "-f", "-"]), input=text,
                              text=True, capture_output=True, check=False)
    except FileNotFoundError:
        done = None
    if done is None or "nft" in done.stderr and done.returncode == 127:
        raise LabError("nft is missing; install it with: apt-get install "
                       "--no-install-recommends nftables")
    if done.returncode:
        raise LabError("nft: " + done.stderr.strip())


def _chain(hook, port, percent):
    some = "" if percent >= 100 else \
        f"numgen random mod 10000 < {round(percent * 100)} "
    return f"chain {hook}_{port.replace('~', '_').replace('-', '_')} {{ type " \
        f"filter hook {hook} device \"{port}\" priority 0; {some}drop; }}\n"


def lose(switch, host, ports, into, out):
    """Drop these shares, in percent, of what goes into the host and out of it."""
    table = f"netdev fault_{host}"
    chains = [_chain(hook, port, percent)
              for hook, percent in (("egress", into), ("ingress", out))
              if percent for port in ports]
    _nft(switch, f"add table {table}\ndelete table {table}\n"
         + (f"table {table} {{ {''.join(chains)} }}\n" if chains else ""))


def plug(switch, ports, there):
    """Plug in the cables of a host, or pull them."""
    net.batch(net.enter(switch, ["ip", "-batch", "-"]),
              [f"link set {p} {'up' if there else 'down'}" for p in ports])


def split(switch, names, mtu):
    """Put a pair of devices between a host's ports and the bridges."""
    for k, name in enumerate(names):
        net.batch(net.enter(switch, ["ip", "-batch", "-"]), [
            f"link add {name}~ mtu {mtu} type veth peer name {name}+ mtu {mtu}",
            f"link set {name} nomaster",
            f"link set {name}~ master br{k}", f"link set {name}~ up",
            f"link set {name}+ up"])


def join(switch, names):
    for k, name in enumerate(names):
        net.batch(net.enter(switch, ["ip", "-force", "-batch", "-"]), [
            f"link set {name} master br{k}", f"link set {name} up"])
        subprocess.run(net.enter(switch, ["ip", "link", "del", name + "~"]),
                       stderr=subprocess.DEVNULL, check=False)


def forget(switch, ports, aged, seconds):
    """The switch sends multicast to these ports only as they have asked for it in so
    many seconds; to all others always. seconds None: it does so no more."""
    routers = [f"link set dev {p} mcast_router "
               f"{'1' if seconds is None else '0' if p in aged else '2'}"
               for p in ports]
    values = dict(USUAL) if seconds is None else {
        "mcast_query_interval": NEVER, "mcast_query_response_interval": AT_ONCE,
        "mcast_membership_interval": round(seconds * 100),
        "mcast_startup_query_count": 1}
    on = int(seconds is not None)
    bridge = "link set br0 type bridge " + " ".join(
        f"{key} {value}" for key, value in values.items())
    ports_first = net.enter(switch, ["bridge", "-batch", "-"])
    then = net.enter(switch, ["ip", "-batch", "-"])
    if on:
        net.batch(ports_first, routers)
        # The kernel trusts its new querier after a response interval.
        net.batch(then, [bridge, "link set br0 type bridge mcast_querier 1 "
                         "mcast_snooping 1"])
    else:
        net.batch(then, [bridge + " mcast_querier 0 mcast_snooping 0"])
        net.batch(ports_first, routers)
