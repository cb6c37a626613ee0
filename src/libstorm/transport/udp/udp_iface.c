/*
 * udp_iface.c - which network interface the UDP transport uses.
 *
 * A node may have several networks.  Joins, multicasts and the address that an
 * owner announces must all use the same one (paper section 2.4: the primitives
 * run on one rail).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/route.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "src/libstorm/base/addr.h"
#include "udp_private.h"

static struct in_addr ifaddr_ipv4(const struct ifaddrs *i)
{
	return ((const struct sockaddr_in *) i->ifa_addr)->sin_addr;
}

static bool ifaddr_is_ipv4(const struct ifaddrs *i)
{
	return i->ifa_addr && i->ifa_addr->sa_family == AF_INET;
}

/* Additional addresses may be labelled "eth0:1". */
static bool ifaddr_is_named(const struct ifaddrs *i, const char *name)
{
	size_t n = strcspn(i->ifa_name, ":");

	return n == strlen(name) && !strncmp(i->ifa_name, name, n);
}

static bool ifaddr_same_net(const struct ifaddrs *i, struct in_addr peer)
{
	in_addr_t mask;

	if (!i->ifa_netmask)
		return false;
	mask = ((const struct sockaddr_in *) i->ifa_netmask)->sin_addr.s_addr;
	return !((ifaddr_ipv4(i).s_addr ^ peer.s_addr) & mask);
}

/* The interface's address in the peer's network, or else its first one. */
static const struct ifaddrs *ifaddrs_by_name(const struct ifaddrs *all,
					     const char *name,
					     const struct in_addr *peer)
{
	const struct ifaddrs *i, *first = NULL;

	for (i = all; i; i = i->ifa_next) {
		if (!ifaddr_is_ipv4(i) || !ifaddr_is_named(i, name))
			continue;
		if (peer && ifaddr_same_net(i, *peer))
			return i;
		if (!first)
			first = i;
	}
	return first;
}

static const struct ifaddrs *ifaddrs_by_addr(const struct ifaddrs *all,
					     struct in_addr addr)
{
	const struct ifaddrs *i;

	for (i = all; i; i = i->ifa_next)
		if (ifaddr_is_ipv4(i) && ifaddr_ipv4(i).s_addr == addr.s_addr)
			return i;
	return NULL;
}

/* The only interface besides loopback, for nodes without a default route. */
static const struct ifaddrs *ifaddrs_only_one(const struct ifaddrs *all)
{
	const struct ifaddrs *i, *only = NULL;

	for (i = all; i; i = i->ifa_next) {
		if (!ifaddr_is_ipv4(i) || !(i->ifa_flags & IFF_UP) ||
		    (i->ifa_flags & IFF_LOOPBACK))
			continue;
		if (!only)
			only = i;
		else if (strcmp(only->ifa_name, i->ifa_name))
			return NULL;
	}
	return only;
}

/* The source address of the route to a peer. */
static bool iface_route_source(struct in_addr peer, struct in_addr *out)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(9),
				   .sin_addr = peer };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	if (fd < 0)
		return false;
	ok = !connect(fd, (struct sockaddr *) &sin, len) &&
	     !getsockname(fd, (struct sockaddr *) &sin, &len);
	close(fd);
	if (ok)
		*out = sin.sin_addr;
	return ok;
}

bool storm_udp_source(const struct storm_addr *peer, struct storm_addr *out)
{
	struct in_addr ip;

	if (!storm_addr_is_v4(peer))
		return false;
	memcpy(&ip, peer->ip + 12, sizeof(ip));
	if (!iface_route_source(ip, &ip))
		return false;
	*out = *peer;
	memcpy(out->ip + 12, &ip, sizeof(ip));
	out->port = 0;
	return true;
}

/* The default route with the lowest metric. */
static bool iface_default_route(char (*name)[IF_NAMESIZE])
{
	char line[256], dev[IF_NAMESIZE];
	unsigned int dest, flags, metric, mask, best = 0;
	bool found = false;
	FILE *f = fopen("/proc/net/route", "re");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%15s %x %*x %x %*d %*d %u %x", dev, &dest,
			   &flags, &metric, &mask) != 5)
			continue; /* the heading, or blanks */
		if (dest || mask || !(flags & RTF_UP))
			continue;
		if (found && metric >= best)
			continue;
		found = true;
		best = metric;
		strcpy(*name, dev);
	}
	fclose(f);
	return found;
}

/* The interface that key names in storm.conf; NULL: logged. */
static const struct ifaddrs *iface_find_named(const struct ifaddrs *all,
					      const char *name, const char *key,
					      const struct in_addr *peer)
{
	const struct ifaddrs *i = ifaddrs_by_name(all, name, peer);

	if (i)
		return i;
	if (if_nametoindex(name))
		storm_log(STORM_LOG_ERROR,
			  "interface %s has no IPv4 address: "
			  "give it one, or name another by %s in storm.conf",
			  name, key);
	else
		storm_log(STORM_LOG_ERROR,
			  "there is no interface %s: correct "
			  "%s in storm.conf",
			  name, key);
	return NULL;
}

