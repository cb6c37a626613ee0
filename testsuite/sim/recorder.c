/*
 * recorder.c - see recorder.h.  The white box looks in here: what a node has
 * staged, and what the owner has decided, is read from their own structs; all
 * else is what their hosts were given, and what stands in their memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "idset.h"
#include "nm_private.h"
#include "owner_private.h"
#include "recorder.h"

/* One datagram, some, many. */
size_t recorder_segment_len(uint32_t segment)
{
	static const size_t len[RECORDER_SEGMENTS] = {
		8, 4000, RECORDER_SEGMENT_LEN
	};

	return len[segment];
}

/* FNV-1a over words; of all zeroes it is 0, as a place is at first. */
static uint64_t digest(const uint8_t *p, uint64_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL, word, any = 0;

	for (uint64_t i = 0; i < len; i += 8) {
		word = 0;
		memcpy(&word, p + i, len - i < 8 ? len - i : 8);
		any |= word;
		h = (h ^ word) * 0x100000001b3ULL;
	}
	return any ? h ^ h >> 32 : 0;
}

void recorder_add(struct recorder *r, struct history_entry e)
{
	e.at = storm_sim_now(r->sim);
	history_add(&r->h, e);
}

#define ADD(r, ...) recorder_add(r, (struct history_entry) { __VA_ARGS__ })

uint32_t recorder_op(struct recorder *r, const struct history_op *o,
		     const struct recorder_op *data)
{
	struct history_op mine = *o;

	/* the value of bulk data is their digest; none are all zeroes */
	if (!o->compare && data->size)
		mine.value = digest(data->data, data->size);
	if (r->h.ops == r->op_room) {
		r->op_room = r->op_room ? 2 * r->op_room : 16;
		r->op = realloc(r->op, r->op_room * sizeof(*r->op));
		if (!r->op)
			abort();
	}
	r->op[r->h.ops] = *data;
	return history_op(&r->h, &mine);
}

/* Which operation has the owner given this number?  0: none of ours. */
static uint32_t numbered(const struct recorder *r, uint64_t number)
{
	for (uint32_t i = r->h.ops; number && i--;)
		if (r->op[i].number == number)
			return i + 1;
	return 0;
}

/* -------------------------------------------------------------------- nodes --- */

static const struct nm_session *session(const struct recorder *r, uint32_t i)
{
	const struct storm_nm *nm = storm_sim_nm(r->sim, i);
	const struct nm_session *s = nm ? nm->sessions : NULL;

	return s && s->ready && !s->closing ? s : NULL;
}

static void files(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	uint32_t count;
	const struct storm_sim_file *f = storm_sim_files(r->sim, i, &count);

	for (; n->files < count; n->files++)
		for (uint32_t k = 0; k < r->h.ops; k++)
			if (r->op[k].path[0] &&
			    !strcmp(r->op[k].path, f[n->files].path))
				ADD(r, .kind = HISTORY_SHOWN, .node = i,
				    .op = k + 1,
				    .value = f[n->files].size == r->op[k].size ?
				    digest(f[n->files].data,
					   f[n->files].size) : ~0ULL);
}

/* Whose value is this?  If nobody's, it is at least read. */
static void changed(struct recorder *r, uint32_t i, uint32_t place,
		    uint64_t value)
{
	for (uint32_t k = 0; k < r->h.ops; k++)
		if (r->h.op[k].writes && r->h.op[k].place == place &&
		    r->h.op[k].value == value) {
			ADD(r, .kind = HISTORY_SHOWN, .node = i, .op = k + 1,
			    .value = value);
			return;
		}
	ADD(r, .kind = HISTORY_READ, .node = i, .place = place,
	    .value = value);
}

/* A few words tell that something was written: data are random. */
static uint64_t sample(const uint8_t *p, size_t len)
{
	uint64_t a, b, c;

	memcpy(&a, p, 8);
	memcpy(&b, p + len / 16 * 8, 8);
	memcpy(&c, p + len - 8, 8);
	return a ^ b << 1 ^ c << 2;
}

