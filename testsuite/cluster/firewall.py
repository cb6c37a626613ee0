# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A firewall on a lab's host."""
import contextlib
import subprocess

from lab import net


def nft(lab, host, text):
    done = subprocess.run(net.enter(lab.pid(host), ["nft", "-f", "-"]),
                          input=text, text=True, capture_output=True,
                          check=False)
    assert done.returncode == 0, "nft (package nftables): " + done.stderr


@contextlib.contextmanager
def dropped(lab, host, hook, what):
    nft(lab, host, f"table inet f {{ chain c {{ type filter hook {hook} "
        f"priority 0; {what} drop; }}; }}")
    try:
        yield
    finally:
        nft(lab, host, "delete table inet f")
