/*
 * udp_neighbours.c - see udp_neighbours.h.  Netlink has the table's counters in
 * each network namespace; /proc/net/stat has them in the first one alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "udp_neighbours.h"

#define TABLE "arp_cache"

struct neighbours_request {
	struct nlmsghdr h;
	struct ndtmsg m;
};

/* One table.  False: it is another one, or a part for an interface. */
static bool neighbours_table(const struct nlmsghdr *h,
			     struct storm_neighbours *out)
{
	const struct rtattr *a =
		(const void *) ((const char *) NLMSG_DATA(h) +
				NLMSG_ALIGN(sizeof(struct ndtmsg)));
	int left = (int) NLMSG_PAYLOAD(h, sizeof(struct ndtmsg));
	struct storm_neighbours n = { 0 };
	bool ours = false, whole = false;
	struct ndt_config config;
	struct ndt_stats stats;

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		size_t len = RTA_PAYLOAD(a);

		if (a->rta_type == NDTA_NAME)
			ours = len == sizeof(TABLE) &&
			       !memcmp(RTA_DATA(a), TABLE, len);
		else if (a->rta_type == NDTA_THRESH3 && len == sizeof(n.most))
			memcpy(&n.most, RTA_DATA(a), len);
		else if (a->rta_type == NDTA_CONFIG && len >= sizeof(config)) {
			memcpy(&config, RTA_DATA(a), sizeof(config));
			n.entries = config.ndtc_entries;
		} else if (a->rta_type == NDTA_STATS && len >= sizeof(stats)) {
			memcpy(&stats, RTA_DATA(a), sizeof(stats));
			n.fulls = stats.ndts_table_fulls;
			whole = true;
		}
	}
	if (ours && whole)
		*out = n;
	return ours && whole;
}

/* 1: found, 0: there is more to read, -1 and errno. */
static int neighbours_answer(const void *buf, size_t len,
			     struct storm_neighbours *out)
{
	for (const struct nlmsghdr *h = buf; NLMSG_OK(h, len);
	     h = NLMSG_NEXT(h, len)) {
		if (h->nlmsg_type == NLMSG_DONE ||
		    h->nlmsg_type == NLMSG_ERROR) {
			errno = ENOENT;
			return -1;
		}
		if (h->nlmsg_type == RTM_NEWNEIGHTBL &&
		    neighbours_table(h, out))
			return 1;
	}
	return 0;
}

int storm_udp_neighbours(struct storm_neighbours *out)
{
	struct neighbours_request r = {
		.h = { .nlmsg_len = sizeof(r),
		       .nlmsg_type = RTM_GETNEIGHTBL,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.m = { .ndtm_family = AF_INET },
	};
	union {
		struct nlmsghdr align;
		char bytes[16384];
	} buf;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n;
	int rc, err;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return -1;
	rc = send(fd, &r, sizeof(r), 0) == sizeof(r) ? 0 : -1;
	while (!rc) {
		n = recv(fd, buf.bytes, sizeof(buf.bytes), 0);
		rc = n <= 0 ? -1 :
			      neighbours_answer(buf.bytes, (size_t) n, out);
	}
	err = errno;
	close(fd);
	errno = err;
	return rc < 0 ? -1 : 0;
}

bool storm_udp_neighbours_short(const struct storm_neighbours *n)
{
	return n->fulls && n->entries > n->most / 4 * 3;
}