static void memory(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	const struct nm_session *s = session(r, i);

	for (uint32_t v = 0; s && v < RECORDER_GLOBALS; v++)
		if (s->global[v] != n->global[v]) {
			n->global[v] = s->global[v];
			changed(r, i, PLACE_GLOBAL + v, n->global[v]);
		}
	for (uint32_t g = 0; g < RECORDER_SEGMENTS; g++) {
		size_t len = recorder_segment_len(g);
		uint64_t now = sample(n->memory[g], len);

		if (now != n->segment[g]) {
			n->segment[g] = now;
			changed(r, i, PLACE_SEGMENT + g,
				digest(n->memory[g], len));
		}
	}
}

static void events(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	uint32_t count;
	const struct storm_sim_seen *e = storm_sim_events(r->sim, i, &count);

	for (; n->events < count; n->events++) {
		const struct storm_sim_seen *seen = &e[n->events];
		uint32_t op = seen->event;
		const struct history_op *o;
		uint64_t value;

		if (!op || op > r->h.ops)
			continue;
		o = &r->h.op[op - 1];
		/* of a file there are no data with it */
		value = r->op[op - 1].path[0] ? o->value :
			seen->len == r->op[op - 1].size ?
			digest(seen->data, seen->len) : ~0ULL;
		/* a message is there when it is signalled */
		if (!o->writes)
			ADD(r, .kind = HISTORY_SHOWN, .node = i, .op = op,
			    .value = value);
		ADD(r, .kind = HISTORY_EVENT, .node = i, .op = op,
		    .value = value);
	}
}

static void staged(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	const struct nm_session *s = session(r, i);
	uint32_t op;

	if (!s)
		return;
	if (s->link.epoch != n->epoch) {
		n->epoch = s->link.epoch;
		ADD(r, .kind = HISTORY_EPOCH, .node = i, .epoch = n->epoch);
	}
	if (s->x.op == n->op && s->x.phase <= n->phase)
		return;
	/* on the way to ENDED it was STAGED, if it was committed */
	if (s->x.phase >= STORM_PHASE_STAGED &&
	    (s->x.op != n->op || n->phase < STORM_PHASE_STAGED) &&
	    s->x.decision != STORM_ABORT && !s->x.err) {
		op = numbered(r, s->x.op);
		if (op)
			ADD(r, .kind = HISTORY_STAGED, .node = i, .op = op);
	}
	n->op = s->x.op;
	n->phase = s->x.phase;
}

static void acked(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	const struct storm_idset *s = storm_sim_acked(r->sim, i, TASK_EXITED);

	for (uint32_t t = 0; t < TASKS && n->acked != (1u << TASKS) - 1; t++)
		if (!(n->acked >> t & 1) && storm_idset_has(s, i * TASKS + t)) {
			n->acked |= 1u << t;
			ADD(r, .kind = HISTORY_ACKED, .node = i,
			    .value = i * TASKS + t);
		}
}

/* -------------------------------------------------------------------- owner --- */

static void members(struct recorder *r, const struct storm_owner *o)
{
	if (o->link.epoch == r->epoch)
		return;
	r->epoch = o->link.epoch;
	for (uint32_t i = 0; i < r->h.nodes; i++) {
		bool out = storm_idset_has(&o->cast.excluded, i);

		if (out == r->node[i].out)
			continue;
		r->node[i].out = out;
		ADD(r, .kind = out ? HISTORY_EXCLUDED : HISTORY_JOINED,
		    .node = i, .epoch = r->epoch);
	}
}

/* What all have written they have, even if some are asked anew. */
static void window(struct recorder *r, const struct storm_owner *o,
		   const struct owner_xfer *x)
{
	uint64_t sent = x->sent * o->chunk;

	if (x->begin.op != r->sending)
		r->written = 0;
	r->sending = x->begin.op;
	if (x->progress > r->written)
		r->written = x->progress;
	if (sent > r->written + r->window)
		r->window = sent - r->written;
}

void recorder_owner(struct recorder *r)
{
	const struct storm_owner *o = storm_sim_owner(r->sim);
	const struct owner_xfer *x = o ? o->xfer : NULL;

	if (!o)
		return;
	members(r, o);
	if (x && x->begin.op && x->token)
		r->op[((const struct recorder_token *) x->token)->op -
		      1].number = x->begin.op;
	if (o->cast.decision && o->cast.op != r->decided) {
		uint32_t op = numbered(r, o->cast.op);

		r->decided = o->cast.op;
		if (op)
			ADD(r, .kind = HISTORY_DECIDED, .node = STORM_NO_NODE,
			    .op = op, .epoch = o->link.epoch,
			    .number = o->cast.op, .what = o->cast.decision);
	}
	if (x && x->state == XFER_SENDING)
		window(r, o, x);
}

