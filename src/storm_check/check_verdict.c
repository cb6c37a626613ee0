/*
 * check_verdict.c - see check_verdict.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_verdict.h"
#include "src/libstorm/base/auth_reason.h"

#define FIREWALL "open it in the firewalls in between"

static char *verdict_text(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

static char *verdict_text(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

#define MUNGE \
	"compare /etc/munge/munge.key and 'date' on both hosts, and see that munged runs there; its agent's log has the reason"

/* OPEN did not come through, or nothing came of it.  An agent that refuses a credential
 * says so in a byte, which can be lost with the connection. */
static char *verdict_lost(int sys, uint16_t port)
{
	switch (sys) {
	case ECONNRESET:
	case EPIPE:
		return verdict_text(
			"its agent has ended just now, or does not take this host's MUNGE credential: ask again; if it stays so, " MUNGE);
	case EHOSTUNREACH:
	case ENETUNREACH:
		return verdict_text("%s: is it up, and are the routes right?",
				    strerror(sys));
	case EACCES:
	case EPERM:
		return verdict_text(
			"this host's firewall forbids TCP port %u: open it",
			port);
	case ETIMEDOUT:
		return verdict_text(
			"nothing answers on TCP port %u: is it up? If so, " FIREWALL,
			port);
	case ECOMM:
		return verdict_text(
			"it takes messages by TCP, and none of its datagrams reach this host: let UDP from port %u there through to all ports here: " FIREWALL,
			port);
	case ENOLINK:
		return verdict_text(
			"its datagrams reach this host, and none from here reach its UDP port %u: " FIREWALL,
			port);
	case EMSGSIZE:
		return verdict_text(
			"short datagrams reach it, and none of full size: raise the MTU of the switches, or set a smaller MTU in storm.conf");
	default:
		return verdict_text("its agent was lost%s%s: see its log",
				    sys ? ": " : "", sys ? strerror(sys) : "");
	}
}

char *check_verdict(const struct check_answer *a, uint16_t port,
		    unsigned int mtu)
{
	char auth[STORM_AUTH_TEXT];

	switch (a->why) {
	case STORM_OK:
		break;
	case STORM_ENOAGENT:
		return a->sys == EPROTO ?
			       verdict_text(
				       "what listens on TCP port %u is no agent: end it, or set another Port in storm.conf on all hosts",
				       port) :
			       verdict_text(
				       "no agent runs: restart slurmd, and run storm check there if that does not help");
	case STORM_EVERSION:
		return verdict_text(
			"its agent speaks another version of the protocol (%d, here %d): install the same STORM, then restart slurmd",
			a->sys, storm_protocol_version());
	case STORM_EAUTH:
		return storm_auth_text(a->sys, auth, sizeof(auth)) ?
			       verdict_text("%s", auth) :
			       verdict_text(
				       "its agent refuses this host's MUNGE credential: " MUNGE);
	case STORM_EACCES:
		return verdict_text(
			"its agent refuses this user or this host's addresses: compare slurm.conf and storm.conf (Port, AllowUsers, AllowHosts) on both hosts; its log has the reason");
	case STORM_EBUSY:
		return verdict_text(
			"its agent has no session left for this user: try again later; see MaxSessions and MaxUserSessions in storm.conf(5)");
	case STORM_ETIME:
		return verdict_text(
			"its host is up, and its agent gives no answer: it is stopped, or hangs: run storm check there");
	case STORM_ELOST:
		return verdict_lost(a->sys, port);
	default:
		return verdict_text("%s%s%s: see its agent's log",
				    storm_strerror(a->why), a->sys ? ": " : "",
				    a->sys ? strerror(a->sys) : "");
	}
	if (!a->small)
		return verdict_lost(ENOLINK, port);
	if (!a->large)
		return verdict_text(
			"short datagrams reach UDP port %u there, and no packets of %u bytes: raise the MTU of the switches, or set a smaller MTU in storm.conf",
			port, mtu);
	return NULL;
}

char *check_verdict_group(const struct check_answer *a, uint16_t port,
			  unsigned int mtu)
{
	if (!a->group)
		return verdict_text(
			"no multicast from this host reaches it (UDP port %u): allow it in firewalls, let an IGMP querier run in the network, or set Multicast=no in storm.conf",
			port);
	if (!a->group_large)
		return verdict_text(
			"multicast reaches it, and no packets of %u bytes: raise the MTU of the switches, or set a smaller MTU in storm.conf",
			mtu);
	return NULL;
}
