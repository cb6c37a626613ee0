/*
 * verbs.c - the verbs transport: which way a datagram takes, and the poll loop.
 *
 * A datagram goes by verbs as long as there is a port that works, and the peer
 * answers there; else by UDP, where the settings allow it.  Nobody above notices
 * but by the counters and one line of log.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "seal.h"
#include "verbs_private.h"

#define EVENTS_PER_POLL 16
#define TICK_FAST (50 * STORM_MS)	/* somebody is being asked */
#define TICK_SLOW (2 * STORM_SEC)
#define OWNER_PORTS 8			/* tries */

void storm_verbs_say(struct storm_verbs *v, const char *fmt, ...)
{
	enum storm_log_level level = v->set.transport_fallback || v->data ?
				     STORM_LOG_WARN : STORM_LOG_ERROR;
	char msg[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	storm_log(v->retrying ? STORM_LOG_DEBUG : level, "%s", msg);
}

void storm_verbs_break(struct storm_verbs *v)
{
	v->broken = true;
}

int storm_verbs_watch(struct storm_verbs *v, int fd, enum verbs_fd which)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = which };

	return epoll_ctl(v->epfd, EPOLL_CTL_ADD, fd, &ev);
}

bool storm_verbs_working(const struct storm_verbs *v)
{
	return v->up && !v->port_down && !v->broken;
}

/* Be polled again without waiting. */
static void again(struct storm_verbs *v)
{
	uint64_t one = 1;

	if (!v->again_on)
		v->again_on = write(v->again, &one, sizeof(one)) > 0;
}

/* ------------------------------------------------------------------ timer */

static void set_timer(struct storm_verbs *v, uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t) (ns / STORM_SEC),
			       .tv_nsec = (long) (ns % STORM_SEC) };
	struct itimerspec when = { .it_value = ts, .it_interval = ts };

	timerfd_settime(v->timer, 0, &when, NULL);
}

void storm_verbs_timer(struct storm_verbs *v)
{
	if (!v->timer_on)
		set_timer(v, TICK_FAST);
	v->timer_on = true;
}

/* --------------------------------------------------------------- sending */

int storm_verbs_send_udp(struct storm_verbs *v, enum storm_class c,
			 const struct storm_addr *to, const void *buf,
			 size_t len, size_t seg)
{
	int rc;

	if (v->data)
		return -EHOSTUNREACH;	/* the data rail goes on with it */
	if (!v->set.transport_fallback) {
		v->stats.send_errors++;
		return -EHOSTUNREACH;
	}
	rc = v->by_udp->ops->send(v->by_udp, c, to, buf, len, seg);
	if (!rc)
		v->stats.udp_tx_datagrams += (len + seg - 1) / seg;
	return rc;
}

/* By a reliable pair, as far as there is one that has room: the bytes.  None,
 * where the rest would have no room: a send is taken whole or not at all. */
static size_t send_pair(struct storm_verbs *v, enum storm_class c,
			struct verbs_peer *p, const void *buf, size_t len,
			size_t seg)
{
	size_t datagrams = (len + seg - 1) / seg, room;
	ssize_t n;

	if (!v->rc || !p)
		return 0;
	room = storm_rc_room(v->rc, c, &p->at);
	if (room && room < datagrams &&
	    !storm_verbs_has_room(v, c, datagrams - room))
		return 0;
	n = storm_rc_send(v->rc, c, &p->at, buf, len, seg);
	if (n <= 0)
		return 0;
	/* were there nobody any more, the pair would tell */
	p->heard = v->now;
	return (size_t) n;
}

/* Where it goes by verbs: 0, or -EAGAIN where that is not known yet, or
 * -EHOSTUNREACH: not by verbs. */
static int find_dest(struct storm_verbs *v, enum storm_class c,
		     const struct storm_addr *to, size_t seg,
		     struct verbs_dest *d, struct verbs_peer **peer)
{
	struct verbs_peer *p;

	*peer = NULL;
	if (!storm_verbs_working(v) || seg > v->port.mtu)
		return -EHOSTUNREACH;
	if (storm_verbs_is_group(to))
		return storm_verbs_group_dest(v, to, c, d) ? 0 : -EHOSTUNREACH;
	*peer = p = storm_verbs_peer(v, to);
	if (p && p->state == VERBS_ASKING)
		return -EAGAIN;
	if (!p || p->state != VERBS_KNOWN || seg > p->hello.mtu)
		return -EHOSTUNREACH;
	*d = (struct verbs_dest) { .ah = p->ah[c], .qpn = p->hello.qpn[c],
				   .qkey = p->hello.qkey };
	return 0;
}

