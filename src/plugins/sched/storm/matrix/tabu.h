/*
 * tabu.h - jobs into so many rows, where exchanges find no way (exchange.h): to colour
 * a graph by a tabu search (Hertz and de Werra, "Using tabu search techniques for
 * graph coloring", Computing 39, 1987).  Few jobs stay where they are.
 *
 * Pure.  The same call gives the same rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TABU_H
#define STORM_TABU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * n jobs; beside[] as exchange_spare() has it.  row[]: where each is, anywhere.
 * True: all are in rows 0 to rows - 1, and no two in one that cannot be.  False:
 * row[] is as it was, as no way was found in so many moves, or there is no memory.
 */
bool tabu_pack(uint32_t n, const uint64_t *beside, uint32_t *row,
	       uint32_t rows, uint64_t moves);

#endif
