/*
 * fuzz_storm_conf.c - storm.conf: its lines, its keys, their values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <sys/mman.h>
#include <unistd.h>

#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "fuzz.h"
#include "src/libstorm/base/clock.h"
#include "src/storm_common/conf_read.h"

static char path[64];

static int begin(void)
{
	static const log_options_t quiet = {
		LOG_LEVEL_QUIET, LOG_LEVEL_QUIET, LOG_LEVEL_QUIET, 1, 0, 0
	};
	int fd = memfd_create("storm.conf", MFD_CLOEXEC);

	must(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	log_init("fuzz_storm_conf", quiet, 0, NULL);
	return fd;
}

static void must_be_partitions(const struct storm_gang_conf *g)
{
	must(g->partitions <= STORM_CONF_PARTITIONS);
	for (uint32_t i = 0; i < g->partitions; i++) {
		const struct storm_conf_partition *p = &g->partition[i];

		must(p->name[0] && memchr(p->name, 0, sizeof(p->name)));
		must(memchr(p->place, 0, sizeof(p->place)));
		must(p == storm_conf_partition(g, p->name));
		must(!(p->local && p->turns) && p->policy < GANG_POLICIES);
		must(!p->quantum || (p->quantum >= 100 * STORM_US &&
				     p->quantum <= 600 * STORM_SEC));
	}
}

/* The lines that are proposed in place of an old form set the same. */
struct proposed {
	char *lines;
};

static void take_proposal(void *arg, enum conf_fault kind, const char *text)
{
	struct proposed *p = arg;
	const char *lines = strchr(text, '\n');

	if (kind != CONF_OLD)
		return;
	must(!p->lines);
	if (lines)
		p->lines = strdup(lines + 1);
}

static void must_propose(const struct storm_conf *c)
{
	struct conf_sources from = { .path = path };
	struct proposed p = { NULL };
	static struct storm_conf again;
	char *kept = NULL;

	must(conf_read(&from, &again, &kept, take_proposal, &p));
	/* what a daemon keeps is the same, too */
	from.text = kept;
	must(conf_read(&from, &again, NULL, NULL, NULL));
	must(again.gang.partitions == c->gang.partitions);
	for (uint32_t i = 0; p.lines && i < c->gang.partitions; i++) {
		const struct storm_conf_partition *was = &c->gang.partition[i];
		const struct storm_conf_partition *is;

		if (was->place[0] || !strcasecmp(was->name, "DEFAULT") ||
		    strchr(was->name, '"'))
			continue;
		from.text = p.lines;
		must(conf_read(&from, &again, NULL, NULL, NULL));
		is = storm_conf_partition(&again.gang, was->name);
		must(is && is->quantum == was->quantum &&
		     is->local == was->local && is->turns == was->turns &&
		     is->policy == was->policy &&
		     is->limit_by_turns == was->limit_by_turns);
	}
	free(p.lines);
	free(kept);
}

static void must_be_health(const struct storm_health_conf *h)
{
	must(!h->period ||
	     (h->period >= STORM_SEC && h->period <= 3600 * STORM_SEC));
	must(h->timeout >= 100 * STORM_MS && h->timeout <= 3600 * STORM_SEC);
	must(h->space <= 1ULL << 50 && h->memory <= 1ULL << 50);
	must(memchr(h->program, 0, sizeof(h->program)));
	must(!*h->program || *h->program == '/' || !strcmp(h->program, "none"));
	must(memchr(h->paths, 0, sizeof(h->paths)));
	must(!*h->paths || *h->paths == '/');
}

