/*
 * run_pieces.h - what is of one task: INPUT, ROOM, OUTPUT_OF and GONE as bytes; and
 * FOLDED, of several.
 *
 * A sender of INPUT may be RUN_INPUT_WINDOW bytes beyond what ROOM has told, for each rank,
 * or for all of them if they have the same input.  One that sends more is cut off.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_PIECES_H
#define STORM_RUN_PIECES_H

#include "run_fold.h"
#include "run_wire.h"

#define RUN_INPUT_WINDOW 65536u
#define RUN_INPUT_PIECE 16384u /* bytes of an INPUT at most */
#define RUN_ALL_RANKS UINT32_MAX

/* What some frames have before their bytes. */
#define RUN_INPUT_HEADER (RUN_FRAME_HEADER + 4)
#define RUN_OUTPUT_OF_HEADER (RUN_FRAME_HEADER + 4 + 1)
/* And frames as a whole. */
#define RUN_ROOM_LEN (RUN_FRAME_HEADER + 4 + 8)
#define RUN_GONE_LEN (RUN_FRAME_HEADER + 4 + 4)

/* Bytes of or for a task.  They are the buffer's that it was read from. */
struct run_piece {
	uint32_t rank;
	uint8_t fd; /* of OUTPUT_OF */
	const uint8_t *buf;
	size_t len;
};

/* The frame's beginning; len bytes follow. */
void run_input_head(uint8_t out[static RUN_INPUT_HEADER], uint32_t rank,
		    size_t len);
void run_output_of_head(uint8_t out[static RUN_OUTPUT_OF_HEADER], uint32_t rank,
			uint8_t fd, size_t len);
/* The whole frame. */
void run_room_put(uint8_t out[static RUN_ROOM_LEN], uint32_t rank,
		  uint64_t taken);
void run_gone_put(uint8_t out[static RUN_GONE_LEN], uint32_t rank,
		  uint32_t code);

/* Likewise, a frame of so many bytes. */
size_t run_folded_len(const struct run_folded *line);
void run_folded_put(uint8_t *out, uint8_t fd, const struct run_folded *line);

/* A frame's body.  False: it is malformed. */
bool run_input_get(struct storm_in *body, struct run_piece *p);
bool run_output_of_get(struct storm_in *body, struct run_piece *p);
/* Likewise; ranks are below `tasks`, and the caller clears them, also if it is malformed. */
bool run_folded_get(struct storm_in *body, uint32_t tasks, uint8_t *fd,
		    struct run_folded *line);
bool run_room_get(struct storm_in *body, uint32_t *rank, uint64_t *taken);
bool run_gone_get(struct storm_in *body, uint32_t *rank, uint32_t *code);

#endif