/* Posted, or kept for a peer that is being asked for, or by UDP; -EAGAIN: there
 * is no room. */
static int send_now(struct storm_verbs *v, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	struct verbs_peer *peer;
	struct verbs_dest d;
	size_t taken;
	int rc = find_dest(v, c, to, seg, &d, &peer);

	if (rc == -EHOSTUNREACH)
		return storm_verbs_send_udp(v, c, to, buf, len, seg);
	if (rc == -EAGAIN) {
		/* an owner has it, and is woken by the answer */
		if (c == STORM_BULK && v->role == STORM_ROLE_OWNER)
			return rc;
		return storm_verbs_peer_keep(v, peer, c, buf, len, seg);
	}
	taken = send_pair(v, c, peer, buf, len, seg);
	if (taken == len)
		return 0;
	rc = storm_verbs_post(v, c, &d, (const uint8_t *) buf + taken,
			      len - taken, seg);
	if (!rc && storm_verbs_is_group(to))
		v->stats.tx_group += (len + seg - 1) / seg;
	return rc;
}

/* There will be an event, or there is room by now. */
static void await_room(struct storm_verbs *v, const struct verbs_send *s)
{
	if (!v->up)
		return;
	storm_verbs_await_room(v);
	if (!s->used)
		again(v);
}

static int keep(struct storm_verbs *v, enum storm_class c,
		const struct storm_addr *to, const void *buf, size_t len,
		size_t seg)
{
	struct verbs_send *s = &v->send[c];
	struct verbs_rest *r;

	if (s->kept + len > s->room)
		return -EAGAIN;
	r = malloc(sizeof(*r) + len);
	if (!r)
		return -ENOMEM;
	*r = (struct verbs_rest) { .to = *to, .class = c, .seg = seg,
				   .len = len };
	memcpy(r->bytes, buf, len);
	TAILQ_INSERT_TAIL(&s->rests, r, link);
	s->kept += len;
	v->stats.queue[c].kept++;
	return 0;
}

int storm_verbs_send_by(struct storm_verbs *v, enum storm_class c,
			const struct storm_addr *to, const void *buf,
			size_t len, size_t seg)
{
	struct verbs_send *s = &v->send[c];
	int rc = -EAGAIN;

	/* what waits goes first */
	if (TAILQ_EMPTY(&s->rests))
		rc = send_now(v, c, to, buf, len, seg);
	if (rc != -EAGAIN)
		return rc;
	rc = keep(v, c, to, buf, len, seg);
	await_room(v, s);
	return rc;
}

int storm_verbs_send_rest(struct storm_verbs *v, struct verbs_rest *r)
{
	return storm_verbs_send_by(v, r->class, &r->to, r->bytes, r->len,
				   r->seg);
}

static void forget(struct verbs_send *s, struct verbs_rest *r)
{
	TAILQ_REMOVE(&s->rests, r, link);
	s->kept -= r->len;
	free(r);
}

static void flush(struct storm_verbs *v, struct verbs_send *s)
{
	struct verbs_rest *r;

	while ((r = TAILQ_FIRST(&s->rests))) {
		if (send_now(v, r->class, &r->to, r->bytes, r->len, r->seg) ==
		    -EAGAIN) {
			await_room(v, s);
			return;
		}
		forget(s, r);
	}
}

static int verbs_send(struct storm_transport *t, enum storm_class c,
		      const struct storm_addr *to, const void *buf, size_t len,
		      size_t seg)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	struct storm_verbs *v = (struct storm_verbs *) t;
	int rc = -EHOSTUNREACH;

	if (!len || !seg || !to->port)
		return -EINVAL;
	if (len > VERBS_SEND_MAX)
		return -EMSGSIZE;
	if (memcmp(to->ip, v4, sizeof(v4)))
		return -EAFNOSUPPORT;
	v->now = storm_now();
	if (seg > len)
		seg = len;
	if (c == STORM_CONTROL)
		rc = storm_verbs_rail_send(v, to, buf, len, seg);
	return rc == -EHOSTUNREACH ?
	       storm_verbs_send_by(v, c, to, buf, len, seg) : rc;
}

