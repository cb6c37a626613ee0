# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What runs in the background while a fault is in force: a program of its own.

    helper.py wire PORT PORT MS JITTER LOSS DUPLICATE SEED
    helper.py hang NAMESPACE PATH
    helper.py unmount NAMESPACE PATH
    helper.py flood ADDRESS PORT RATE SECONDS

It is started in the pid namespace of the switch, so `down` ends it, whatever
becomes of the host that has the fault. When all is ready it prints "ready PID".
"""
import heapq
import os
import random
import select
import signal
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from lab.sysdep import CLONE_NEWNS, detach, mount, setns  # noqa: E402

#: Of packet(7) and linux/if_packet.h
SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23
SO_RCVBUFFORCE, SO_SNDBUFFORCE = 33, 32
ETH_P_ALL = 3

#: A super-packet and its header
FRAME = 65536 + 64

#: bytes that a wire holds; what comes beyond is lost, as in any queue
HELD = 64 << 20

#: what a sleep can be late
TICK = 0.001


def _into_background():
    """The first process says that all is ready, and ends."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        print(f"ready {child}", flush=True)
        os._exit(0)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def _tap(name):
    """All frames that a device receives, whole, with what the kernel must still do
    to them (checksums, segments)."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, HELD)
    s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, HELD)
    s.bind((name, ETH_P_ALL))
    s.setblocking(False)
    return s


def wire(one, other, ms, jitter, loss, duplicate, seed):
    """Carry frames between two devices, late. Each is late by a time of its own if
    there is jitter, so that they overtake each other."""
    ends = [_tap(one), _tap(other)]
    to = {ends[0]: ends[1], ends[1]: ends[0]}
    chance = random.Random(int(seed))
    ms, jitter, loss, duplicate = map(float, (ms, jitter, loss, duplicate))
    _into_background()
    queue, held, number = [], 0, 0
    while True:
        now = time.monotonic()
        while queue and queue[0][0] <= now:
            _, _, end, frame = heapq.heappop(queue)
            held -= len(frame)
            try:
                end.send(frame)
            except OSError:
                pass            # no room, or the device is down: lost
        wait = max(0, queue[0][0] - now) if queue else None
        for end in select.select(ends, [], [], wait)[0]:
            for _ in range(64):
                try:
                    frame = end.recv(FRAME)
                except BlockingIOError:
                    break
                except OSError:
                    continue    # a kind of packet that the kernel cannot show
                if chance.random() * 100 < loss or held > HELD:
                    continue
                copies = 1 + (chance.random() * 100 < duplicate)
                for _ in range(copies):
                    due = time.monotonic() + (ms + chance.random() * jitter) / 1e3
                    number += 1
                    held += len(frame)
                    heapq.heappush(queue, (due, number, to[end], frame))


def _enter_mounts(namespace):
    setns(int(namespace), CLONE_NEWNS)


def hang(namespace, path):
    """Mount a file system that answers nothing. Its requests are not even read, so a
    process that waits can be killed, as with NFS. It is gone with this process."""
    fuse = os.open("/dev/fuse", os.O_RDWR)
    _enter_mounts(namespace)
    mode = os.stat(path).st_mode
    mount("stormlab", path, "fuse.stormlab", 6,
          f"fd={fuse},rootmode={mode:o},user_id=0,group_id=0,allow_other,"
          "default_permissions")
    unique, = struct.unpack("<8xQ", os.read(fuse, 1 << 20)[:16])
    answer = struct.pack("<IIIIHHII9I", 7, 31, 4096, 0, 12, 9, 128 << 10, 1,
                         *[0] * 9)
    os.write(fuse, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)
    _into_background()
    while True:
        signal.pause()


def unmount(namespace, path):
    _enter_mounts(namespace)
    detach(path)
    print("ready 0")


def flood(address, port, rate, seconds):
    """Send random bytes, of which some begin as a message of STORM's does."""
    chance = random.Random(1)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, int(port)))
    s.setblocking(False)
    kinds = [begin + chance.randbytes(chance.randrange(1, 1400))
             for begin in (b"", b"STRM") for _ in range(64)]
    rate, seconds = int(rate), float(seconds)
    _into_background()
    begun, sent = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        while sent < min(passed, seconds) * rate:
            try:
                s.send(kinds[sent % len(kinds)])
            except OSError:
                pass            # no room, or nobody listens: as on any network
            sent += 1
        time.sleep(TICK)


if __name__ == "__main__":
    try:
        {"wire": wire, "hang": hang, "unmount": unmount,
         "flood": flood}[sys.argv[1]](*sys.argv[2:])
    except OSError as e:
        sys.exit(f"{sys.argv[1]}: {e}")
