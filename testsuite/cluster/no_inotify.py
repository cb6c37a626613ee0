# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Run a command for which the user's inotify instances are spent: the kernel says
EMFILE. They are limited per user, and others on the machine need theirs.

    python3 no_inotify.py COMMAND..."""
import ctypes
import errno
import os
import platform
import struct
import sys

CALLS = {"x86_64": (253, 294), "aarch64": (26,)}[platform.machine()]
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7fff0000, 0x00050000
PR_SET_SECCOMP, FILTER = 22, 2


def refuse(calls, error):
    """From now on, in this process and what it starts."""
    steps = [(LOAD, 0, 0, 0)]
    for n, call in enumerate(calls):
        steps.append((EQUAL, len(calls) - n, 0, call))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | error)]
    code = ctypes.create_string_buffer(
        b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    assert not libc.prctl(PR_SET_SECCOMP, FILTER, program), ctypes.get_errno()
    assert libc.inotify_init1(0) == -1 and ctypes.get_errno() == error


refuse(CALLS, errno.EMFILE)
os.execvp(sys.argv[1], sys.argv[1:])
