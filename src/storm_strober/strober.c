/*
 * strober.c - the main loop of storm_strober, the Machine Manager's clock
 * (paper section 2.1: the Machine Manager strobes).  It is slurmctld's child.
 * It reads slurmctld's frames, transfers each map to all nodes at once, and
 * reports to slurmctld.
 *
 * 	strobe_clock.c		the thread that strobes
 * 	rota.c			which slot is strobed when
 * 	strober_domain.c	the cluster domain and its epoch
 * 	strober_state.c		the epoch on disk
 * 	asker.c			what the threads that ask nodes share
 * 	missed.c		the thread that finds nodes which missed strobes
 * 	deaf.c			... and those that hear none
 * 	mute.c			which of these are excluded
 * 	held.c			the thread that proves that held jobs stand
 * 	outside.c		nodes that are out of gang scheduling
 * 	witness.c		the thread that asks ports of silent nodes
 * 	suspects.c		... what is known of them
 * 	verdict.c		... and what it means
 * 	maps.c			which map goes to the nodes next
 *
 * It fails open.  When slurmctld dies or stops, strobes let everything run.
 * When this process dies or stops, the nodes notice the silence.  If it then
 * continues, another slurmctld's strober may have taken over.  So it first
 * begins a new epoch, which only one of them can.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "held.h"
#include "maps.h"
#include "missed.h"
#include "outside.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/storm_common/caps.h"
#include "src/storm_common/child_log.h"
#include "src/storm_common/child_watch.h"
#include "src/storm_common/gang_map.h"
#include "src/storm_common/node_list.h"
#include "src/storm_common/slurm_build.h"
#include "src/storm_common/slurm_conf_kept.h"
#include "src/storm_common/storm_conf.h"
#include "src/storm_common/strober_protocol.h"
#include "storm_config.h"
#include "strobe_clock.h"
#include "strober_domain.h"
#include "unwell.h"
#include "witness.h"

#define RETRY (100 * STORM_MS) /* after a map did not reach all nodes */
#define TEST_EVERY (20 * STORM_MS)
#define PIPE 0 /* the socket to slurmctld */

static struct {
	const char *state; /* file */
	int wake, signals, parent;
	bool stop;
	/* bytes that are read and not yet a whole frame */
	uint8_t *in;
	size_t have, room;
	struct maps maps;
	storm_event_t *event; /* of the map that is on its way */
	uint64_t sent_at, retry_at, tell_at;
	bool refused; /* the failed transfer was logged */
} strober = { .wake = -1, .signals = -1, .parent = -1 };

/* Wake the main loop.  Any thread. */
static void strober_poke(void)
{
	const uint64_t one = 1;

	if (write(strober.wake, &one, sizeof(one)) != sizeof(one))
		error("eventfd: %m");
}

/* Close the domain and forget all maps. */
static void strober_leave(void)
{
	storm_event_destroy(strober.event);
	strober.event = NULL;
	strober_domain_close();
	maps_clear(&strober.maps);
}

/* ----------------------------------------------------------------- maps --- */

static bool strober_is_shared(const struct gang_map *m)
{
	for (uint32_t i = 0; i < m->nzones; i++)
		if (m->zones[i].rows > 1)
			return true;
	return false;
}

static void strober_send_report(void);

/* Strobe by this map from now on. */
static void strober_map_counts(const struct map_bytes *b)
{
	struct storm_idset nodes = { 0 };
	struct gang_map m;
	uint64_t now = storm_now(), version;

	if (gang_map_unpack(b->buf, b->len, &m)) {
		error("no memory for a map");
		return;
	}
	strober_send_report(); /* the last one with jobs that have ended */
	version = m.version;
	if (held_nodes(&m, &nodes) ||
	    strobe_clock_map(&m, gang_map_digest(b->buf, b->len), now)) {
		storm_idset_clear(&nodes);
		gang_map_clear(&m);
		error("no memory for a map");
		return;
	}
	held_map(version, &nodes);
}

/* Do the nodes need this map?  1 or 0; -1: it is invalid. */
static int strober_is_needed(const struct map_bytes *b)
{
	struct gang_map m;
	int needed;

	if (gang_map_unpack(b->buf, b->len, &m)) {
		error("ignoring an invalid map from slurmctld");
		return -1;
	}
	needed = m.nodes == strober_domain_count() ? strober_is_shared(&m) : -1;
	if (needed < 0)
		error("ignoring a map of %u nodes from slurmctld: the cluster domain has %u",
		      m.nodes, strober_domain_count());
	gang_map_clear(&m);
	return needed;
}

