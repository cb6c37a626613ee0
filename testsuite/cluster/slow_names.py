# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Run a command on a lab's host whose names come from a slow name service.

    unshare -m python3 slow_names.py [--pairs N] USER MS COMMAND...

USER runs the command. Each question is answered after MS milliseconds. With
--pairs, N nodes (n1, n2, ...) are answered so, and then none before two more are
asked for at the same time. The name service is on the host's loopback, and is in
use in this mount namespace only."""
import argparse
import pwd
import re
import socket
import struct
import subprocess
import sys
import threading

A, IN, NO_ERROR = 1, 1, 0x8180


def addresses():
    """{name: address} of the lab's hosts."""
    with open("/etc/hosts") as f:
        return {name: line.split()[0] for line in f
                for name in line.split()[1:]}


def instead(path, text):
    """Let this mount namespace have this text in a file."""
    mine = f"/tmp/slow_names.{path.replace('/', '_')}"
    with open(mine, "w") as f:
        f.write(text)
    subprocess.run(["mount", "--bind", mine, path], check=True)


def question(packet):
    """The name that is asked for, its type, and the bytes of the question."""
    words, at = [], 12
    while packet[at]:
        words.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    kind, = struct.unpack_from("!H", packet, at + 1)
    return ".".join(words), kind, packet[12:at + 5]


def answer(packet, known):
    name, kind, asked = question(packet)
    found = b""
    if kind == A and name in known:
        found = struct.pack("!HHHIH", 0xc00c, A, IN, 0, 4) + \
            socket.inet_aton(known[name])
    return packet[:2] + struct.pack("!HHHHH", NO_ERROR, 1, bool(found), 0, 0) \
        + asked + found


class Names:
    """The name service, with a thread for itself."""

    def __init__(self, known, late, pairs):
        self.known, self.late, self.pairs = known, late, pairs
        self.held, self.nodes = [], set()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def send(self, packet, sender):
        threading.Timer(self.late / 1000, self.socket.sendto,
                        [answer(packet, self.known), sender]).start()

    def holds(self, packet):
        """Whether this question waits for another node's."""
        name = question(packet)[0]
        if self.pairs is None or not re.fullmatch(r"n\d+", name):
            return False
        self.nodes.add(name)
        return len(self.nodes) == self.pairs + 1

    def serve(self):
        while True:
            asked = self.socket.recvfrom(512)
            self.held.append(asked)
            if not self.holds(asked[0]):
                while self.held:
                    self.send(*self.held.pop())


def main():
    p = argparse.ArgumentParser()
    p.add_argument("user", metavar="USER")
    p.add_argument("late", type=float, metavar="MS")
    p.add_argument("--pairs", type=int, metavar="N")
    p.add_argument("command", nargs=argparse.REMAINDER)
    args = p.parse_args()
    known = addresses()
    instead("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: dns\n")
    instead("/etc/resolv.conf",
            "nameserver 127.0.0.1\noptions timeout:3 attempts:1\n")
    Names(known, args.late, args.pairs)
    user = pwd.getpwnam(args.user)
    return subprocess.run(args.command, user=user.pw_uid, group=user.pw_gid,
                          extra_groups=[]).returncode


if __name__ == "__main__":
    sys.exit(main())
