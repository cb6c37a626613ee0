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
#include "sim_private.h"

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

/* The newest one, where an owner has just taken over. */
static const struct nm_session *session(const struct recorder *r, uint32_t i)
{
	const struct storm_nm *nm = storm_sim_nm(r->sim, i);
	const struct nm_session *s = nm ? nm->sessions : NULL;

	while (s && s->closing)
		s = s->next;
	return s && s->host.ready ? s : NULL;
}

bool recorder_member(const struct recorder *r, uint32_t node)
{
	const struct nm_session *s = session(r, node);

	return s && !s->member.outside;
}

/* It has heard that it is out, and has forgotten. */
static void left(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	const struct nm_session *s = session(r, i);

	if (n->member && s && s->member.outside) {
		memset(n->global, 0, sizeof(n->global));
		memset(n->segment, 0, sizeof(n->segment));
		ADD(r, .kind = HISTORY_LEFT, .node = i);
	}
	if (s)
		n->member = !s->member.outside;
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
		if (s->var.global[v] != n->global[v]) {
			n->global[v] = s->var.global[v];
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
	if (s->xfer.op == n->op && s->xfer.phase <= n->phase)
		return;
	/* on the way to ENDED it was STAGED, if it was committed */
	if (s->xfer.phase >= STORM_PHASE_STAGED &&
	    (s->xfer.op != n->op || n->phase < STORM_PHASE_STAGED) &&
	    s->xfer.decision != STORM_ABORT && !s->xfer.err) {
		op = numbered(r, s->xfer.op);
		if (op)
			ADD(r, .kind = HISTORY_STAGED, .node = i, .op = op);
	}
	n->op = s->xfer.op;
	n->phase = s->xfer.phase;
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

/* ------------------------------------------------------------------- owners --- */

static const struct storm_owner *owner_at(const struct recorder *r, uint32_t k)
{
	return k < r->sim->owners ?
	       storm_sim_endpoint(r->sim, r->h.nodes + k)->owner : NULL;
}

/* Of the cluster domain what was saved last is what holds. */
static void members(struct recorder *r)
{
	const struct storm_owner *o = owner_at(r, 0);
	const struct storm_idset *out;
	uint32_t epoch;

	if (r->cluster) {
		epoch = storm_sim_saved(r->sim, &out);
	} else if (o) {
		epoch = o->link.epoch;
		out = &o->cast.excluded;
	} else {
		return;
	}
	if (epoch == r->epoch)
		return;
	r->epoch = epoch;
	for (uint32_t i = 0; i < r->h.nodes; i++) {
		bool is_out = storm_idset_has(out, i);

		if (is_out == r->node[i].out)
			continue;
		r->node[i].out = is_out;
		r->node[i].lost = true;
		ADD(r, .kind = is_out ? HISTORY_EXCLUDED : HISTORY_JOINED,
		    .node = i, .epoch = epoch);
	}
}

/* What all have written they have, even if some are asked anew. */
static void window(struct recorder *r, uint32_t k, const struct storm_owner *o)
{
	const struct owner_xfer *x = o->operations.first;
	struct recorder_owner *mine = &r->owner[k];
	uint64_t sent = x->sent * o->data.chunk;

	if (x->begin.op != mine->sending)
		mine->written = 0;
	mine->sending = x->begin.op;
	if (x->progress > mine->written)
		mine->written = x->progress;
	if (sent > mine->written + r->window)
		r->window = sent - mine->written;
}

/* Once all members have answered a successor they are deaf to this one. */
static bool is_void(const struct recorder *r, uint32_t k)
{
	while (++k < r->sim->owners)
		if (r->owner[k].opened)
			return true;
	return false;
}

static void decided(struct recorder *r, uint32_t k, const struct storm_owner *o)
{
	uint32_t op = numbered(r, o->cast.op);

	if (!o->cast.decision || o->cast.op == r->owner[k].decided)
		return;
	r->owner[k].decided = o->cast.op;
	if (op && !is_void(r, k))
		ADD(r, .kind = HISTORY_DECIDED, .node = STORM_NO_NODE,
		    .peer = k, .op = op, .epoch = o->link.epoch,
		    .number = o->cast.op, .what = o->cast.decision);
}

static void one_owner(struct recorder *r, uint32_t k)
{
	const struct storm_owner *o = owner_at(r, k);
	const struct owner_xfer *x = o ? o->operations.first : NULL;

	if (!o)
		return;
	r->owner[k].opened |= o->phase == OWNER_OPEN;
	if (x && x->begin.op && x->token)
		r->op[((const struct recorder_token *) x->token)->op -
		      1].number = x->begin.op;
	decided(r, k, o);
	if (x && x->state == XFER_SENDING)
		window(r, k, o);
}

void recorder_owner(struct recorder *r)
{
	members(r);
	for (uint32_t k = 0; k < r->sim->owners; k++)
		one_owner(r, k);
}

/* ----------------------------------------------------------------- the watch --- */

/* Datagrams that this node has believed; those of an owner, which has to
 * listen to who wants to JOIN, count in a step domain alone. */
static uint64_t taken(const struct recorder *r, uint32_t node)
{
	const struct storm_owner *o = owner_at(r, 0);
	const struct storm_nm *nm;

	if (node >= r->h.nodes)
		return o && !r->cluster ? o->link_stats.rx_datagrams : 0;
	nm = storm_sim_nm(r->sim, node);
	return nm ? nm->link_stats.rx_datagrams : 0;
}

static uint64_t *taken_before(struct recorder *r, uint32_t node)
{
	return node >= r->h.nodes ? &r->owner[0].taken : &r->node[node].taken;
}

static void before(void *arg, uint32_t node, uint32_t from)
{
	struct recorder *r = arg;

	if (from < r->h.nodes && r->node[from].out)
		*taken_before(r, node) = taken(r, node);
}

/* Was anything taken from a node that is excluded, as this one knows? */
static void fenced(struct recorder *r, uint32_t node, uint32_t from)
{
	if (taken(r, node) != *taken_before(r, node))
		ADD(r, .kind = HISTORY_ACCEPTED, .node = node, .peer = from,
		    .epoch = node >= r->h.nodes ? r->epoch :
						  r->node[node].epoch);
}

static void after(void *arg, uint32_t node, uint32_t from)
{
	struct recorder *r = arg;

	r->turns++;
	if (node >= r->h.nodes) {
		recorder_owner(r);
	} else {
		left(r, node);
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
		value = s ? s->var.global[place - PLACE_GLOBAL] : 0;
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
	n->member = false;
	give_segments(r, node);
}

void recorder_init(struct recorder *r, struct storm_sim *sim, uint32_t nodes,
		   uint32_t places)
{
	memset(r, 0, sizeof(*r));
	r->sim = sim;
	r->cluster = sim->conf.cluster;
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
	storm_sim_watch(sim, &(struct storm_sim_watch) {
		.before = before, .after = after, .arg = r });
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