static void must_be_conf(const struct storm_conf *c)
{
	const struct storm_settings *s = &c->set;

	must(memchr(s->interface, 0, sizeof(s->interface)));
	must(!strchr(s->interface, '/'));
	must(memchr(s->device, 0, sizeof(s->device)));
	must(memchr(s->strobe_device, 0, sizeof(s->strobe_device)));
	must(!strchr(s->device, '/') && !strchr(s->strobe_device, '/'));
	must(s->gid_index >= -1 && s->gid_index <= 65535);
	must(s->strobe_device[0] ||
	     (s->strobe_gid_index == -1 && !s->strobe_pkey && !s->strobe_mtu));
	must(!s->strobe_mtu ||
	     (s->strobe_mtu >= 576 && s->strobe_mtu <= 65535));
	must(s->service_level < 16 && s->service_level_control < 16);
	must(s->recv_depth >= 16 && s->recv_depth <= 32768);
	must(s->strobe_recv_depth >= 16 && s->strobe_recv_depth <= 32768);
	must(s->transport == STORM_TRANSPORT_UDP ||
	     s->transport == STORM_TRANSPORT_VERBS);
	must(s->port && s->group.port == s->port);
	must(s->groups >= 1 && s->groups <= 64);
	must(s->group.ip[12] >= 224 && s->group.ip[12] < 240);
	must(c->context.group >> 28 == 0xe);
	must(c->context.count <= STORM_CONTEXTS_MAX);
	must(!c->context.count ||
	     (c->context.group + c->context.count - 1) >> 28 == 0xe);
	must(s->dscp < 64 && s->dscp_control < 64);
	must(s->radix >= 2 && s->radix <= 64);
	must(s->window >= 65536 && s->window <= 1 << 30);
	must(!s->rate || (s->rate >= 10000 && s->rate <= 1ULL << 40));
	must(s->socket_buffer >= 65536 && s->socket_buffer <= 1 << 30);
	must(!s->mtu || (s->mtu >= 576 && s->mtu <= 65535));
	must(s->open_timeout >= 100 * STORM_MS &&
	     s->open_timeout <= 600 * STORM_SEC);
	must(s->heartbeat >= 10 * STORM_MS && s->heartbeat <= 60 * STORM_SEC);
	must(s->dead_timeout >= 2 * s->heartbeat &&
	     s->dead_timeout <= 600 * STORM_SEC);
	must(s->op_timeout >= 100 * STORM_MS &&
	     s->op_timeout <= 3600 * STORM_SEC);
	must(s->sessions_max >= 1 && s->sessions_max <= 65536);
	must(s->drop_ppm <= 1000000);
	must(c->fallback == FALLBACK_NODES || c->fallback == FALLBACK_WARN ||
	     c->fallback == FALLBACK_NEVER);
	must(c->failed_launch == FAILED_LAUNCH_FALLBACK ||
	     c->failed_launch == FAILED_LAUNCH_RETRY ||
	     c->failed_launch == FAILED_LAUNCH_FAIL);
	must(!c->odd_percent || c->odd_max <= 100);
	must(c->agent_linger <= 3600 * STORM_SEC);
	must(c->launcher_port_first >= 1024 &&
	     c->launcher_port_first <= c->launcher_port_last);
	must(c->launcher_idle <= 2592000 * STORM_SEC);
	must(c->launch_nodes >= 1 && c->launch_nodes <= 65536);
	must(c->gang.act_after >= STORM_SEC &&
	     c->gang.act_after <= 3600 * STORM_SEC);
	must(!c->gang.failed_percent || c->gang.failed_max <= 100);
	must_be_health(&c->health);
	must_be_partitions(&c->gang);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_conf conf, was;
	static int fd = -1;
	char *why = NULL;

	if (fd < 0)
		fd = begin();
	must(!ftruncate(fd, 0));
	must(pwrite(fd, data, size, 0) == (ssize_t) size);
	memset(&conf, 0x5a, sizeof(conf));
	was = conf;
	if (storm_conf_load_file(path, &conf, &why)) {
		/* one line, that begins with a file: perhaps an included one */
		must(why && strchr(why, ':') && !strchr(why, '\n'));
		must(!memcmp(&was, &conf, sizeof(conf)));
		xfree(why);
	} else {
		must(!why);
		must_be_conf(&conf);
		must_propose(&conf);
	}
	return 0;
}
