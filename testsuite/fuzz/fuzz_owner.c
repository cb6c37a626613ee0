/*
 * fuzz_owner.c - the owner's entry for datagrams, from the OPEN on: a head and
 * commands, see world.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "src/libstorm/protocol/owner/owner_private.h"
#include "world.h"

#define COMMANDS 200
#define XFERS 32

/* OWNED_XFER, OWNED_COMPARE: how */
#define TO_FILE 0x1
#define WRITES 0x1
#define TO_SEGMENT 0x2
#define GLOBAL 0x2
#define SOME 0x4 /* not to all nodes */

struct owned {
	struct storm_transport transport; /* first */
	struct storm_owner *o;
	struct sealer *sealer;
	uint64_t now;
	uint8_t xfer[XFERS]; /* 1: pending, 2: forgotten, 3: done */
	uint32_t xfers;
	bool answered, sends_fail, saves_fail;
	uint32_t saved; /* epoch */
	uint32_t comparing, gathering;
	uint64_t version;
};

static const uint8_t bytes[1 << 16];

/* ------------------------------------------------------- the owner's own side --- */

static int net_send(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	struct owned *w = (struct owned *) t;

	(void) c;
	must(to->port);
	must_be_datagrams(buf, len, seg, w->o->link.session);
	return w->sends_fail ? -EAGAIN : 0;
}

static int net_stream(struct storm_transport *t, const struct storm_addr *to,
		      uint64_t session, uint32_t node, const void *buf,
		      size_t len)
{
	must(t && to->port && session && node < WORLD_NODES && buf && len);
	return 0;
}

static void net_drop_streams(struct storm_transport *t, uint64_t session)
{
	must(session == ((struct owned *) t)->o->link.session);
}

static size_t net_mtu(struct storm_transport *t)
{
	(void) t;
	return 1472;
}

static const struct storm_transport_ops net = {
	.name = "fuzz",
	.send = net_send,
	.send_stream = net_stream,
	.drop_streams = net_drop_streams,
	.mtu = net_mtu,
};

static void must_be_faults(struct owned *w, struct storm_outcome *out)
{
	must(out->faults_kept == out->nfaults);
	for (uint32_t i = 0; i < out->faults_kept; i++) {
		must(out->faults[i].node < w->o->conf.count ||
		     out->faults[i].node == STORM_NO_NODE);
		must(out->faults[i].why > STORM_OK &&
		     out->faults[i].why < STORM_ERROR_END);
	}
	storm_outcome_clear(out);
}

static void opened(void *arg, struct storm_outcome *out)
{
	struct owned *w = arg;

	must(!w->answered);
	w->answered = true;
	must((out->state == STORM_DONE) == !out->nfaults);
	must_be_faults(w, out);
}

static void xfer_done(void *arg, void *token, struct storm_outcome *out)
{
	uint8_t *x = token;

	must(*x == 1 && out->state != STORM_PENDING);
	*x = 3;
	must_be_faults(arg, out);
}

static void compare_done(void *arg, void *token, enum storm_compare result,
			 struct storm_outcome *out)
{
	struct owned *w = arg;

	must(token == &w->comparing && w->comparing && result <= STORM_FAILED);
	w->comparing--;
	must_be_faults(w, out);
}

static void gathered(void *arg, void *token, struct storm_gathered *table,
		     struct storm_outcome *out)
{
	struct owned *w = arg;

	must(token == &w->gathering && w->gathering);
	w->gathering--;
	must(out->state == STORM_DONE ||
	     (out->state == STORM_ABORTED && !table->count));
	must(out->nfaults == storm_idset_size(&table->missing));
	must(table->bytes <= STORM_GATHER_BYTES);
	for (uint32_t i = 0; i < table->count; i++) {
		must_be_set(&table->entry[i].nodes, w->o->conf.count - 1);
		for (uint32_t k = 0; k < table->missing.count; k++)
			must(!storm_idset_has(&table->entry[i].nodes,
					      table->missing.r[k].first));
	}
	storm_gathered_clear(table);
	must_be_faults(w, out);
}

static void reported(void *arg, const struct storm_report *r)
{
	must(arg && r->kind < STORM_REPORT_KINDS && r->ids.count);
	must_be_set(&r->ids, UINT32_MAX - 1);
}

static void fault(void *arg, const struct storm_fault *f)
{
	must(f->node < ((struct owned *) arg)->o->conf.count);
}

static int save(void *arg, uint32_t was, uint32_t epoch,
		const struct storm_idset *excluded)
{
	struct owned *w = arg;

	must(was == w->saved && epoch > was);
	if (w->o)
		must_be_set(excluded, w->o->conf.count - 1);
	if (!w->saves_fail)
		w->saved = epoch;
	return w->saves_fail;
}

