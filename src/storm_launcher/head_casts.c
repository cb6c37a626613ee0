/*
 * head_casts.c - what the head sends to launchers: a run's start, its signals, and which
 * ids they may forget.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "head_private.h"
#include "px_wire.h"
#include "run_names.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define PAST_EVERY 4096	 /* ids, see head_forget() */
#define CAST_FENCED 0xff /* in place of a signal */

/* A message on its way to launchers. */
struct cast {
	struct cast *next;
	storm_event_t *event;
	uint8_t *buf;
	uint64_t run;
	uint8_t sig; /* or CAST_FENCED; 0: it starts the run, or is of none */
};

/* The nodes of a run but the lost ones.  A set with too many ranges for a message is
 * that of all nodes: who has no task of the run does nothing. */
static bool head_cast_nodes(const struct user_run *run, struct storm_idset *P)
{
	struct storm_range r = { 0, head.step.count - 1 };
	const struct storm_idset all = { &r, 1, 1 };

	if (storm_idset_minus(&run->nodes, &head.runs.lost, P))
		return false;
	if (P->count > STORM_SET_RANGES) {
		storm_idset_clear(P);
		if (storm_idset_minus(&all, &head.runs.lost, P))
			return false;
	}
	return P->count;
}

/* Send it to a run's nodes; buf becomes the cast's.  False: it cannot be sent. */
static bool head_cast(const struct user_run *run, uint8_t sig, uint8_t *buf,
		      size_t len)
{
	struct storm_target to = { .kind = STORM_TARGET_MEMORY,
				   .remote_event = HEAD_EVENT };
	struct cast *c = calloc(1, sizeof(*c));
	struct storm_idset P = { 0 };

	if (!c) {
		free(buf);
		return false;
	}
	if (buf && head_cast_nodes(run, &P))
		c->event =
			storm_xfer_and_signal(head.domain, &P, &to, buf, len);
	storm_idset_clear(&P);
	if (!c->event) {
		free(buf);
		free(c);
		return false;
	}
	c->buf = buf;
	c->run = run->number;
	c->sig = sig;
	c->next = head.casts;
	head.casts = c;
	return true;
}

/* Its beginning; *o is where the rest, of so many bytes, belongs.  NULL: no memory. */
static uint8_t *head_message(enum run_kind kind, size_t rest,
			     struct storm_out *o)
{
	uint8_t *buf = malloc(RUN_KEY + 1 + rest);

	if (!buf)
		return NULL;
	*o = (struct storm_out) { buf, buf + RUN_KEY + 1 + rest, false };
	storm_put(o, head.step.key, RUN_KEY);
	storm_put8(o, (uint8_t) kind);
	return buf;
}

static bool head_cast_past(const struct storm_idset *past)
{
	struct storm_range all = { 0, head.step.count - 1 };
	struct user_run nobody = { .nodes = { &all, 1, 1 } };
	size_t len = storm_set_len(past);
	struct storm_out o;
	uint8_t *buf = head_message(RUN_PAST, len, &o);

	if (buf)
		storm_put_set(&o, past);
	return head_cast(&nobody, 0, buf, RUN_KEY + 1 + len);
}

bool head_greet(void)
{
	struct storm_range all = { 0, head.step.count - 1 };
	struct user_run nobody = { .nodes = { &all, 1, 1 } };
	size_t len = STORM_ADDR_LEN + 2 + STORM_KEY_LEN;
	struct storm_out o;
	uint8_t *buf = head_message(RUN_HEAD, len, &o);

	if (buf) {
		storm_put_addr(&o, &head.relay);
		storm_put(&o, head.doors, sizeof(head.doors));
	}
	return head_cast(&nobody, 0, buf, RUN_KEY + 1 + len);
}

void head_forget(void)
{
	struct storm_idset past = { 0 };
	uint64_t count;

	/* without memory the end of the next run does it */
	if (runs_past(&head.runs, UINT32_MAX, &past))
		return;
	storm_domain_forget(head.domain, RUN_REPORT, &past);
	count = storm_idset_size(&past);
	if (count >= head.told_past + PAST_EVERY && !head.runs.closing &&
	    head_cast_past(&past))
		head.told_past = count;
	storm_idset_clear(&past);
}

/* Tasks that cannot be killed end with their launchers. */
static void head_signal_failed(struct user_run *run, uint8_t sig)
{
	if (sig != SIGKILL) {
		head_say(run->client,
			 "error: signal %u did not come to all nodes", sig);
		return;
	}
	head_say(
		run->client,
		"error: the launchers cannot be reached, and end with all tasks");
	runs_abort(run);
	runs_close(&head.runs, true);
}

void head_cast_kill(struct user_run *run, uint8_t sig)
{
	struct storm_out o;
	uint8_t *buf = head_message(RUN_KILL, 8 + 1, &o);

	if (buf) {
		storm_put64(&o, run->number);
		storm_put8(&o, sig);
	}
	if (sig == SIGKILL && !run->dying)
		run->dying = 1;
	run->signaled |= sig == SIGTERM || sig == SIGKILL;
	if (!head_cast(run, sig, buf, RUN_KEY + 1 + 8 + 1))
		head_signal_failed(run, sig);
}

static void head_fence_failed(struct user_run *run)
{
	head_say(
		run->client,
		"error: ranks of MPI cannot hear of each other: the launchers cannot be reached");
	run->aborted = 1;
	run->ends = true;
	head_cast_kill(run, SIGKILL);
}

