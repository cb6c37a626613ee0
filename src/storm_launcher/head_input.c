/*
 * head_input.c - input that clients send, on its way to the launchers of its tasks.  See
 * head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "head_private.h"
#include "run_pieces.h"
#include "src/libstorm/base/minmax.h"

static void head_put_room(struct conn *c, uint32_t rank, uint64_t taken)
{
	uint8_t room[RUN_ROOM_LEN];

	run_room_put(room, rank, taken);
	if (c)
		conn_put(c, RUN_ROOM, room + RUN_FRAME_HEADER,
			 sizeof(room) - RUN_FRAME_HEADER);
}

void head_input_open(struct user_run *run, struct conn *c)
{
	if (run->lent)
		return;
	if (!run_input_open(run, c->what.input, c->what.input_rank)) {
		storm_log(STORM_LOG_ERROR, "no memory for input");
		conn_close(c);
	} else if (run->feeds) {
		head_put_room(c, RUN_ALL_RANKS, 0);
	}
}

/* Has this launcher tasks with this input? */
static bool head_inlet_has(const struct conn *inlet, const struct user_run *run,
			   uint32_t rank)
{
	return inlet->kind == CONN_INLET && inlet->run == run->number &&
	       inlet->fed && conn_is_open(inlet) &&
	       (rank == RUN_ALL_RANKS ||
		(rank >= inlet->first && rank <= inlet->last));
}

static void head_pass_input(struct conn *inlet, uint32_t rank,
			    const uint8_t *buf, size_t len)
{
	uint8_t body[4 + RUN_INPUT_PIECE];
	struct storm_out o = { body, body + sizeof(body), false };

	storm_put32(&o, rank);
	storm_put(&o, buf, len);
	conn_put(inlet, RUN_INPUT, body, (size_t) (o.p - body));
}

/* Nobody will read the input of tasks that are no more. */
static bool head_input_is_vain(const struct user_run *run, uint32_t rank)
{
	return rank == RUN_ALL_RANKS ? run->state != RUN_RUNS :
				       run_ranks_done(run, rank, rank);
}

void head_input(struct conn *c, struct storm_in *body)
{
	struct user_run *run = runs_find(&head.runs, c->run);
	struct run_feed *feed;
	struct run_piece p;

	if (!run_input_get(body, &p)) {
		conn_close(c);
		return;
	}
	if (!run || run->state == RUN_IS_OVER)
		return; /* its end is on the way */
	feed = run_feed_of(run, p.rank);
	if (!feed || !run_feed_add(feed, p.buf, p.len)) {
		storm_log(STORM_LOG_ERROR,
			  "run %llu: input of a client that may not send it",
			  (unsigned long long) run->number);
		conn_close(c);
		return;
	}
	head.input_news |= head_input_is_vain(run, p.rank);
	for (struct conn *l = head.conns; l; l = l->next)
		if (head_inlet_has(l, run, p.rank))
			head_pass_input(l, p.rank, p.buf, p.len);
}

void head_tell_size(const struct conn *client, struct conn *inlet)
{
	uint8_t body[RUN_WINDOW_LEN];
	struct storm_out o = { body, body + sizeof(body), false };

	if (!client->resized)
		return;
	run_window_put(&o, &client->window);
	conn_put(inlet, RUN_WINDOW, body, sizeof(body));
}

void head_resize(struct conn *c, struct storm_in *body)
{
	run_window_get(body, &c->window);
	if (!storm_in_done(body) || !c->what.pty) {
		conn_close(c);
		return;
	}
	c->resized = true;
	for (struct conn *l = head.conns; l; l = l->next)
		if (l->kind == CONN_INLET && l->run == c->run)
			head_tell_size(c, l);
}

void head_room(struct conn *c, struct storm_in *body)
{
	const struct user_run *run = runs_find(&head.runs, c->run);
	struct run_feed *feed;
	uint64_t taken;
	uint32_t rank;

	if (!run_room_get(body, &rank, &taken)) {
		conn_close(c);
		return;
	}
	feed = run ? run_feed_of(run, rank) : NULL;
	if (!feed || !head_inlet_has(c, run, rank) || taken > feed->come)
		return;
	if (rank == RUN_ALL_RANKS) {
		c->input_taken = storm_max(c->input_taken, taken);
		head.input_news = true;
	} else if (run_feed_take(feed, taken)) {
		head_put_room(run->client, rank, feed->taken);
	}
}

/* What has come before the launcher did. */
static void head_feed_inlet(struct conn *c, uint32_t rank,
			    const struct run_feed *feed)
{
	size_t len;
	const uint8_t *buf = run_feed_from(feed, feed->taken, &len);

	/* it has been here before, and what it got is lost */
	if (feed->taken) {
		conn_close(c);
		return;
	}
	for (size_t at = 0, n; at < len; at += n) {
		n = storm_min(len - at, RUN_INPUT_PIECE);
		head_pass_input(c, rank, buf + at, n);
	}
	if (feed->over)
		head_pass_input(c, rank, NULL, 0);
}

static void head_meet_inlet(struct conn *c)
{
	const struct user_run *run = runs_find(&head.runs, c->run);

	c->fed = true;
	if (!run || !run->feeds)
		return;
	if (run->input != RUN_INPUT_EACH) {
		if (head_inlet_has(c, run, run->input_rank))
			head_feed_inlet(c, run->input_rank, run->feed);
		return;
	}
	for (uint32_t k = c->first; k <= c->last; k++)
		head_feed_inlet(c, k, &run->feed[k]);
}

/* How much of the input of all the slowest launcher has taken.  One that is not here yet
 * has taken nothing, and one whose tasks have ended all. */
static uint64_t head_all_taken(const struct user_run *run)
{
	uint64_t taken = run->feed->come;
	uint32_t here = 0, left = run_nodes_left(run);

	for (const struct conn *c = head.conns; c; c = c->next)
		if (head_inlet_has(c, run, RUN_ALL_RANKS) &&
		    !run_ranks_done(run, c->first, c->last)) {
			taken = storm_min(taken, c->input_taken);
			here++;
		}
	return here < left ? 0 : taken;
}

/* Tell the client of what was taken by no frame. */
static void head_input_take(struct user_run *run)
{
	for (uint32_t k = 0; k < run->feeds; k++) {
		struct run_feed *feed = &run->feed[k];
		uint32_t rank = run->input == RUN_INPUT_EACH ? k :
							       run->input_rank;
		uint64_t taken = feed->taken;

		if (head_input_is_vain(run, rank))
			taken = feed->come;
		else if (rank == RUN_ALL_RANKS)
			taken = head_all_taken(run);
		if (run_feed_take(feed, taken))
			head_put_room(run->client, rank, feed->taken);
	}
}

void head_input_serve(void)
{
	if (!head.input_news)
		return;
	head.input_news = false;
	for (struct conn *c = head.conns; c; c = c->next)
		if (c->kind == CONN_INLET && !c->fed && conn_is_open(c))
			head_meet_inlet(c);
	for (struct user_run *run = head.runs.first; run; run = run->next)
		if (run->feeds)
			head_input_take(run);
}