static void joined(void *arg, uint32_t node)
{
	must(node < ((struct owned *) arg)->o->conf.count);
}

static const struct storm_owner_ops ops = {
	.joined = joined,
	.opened = opened,
	.xfer_done = xfer_done,
	.compare_done = compare_done,
	.gathered = gathered,
	.report = reported,
	.fault = fault,
};

/* ------------------------------------------------------------------ commands --- */

/* With SOME, two of the nodes; NULL: all of them. */
static const struct storm_idset *set_of(struct owned *w, uint8_t how,
					struct storm_idset *s)
{
	uint32_t first = how % w->o->conf.count;
	uint32_t second = (how >> 4) % w->o->conf.count;

	if (!(how & SOME))
		return NULL;
	must(!storm_idset_add(s, first, first) &&
	     !storm_idset_add(s, second, second));
	return s;
}

static void xfer(struct owned *w, uint8_t how, uint64_t len)
{
	struct storm_target to = { .path = "/tmp/x" };
	struct storm_idset p = { 0 };
	uint8_t *x = &w->xfer[w->xfers];

	if (w->xfers == XFERS)
		return;
	to.kind = how & TO_SEGMENT ? STORM_TARGET_SEGMENT :
		  how & TO_FILE	   ? STORM_TARGET_FILE :
				     STORM_TARGET_MEMORY;
	*x = 1;
	w->xfers++;
	if (storm_owner_xfer(w->o, set_of(w, how, &p), &to, bytes, len, x,
			     w->now))
		*x = 0;
	storm_idset_clear(&p);
}

static void compare(struct owned *w, uint8_t var, uint8_t how, uint8_t value)
{
	struct storm_assign write = { STORM_GLOBAL(value % 4), value };
	struct storm_idset p = { 0 };
	uint32_t which = how & GLOBAL ? STORM_GLOBAL(var % STORM_GLOBALS) :
					var % STORM_VARS;

	w->comparing++;
	if (storm_owner_compare(
		    w->o, set_of(w, how, &p), which, var % (STORM_NE + 1u),
		    value, how & WRITES ? &write : NULL, &w->comparing, w->now))
		w->comparing--;
	storm_idset_clear(&p);
}

static void gather(struct owned *w, uint8_t how, uint8_t limit)
{
	struct storm_idset p = { 0 };

	w->gathering++;
	if (storm_owner_gather(w->o, set_of(w, how, &p), bytes, how,
			       limit * 10 * STORM_MS, &w->gathering, w->now))
		w->gathering--;
	storm_idset_clear(&p);
}

static void forget(struct owned *w, uint8_t which)
{
	uint8_t *x = &w->xfer[which % XFERS];

	if (*x != 1)
		return;
	*x = 2;
	storm_owner_forget(w->o, x, w->now);
}

static void datagram(struct owned *w, struct storm_rx *rx)
{
	storm_owner_datagrams(w->o, rx, 1, w->now);
	free(rx->buf);
}

/* Without this a domain would open only by luck. ill: it reports a fault, and
 * comes from a node that has missed something. */
static void status(struct owned *w, struct storm_in *script, bool ill)
{
	uint8_t child = storm_get8(script), phase = storm_get8(script);
	uint8_t flags = storm_get8(script);
	struct storm_owner *o = w->o;
	struct storm_status s = {
		.version = ++w->version,
		.op = o->cast.op,
		.phase = phase % 4u,
		.flags = flags,
		.progress = phase % 4u >= STORM_PHASE_STAGED ? UINT64_MAX : 0,
		.floor = o->cast.floor,
		.cmp = o->cast.cmp,
		.mtu = 1472,
		.seen = o->cast.version,
	};
	struct storm_header h = { .type = STORM_MSG_STATUS,
				  .epoch = o->link.epoch,
				  .op = s.op };
	uint8_t body[STORM_DATAGRAM_MAX];
	struct storm_rx rx;
	uint32_t sender;
	size_t len;

	if (s.flags & STORM_STATUS_JOIN)
		sender = child % o->conf.count;
	else if (o->children)
		sender = o->child[child % o->children].node;
	else
		return;
	if (o->phase < OWNER_OPEN && o->open->has_begin)
		s.op = o->open->begin.op;
	s.last = s.op;
	if (flags & 0x80)
		must(!storm_idset_add(&s.fresh, sender, sender));
	if (ill) {
		uint32_t node = storm_get8(script) % o->conf.count;
		uint8_t err = 1 + storm_get8(script) % (STORM_ERROR_END - 1);

		storm_status_fault(&s, node, err, 0);
		s.seen -= storm_get8(script);
		s.lost = 16 * storm_get8(script);
	}
	len = storm_status_pack(&s, body, sizeof(body));
	must(len);
	storm_status_free(&s);
	sealer_make(w->sealer, sender, flags & 0x40 ? HOW_LIFE : 0, &h, body,
		    len, &rx);
	datagram(w, &rx);
}