/* In pieces, as the head keeps each until all nodes have it. */
void head_cast_fenced(struct user_run *run, const struct storm_idset *ranks,
		      const uint8_t *data, size_t len)
{
	struct pmi_fenced f = { .run = run->number,
				.ranks = *ranks,
				.all = (uint32_t) len };
	bool sent = true;

	do {
		struct storm_out o;
		uint8_t *buf;
		size_t all;

		f.data = len ? data + f.at : NULL;
		f.len = storm_min(len - f.at, PMI_PIECE);
		all = pmi_fenced_len(&f);
		buf = head_message(RUN_FENCED, all, &o);
		if (buf)
			pmi_fenced_put(&o, &f);
		sent = head_cast(run, CAST_FENCED, buf, RUN_KEY + 1 + all);
		f.at += (uint32_t) f.len;
	} while (sent && f.at < len);
	if (!sent)
		head_fence_failed(run);
}

void head_cast_direct(struct user_run *run, uint32_t node, enum run_kind kind,
		      const struct px_msg *m)
{
	struct storm_range r = { node, node };
	const struct user_run one = { .number = run->number,
				      .nodes = { &r, 1, 1 } };
	size_t len = px_msg_len(m);
	struct storm_out o;
	uint8_t *buf = head_message(kind, len, &o);

	if (buf)
		px_msg_put(&o, m);
	if (!head_cast(&one, CAST_FENCED, buf, RUN_KEY + 1 + len))
		head_fence_failed(run);
}

void head_cast_sweep(const struct user_run *run)
{
	struct storm_out o;
	uint8_t *buf = head_message(RUN_SWEEP, 8, &o);

	if (buf)
		storm_put64(&o, run->number);
	if (!head_cast(run, 0, buf, RUN_KEY + 1 + 8))
		head_say(
			run->client,
			"error: what the tasks have left behind stays: the launchers cannot be reached");
}

/* The tasks on this host get the client's own descriptors. */
static bool head_pass_files(const struct user_run *run, struct conn *c)
{
	uint8_t frame[RUN_FRAME_HEADER + 8];
	struct storm_out o = { frame + RUN_FRAME_HEADER, frame + sizeof(frame),
			       false };
	struct conn *l = head_of_kind(CONN_PARENT);

	if (!l || c->carrier || c->file[0] < 0 || !c->what.direct ||
	    !storm_idset_has(&run->nodes, RUN_HEAD_NODE))
		return false;
	run_frame_head(frame, RUN_FILES, 8);
	storm_put64(&o, run->number);
	return !run_sock_send(l->fd, frame, sizeof(frame), c->file);
}

/* The run does not begin, and a reader of what it would write waits for the end. */
static void head_take_files_back(uint64_t run)
{
	uint8_t frame[RUN_FRAME_HEADER + 8];
	struct storm_out o = { frame + RUN_FRAME_HEADER, frame + sizeof(frame),
			       false };
	struct conn *l = head_of_kind(CONN_PARENT);

	if (!l)
		return;
	run_frame_head(frame, RUN_NO_FILES, 8);
	storm_put64(&o, run);
	run_sock_send(l->fd, frame, sizeof(frame), NULL);
}

bool head_cast_start(struct user_run *run, struct conn *c)
{
	char *names = run_names_text(head.step.nodes, &run->nodes);
	struct run_start s = {
		.number = run->number,
		.first = run->first,
		.tasks = run->tasks,
		.nodes = run->nodes, /* its memory stays the run's */
		.rank = run->rank,
		.cpus = run->asked_cpus,
		.gpus = run->gpus,
		.node_gpus = run->node_gpus,
		.usage = head_journal_has(run),
		.names = names ? names : "",
		.local = STORM_NO_NODE,
		.relay = head.relay,
	};
	struct storm_out o;
	size_t len;
	uint8_t *buf;

	/* without memory the next one says it */
	runs_past(&head.runs, RUN_PAST_RANGES, &s.past);
	memcpy(s.life, head.life, RUN_LIFE);
	if (c->carrier && c->node != STORM_NO_NODE && c->what.direct) {
		s.local = c->node; /* its door has them */
		s.channel = c->channel;
	} else if (head_pass_files(run, c)) {
		s.local = RUN_HEAD_NODE;
	}
	run->lent = run_lends(&s, &c->what);
	conn_close_files(c);
	len = run_start_len(&s) + c->ask_len;
	buf = head_message(RUN_START, len, &o);
	if (buf) {
		run_start_put(&o, &s);
		storm_put(&o, c->ask, c->ask_len);
	}
	free(names);
	storm_idset_clear(&s.past);
	if (head_cast(run, 0, buf, RUN_KEY + 1 + len))
		return true;
	head_take_files_back(run->number);
	return false;
}

/* A message did not come: of a start, no launcher has it. */
static void head_cast_failed(const struct cast *cast,
			     const struct storm_outcome *out)
{
	struct user_run *run = runs_find(&head.runs, cast->run);

	if (!run || run->state != RUN_RUNS)
		return;
	if (cast->sig == CAST_FENCED) {
		head_fence_failed(run);
		return;
	}
	if (cast->sig) {
		head_signal_failed(run, cast->sig);
		return;
	}
	head_take_files_back(run->number);
	for (uint32_t k = 0; k < out->faults_kept; k++)
		head_say(run->client, "error: node %s: %s",
			 head_node_name(NULL, out->faults[k].node),
			 storm_strerror((int) out->faults[k].why));
	runs_abort(run);
}

void head_check_casts(void)
{
	struct cast **at = &head.casts, *c;

	while ((c = *at)) {
		struct storm_outcome out;

		if (!storm_test_event(c->event, false, 0, &out)) {
			at = &c->next;
			continue;
		}
		if (out.state != STORM_DONE)
			head_cast_failed(c, &out);
		storm_outcome_clear(&out);
		storm_event_destroy(c->event);
		*at = c->next;
		free(c->buf);
		free(c);
	}
}
