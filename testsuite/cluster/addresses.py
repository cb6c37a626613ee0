# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Names and routes of a lab's hosts, as sites have them."""
#: what Debian's installer gives a host's own name
LOOPBACK = "127.0.1.1"


def name_is(c, host, name, *addresses):
    """A line in a host's own /etc/hosts; without addresses as it was."""
    script = "test ! -e /run/hosts || umount /etc/hosts; rm -f /run/hosts; "
    if addresses:
        lines = "".join(f"{a} {name}\\n" for a in addresses)
        script += f"{{ printf '{lines}'; grep -v '[[:space:]]{name}$' " \
            "/etc/hosts; } >/run/hosts && mount --bind /run/hosts /etc/hosts"
    c.root(["sh", "-c", script], host=host)


def own_names(c, hosts, *addresses):
    for host in hosts:
        name_is(c, host, host, *addresses)


def new_agents(c, nodes):
    """So that they look up and choose once more. (A slurmd waits longer each time
    before it starts an agent after one that did not live long.)"""
    before = {n: len(c.lab.log(n, "slurmd")) for n in nodes}
    for node in nodes:
        c.lab.end(node, "slurmd")
        c.lab.kill(node, "agent")
        c.lab.restart(node, "slurmd")
    for node in nodes:
        c.lab.wait_attached(node, since=before[node])
