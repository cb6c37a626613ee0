# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What becomes of datagrams between two hosts.

    udp_ask.py answer [GROUP]           ask on standard input: a line joins again
    udp_ask.py ask ADDRESS COUNT PAUSE  prints JSON

The first answers each datagram that comes to its port, and prints "ready"; with
GROUP also those to this multicast group. The second sends COUNT, PAUSE s apart,
and waits a second for the last. JSON has what came back: "came" numbers in their
order, and the shortest time in s, "least".
"""
import json
import select
import socket
import sys
import time

PORT = 9177


def answer(group=None):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", PORT))

    def member(option):
        s.setsockopt(socket.IPPROTO_IP, option, socket.inet_aton(group)
                     + socket.inet_aton("0.0.0.0"))

    if group:
        member(socket.IP_ADD_MEMBERSHIP)
    print("ready", flush=True)
    while True:
        ready = select.select([s, sys.stdin], [], [])[0]
        if s in ready:
            data, whom = s.recvfrom(100)
            s.sendto(data, whom)
        if sys.stdin in ready:
            if not sys.stdin.readline():
                return
            member(socket.IP_DROP_MEMBERSHIP)
            member(socket.IP_ADD_MEMBERSHIP)
            print("joined", flush=True)


def ask(address, count, pause):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    came, least = [], None
    sent, due, end = 0, time.monotonic(), None
    begun = {}
    while end is None or time.monotonic() < end and len(set(came)) < int(count):
        now = time.monotonic()
        if end is None and now >= due:
            begun[sent] = now
            s.sendto(str(sent).encode(), (address, PORT))
            sent, due = sent + 1, due + float(pause)
            if sent == int(count):
                end = now + 1
        until = due if end is None else end
        if select.select([s], [], [], max(0, until - time.monotonic()))[0]:
            number = int(s.recv(100))
            took = time.monotonic() - begun[number]
            came.append(number)
            least = took if least is None else min(least, took)
    if came:
        time.sleep(float(pause))
    print(json.dumps({"came": came, "least": least}))


{"answer": answer, "ask": ask}[sys.argv[1]](*sys.argv[2:])