static const struct ifaddrs *iface_choose(const struct storm_settings *set,
					  const struct in_addr *peer,
					  const struct ifaddrs *all)
{
	const struct ifaddrs *i;
	char text[INET_ADDRSTRLEN], name[IF_NAMESIZE];
	struct in_addr source;

	if (set->interface[0])
		return iface_find_named(all, set->interface, "Interface", peer);
	if (peer) {
		inet_ntop(AF_INET, peer, text, sizeof(text));
		if (!iface_route_source(*peer, &source)) {
			storm_log(STORM_LOG_ERROR,
				  "no route to %s (%m): "
				  "correct the routes, or set Interface in "
				  "storm.conf",
				  text);
			return NULL;
		}
		i = ifaddrs_by_addr(all, source);
		if (!i)
			storm_log(STORM_LOG_ERROR,
				  "no interface has the "
				  "source address of the route to %s: set "
				  "Interface in storm.conf",
				  text);
		return i;
	}
	if (iface_default_route(&name)) {
		i = ifaddrs_by_name(all, name, NULL);
		if (!i)
			storm_log(STORM_LOG_ERROR,
				  "interface %s of the "
				  "default route has no IPv4 address: set "
				  "Interface in storm.conf",
				  name);
		return i;
	}
	i = ifaddrs_only_one(all);
	if (!i)
		storm_log(STORM_LOG_ERROR,
			  "no default route shows which "
			  "interface to use: set Interface in storm.conf");
	return i;
}

/* Read its name, address, index and MTU. */
static int iface_read(const struct storm_settings *set, const struct ifaddrs *i,
		      const char *key, struct udp_iface *out)
{
	int fd, rc = STORM_ESYS;
	struct ifreq req;

	memset(&req, 0, sizeof(req));
	memcpy(req.ifr_name, i->ifa_name, strcspn(i->ifa_name, ":"));
	if (!(i->ifa_flags & IFF_UP)) {
		storm_log(STORM_LOG_ERROR,
			  "interface %s is down: bring it up, "
			  "or name another by %s in storm.conf",
			  req.ifr_name, key);
		errno = ENETDOWN;
		return rc;
	}
	if (set->multicast && !(i->ifa_flags & (IFF_MULTICAST | IFF_LOOPBACK)))
		storm_log(STORM_LOG_WARN,
			  "interface %s has no multicast: set "
			  "Multicast=no, or another %s, in storm.conf",
			  req.ifr_name, key);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCGIFMTU, &req)) {
		storm_log(STORM_LOG_ERROR,
			  "cannot read the MTU of "
			  "interface %s: %m",
			  req.ifr_name);
	} else {
		memcpy(out->name, req.ifr_name, sizeof(out->name));
		out->mtu = req.ifr_mtu;
		out->addr = ifaddr_ipv4(i);
		out->index = if_nametoindex(out->name);
		rc = STORM_OK;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static struct ifaddrs *ifaddrs_list(void)
{
	struct ifaddrs *all;

	if (!getifaddrs(&all))
		return all;
	storm_log(STORM_LOG_ERROR, "cannot list interfaces: %m");
	return NULL;
}

/* i: NULL if there is none, which was logged.  Frees all. */
static int iface_read_or_fail(const struct storm_settings *set,
			      const struct ifaddrs *i, const char *key,
			      struct ifaddrs *all, struct udp_iface *out)
{
	int rc = STORM_ESYS;

	if (i)
		rc = iface_read(set, i, key, out);
	else
		errno = ENODEV;
	freeifaddrs(all);
	return rc;
}

int storm_udp_iface(const struct storm_settings *set,
		    const struct storm_addr *peer, struct udp_iface *out)
{
	struct ifaddrs *all = ifaddrs_list();
	struct in_addr ip;

	if (!all)
		return STORM_ESYS;
	if (peer)
		memcpy(&ip, peer->ip + 12, sizeof(ip));
	return iface_read_or_fail(set,
				  iface_choose(set, peer ? &ip : NULL, all),
				  "Interface", all, out);
}

int storm_udp_iface_named(const struct storm_settings *set, const char *name,
			  const char *key, struct udp_iface *out)
{
	struct ifaddrs *all = ifaddrs_list();

	if (!all)
		return STORM_ESYS;
	return iface_read_or_fail(set, iface_find_named(all, name, key, NULL),
				  key, all, out);
}

int storm_udp_membership(int fd, const struct udp_iface *at,
			 struct in_addr group, int option)
{
	struct ip_mreqn m = { .imr_multiaddr = group,
			      .imr_address = at->addr,
			      .imr_ifindex = at->index };

	return setsockopt(fd, IPPROTO_IP, option, &m, sizeof(m));
}
