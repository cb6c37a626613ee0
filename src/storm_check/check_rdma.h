/*
 * check_rdma.h - reads what this host has of what Transport=verbs needs, and
 * judges what is missing, with the remedy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_RDMA_H
#define STORM_CHECK_RDMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libstorm/storm.h"

#define RDMA_NAME 64
#define RDMA_PORTS 32
#define RDMA_RAILS 16
#define RDMA_NETDEVS 16
#define RDMA_PKEYS 256
#define RDMA_NO_MODE ((mode_t) -1)

/* A network interface of a port. */
struct rdma_netdev {
	char name[RDMA_NAME];
	char address[RDMA_NAME]; /* IPv4; "": it has none, or is down */
	long mtu;		 /* bytes; -1: unknown */
	char gid[RDMA_NAME]; /* number of the address's RoCE v2 GID, or "" */
};

struct rdma_port {
	char device[RDMA_NAME], port[RDMA_NAME];
	uint16_t pkey; /* wanted; 0: none */
	bool there;    /* the device has such a port */
	/* The first lines of its files in sysfs. */
	char state[RDMA_NAME], rate[RDMA_NAME], link[RDMA_NAME];
	char sm_lid[RDMA_NAME];
	uint16_t pkeys[RDMA_PKEYS];
	size_t pkeys_n;
	struct rdma_netdev netdev[RDMA_NETDEVS];
	size_t netdevs;
	char driver[RDMA_NAME];
	bool provider;		/* of rdma_provider(driver): is it there? */
	char uverbs[RDMA_NAME]; /* its device file; "": none */
	mode_t uverbs_mode;	/* RDMA_NO_MODE: the file is not there */
};

/* The limit of memory that may be locked. */
struct rdma_lock {
	bool known, unlimited;
	uint64_t kib;
};

struct rdma_host {
	bool is_image; /* it is not this one, and has no processes */
	const char *conf;
	bool conf_there;
	bool conf_wrong; /* it has errors, so its keys are not known */
	bool libibverbs, librdmacm;
	bool device;			 /* is there any device? */
	const char *unknown[RDMA_RAILS]; /* rails that name nothing here */
	size_t unknowns;
	struct rdma_port port[RDMA_PORTS];
	size_t ports;
	mode_t rdma_cm_mode;
	struct rdma_lock command; /* of users; not known to root */
	struct rdma_lock slurmd;
	bool selinux;
};

/* The name of a driver's library in libibverbs, or NULL: not known here. */
const char *rdma_provider(const char *driver);

/* Tell by check_tell() what is there and what is missing.  Pure. */
void rdma_judge(const struct rdma_host *h, const struct storm_settings *set);

/*
 * Fill *h from the system below root; "": this one.  rails: n of NAME or
 * NAME:PORT, which must live as long as *h; all but the first have set's
 * StrobePKey.  n 0: every active port, or all ports if none is.
 */
void rdma_host_read(struct rdma_host *h, const char *root,
		    const char *const *rails, size_t n,
		    const struct storm_settings *set);

#endif