static void strober_map_send(void)
{
	const struct storm_target to = { .kind = STORM_TARGET_MEMORY,
					 .remote_event = GANG_EVENT_MAP };
	const struct map_bytes *b = maps_begin(&strober.maps);
	int needed = strober_is_needed(b);

	if (needed > 0) {
		strober.event = storm_xfer_and_signal(
			strober_domain_get(), NULL, &to, b->buf, b->len);
		strober.sent_at = storm_now();
		if (strober.event)
			return;
		maps_refused(&strober.maps);
		strober.retry_at = storm_now() + RETRY;
		return;
	}
	if (!needed)
		strober_map_counts(b);
	strober_domain_map_waits(0);
	maps_unneeded(&strober.maps);
}

static void strober_map_refused(const struct storm_outcome *out)
{
	if (!strober.refused)
		info("a map did not reach all nodes%s%s: sending it again",
		     out->nfaults ? ": " : "",
		     out->nfaults ? storm_strerror(out->faults[0].why) : "");
	strober.refused = true;
	maps_refused(&strober.maps);
	strober.retry_at = storm_now() + RETRY;
}

static void strober_map_sent(void)
{
	struct storm_outcome out = { 0 };

	if (!storm_test_event(strober.event, true, storm_now() + TEST_EVERY,
			      &out)) {
		strober_domain_map_waits(storm_now() - strober.sent_at);
		return;
	}
	storm_event_destroy(strober.event);
	strober.event = NULL;
	if (out.state == STORM_DONE) {
		strober_domain_map_waits(0);
		strober.refused = false;
		strober_map_counts(&strober.maps.moving);
		maps_done(&strober.maps);
	} else {
		strober_map_refused(&out);
	}
	storm_outcome_clear(&out);
}

/* --------------------------------------------------- slurmctld's frames --- */

static void strober_take_nodes(const char *body, size_t len)
{
	strober_leave();
	strober_domain_nodes(body, len);
}

static void strober_take_map(const void *body, size_t len)
{
	void *buf = malloc(len + 1);

	if (!buf) {
		error("no memory for a map");
		return;
	}
	memcpy(buf, body, len);
	maps_take(&strober.maps, buf, len);
	strober.retry_at = 0;
}

static void strober_take_pulse(const void *body, size_t len)
{
	uint64_t when;

	if (len != sizeof(when))
		return;
	memcpy(&when, body, len);
	strobe_clock_pulse(when);
}

static void strober_take_lead(const void *body, size_t len)
{
	uint64_t lead;

	if (len != sizeof(lead))
		return;
	memcpy(&lead, body, sizeof(lead));
	strobe_clock_lead(lead);
}

static void strober_take(const struct strober_frame *f, const void *body)
{
	switch (f->verb) {
	case STROBER_NODES:
		strober_take_nodes(body, f->len);
		break;
	case STROBER_MAP:
		strober_take_map(body, f->len);
		break;
	case STROBER_PULSE:
		strober_take_pulse(body, f->len);
		break;
	case STROBER_LEAD:
		strober_take_lead(body, f->len);
		break;
	default:
		error("ignoring a frame of unknown type %u from slurmctld",
		      f->verb);
	}
}

/* Take all complete frames, and keep the rest. */
static void strober_take_frames(void)
{
	struct strober_frame f;
	size_t at = 0;

	while (strober.have - at >= sizeof(f)) {
		memcpy(&f, strober.in + at, sizeof(f));
		if (f.len > STROBER_BODY_MAX) {
			error("ending: a frame from slurmctld is too large: %u bytes",
			      f.len);
			strober.stop = true;
			return;
		}
		if (strober.have - at < sizeof(f) + f.len)
			break;
		strober_take(&f, strober.in + at + sizeof(f));
		at += sizeof(f) + f.len;
	}
	memmove(strober.in, strober.in + at, strober.have - at);
	strober.have -= at;
}

