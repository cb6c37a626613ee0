# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The links of a lab: their rate, and what is lost on them."""
import shutil
import subprocess

from lab import net
from lab.slurmconf import address_of

from .result import NotRun

LOSS = """table inet lossy {{
  chain taken {{
    type filter hook input priority 0;
    iifname "eth0" ip saddr != {controller} numgen random mod 1000 < {thousandth:.0f} drop
  }}
}}
"""


def _inside(lab, host, argv, text=None):
    done = subprocess.run(net.enter(lab.pid(host), argv), input=text,
                          text=True, stderr=subprocess.PIPE)
    if done.returncode:
        raise NotRun(f"{argv[0]} needs more than this kernel has: "
                     + done.stderr.strip())


def set_links(where, rate="off", loss=0):
    """Limit all links of a Target, and lose that percentage of the packets
    between the nodes and the login host, of all programs. What slurmctld says
    and hears is no part of a transfer: a lost packet of a connection would
    cost a second."""
    if where.lab is None:
        if rate != "off" or loss:
            raise NotRun("a site's links are not changed")
        return
    if loss and not shutil.which("nft"):
        raise NotRun("install nftables, which drops the packets")
    where.lab.shape(rate)
    for host in set(where.lab.hosts) - {"ctl"}:
        # Else 64 KB would be lost at once: packets are cut only on a wire.
        _inside(where.lab, host, ["ip", "link", "set", "eth0", "gso_max_segs",
                                  "1" if loss else "65535"])
        if shutil.which("nft"):
            _inside(where.lab, host, ["nft", "-f", "-"],
                    "table inet lossy\ndelete table inet lossy\n"
                    + (LOSS.format(thousandth=loss * 10,
                                   controller=address_of("ctl"))
                       if loss else ""))
