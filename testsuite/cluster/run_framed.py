#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A client of the head that asks for a framed run, byte by byte as run_wire.h has it: what
storm run itself does not ask for. Inside a job, after a first storm run.

    run_framed.py VERSION keep|end whole|tasks NODES TASKS PROGRAM [ARGUMENTS]

Its own standard input says what it does: "RANK TEXT" sends a line to a task, "RANK" ends that
one's input, "much RANK" sends a window and a byte more. It prints what comes, as it comes."""
import array
import os
import select
import socket
import struct
import sys

ASK, SAY, END, REFUSED, QUEUED, INPUT, ROOM, OUTPUT_OF, GONE = 1, 7, 9, 10, 6, 30, 31, 32, 33
EACH = 3


def text(s):
    s = s.encode() + b"\0"
    return struct.pack(">I", len(s)) + s


def texts(items):
    return struct.pack(">I", len(items)) + b"".join(map(text, items))


def ask(version, keep, whole, nodes, tasks, argv):
    body = struct.pack(">6I2Q2I3B", int(version), nodes, tasks, *8 * [0], keep, whole)
    body += text("") + text("") + text("")
    body += struct.pack(">I16Q", 0o22, *[2**64 - 1] * 16) + text(os.getcwd()) + 3 * text("")
    body += struct.pack(">9B4HBB", 0, 0, 0, 0, 0, 0, 1, *8 * [0]) + text("")
    body += struct.pack(">3BII", 0, 0, EACH, 0, 0)
    return body + texts(argv) + texts([f"{k}={v}" for k, v in os.environ.items()])


def frame(kind, body):
    return struct.pack(">IB", len(body), kind) + body


def head():
    host = socket.gethostname().split(".")[0]
    s = socket.socket(socket.AF_UNIX)
    s.connect(f"/tmp/storm-{os.geteuid()}/{os.environ['SLURM_JOB_ID']}.{host}.sock")
    return s


def frames(s, got):
    """Those that are whole, out of got."""
    while len(got) >= 5:
        size, kind = struct.unpack(">IB", got[:5])
        if len(got) < 5 + size:
            return
        yield kind, bytes(got[5:5 + size])
        del got[:5 + size]


def do(s, line):
    word, _, rest = line.partition(" ")
    if word == "much":
        for k in range(5):
            s.sendall(frame(INPUT, struct.pack(">I", int(rest))
                            + (16384 if k < 4 else 1) * b"x"))
    else:
        data = rest.encode() + b"\n" if rest else b""
        s.sendall(frame(INPUT, struct.pack(">I", int(word)) + data))


def show(kind, body):
    """False: it is the end."""
    if kind == ROOM:
        rank, taken = struct.unpack(">IQ", body)
        print("room", "all" if rank == 2**32 - 1 else rank, taken, flush=True)
    elif kind == OUTPUT_OF:
        rank, fd = struct.unpack(">IB", body[:5])
        print("output", rank, fd, body[5:].decode(errors="replace").strip(), flush=True)
    elif kind == GONE:
        rank, code = struct.unpack(">II", body)
        print("gone", rank, code >> 16, code & 0xffff, flush=True)
    elif kind in (SAY, REFUSED):
        print("say", body.decode(), flush=True)
    elif kind == END:
        print("end", body[0], flush=True)
    return kind not in (END, REFUSED)


def main():
    version, keep, whole, nodes, tasks, *argv = sys.argv[1:]
    s = head()
    fds = array.array("i", [1, 1, 2])
    body = ask(version, keep == "keep", whole == "whole", int(nodes), int(tasks), argv)
    s.sendmsg([frame(ASK, body)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    got, said, reads = bytearray(), b"", [s]
    while True:
        ready = select.select(reads, [], [])[0]
        if 0 in ready:
            piece = os.read(0, 65536)
            *lines, said = (said + piece).split(b"\n")
            try:
                for line in lines:
                    do(s, line.decode())
            except OSError:
                print("closed", flush=True)
                return
            if not piece:
                reads.remove(0)
        if s in ready:
            try:
                piece = s.recv(65536)
            except OSError:
                piece = b""
            got += piece
            for kind, body in frames(s, got):
                if not show(kind, body):
                    return
                if kind == ROOM and 0 not in reads and body[:4] == 4 * b"\xff":
                    reads.append(0)
            if not piece:
                print("closed", flush=True)
                return


if __name__ == "__main__":
    main()
