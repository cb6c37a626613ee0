/*
 * run_pieces.c - see run_pieces.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <unistd.h>

#include "run_pieces.h"

void run_input_head(uint8_t out[static RUN_INPUT_HEADER], uint32_t rank,
		    size_t len)
{
	struct storm_out o = { out + RUN_FRAME_HEADER, out + RUN_INPUT_HEADER,
			       false };

	run_frame_head(out, RUN_INPUT, 4 + len);
	storm_put32(&o, rank);
}

void run_output_of_head(uint8_t out[static RUN_OUTPUT_OF_HEADER], uint32_t rank,
			uint8_t fd, size_t len)
{
	struct storm_out o = { out + RUN_FRAME_HEADER,
			       out + RUN_OUTPUT_OF_HEADER, false };

	run_frame_head(out, RUN_OUTPUT_OF, 4 + 1 + len);
	storm_put32(&o, rank);
	storm_put8(&o, fd);
}

void run_room_put(uint8_t out[static RUN_ROOM_LEN], uint32_t rank,
		  uint64_t taken)
{
	struct storm_out o = { out + RUN_FRAME_HEADER, out + RUN_ROOM_LEN,
			       false };

	run_frame_head(out, RUN_ROOM, RUN_ROOM_LEN - RUN_FRAME_HEADER);
	storm_put32(&o, rank);
	storm_put64(&o, taken);
}

void run_gone_put(uint8_t out[static RUN_GONE_LEN], uint32_t rank,
		  uint32_t code)
{
	struct storm_out o = { out + RUN_FRAME_HEADER, out + RUN_GONE_LEN,
			       false };

	run_frame_head(out, RUN_GONE, RUN_GONE_LEN - RUN_FRAME_HEADER);
	storm_put32(&o, rank);
	storm_put32(&o, code);
}

size_t run_folded_len(const struct run_folded *line)
{
	return RUN_FRAME_HEADER + 1 + storm_set_len(&line->ranks) + line->len;
}

void run_folded_put(uint8_t *out, uint8_t fd, const struct run_folded *line)
{
	size_t len = run_folded_len(line);
	struct storm_out o = { out + RUN_FRAME_HEADER, out + len, false };

	run_frame_head(out, RUN_FOLDED, len - RUN_FRAME_HEADER);
	storm_put8(&o, fd);
	storm_put_set(&o, &line->ranks);
	storm_put(&o, line->text, line->len);
}

static void run_piece_rest(struct storm_in *body, struct run_piece *p)
{
	p->len = body->bad ? 0 : (size_t) (body->end - body->p);
	p->buf = storm_get(body, p->len);
}

bool run_input_get(struct storm_in *body, struct run_piece *p)
{
	p->rank = storm_get32(body);
	p->fd = 0;
	run_piece_rest(body, p);
	return !body->bad && p->len <= RUN_INPUT_PIECE;
}

bool run_output_of_get(struct storm_in *body, struct run_piece *p)
{
	p->rank = storm_get32(body);
	p->fd = storm_get8(body);
	run_piece_rest(body, p);
	return !body->bad && p->len && (p->fd == 1 || p->fd == 2);
}

bool run_folded_get(struct storm_in *body, uint32_t tasks, uint8_t *fd,
		    struct run_folded *line)
{
	*line = (struct run_folded) { .len = 0 };
	*fd = storm_get8(body);
	storm_get_set(body, &line->ranks, tasks - 1);
	if (!body->bad)
		line->len = (size_t) (body->end - body->p);
	line->text = storm_get(body, line->len);
	return storm_in_done(body) && line->ranks.count &&
	       (*fd == STDOUT_FILENO || *fd == STDERR_FILENO);
}

bool run_room_get(struct storm_in *body, uint32_t *rank, uint64_t *taken)
{
	*rank = storm_get32(body);
	*taken = storm_get64(body);
	return storm_in_done(body);
}

bool run_gone_get(struct storm_in *body, uint32_t *rank, uint32_t *code)
{
	*rank = storm_get32(body);
	*code = storm_get32(body);
	return storm_in_done(body);
}
