/*
 * recorder.c - see recorder.h.  It reads what a node has staged and what the
 * owner has decided from their own structs (white box).  Everything else comes
 * from the callbacks of their hosts, and from the nodes' segments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "recorder.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/protocol/nm/nm_private.h"
#include "src/libstorm/protocol/owner/owner_private.h"
#include "src/storm_sim/engine/sim_private.h"

/* Room for data of one datagram, of some, of many. */
size_t recorder_segment_len(uint32_t segment)
{
	static const size_t len[RECORDER_SEGMENTS] = { 8, 4000,
						       RECORDER_SEGMENT_LEN };

	return len[segment];
}

/* FNV-1a over words.  The digest of zeroes is 0, the initial value of a
 * place. */
static uint64_t recorder_digest(const uint8_t *p, uint64_t len)
{
	uint64_t h = 0xcbf29ce484222325ULL, word, any = 0;

	for (uint64_t i = 0; i < len; i += 8) {
		word = 0;
		memcpy(&word, p + i, storm_min(len - i, 8));
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

uint32_t recorder_op(struct recorder *r, const struct history_op *o,
		     const struct recorder_op *data)
{
	struct history_op mine = *o;

	/* the value of bulk data is their digest; they are never all zero */
	if (!o->compare && data->size)
		mine.value = recorder_digest(data->data, data->size);
	if (r->h.ops == r->op_room) {
		r->op_room = r->op_room ? 2 * r->op_room : 16;
		r->op = realloc(r->op, r->op_room * sizeof(*r->op));
		if (!r->op)
			abort();
	}
	r->op[r->h.ops] = *data;
	return history_op(&r->h, &mine);
}

/* The value of the data that a node has received; normally the operation's. */
static uint64_t recorder_value(const struct recorder *r, uint32_t op,
			       const uint8_t *data, uint64_t len)
{
	const struct recorder_op *o = &r->op[op - 1];

	if (len != o->size)
		return ~0ULL;
	if (!len || data == o->data || !memcmp(data, o->data, len))
		return r->h.op[op - 1].value;
	return recorder_digest(data, len);
}

/* The operation with this owner's number.  0: none of ours. */
static uint32_t recorder_numbered(const struct recorder *r, uint64_t number)
{
	for (uint32_t i = r->h.ops; number && i--;)
		if (r->op[i].number == number)
			return i + 1;
	return 0;
}

/* -------------------------------------------------------------------- nodes --- */

/* The node's newest session: after a takeover it may have two. */
static const struct nm_session *recorder_session(const struct recorder *r,
						 uint32_t i)
{
	const struct storm_nm *nm = storm_sim_nm(r->sim, i);
	const struct nm_session *s = nm ? nm->sessions : NULL;

	while (s && s->closing)
		s = s->next;
	return s && s->host.ready ? s : NULL;
}

bool recorder_member(const struct recorder *r, uint32_t node)
{
	const struct nm_session *s = recorder_session(r, node);

	return s && !s->member.outside;
}

static void recorder_forget(struct recorder_node *n)
{
	memset(n->global, 0, sizeof(n->global));
	memset(n->segment, 0, sizeof(n->segment));
	memset(n->writer, 0, sizeof(n->writer));
}

/* The node has learned that it is excluded, and has dropped its state. */
static void recorder_left(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	const struct nm_session *s = recorder_session(r, i);

	if (n->member && s && s->member.outside) {
		recorder_forget(n);
		RECORD(r, .kind = HISTORY_LEFT, .node = i);
	}
	if (s)
		n->member = !s->member.outside;
}

static void recorder_files(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	uint32_t count;
	const struct storm_sim_file *f = storm_sim_files(r->sim, i, &count);

	for (; n->files < count; n->files++) {
		const struct storm_sim_file *one = &f[n->files];
		uint32_t op = r->h.ops;

		while (op && strcmp(r->op[op - 1].path, one->path))
			op--;
		RECORD(r, .kind = HISTORY_SHOWN, .node = i, .op = op,
		       .value = op ? recorder_value(r, op, one->data,
						    one->size) :
				     0);
	}
}

static bool recorder_writes(const struct recorder *r, uint32_t op,
			    uint32_t place, uint64_t value)
{
	const struct history_op *o = &r->h.op[op - 1];

	return o->writes && o->place == place && o->value == value;
}

/* The operation that has written this value.  0: none.  If several have the
 * same value: the first committed one after those that the node has shown
 * there. */
static uint32_t recorder_writer(const struct recorder *r, uint32_t i,
				uint32_t place, uint64_t value)
{
	uint32_t op;

	for (op = r->node[i].writer[place] + 1; op <= r->h.ops; op++)
		if (r->op[op - 1].committed &&
		    recorder_writes(r, op, place, value))
			return op;
	for (op = r->h.ops; op && !recorder_writes(r, op, place, value);)
		op--;
	return op;
}

/* If no operation has written the value, record it as read. */
static void recorder_changed(struct recorder *r, uint32_t i, uint32_t place,
			     uint64_t value)
{
	uint32_t op = recorder_writer(r, i, place, value);

	if (op)
		r->node[i].writer[place] = op;
	RECORD(r, .kind = op ? HISTORY_SHOWN : HISTORY_READ, .node = i,
	       .op = op, .place = place, .value = value);
}

/* A few words show that something was written, because data are random. */
static uint64_t recorder_sample(const uint8_t *p, size_t len)
{
	uint64_t a, b, c;

	memcpy(&a, p, 8);
	memcpy(&b, p + len / 16 * 8, 8);
	memcpy(&c, p + len - 8, 8);
	return a ^ b << 1 ^ c << 2;
}

static void recorder_memory(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	const struct nm_session *s = recorder_session(r, i);

	for (uint32_t v = 0; s && v < STORM_GLOBALS; v++)
		if (s->var.global[v] != n->global[v]) {
			n->global[v] = s->var.global[v];
			recorder_changed(r, i, PLACE_GLOBAL + v, n->global[v]);
		}
	for (uint32_t g = 0; r->conf.segments && g < RECORDER_SEGMENTS; g++) {
		size_t len = recorder_segment_len(g);
		uint64_t now = recorder_sample(n->memory[g], len);

		if (now != n->segment[g]) {
			n->segment[g] = now;
			recorder_changed(r, i, PLACE_SEGMENT + g,
					 recorder_digest(n->memory[g], len));
		}
	}
}

static void recorder_events(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	uint32_t count;
	const struct storm_sim_seen *e = storm_sim_events(r->sim, i, &count);

	for (; n->events < count; n->events++) {
		const struct storm_sim_seen *seen = &e[n->events];
		uint32_t op = seen->event;
		const struct history_op *o;
		uint64_t value;
		bool file;

		if (!op || op > r->h.ops) {
			RECORD(r, .kind = HISTORY_EVENT, .node = i);
			continue;
		}
		o = &r->h.op[op - 1];
		file = r->op[op - 1].path[0];
		/* the event of a file has no data */
		value = file ? o->value :
			       recorder_value(r, op, seen->data, seen->len);
		/* a message is shown when it is signalled */
		if (!o->writes && !file)
			RECORD(r, .kind = HISTORY_SHOWN, .node = i, .op = op,
			       .value = value);
		RECORD(r, .kind = HISTORY_EVENT, .node = i, .op = op,
		       .value = value);
		if (r->conf.signalled)
			r->conf.signalled(r->conf.arg, i, op);
	}
}

static void recorder_staged(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	const struct nm_session *s = recorder_session(r, i);
	uint32_t op;

	if (!s)
		return;
	if (s->link.epoch != n->epoch) {
		n->epoch = s->link.epoch;
		RECORD(r, .kind = HISTORY_EPOCH, .node = i, .epoch = n->epoch);
	}
	if (s->xfer.op == n->op && s->xfer.phase <= n->phase)
		return;
	/* if it was committed, it was STAGED before ENDED */
	if (s->xfer.phase >= STORM_PHASE_STAGED &&
	    (s->xfer.op != n->op || n->phase < STORM_PHASE_STAGED) &&
	    s->xfer.decision != STORM_ABORT && !s->xfer.err) {
		op = recorder_numbered(r, s->xfer.op);
		if (op)
			RECORD(r, .kind = HISTORY_STAGED, .node = i, .op = op);
	}
	n->op = s->xfer.op;
	n->phase = s->xfer.phase;
}

/* ------------------------------------------------------------------ reports --- */

/* The id of a report in the history, and its bit in the node's masks. */
static uint64_t recorder_id(const struct recorder *r, uint8_t kind, uint32_t id)
{
	const struct recorder_conf *c = &r->conf;
	uint64_t ids = (uint64_t) r->h.nodes * c->each;

	return kind < c->kind || kind >= c->kind + c->kinds || id >= ids ?
		       r->h.ids :
		       (kind - c->kind) * ids + id;
}

static uint64_t recorder_bit(const struct recorder *r, uint8_t kind,
			     uint32_t id)
{
	return 1ULL << ((uint32_t) (kind - r->conf.kind) * r->conf.each +
			id % r->conf.each);
}

void recorder_reported(struct recorder *r, uint32_t node, uint8_t kind,
		       uint32_t id)
{
	r->node[node].reported |= recorder_bit(r, kind, id);
	RECORD(r, .kind = HISTORY_REPORTED, .node = node,
	       .value = recorder_id(r, kind, id));
}

void recorder_heard(struct recorder *r, const struct storm_report *rep)
{
	for (uint32_t i = 0; i < rep->ids.count; i++)
		for (uint64_t k = rep->ids.r[i].first; k <= rep->ids.r[i].last;
		     k++)
			RECORD(r, .kind = HISTORY_HEARD, .node = STORM_NO_NODE,
			       .value =
				       recorder_id(r, rep->kind, (uint32_t) k));
}

static void recorder_acked(struct recorder *r, uint32_t i)
{
	struct recorder_node *n = &r->node[i];
	uint32_t first = i * r->conf.each, end = first + r->conf.each;

	for (uint8_t kind = r->conf.kind; kind < r->conf.kind + r->conf.kinds;
	     kind++) {
		const struct storm_idset *s = storm_sim_acked(r->sim, i, kind);

		for (uint32_t id = first; s->count && id < end; id++) {
			uint64_t bit = recorder_bit(r, kind, id);

			if (n->acked & bit || !storm_idset_has(s, id))
				continue;
			n->acked |= bit;
			RECORD(r, .kind = HISTORY_ACKED, .node = i,
			       .value = recorder_id(r, kind, id));
		}
	}
}

/* ------------------------------------------------------------------- owners --- */

static const struct storm_owner *recorder_owner_at(const struct recorder *r,
						   uint32_t k)
{
	return k < r->sim->owners ?
		       storm_sim_endpoint(r->sim, r->h.nodes + k)->owner :
		       NULL;
}

/* In the cluster domain the members are those that were saved last. */
static void recorder_members(struct recorder *r)
{
	const struct storm_owner *o = recorder_owner_at(r, 0);
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
		RECORD(r, .kind = is_out ? HISTORY_EXCLUDED : HISTORY_JOINED,
		       .node = i, .epoch = epoch);
	}
}

/* Bytes that all have written stay written, even if some nodes are asked
 * again. */
static void recorder_window(struct recorder *r, uint32_t k,
			    const struct storm_owner *o)
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

/* True once all members have answered a successor: they ignore this owner. */
static bool recorder_is_void(const struct recorder *r, uint32_t k)
{
	while (++k < r->sim->owners)
		if (r->owner[k].opened)
			return true;
	return false;
}

static void recorder_decided(struct recorder *r, uint32_t k,
			     const struct storm_owner *o)
{
	uint32_t op = recorder_numbered(r, o->cast.op);

	if (!o->cast.decision || o->cast.op == r->owner[k].decided)
		return;
	r->owner[k].decided = o->cast.op;
	if (op && o->cast.decision == STORM_COMMIT)
		r->op[op - 1].committed = true;
	for (uint32_t i = 0; op && r->h.op[op - 1].each && i < r->h.nodes; i++)
		if (o->cast.p.count && history_in(&r->h.op[op - 1], i) &&
		    !storm_idset_has(&o->cast.p, i))
			RECORD(r, .kind = HISTORY_BEHIND, .node = i, .op = op);
	if (op && !recorder_is_void(r, k))
		RECORD(r, .kind = HISTORY_DECIDED, .node = STORM_NO_NODE,
		       .peer = k, .op = op, .epoch = o->link.epoch,
		       .number = o->cast.op, .what = o->cast.decision);
}

static void recorder_one_owner(struct recorder *r, uint32_t k)
{
	const struct storm_owner *o = recorder_owner_at(r, k);
	const struct owner_xfer *x = o ? o->operations.first : NULL;

	if (!o)
		return;
	r->owner[k].opened |= o->phase == OWNER_OPEN;
	if (x && x->begin.op && x->token)
		r->op[((const struct recorder_token *) x->token)->op - 1]
			.number = x->begin.op;
	recorder_decided(r, k, o);
	if (x && x->state == XFER_SENDING)
		recorder_window(r, k, o);
}

void recorder_owner(struct recorder *r)
{
	recorder_members(r);
	for (uint32_t k = 0; k < r->sim->owners; k++)
		recorder_one_owner(r, k);
}

/* ----------------------------------------------------------------- the watch --- */

/* The number of datagrams that this node has accepted.  An owner of the cluster
 * domain must accept JOIN from non-members, so this counts an owner's in a step
 * domain only. */
static uint64_t recorder_taken(const struct recorder *r, uint32_t node)
{
	const struct storm_owner *o = recorder_owner_at(r, 0);
	const struct storm_nm *nm;

	if (node >= r->h.nodes)
		return o && !r->cluster ? o->link_stats.rx_datagrams : 0;
	nm = storm_sim_nm(r->sim, node);
	return nm ? nm->link_stats.rx_datagrams : 0;
}

static uint64_t *recorder_taken_before(struct recorder *r, uint32_t node)
{
	return node >= r->h.nodes ? &r->owner[0].taken : &r->node[node].taken;
}

static void recorder_before(void *arg, uint32_t node, uint32_t from)
{
	struct recorder *r = arg;

	if (from < r->h.nodes && r->node[from].out)
		*recorder_taken_before(r, node) = recorder_taken(r, node);
}

/* Record it if this node accepted a datagram from a node that it knows is
 * excluded. */
static void recorder_fenced(struct recorder *r, uint32_t node, uint32_t from)
{
	if (recorder_taken(r, node) != *recorder_taken_before(r, node))
		RECORD(r, .kind = HISTORY_ACCEPTED, .node = node, .peer = from,
		       .epoch = node >= r->h.nodes ? r->epoch :
						     r->node[node].epoch);
}

static void recorder_after(void *arg, uint32_t node, uint32_t from)
{
	struct recorder *r = arg;

	r->turns++;
	if (node >= r->h.nodes) {
		recorder_owner(r);
	} else {
		recorder_left(r, node);
		recorder_staged(r, node);
		recorder_files(r, node);
		recorder_memory(r, node);
		recorder_events(r, node);
		recorder_acked(r, node);
	}
	if (from < r->h.nodes && r->node[from].out)
		recorder_fenced(r, node, from);
}

uint64_t recorder_read(struct recorder *r, uint32_t node, uint32_t place)
{
	const struct nm_session *s = recorder_session(r, node);
	uint64_t value = 0;

	if (place < PLACE_SEGMENT)
		value = s ? s->var.global[place - PLACE_GLOBAL] : 0;
	else if (place < PLACE_OWN)
		value = recorder_digest(
			r->node[node].memory[place - PLACE_SEGMENT],
			recorder_segment_len(place - PLACE_SEGMENT));
	RECORD(r, .kind = HISTORY_READ, .node = node, .place = place,
	       .value = value);
	return value;
}

/* ---------------------------------------------------------------------- all --- */

bool recorder_settled(const struct recorder *r, uint32_t node)
{
	const struct recorder_node *n = &r->node[node];

	return n->out || (!n->broken && n->acked == n->reported);
}

bool recorder_closed(const struct recorder *r)
{
	for (uint32_t i = 0; i < r->h.nodes; i++)
		if ((!r->cluster && storm_sim_session(r->sim, i)) ||
		    storm_sim_temporaries(r->sim, i))
			return false;
	return true;
}

void recorder_end(struct recorder *r)
{
	for (uint32_t i = 0; i < r->h.nodes; i++) {
		/* in the cluster domain nodes keep the session for the next
		 * owner */
		if (!r->cluster && storm_sim_session(r->sim, i))
			RECORD(r, .kind = HISTORY_KEPT, .node = i,
			       .what = HISTORY_SESSION);
		if (storm_sim_temporaries(r->sim, i))
			RECORD(r, .kind = HISTORY_KEPT, .node = i,
			       .what = HISTORY_TEMPORARY);
	}
	RECORD(r, .kind = HISTORY_WINDOW, .value = r->window);
	RECORD(r, .kind = HISTORY_FORGED, .value = storm_sim_answers(r->sim));
}

static void recorder_give_segments(struct recorder *r, uint32_t i)
{
	for (uint32_t g = 0; r->conf.segments && g < RECORDER_SEGMENTS; g++)
		storm_nm_segment(storm_sim_nm(r->sim, i), g,
				 r->node[i].memory[g], recorder_segment_len(g));
}

void recorder_restarted(struct recorder *r, uint32_t node)
{
	struct recorder_node *n = &r->node[node];

	for (uint32_t g = 0; r->conf.segments && g < RECORDER_SEGMENTS; g++)
		memset(n->memory[g], 0, recorder_segment_len(g));
	recorder_forget(n);
	n->op = n->phase = 0;
	n->epoch = 0;
	n->member = false;
	recorder_give_segments(r, node);
}

void recorder_init(struct recorder *r, struct storm_sim *sim,
		   const struct recorder_conf *conf)
{
	uint32_t nodes = sim->conf.nodes;

	memset(r, 0, sizeof(*r));
	r->sim = sim;
	r->conf = *conf;
	r->cluster = sim->conf.cluster;
	history_init(&r->h, nodes, PLACES, nodes * conf->kinds * conf->each);
	r->node = calloc(nodes, sizeof(*r->node));
	if (!r->node)
		abort();
	for (uint32_t i = 0; i < nodes; i++) {
		for (uint32_t g = 0; conf->segments && g < RECORDER_SEGMENTS;
		     g++) {
			r->node[i].memory[g] =
				calloc(1, recorder_segment_len(g));
			if (!r->node[i].memory[g])
				abort();
		}
		recorder_give_segments(r, i);
	}
	storm_sim_watch(sim,
			&(struct storm_sim_watch) { .before = recorder_before,
						    .after = recorder_after,
						    .arg = r });
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
