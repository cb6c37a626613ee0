# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Run a command as on a host whose kernel has no IPv6 (ipv6.disable=1): there is no socket
of AF_INET6.

    python3 no_inet6.py COMMAND..."""
import ctypes
import errno
import os
import platform
import socket
import struct
import sys

SOCKET = {"x86_64": 41, "aarch64": 198}[platform.machine()]
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16      # in struct seccomp_data
ALLOW, ERRNO = 0x7fff0000, 0x00050000
PR_SET_SECCOMP, FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38

STEPS = [(LOAD, 0, 0, NUMBER), (EQUAL, 0, 2, SOCKET), (LOAD, 0, 0, FIRST_ARGUMENT),
         (EQUAL, 1, 0, socket.AF_INET6), (RETURN, 0, 0, ALLOW),
         (RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in STEPS))
program = struct.pack("HxxxxxxP", len(STEPS), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert not libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), ctypes.get_errno()
assert not libc.prctl(PR_SET_SECCOMP, FILTER, program), ctypes.get_errno()
assert libc.socket(socket.AF_INET6, socket.SOCK_STREAM, 0) == -1
assert ctypes.get_errno() == errno.EAFNOSUPPORT
os.execvp(sys.argv[1], sys.argv[1:])