static void step(struct owned *w, struct storm_in *script)
{
	struct storm_rx rx;
	uint8_t a, b;

	switch (storm_get8(script) % OWNED_COMMANDS) {
	case OWNED_SEALED:
		sealer_next(w->sealer, script, w->o->conf.count, &rx);
		datagram(w, &rx);
		break;
	case OWNED_RAW:
		raw_next(script, w->o->link.session, &rx);
		datagram(w, &rx);
		break;
	case OWNED_TIME:
		w->now += storm_get16(script) * STORM_MS;
		must(storm_owner_tick(w->o, w->now) > 0);
		break;
	case OWNED_WELL:
		status(w, script, false);
		break;
	case OWNED_XFER:
		a = storm_get8(script);
		xfer(w, a, storm_get16(script));
		break;
	case OWNED_COMPARE:
		a = storm_get8(script);
		b = storm_get8(script);
		if (a > 240)
			gather(w, b, storm_get8(script));
		else
			compare(w, a, b, storm_get8(script));
		break;
	case OWNED_FORGET:
		forget(w, storm_get8(script));
		break;
	case OWNED_FAILED:
		a = storm_get8(script);
		storm_owner_stream_failed(w->o, w->o->link.session, a,
					  1 + storm_get8(script) %
							  (STORM_ERROR_END - 1),
					  0, w->now);
		break;
	case OWNED_TROUBLE:
		a = storm_get8(script);
		w->sends_fail = a & 2;
		w->saves_fail = a & 4;
		break;
	case OWNED_ILL:
		status(w, script, true);
	}
}

/* -------------------------------------------------------------------- domain --- */

static void start(struct owned *w, struct storm_in *head)
{
	static struct sealer sealer;
	static const struct storm_addr self = { .port = 8383 };
	static struct storm_range first_node = { 0, 0 };
	static const struct storm_idset out = { &first_node, 1, 1 };
	struct storm_node nodes[WORLD_NODES] = { 0 };
	struct storm_domain_conf conf = { .nodes = nodes };
	uint8_t flags;
	uint64_t first;
	int err;

	world_init();
	memset(w, 0, sizeof(*w));
	w->transport.ops = &net;
	w->now = 1000 * STORM_SEC;
	w->sealer = &sealer;
	storm_settings_default(&conf.set);
	conf.count = 1 + storm_get8(head) % WORLD_NODES;
	conf.set.radix = 2 + storm_get8(head) % 63u;
	flags = storm_get8(head);
	conf.set.multicast = flags & OWNED_MULTICAST;
	if (flags & OWNED_NARROW)
		conf.set.window = 65536;
	if (flags & OWNED_RATE) {
		conf.set.rate = 1000000;
		conf.authority = bytes;
		conf.authority_len = 100;
	}
	if (flags & OWNED_CLUSTER) {
		conf.cluster = 5;
		conf.save = save;
		conf.arg = w;
		if (flags & OWNED_TAKES) {
			conf.epoch = w->saved = 7;
			conf.excluded = &out;
		}
	}
	for (uint32_t i = 0; i < conf.count; i++) {
		nodes[i].name = "n";
		nodes[i].addr.port = 8383;
	}
	w->o = storm_owner_create(&conf, &w->transport, &self, &ops, w, &err);
	must(w->o);
	first = storm_get8(head) * 1024u;
	if (first)
		xfer(w, flags & OWNED_TO_FILE ? TO_FILE : 0,
		     first > sizeof(bytes) ? sizeof(bytes) : first);
	must(!storm_owner_open(w->o, w->now));
	sealer_set(&sealer, world_payload, w->o->link.session);
	sealer.epoch = w->o->link.epoch;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	struct owned w;

	start(&w, &i);
	for (int n = 0; n < COMMANDS && i.p < i.end && !i.bad; n++)
		step(&w, &i);
	storm_owner_close(w.o, w.now);
	for (uint32_t n = 0; n < w.xfers; n++)
		must(w.xfer[n] != 1);
	must(!w.comparing && !w.gathering);
	storm_owner_destroy(w.o);
	return 0;
}
