#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A command in a terminal, and somebody who types.

    run_terminal.py STEPS COMMAND [ARGUMENTS]

STEPS are JSON: [[TEXT, KEYS], ...]. When TEXT has come, KEYS are typed; a list of two numbers is
a new size instead. With a third element, the screen is drawn anew until TEXT comes: a program that
draws what has changed may never print it whole. It prints what comes, how the command has ended,
and whether the terminal is as it was."""
import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))


def begin(theirs, command):
    pid = os.fork()
    if not pid:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(theirs, fd)
        os.execvp(command[0], command)
    return pid


def answer(ours, steps, got):
    """What is left of what has come."""
    while steps and steps[0][0] in got:
        text, keys = steps.pop(0)[:2]
        got = got[got.index(text) + len(text):]
        if isinstance(keys, list):
            resize(ours, *keys)
        else:
            os.write(ours, keys.encode())
    return got


def main(steps, *command):
    ours, theirs = pty.openpty()
    resize(ours, 30, 90)
    before = termios.tcgetattr(theirs)
    pid = begin(theirs, command)
    ended = os.pidfd_open(pid)
    steps, got, over, columns = json.loads(steps), "", False, 90
    while True:
        anew = steps and len(steps[0]) > 2
        ready = select.select([ours] if over else [ours, ended], [], [],
                              0 if over else 0.2 if anew else None)[0]
        if anew and not ready and not over:
            columns ^= 1
            resize(ours, 30, columns)
        if ours in ready:
            piece = os.read(ours, 4096).decode(errors="replace")
            print(piece, end="", flush=True)
            got = answer(ours, steps, got + piece)
        elif over:
            break
        over = over or ended in ready
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    same = termios.tcgetattr(theirs) == before
    print(f"\nended {code}, terminal {'as before' if same else 'changed'}", flush=True)


main(*sys.argv[1:])