/* ----------------------------------------------------------------- the watch --- */

/* Datagrams that this endpoint has believed. */
static uint64_t taken(const struct recorder *r, uint32_t node)
{
	const struct storm_owner *o = storm_sim_owner(r->sim);
	const struct storm_nm *nm;

	if (node == STORM_NO_NODE)
		return o ? o->link_stats.rx_datagrams : 0;
	nm = storm_sim_nm(r->sim, node);
	return nm ? nm->link_stats.rx_datagrams : 0;
}

static void before(void *arg, uint32_t node, uint32_t from)
{
	struct recorder *r = arg;

	if (from < r->h.nodes && r->node[from].out)
		*(node == STORM_NO_NODE ? &r->owner_taken :
		  &r->node[node].taken) = taken(r, node);
}

/* Was anything taken from a node that is excluded, as this one knows? */
static void fenced(struct recorder *r, uint32_t node, uint32_t from)
{
	uint64_t was = node == STORM_NO_NODE ? r->owner_taken :
					       r->node[node].taken;

	if (taken(r, node) != was)
		ADD(r, .kind = HISTORY_ACCEPTED, .node = node, .peer = from,
		    .epoch = node == STORM_NO_NODE ? r->epoch :
						     r->node[node].epoch);
}

static void after(void *arg, uint32_t node, uint32_t from)
{
	struct recorder *r = arg;

	if (node == STORM_NO_NODE) {
		recorder_owner(r);
	} else {
		staged(r, node);
		files(r, node);
		memory(r, node);
		events(r, node);
		acked(r, node);
	}
	if (from < r->h.nodes && r->node[from].out)
		fenced(r, node, from);
}

uint64_t recorder_read(struct recorder *r, uint32_t node, uint32_t place)
{
	const struct nm_session *s = session(r, node);
	uint64_t value = 0;

	if (place < PLACE_SEGMENT)
		value = s ? s->global[place - PLACE_GLOBAL] : 0;
	else if (place < PLACE_OWN)
		value = digest(r->node[node].memory[place - PLACE_SEGMENT],
			       recorder_segment_len(place - PLACE_SEGMENT));
	ADD(r, .kind = HISTORY_READ, .node = node, .place = place,
	    .value = value);
	return value;
}

/* ---------------------------------------------------------------------- all --- */

static void give_segments(struct recorder *r, uint32_t i)
{
	for (uint32_t g = 0; g < RECORDER_SEGMENTS; g++)
		storm_nm_segment(storm_sim_nm(r->sim, i), g,
				 r->node[i].memory[g],
				 recorder_segment_len(g));
}

void recorder_restarted(struct recorder *r, uint32_t node)
{
	struct recorder_node *n = &r->node[node];

	for (uint32_t g = 0; g < RECORDER_SEGMENTS; g++)
		memset(n->memory[g], 0, recorder_segment_len(g));
	memset(n->global, 0, sizeof(n->global));
	memset(n->segment, 0, sizeof(n->segment));
	n->op = n->phase = 0;
	n->epoch = 0;
	give_segments(r, node);
}

void recorder_init(struct recorder *r, struct storm_sim *sim, uint32_t nodes,
		   uint32_t places)
{
	memset(r, 0, sizeof(*r));
	r->sim = sim;
	history_init(&r->h, nodes, places, nodes * TASKS);
	r->node = calloc(nodes, sizeof(*r->node));
	if (!r->node)
		abort();
	for (uint32_t i = 0; i < nodes; i++) {
		for (uint32_t g = 0; g < RECORDER_SEGMENTS; g++) {
			r->node[i].memory[g] =
				calloc(1, recorder_segment_len(g));
			if (!r->node[i].memory[g])
				abort();
		}
		give_segments(r, i);
	}
	storm_sim_watch(sim, &(struct storm_sim_watch) { before, after, r });
}

void recorder_free(struct recorder *r)
{
	for (uint32_t i = 0; i < r->h.nodes; i++)
		for (uint32_t g = 0; g < RECORDER_SEGMENTS; g++)
			free(r->node[i].memory[g]);
	free(r->node);
	free(r->op);
	history_free(&r->h);
}
