# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Contenders run by turns."""
import argparse

from .result import NotRun
from .settling import settle


def numbers(text):
    """The type of an option that is a list of numbers."""
    return [int(word) for word in text.split(",")]


def reals(text):
    """The same, of numbers with a point."""
    return [float(word) for word in text.split(",")]


def words(text):
    """The type of an option that is a list of words."""
    return text.split(",")


def words_of(*names):
    """The type of an option that is a list of some of these words."""
    def parse(text):
        found = words(text)
        if bad := [word for word in found if word not in names]:
            raise argparse.ArgumentTypeError(
                f"{', '.join(bad)}: choose of {', '.join(names)}")
        return found
    return parse


def take_turns(contenders, times, warm=1, before=settle):
    """Call each of {name: function} `times` times, by turns; who begins
    alternates. The first `warm` rounds do not count. `before` is called
    before each. Returns {name: [what it returned]}; of one that raises
    NotRun, {name: NotRun}."""
    found = {name: [] for name in contenders}
    for i in range(warm + times):
        names = list(contenders) if i % 2 else list(contenders)[::-1]
        for name in names:
            if isinstance(found[name], NotRun):
                continue
            before()
            try:
                value = contenders[name]()
            except NotRun as e:
                found[name] = e
                continue
            if i >= warm:
                found[name].append(value)
    return found


def pick(values, field):
    """The field of each value (dicts) that take_turns found for one
    contender."""
    return values if isinstance(values, NotRun) else \
        [value[field] for value in values]
