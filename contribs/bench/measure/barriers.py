# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What testsuite/programs/barrier.c noted, and the model (5.1) of slow barriers."""
import array
import itertools
import math
import statistics

#: decimal classes of a barrier's microseconds; the last has no end
DECADES = ("< 10 us", "< 100 us", "< 1 ms", "< 10 ms", "longer")


class Noted:
    """All meetings of one run with one number of spins. Takes the files
    away."""

    def __init__(self, directory, name, ranks, spins):
        self.waits, self.computed, self.elapsed = [], [], 0
        for rank in range(ranks):
            path = directory / f"{name}.{rank}.{spins}"
            times = array.array("q", path.read_bytes())
            path.unlink()
            self.add(times[::2], times[1::2])
        self.best = min(self.computed)

    def add(self, begins, ends):
        self.waits += [(e - b) / 1e3 for b, e in zip(begins, ends)]
        self.computed += [(b - e) / 1e3 for e, b in zip(ends, begins[1:])]
        self.elapsed += (ends[-1] - begins[0]) / 1e3

    def slow(self, limit):
        """The part of the barriers that took longer."""
        return sum(wait > limit for wait in self.waits) / len(self.waits)

    def mean(self):
        return statistics.fmean(self.waits)

    def efficiency(self, wait, computation):
        """Ideal over measured time."""
        return (wait * len(self.waits) + computation * len(self.computed)) \
            / self.elapsed

    def by_decade(self):
        """{class: microseconds of waiting in it for each barrier}"""
        sums = dict.fromkeys(DECADES, 0.0)
        for wait in self.waits:
            place = min(max(int(math.log10(max(wait, 1))), 0), 4)
            sums[DECADES[place]] += wait / len(self.waits)
        return sums


class Ideal:
    """Of runs ({spins: Noted}) beside nothing: the time of back to back
    barriers, {spins: the shortest computation} and {spins: above which time a
    barrier is slow}. That is the mean of 99 in 100 back to back barriers by a
    standard deviation; the others met noise themselves. What a barrier takes
    longer after a computation, for which caches are cold, is added: of that
    the first quartile, as only some ranks wait for others."""

    def __init__(self, runs, spins, slow=None):
        waits = {s: sum((run[s].waits for run in runs), []) for s in spins}
        least = sorted(waits[min(spins)])
        least = least[:max(1, len(least) * 99 // 100)]
        self.wait = statistics.fmean(least)
        cold = {s: statistics.quantiles(w, n=4)[0] for s, w in waits.items()}
        slow = slow or self.wait + statistics.pstdev(least)
        self.limits = {s: slow + cold[s] - cold[min(spins)] for s in spins}
        self.computed = {s: min(run[s].best for run in runs) for s in spins}


def slow_part(spins, ranks, alpha):
    """(5.1): the part of slow barriers among so many ranks that compute so
    many spins between."""
    if spins == 0 or ranks == 1:
        return 0.0
    return spins / (spins * ranks / (ranks - 1) + alpha / ranks)


def squares(points, alpha):
    return sum((part - slow_part(spins, ranks, alpha)) ** 2
               for spins, ranks, part in points)


def fit(points):
    """The alpha of the least squares for points (spins, ranks, part), by
    golden section of its logarithm; and R squared."""
    golden = (math.sqrt(5) - 1) / 2
    low, high = 0.0, math.log(1e12)
    for _ in itertools.repeat(None, 100):
        a, b = high - golden * (high - low), low + golden * (high - low)
        if squares(points, math.exp(a)) < squares(points, math.exp(b)):
            high = b
        else:
            low = a
    alpha = math.exp((low + high) / 2)
    mean = statistics.fmean(part for _, _, part in points)
    total = sum((part - mean) ** 2 for _, _, part in points)
    return alpha, 1 - squares(points, alpha) / total if total else 0.0
