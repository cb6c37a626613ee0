# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A file system of one directory that never answers some requests, by /dev/fuse.

    python3 fuse_hang.py DIR [root]

mounts it on DIR, prints "ready", "hung" at the first request that is not answered,
and "empty" when the last file was removed. These requests are each WRITE; with
"root", whatever root wants to know of a file, as if its server had gone after others
had opened it. On a line from its
standard input it answers all of them from then on, and unmounts at the end of its
input. Anybody may create files in it, as in /tmp.

    python3 fuse_hang.py DIR SIZE

has a file "source" of SIZE bytes there, of which the second half cannot be read:
EIO."""
import ctypes
import os
import select
import stat
import struct
import sys

(LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH,
 INIT, ACCESS, CREATE, BATCH_FORGET) = 1, 2, 3, 4, 14, 15, 16, 17, 18, 25, 26, \
     34, 35, 42
UNLINK, RENAME, INTERRUPT, RENAME2 = 10, 12, 36, 45
ENOENT, EIO, ENOSYS = 2, 5, 38

names = {}      # name: node
files = {}      # node: [mode, uid, gid, bytes]


broken = range(0)   # offsets that cannot be read


def attr(node):
    mode, uid, gid, data = files.get(node) or \
        [stat.S_IFDIR | 0o1777, 0, 0, b""]
    return struct.pack("<6Q10I", node, len(data), 0, 0, 0, 0, 0, 0, 0, mode,
                       1, uid, gid, 0, 4096, 0)


def entry(node):
    return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + attr(node)


def name_of(body):
    return body.split(b"\0")[0]


def rename(body, at):
    old, new = body[at:].split(b"\0")[:2]
    names[new] = names.pop(old)
    return b""


def write(node, body):
    _, off, size = struct.unpack("<QQI", body[:20])
    data = bytearray(files[node][3])
    data[off:off + size] = body[40:40 + size]
    files[node][3] = bytes(data)
    return struct.pack("<II", size, 0)


def create(body, uid, gid):
    _, mode, umask = struct.unpack("<III", body[:12])
    node = 2 + len(files)
    names[name_of(body[16:])] = node
    files[node] = [mode & ~umask, uid, gid, b""]
    return entry(node) + struct.pack("<QII", 0, 0, 0)


def setattr_of(node, body):
    (valid,) = struct.unpack("<I", body[:4])
    (mode,) = struct.unpack("<I", body[68:72])
    if valid & 1:
        files[node][0] = stat.S_IFREG | mode & 0o7777
    return struct.pack("<QII", 0, 0, 0) + attr(node)


def answer(op, node, uid, gid, body):
    """The answer's bytes, or an errno."""
    if op == LOOKUP:
        n = names.get(name_of(body))
        return entry(n) if n else ENOENT
    if op == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + attr(node)
    if op == SETATTR:
        return setattr_of(node, body)
    if op == OPEN:
        return struct.pack("<QII", 0, 0, 0)
    if op == READ:
        _, off, size = struct.unpack("<QQI", body[:20])
        return EIO if off in broken else files[node][3][off:off + size]
    if op == WRITE:
        return write(node, body)
    if op == STATFS:
        return struct.pack("<5Q4I6I", 1 << 20, 1 << 20, 1 << 20, 1000, 1000,
                           4096, 255, 4096, 0, *[0] * 6)
    if op == CREATE:
        return create(body, uid, gid)
    if op == INIT:
        return struct.pack("<IIIIHHII9I", 7, 31, 4096, 0, 12, 9, 128 << 10,
                           1, *[0] * 9)
    if op == UNLINK:
        found = names.pop(name_of(body), None)
        if found and not names:
            print("empty", flush=True)
        return b"" if found else ENOENT
    if op == RENAME:
        return rename(body, 8)
    if op == RENAME2:
        return rename(body, 16)
    if op in (RELEASE, FLUSH, ACCESS):
        return b""
    return ENOSYS


def hangs_at(op, node, uid, *_):
    if sys.argv[2:] == ["root"]:
        return uid == 0 and node in files and op in (GETATTR, OPEN, FLUSH)
    return op == WRITE


def main():
    global broken
    where = sys.argv[1]
    if len(sys.argv) > 2 and sys.argv[2] != "root":
        size = int(sys.argv[2])
        broken = range(size // 2, size)
        names[b"source"] = 2
        files[2] = [stat.S_IFREG | 0o755, 20001, 20001, bytes(size)]
    fuse = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0," \
        "allow_other,default_permissions"
    if libc.mount(b"hang", where.encode(), b"fuse.hang", 6, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("ready", flush=True)
    hangs, late = True, []

    def reply(unique, what):
        err = what if isinstance(what, int) else 0
        data = b"" if err else what
        try:
            os.write(fuse, struct.pack("<IiQ", 16 + len(data), -err, unique)
                     + data)
        except FileNotFoundError:
            pass        # nobody waits for it any more

    while True:
        ready, _, _ = select.select([fuse, sys.stdin], [], [])
        if sys.stdin in ready:
            if not sys.stdin.readline():
                break
            hangs = False
            for unique, request in late:
                reply(unique, answer(*request))
            late = []
        if fuse not in ready:
            continue
        data = os.read(fuse, 1 << 20)
        _, op, unique, node, uid, gid, _, _ = struct.unpack("<IIQQIIII",
                                                            data[:40])
        request = op, node, uid, gid, data[40:]
        if op in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        if hangs and hangs_at(*request):
            if not late:
                print("hung", flush=True)
            late.append((unique, request))
            continue
        reply(unique, answer(*request))
    libc.umount2(where.encode(), 2)     # MNT_DETACH


if __name__ == "__main__":
    main()
