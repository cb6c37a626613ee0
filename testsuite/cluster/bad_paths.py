# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What firewall.py drops of that which STORM needs, and what srun says then. Of
test_paths.py and of storm_bench paths."""

#: where the commands of the labs' user keep which nodes cannot be reached
KNOWN = "/tmp/slurm-storm-20001"


def nothing_known(lab):
    """As before the first command: of bad paths, and of the file that tests send."""
    lab.remove(KNOWN, ["login"])
    lab.remove("/tmp/app")



ON_NODE = "udp dport 8383"
#: name: hook of a node's filter, what is dropped, what srun says of the node
ON_A_NODE = {
    "in": ("input", ON_NODE,
           "no datagram from this host comes to UDP port 8383 there"),
    "out": ("output", "udp sport 8383",
            "no datagram comes from there to UDP port "),
    "tcp": ("input", "tcp dport 8383",
            "no connection from this host to TCP port 8383: "
            "Connection timed out"),
    "mtu": ("input", "udp length > 1300",
            "only short datagrams come to UDP port 8383 there"),
}
#: the same of the login host
ON_LOGIN = ("input", "meta l4proto udp",
            "no datagram comes from there to UDP port ")
