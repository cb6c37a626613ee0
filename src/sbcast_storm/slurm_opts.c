/*
 * slurm_opts.c - Slurm's own src/sbcast/opts.c, compiled unmodified from the
 * tree that configure was given: sbcast's options and SBCAST_* variables.
 * Only what it prints passes through us, to name this command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#define _GNU_SOURCE
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/common/proc_args.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/sbcast/sbcast.h"

#include "sbcast_storm.h"

#define printf(...) sbcast_text(stdout, __VA_ARGS__)
#define fprintf(...) sbcast_text(__VA_ARGS__)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "src/sbcast/opts.c"
#pragma GCC diagnostic pop