/* ---------------------------------------------------------- by TCP and UDP */

static int verbs_send_stream(struct storm_transport *t,
			     const struct storm_addr *to, uint64_t session,
			     uint32_t node, const void *buf, size_t len)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	/* it will be spoken to soon, and may be one that has begun anew */
	v->now = storm_now();
	if (v->strobe)
		v->strobe->now = v->now;
	if (storm_verbs_working(v))
		storm_verbs_peer_doubt(v, to);
	if (v->strobe && storm_verbs_working(v->strobe) &&
	    storm_verbs_peer_find(v->strobe, to))
		storm_verbs_peer_doubt(v->strobe, to);
	return v->by_udp->ops->send_stream(v->by_udp, to, session, node, buf,
					   len);
}

static void verbs_end_stream(struct storm_transport *t, uint64_t stream,
			     enum storm_err err)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	v->by_udp->ops->end_stream(v->by_udp, stream, err);
}

static bool verbs_stream_waits(struct storm_transport *t, uint64_t stream)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->by_udp->ops->stream_waits(v->by_udp, stream);
}

static void verbs_drop_streams(struct storm_transport *t, uint64_t session)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	v->by_udp->ops->drop_streams(v->by_udp, session);
}

static void udp_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct storm_verbs *v = arg;

	if (!v->set.transport_fallback)
		return;
	v->stats.udp_rx_datagrams += n;
	v->h.datagrams(v->h.arg, rx, n);
}

static void udp_stream(void *arg, uint64_t stream, const void *buf, size_t len)
{
	struct storm_verbs *v = arg;

	v->h.stream(v->h.arg, stream, buf, len);
}

static void udp_stream_failed(void *arg, uint64_t session, uint32_t node,
			      enum storm_err why, int sys)
{
	struct storm_verbs *v = arg;

	v->h.stream_failed(v->h.arg, session, node, why, sys);
}

/* --------------------------------------------------- pairs to neighbours */

/* Reliable as they are: whoever tests with loss wants it here, too. */
static void pair_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct storm_verbs *v = arg;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!storm_drop(&v->drop))
			rx[kept++] = rx[i];
	if (kept)
		v->h.datagrams(v->h.arg, rx, kept);
}

/* Without them everything is sent as single datagrams, so it is no failure. */
static void open_pairs(struct storm_verbs *v)
{
	const struct storm_net_handler h = { .datagrams = pair_datagrams,
					     .arg = v };
	uint16_t pkey = ntohs(v->listener->route.addr.addr.ibaddr.pkey);
	struct storm_rc_conf conf;
	int err;

	/* the manager has pairs in the interface's partition alone */
	if (!v->port.ethernet && v->set.pkey &&
	    (v->set.pkey & 0x7fff) != (pkey & 0x7fff))
		return;
	storm_rc_default(&conf);
	conf.self = v->self;
	conf.slot = v->port.mtu;
	conf.tos[STORM_CONTROL] = (uint8_t) (v->set.dscp_control << 2);
	conf.tos[STORM_BULK] = (uint8_t) (v->set.dscp << 2);
	/* before the silent one counts as lost above */
	if (conf.dead_after > v->set.dead_timeout / 2)
		conf.dead_after = v->set.dead_timeout / 2;
	v->rc = storm_rc_create(&conf, &h, &err);
	if (!v->rc || !storm_verbs_watch(v, storm_rc_fd(v->rc), VERBS_FD_RC))
		return;
	storm_rc_destroy(v->rc);
	v->rc = NULL;
}

/* ---------------------------------------------------------- up and down */

static void down(struct storm_verbs *v)
{
	struct verbs_rest *r;

	storm_rc_destroy(v->rc);
	v->rc = NULL;
	storm_verbs_peers_close(v);
	storm_verbs_groups_close(v);
	storm_verbs_cm_close(v);
	storm_verbs_queues_close(v);
	storm_verbs_port_close(v);
	for (int c = 0; c < 2; c++)
		while ((r = TAILQ_FIRST(&v->send[c].rests)))
			forget(&v->send[c], r);
	v->up = v->broken = v->port_down = false;
}

