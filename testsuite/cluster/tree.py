# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Where the project's tree is, and that modules of stormlab and of testsuite can be
imported. Import this before them."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path[:0] = [str(TOP / "contribs" / "stormlab"), str(HERE.parent)]
