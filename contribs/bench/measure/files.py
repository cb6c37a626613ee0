# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Files of a given size."""
import os
import pathlib

UNITS = {"K": 10 ** 3, "M": 10 ** 6, "G": 10 ** 9}


def size(text):
    """The bytes of "64K", "12M", "1G"."""
    unit = UNITS.get(text[-1:].upper(), 1)
    return int(float(text[:-1]) * unit) if unit > 1 else int(text)


def sizes(text):
    """The type of an option that is a list of sizes."""
    return [size(word) for word in text.split(",")]


def size_text(count):
    """The shortest text of that size."""
    for name, unit in reversed(UNITS.items()):
        if count >= unit and count % (unit // 1000) == 0:
            return f"{count / unit:g}{name}"
    return str(count)


def make_file(path, count, head=b""):
    """A file of that size that no compression makes smaller."""
    with open(path, "wb") as f:
        f.write(head)
        left = count - len(head)
        while left > 0:
            left -= f.write(os.urandom(min(left, 1 << 20)))
    os.chmod(path, 0o755)


def make_program(path, count):
    """A program of that size that ends at once."""
    head = pathlib.Path("/bin/true").read_bytes()
    make_file(path, max(count, len(head)), head)