/* All of it, or nothing: STORM_OK; STORM_EBUSY: somebody else has our port. */
int storm_verbs_up(struct storm_verbs *v)
{
	int rc = storm_verbs_cm_open(v), keep_errno;

	if (!rc)
		rc = storm_verbs_port_open(v, v->listener);
	if (!rc)
		rc = storm_verbs_queues_open(v);
	if (!rc)
		rc = storm_verbs_cm_listen(v);
	if (!rc)
		rc = storm_verbs_groups_open(v);
	keep_errno = errno;
	if (rc)
		down(v);
	errno = keep_errno;
	v->up = !rc;
	if (rc)
		return rc;
	open_pairs(v);
	storm_verbs_timer(v);
	again(v);	/* nobody has armed the queues yet */
	return STORM_OK;
}

void storm_verbs_wait_for_joins(struct storm_verbs *v)
{
	uint64_t end = storm_now() + VERBS_JOIN_TIME;
	struct pollfd p = { .events = POLLIN };

	while (v->joins && !v->broken && (v->now = storm_now()) < end) {
		p.fd = v->cm->fd;
		if (poll(&p, 1, 100) > 0)
			storm_verbs_cm_events(v);
	}
	if (v->joins)
		storm_log(STORM_LOG_WARN, "%u multicast groups are not joined "
			  "yet on RDMA device %s: is there a subnet manager?",
			  v->joins, v->port.device);
}

/* Say once how it goes on. */
void storm_verbs_without(struct storm_verbs *v)
{
	v->up_again = v->now + VERBS_UP_AGAIN;
	if (!v->retrying && v->data)
		storm_log(STORM_LOG_WARN, "the strobe rail does not work here: "
			  "all goes by the data rail");
	else if (!v->retrying)
		storm_log(STORM_LOG_WARN, "verbs do not work here: %s",
			  v->set.transport_fallback ? "UDP is used" :
			  "nothing is sent until they do");
	v->retrying = true;
	storm_verbs_timer(v);
}

static void try_again(struct storm_verbs *v)
{
	if (v->up || !v->up_again || v->now < v->up_again)
		return;
	storm_verbs_cm_forget();
	if (storm_verbs_up(v)) {
		storm_verbs_without(v);
		return;
	}
	v->retrying = false;
	v->up_again = 0;
	storm_log(STORM_LOG_INFO, "RDMA device %s works: verbs are used",
		  v->port.device);
}

/* -------------------------------------------------------------------- poll */

static void channel_events(struct storm_verbs *v)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(v->port.channel, &cq, &context)) {
		if (cq == v->send_cq)
			v->send_armed = false;
		for (int i = 0; i < VERBS_RECVS; i++)
			if (cq == v->recv[i].cq)
				v->recv[i].armed = false;
		ibv_ack_cq_events(cq, 1);
	}
}

static void tick(struct storm_verbs *v)
{
	uint64_t n, period = 0;

	if (read(v->timer, &n, sizeof(n)) < 0)
		return;
	if (v->up) {
		storm_verbs_peers_tick(v);
		storm_verbs_groups_tick(v);
	}
	try_again(v);
	v->timer_on = v->asking || v->group_failed;
	if (v->timer_on)
		period = TICK_FAST;
	else if (v->up_again || !LIST_EMPTY(&v->peers))
		period = TICK_SLOW;
	set_timer(v, period);
}

static void serve(struct storm_verbs *v, enum verbs_fd which)
{
	uint64_t n;

	switch (which) {
	case VERBS_FD_CHANNEL:
		channel_events(v);
		break;
	case VERBS_FD_CM:
		storm_verbs_cm_events(v);
		break;
	case VERBS_FD_ASYNC:
		storm_verbs_port_event(v);
		break;
	case VERBS_FD_UDP:
		storm_udp_poll(v->udp);
		break;
	case VERBS_FD_TIMER:
		tick(v);
		break;
	case VERBS_FD_STROBE:
		storm_verbs_poll(v->strobe);
		break;
	case VERBS_FD_RC:
		storm_rc_poll(v->rc);
		break;
	case VERBS_FD_AGAIN:
		v->again_on = read(v->again, &n, sizeof(n)) < 0;
		break;
	}
}

/* The queues, control first.  As long as there is much, nobody asks the device
 * to say so. */