/* Read all that has arrived.  False: slurmctld is gone. */
static bool strober_hear(void)
{
	ssize_t n;

	while (true) {
		if (strober.room - strober.have < 65536) {
			strober.room = strober.room * 2 + 65536;
			xrealloc(strober.in, strober.room);
		}
		n = read(PIPE, strober.in + strober.have,
			 strober.room - strober.have);
		if (n <= 0)
			break;
		strober.have += n;
		strober_take_frames();
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* ------------------------------------------------------ to slurmctld --- */

/* Drop the frame if slurmctld does not read.  But once a part is sent, wait up
 * to a second for the rest, or end. */
static void strober_send(const struct strober_frame *f)
{
	const char *p = (const char *) f;
	size_t len = sizeof(*f) + f->len, at = 0;

	while (at < len) {
		ssize_t n = send(PIPE, p + at, len - at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			at += n;
		} else if (errno != EAGAIN || !at) {
			break;
		} else {
			struct pollfd out = { .fd = PIPE, .events = POLLOUT };

			if (poll(&out, 1, 1000) <= 0) {
				strober.stop = true;
				break;
			}
		}
	}
}

static void strober_send_report(void)
{
	struct strober_frame *f = strobe_clock_report();

	if (f)
		strober_send(f);
	free(f);
}

/* Send the counts of all nodes that have missed strobes, if there are
 * counts. */
static void strober_send_missed(void)
{
	uint32_t nodes = strober_domain_count(), n = 0;
	uint64_t *count = xcalloc(nodes + 1, sizeof(*count));
	struct strober_frame *f;
	struct strober_missed *m;

	f = xmalloc(sizeof(*f) + nodes * sizeof(*m));
	m = (void *) (f + 1);
	if (missed_get(count, nodes)) {
		for (uint32_t i = 0; i < nodes; i++)
			if (count[i])
				m[n++] = (struct strober_missed) {
					.node = i, .strobes = count[i]
				};
		f->verb = STROBER_MISSED;
		f->len = n * sizeof(*m);
		strober_send(f);
	}
	xfree(count);
	xfree(f);
}

static void strober_send_outside(void)
{
	uint32_t nodes = strober_domain_count(), n;
	struct strober_frame *f;
	uint32_t *head;

	f = xmalloc(sizeof(*f) + 2 * sizeof(*head) +
		    nodes * sizeof(struct strober_outside));
	head = (void *) (f + 1);
	head[0] = nodes;
	n = outside_get((void *) (head + 2));
	f->verb = STROBER_OUTSIDE;
	f->len = 2 * sizeof(*head) + n * sizeof(struct strober_outside);
	strober_send(f);
	xfree(f);
}

static void strober_send_failed(void)
{
	uint32_t nodes = strober_domain_count(), n;
	struct strober_frame *f;
	uint32_t *head;

	f = xmalloc(sizeof(*f) + 2 * sizeof(*head) +
		    nodes * sizeof(struct strober_failed));
	head = (void *) (f + 1);
	head[0] = nodes;
	n = witness_get((void *) (head + 2));
	n = unwell_get((void *) (head + 2), n);
	f->verb = STROBER_FAILED;
	f->len = 2 * sizeof(*head) + n * sizeof(struct strober_failed);
	strober_send(f);
	xfree(f);
}

/* force: also if nothing is new. */
static void strober_send_held(bool force)
{
	struct strober_held h = { .nodes = strober_domain_count() };
	struct storm_idset loose = { 0 };
	struct strober_frame *f;
	uint32_t *node;

	if (held_get(&h.force, &h.proof, &loose) || force) {
		h.loose = storm_idset_size(&loose);
		f = xmalloc(sizeof(*f) + sizeof(h) + h.loose * sizeof(*node));
		f->verb = STROBER_HELD;
		f->len = sizeof(h) + h.loose * sizeof(*node);
		memcpy(f + 1, &h, sizeof(h));
		node = (void *) ((char *) (f + 1) + sizeof(h));
		for (uint32_t i = 0; i < loose.count; i++)
			for (uint32_t n = loose.r[i].first;
			     n <= loose.r[i].last; n++)
				*node++ = n;
		strober_send(f);
		xfree(f);
	}
	storm_idset_clear(&loose);
}

/* ------------------------------------------------------------ main loop --- */

static void strober_act(uint64_t now)
{
	if (now >= strober_domain_due())
		strober_domain_open();
	if (strober.event)
		strober_map_sent();
	if (!strober_domain_get())
		return;
	if (witness_changed() || unwell_changed() || now >= strober.tell_at)
		strober_send_failed();
	strober_domain_confirm();
	strober_domain_cut_relays();
	if (strober_domain_joined())
		maps_join(&strober.maps);
	if (maps_due(&strober.maps) && now >= strober.retry_at)
		strober_map_send();
	if (outside_changed() || now >= strober.tell_at)
		strober_send_outside();
	strober_send_held(now >= strober.tell_at);
	if (now >= strober.tell_at) {
		strober_send_report();
		strober_send_missed();
		strober.tell_at = now + STROBER_REPORT_EVERY;
	}
}

static int strober_next_ms(uint64_t now)
{
	uint64_t next = now + STROBER_REPORT_EVERY;

	if (strober.event)
		return 0; /* strober_map_sent() waits */
	if (strober_domain_get() && maps_due(&strober.maps) &&
	    strober.retry_at < next)
		next = strober.retry_at;
	if (strober_domain_due() < next)
		next = strober_domain_due();
	return next <= now ? 0 : (next - now) / STORM_MS + 1;
}

static void strober_turn(void)
{
	struct pollfd p[4] = {
		{ .fd = PIPE, .events = POLLIN },
		{ .fd = strober.wake, .events = POLLIN },
		{ .fd = strober.signals, .events = POLLIN },
		{ .fd = strober.parent, .events = POLLIN },
	};
	uint64_t n;

	if (poll(p, 4, strober_next_ms(storm_now())) < 0 && errno != EINTR) {
		error("poll: %m");
		strober.stop = true;
		return;
	}
	if (p[1].revents && read(strober.wake, &n, sizeof(n)) < 0)
		debug("eventfd: %m");
	if ((p[0].revents && !strober_hear()) || p[3].revents) {
		info("slurmctld is gone, ending");
		strober.stop = true;
	}
	if (p[2].revents) {
		info("ending on a signal");
		strober.stop = true;
	}
	if (!strober.stop)
		strober_act(storm_now());
}

static int strober_descriptors(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	strober.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	strober.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	strober.parent = pidfd_open(getppid(), 0);
	if (strober.signals < 0 || strober.wake < 0 || strober.parent < 0)
		return -1;
	return fcntl(PIPE, F_SETFL, O_NONBLOCK);
}

/* For priority and locked memory, if slurmctld or setcap gave them. */
#define STROBER_CAPS (CAPS_BIT(CAP_SYS_NICE) | CAPS_BIT(CAP_IPC_LOCK))

static int strober_run(void)
{
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	struct storm_conf conf;
	char *why, *dir;

	log_init("storm_strober", opts, 0, NULL);
	if (slurm_build_refusal()) {
		error("%s", slurm_build_refusal());
		return CHILD_EXIT_CONF;
	}
	dir = xdirname(strober.state);
	slurm_conf_kept_save(dir, slurm_conf_kept_init(dir));
	xfree(dir);
	child_log_wanted(CONF_LOG_SLURM, slurm_conf.slurmctld_debug);
	storm_log_set(child_log);
	if (caps_keep(STROBER_CAPS)) {
		error("cannot drop capabilities: %m");
		return 1;
	}
	/* the domain's key is in this process's memory */
	prctl(PR_SET_DUMPABLE, 0);
	/* slurmctld has logged what is wrong with it */
	if (storm_conf_load_kept(slurm_conf.state_save_location, &conf, NULL,
				 &why) == STORM_CONF_NONE) {
		error("%s", why);
		return CHILD_EXIT_CONF;
	}
	xfree(why);
	child_log_wanted(conf.log, slurm_conf.slurmctld_debug);
	strober_domain_init(strober.state, &conf, strober_poke);
	if (strober_descriptors()) {
		error("cannot start: signalfd, eventfd or pidfd: %m");
		return 1;
	}
	if (strobe_clock_start(PIPE, strober_poke))
		return 1;
	while (!strober.stop)
		strober_turn();
	strobe_clock_stop();
	strober_leave();
	return 0;
}

static const char usage[] =
	"Usage: storm_strober --state FILE\n"
	"       storm_strober --nodes\n"
	"\n"
	"The clock of STORM's gang scheduling.  slurmctld runs it, with a socket on its\n"
	"standard input; it is not meant to be run by hand.\n"
	"  --state FILE   the file that keeps the cluster domain's epoch\n"
	"  --nodes        write slurm.conf's nodes, for the strober that runs\n"
	"  --version      print the version\n";

int main(int argc, char **argv)
{
	enum { STATE = 1, NODES, VERSION_, HELP };
	static const struct option options[] = {
		{ "state", required_argument, NULL, STATE },
		{ "nodes", no_argument, NULL, NODES },
		{ "version", no_argument, NULL, VERSION_ },
		{ "help", no_argument, NULL, HELP },
		{ 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case STATE:
			strober.state = optarg;
			break;
		case NODES:
			node_list_run();
		case VERSION_:
			printf("storm_strober " STORM_VERSION ", %s\n",
			       slurm_build_describe());
			return 0;
		case HELP:
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!strober.state || optind != argc) {
		fputs(usage, stderr);
		return 2;
	}
	return strober_run();
}
