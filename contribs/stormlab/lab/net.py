# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The lab's network: one bridge in the namespace of the host `sw`, and one veth
pair to each host. The host's end is eth0; the bridge's port has the host's
name. A second network is alike: its interface is eth1, and its ports have "-1"
after the host's name."""
import re
import subprocess

from .sysdep import LabError

#: the burst must hold a few 64 KiB super-packets; otherwise tbf splits them
TBF = "tbf rate {rate} burst 256kb latency 100ms"


def enter(pid, argv):
    """A command line that runs argv in the network namespace of pid."""
    return ["nsenter", "-t", str(pid), "-n", "--"] + argv


def batch(argv, lines):
    done = subprocess.run(argv, input="".join(l + "\n" for l in lines),
                          text=True, capture_output=True, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(argv[-3:])}: " + done.stderr.strip())


def plug_in(switch_pid, pids, mtu, networks=1):
    """Make the bridges, and connect each to each host of pids, {host: pid}."""
    lines = ["link set lo up"]
    for k in range(networks):
        lines += [f"link add br{k} mtu {mtu} type bridge mcast_snooping 0 "
                  "forward_delay 0",
                  f"link set br{k} up"]
        for host, pid in pids.items():
            port = f"{host}-{k}" if k else host
            lines += [f"link add {port} mtu {mtu} type veth "
                      f"peer name eth{k} mtu {mtu} netns {pid}",
                      f"link set {port} master br{k}",
                      f"link set {port} up"]
    batch(enter(switch_pid, ["ip", "-batch", "-"]), lines)


def disable_ipv6():
    """Disable IPv6 in this network namespace. Nothing uses it, and the tests
    would count its solicitations among their packets."""
    for which in ("all", "default"):
        try:
            with open(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6",
                      "w") as f:
                f.write("1")
        except OSError:
            pass            # a kernel without IPv6


def configure_host(address, networks=1):
    """Configure the interfaces; runs on the host itself. There is no router.
    There is a default route because programs look for its interface. The
    second network has addresses in 10.84 instead of 10.83."""
    lines = ["link set lo up"]
    for k in range(networks):
        own = address.replace("10.83.", f"10.{83 + k}.", 1)
        lines += [f"link set eth{k} up", f"addr add {own}/16 brd + dev eth{k}"]
    lines += ["route add default via 10.83.0.1"
              if address != "10.83.0.1" else "route add default dev eth0"]
    batch(["ip", "-batch", "-"], lines)


def valid_rate(rate):
    if not re.fullmatch(r"(?i)[0-9]+(\.[0-9]+)?[kmgt]?(bit|bps)", rate):
        raise LabError(f"{rate!r} is not a rate: write 1gbit, 100mbit, "
                       "... or 'off'")
    return rate.lower()


def shape(switch_pid, pids, rate):
    """Limit what the hosts and the switch's ports send; rate None removes
    the limit."""
    def line(device):
        if rate is None:
            return f"qdisc del dev {device} root"
        return f"qdisc replace dev {device} root " \
                + TBF.format(rate=rate)

    batch(enter(switch_pid, ["tc", "-batch", "-"]),
           [line(h) for h in pids])
    running = [subprocess.Popen(
                    enter(pid, ["tc"] + line("eth0").split()),
                    stderr=subprocess.PIPE, text=True)
               for pid in pids.values()]
    errors = [p.communicate()[1] for p in running]
    for p, error in zip(running, errors):
        if p.returncode:
            raise LabError("tc: " + error.strip())


def set_multicast(switch_pid, hosts, on):
    """Make the bridge forward or drop multicast. Without snooping a bridge
    floods multicast to every port that has mcast_flood. Broadcast (ARP) has
    a separate flag."""
    flag = "on" if on else "off"
    batch(enter(switch_pid, ["bridge", "-batch", "-"]),
           [f"link set dev {h} mcast_flood {flag}" for h in hosts])


def listening(port, pid="self"):
    """Whether a process in the network namespace of pid listens on a TCP
    port. (A connection attempt would appear in logs and counters.)"""
    with open(f"/proc/{pid}/net/tcp") as f:
        sockets = [line.split() for line in f][1:]
    return any(s[1].endswith(f":{port:04X}") and s[3] == "0A"
               for s in sockets)


def counters(pid, device="eth0"):
    """The counters of a host's interface, TCP and UDP since it started:
    rx_bytes, rx_packets, tx_bytes, tx_packets, accepted, opened,
    tcp_in_segments, tcp_out_segments, udp_in, udp_out, udp_lost."""
    with open(f"/proc/{pid}/net/dev") as f:
        for line in f:
            name, _, rest = line.partition(":")
            if name.strip() == device:
                field = [int(x) for x in rest.split()]
    snmp = {}
    with open(f"/proc/{pid}/net/snmp") as f:
        for line in f:
            proto, _, rest = line.partition(":")
            if proto in snmp:
                snmp[proto] = dict(zip(snmp[proto], map(
                        int, rest.split())))
            else:
                snmp[proto] = rest.split()
    tcp, udp = snmp["Tcp"], snmp["Udp"]
    return {"rx_bytes": field[0], "rx_packets": field[1],
            "tx_bytes": field[8], "tx_packets": field[9],
            "accepted": tcp["PassiveOpens"], "opened": tcp["ActiveOpens"],
            "tcp_in_segments": tcp["InSegs"],
            "tcp_out_segments": tcp["OutSegs"],
            "udp_in": udp["InDatagrams"], "udp_out": udp["OutDatagrams"],
            "udp_lost": udp["RcvbufErrors"] + udp["InErrors"]}