static bool work(struct storm_verbs *v)
{
	storm_verbs_sent(v);
	for (int c = 0; c < 2; c++)
		flush(v, &v->send[c]);
	return storm_verbs_receive(v) || storm_verbs_arm(v);
}

void storm_verbs_poll(struct storm_verbs *v)
{
	struct epoll_event ev[EVENTS_PER_POLL];
	int n = epoll_wait(v->epfd, ev, EVENTS_PER_POLL, 0);

	v->now = storm_now();
	for (int i = 0; i < n && !v->broken; i++)
		serve(v, (enum verbs_fd) ev[i].data.u32);
	if (v->up && !v->broken && work(v))
		again(v);
	if (v->broken) {
		down(v);
		storm_verbs_without(v);
	}
}

/* ------------------------------------------------------ create, destroy */

static size_t verbs_mtu(struct storm_transport *t)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->up ? v->port.mtu : v->by_udp->ops->mtu(v->by_udp);
}

/* What is under way must have room where it arrives; sessions share it. */
static size_t verbs_room(struct storm_transport *t)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->up ? (size_t) v->set.recv_depth * v->port.mtu / 4 * 3 :
		       SIZE_MAX;
}

static uint64_t verbs_speed(struct storm_transport *t)
{
	struct storm_verbs *v = (struct storm_verbs *) t;
	uint64_t speed = v->up ? v->port.speed : 0;

	return v->set.rate && v->set.rate < speed ? v->set.rate : speed;
}

static const struct storm_transport_ops verbs_ops = {
	.name = "verbs",
	.send = verbs_send,
	.send_stream = verbs_send_stream,
	.end_stream = verbs_end_stream,
	.stream_waits = verbs_stream_waits,
	.drop_streams = verbs_drop_streams,
	.mtu = verbs_mtu,
	.room = verbs_room,
	.speed = verbs_speed,
	.group = storm_verbs_group_use,
};

static int open_udp(struct storm_verbs *v, const struct storm_addr *peer)
{
	struct storm_settings set = v->set;
	const struct storm_net_handler h = {
		.datagrams = udp_datagrams, .stream = udp_stream,
		.stream_failed = udp_stream_failed, .arg = v,
	};
	int err;

	set.multicast &= set.transport_fallback;
	set.strobe_device[0] = 0;	/* ours */
	v->udp = storm_udp_create(&set, v->role, peer, &h, &err);
	if (!v->udp)
		return err;
	/* what fits in a packet of verbs may not fit in one of IPoIB */
	storm_udp_fragments(v->udp);
	v->by_udp = storm_udp_transport(v->udp);
	storm_udp_self(v->udp, &v->self);
	return STORM_OK;
}

/* An owner's port is any that both have free. */
static int open_both(struct storm_verbs *v, const struct storm_addr *peer)
{
	int rc;

	for (int i = 0; i < OWNER_PORTS; i++) {
		rc = open_udp(v, peer);
		if (rc)
			return rc;
		rc = storm_verbs_up(v);
		if (rc != STORM_EBUSY || v->role == STORM_ROLE_NODE)
			break;
		storm_udp_destroy(v->udp);
		v->udp = NULL;
	}
	if (rc == STORM_EBUSY)
		storm_verbs_say(v, "port %u of the connection manager is in "
				"use: is another agent running? Otherwise set "
				"Port in storm.conf", v->self.port);
	if (rc && v->udp && v->set.transport_fallback) {
		storm_verbs_without(v);
		rc = STORM_OK;
	}
	return rc;
}

/* Not by if_nametoindex(): for a name that is none the kernel runs modprobe, twice. */
static bool is_interface(const char *name)
{
	char path[sizeof("/sys/class/net/") + IF_NAMESIZE];

	if (!name[0] || strlen(name) >= IF_NAMESIZE || strchr(name, '/'))
		return false;
	snprintf(path, sizeof(path), "/sys/class/net/%s", name);
	return !access(path, F_OK);
}

void storm_verbs_interface_for_device(struct storm_verbs *v)
{
	if (!is_interface(v->set.device))
		return;
	strcpy(v->set.interface, v->set.device);
	v->set.device[0] = 0;
}

int storm_verbs_open_fds(struct storm_verbs *v)
{
	v->epfd = epoll_create1(EPOLL_CLOEXEC);
	v->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	v->again = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (v->epfd < 0 || v->timer < 0 || v->again < 0 ||
	    storm_verbs_watch(v, v->timer, VERBS_FD_TIMER) ||
	    storm_verbs_watch(v, v->again, VERBS_FD_AGAIN)) {
		storm_log(STORM_LOG_ERROR, "cannot create an epoll, timer or "
			  "event descriptor: %m");
		return STORM_ESYS;
	}
	return STORM_OK;
}

static int open_all(struct storm_verbs *v, const struct storm_addr *peer)
{
	int rc = storm_verbs_open_fds(v);

	if (rc)
		return rc;
	storm_verbs_interface_for_device(v);
	/* an owner is on the rail that leads to its nodes */
	if (!v->set.interface[0] && (v->set.device[0] || !peer)) {
		rc = storm_verbs_choose(v);
		if (rc && !v->set.transport_fallback)
			return rc;
	}
	rc = open_both(v, peer);
	if (!rc && storm_verbs_watch(v, storm_udp_fd(v->udp), VERBS_FD_UDP))
		rc = STORM_ESYS;
	return rc;
}

struct storm_verbs *storm_verbs_alloc(const struct storm_settings *set,
				      enum storm_role role,
				      const struct storm_net_handler *h)
{
	struct storm_verbs *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	/* an agent forks, and Linux before 5.12 would give it copies of what
	 * the device writes; later, or where it is too late, it does nothing */
	ibv_fork_init();
	v->transport.ops = &verbs_ops;
	v->set = *set;
	v->role = role;
	v->h = *h;
	v->epfd = v->timer = v->again = -1;
	v->now = storm_now();
	v->drop = (struct storm_drop) { .ppm = set->drop_ppm,
					.state = set->drop_seed };
	TAILQ_INIT(&v->send[STORM_CONTROL].rests);
	TAILQ_INIT(&v->send[STORM_BULK].rests);
	/* an agent that relays can't ask its sender to wait */
	if (role == STORM_ROLE_NODE)
		v->send[STORM_BULK].room = set->window;
	if (storm_random(&v->qkey, sizeof(v->qkey))) {
		free(v);
		return NULL;
	}
	v->qkey &= 0x7fffffff;	/* the others take privileges */
	return v;
}

struct storm_verbs *storm_verbs_create(const struct storm_settings *set,
				       enum storm_role role,
				       const struct storm_addr *peer,
				       const struct storm_net_handler *h,
				       int *err)
{
	struct storm_verbs *v = storm_verbs_alloc(set, role, h);
	int rc = v ? open_all(v, peer) : STORM_ENOMEM;

	if (rc) {
		storm_verbs_destroy(v);
		*err = rc;
		return NULL;
	}
	storm_verbs_rail_open(v);
	if (role == STORM_ROLE_NODE)
		storm_verbs_wait_for_joins(v);
	return v;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void storm_verbs_destroy(struct storm_verbs *v)
{
	int keep_errno = errno;

	if (!v)
		return;
	storm_verbs_destroy(v->strobe);
	down(v);
	storm_verbs_groups_free(v);
	storm_udp_destroy(v->udp);
	close_fd(v->again);
	close_fd(v->timer);
	close_fd(v->epfd);
	free(v);
	errno = keep_errno;
}

/* --------------------------------------------------------------------- use */

struct storm_transport *storm_verbs_transport(struct storm_verbs *v)
{
	return &v->transport;
}

void storm_verbs_self(const struct storm_verbs *v, struct storm_addr *self)
{
	*self = v->self;
}

int storm_verbs_fd(const struct storm_verbs *v)
{
	return v->epfd;
}

void storm_verbs_stats(const struct storm_verbs *v,
		       struct storm_verbs_stats *out)
{
	struct storm_udp_stats u = { .dropped_by_test = 0 };

	if (v->udp)
		storm_udp_stats(v->udp, &u);
	*out = v->stats;
	out->dropped_by_test = v->drop.dropped + u.dropped_by_test;
	out->working = storm_verbs_working(v);
	if (v->rc)
		storm_rc_stats(v->rc, &out->rc);
}

bool storm_verbs_strobe_stats(const struct storm_verbs *v,
			      struct storm_verbs_stats *out)
{
	if (v->strobe)
		storm_verbs_stats(v->strobe, out);
	return v->strobe;
}
