/*
 * check_host.c - see check_host.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <munge.h>

#include "check_host.h"
#include "check_slurm.h"
#include "check_tell.h"
#include "src/libstorm/transport/udp/udp_neighbours.h"
#include "src/libstorm/transport/udp/udp_port.h"

#define LINE 512
#define CAP_SYS_NICE_BIT 23
#define CTLD_PRIORITY 20
#define SLURMD_PRIORITY 15
#define INTERFACES 64
#define ROOM_MIN \
	(16ul << 20) /* bytes; libraries and logs of ours are smaller */

bool host_first_line(const char *path, char *out, unsigned long size)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(out, (int) size, f);

	if (got)
		out[strcspn(out, "\n")] = '\0';
	else
		*out = '\0';
	if (f)
		fclose(f);
	return got;
}

static long host_number(const char *path)
{
	char line[LINE];

	return host_first_line(path, line, sizeof(line)) ?
		       strtol(line, NULL, 0) :
		       -1;
}

bool host_line_of(pid_t pid, const char *file, const char *begin, char *out,
		  size_t size)
{
	char path[64], line[LINE];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, file);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		found = !strncmp(line, begin, strlen(begin));
		if (found)
			snprintf(out, size, "%s", line + strlen(begin));
	}
	if (f)
		fclose(f);
	return found;
}

/* Has it this host's network?  What runs in a container of its own has not. */
static bool host_is_here(const char *pid)
{
	char path[300], own[LINE], its[LINE];
	ssize_t n = readlink("/proc/self/ns/net", own, sizeof(own)), m;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	m = readlink(path, its, sizeof(its));
	return n < 0 || m < 0 || (n == m && !memcmp(own, its, (size_t) n));
}

pid_t host_daemon(const char *name)
{
	DIR *all = opendir("/proc");
	const struct dirent *e;
	char path[300], line[LINE];
	pid_t found = 0;

	while (all && !found && (e = readdir(all))) {
		if (!isdigit((unsigned char) *e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		if (host_first_line(path, line, sizeof(line)) &&
		    !strcmp(line, name) && host_is_here(e->d_name) &&
		    (!strcmp(name, "slurmctld") ||
		     (host_line_of(atoi(e->d_name), "status", "Uid:\t", line,
				   sizeof(line)) &&
		      !strtoul(line, NULL, 10))))
			found = atoi(e->d_name);
	}
	if (all)
		closedir(all);
	return found;
}

/* -------------------------------------------------------------------- the port --- */

static void host_check_no_agent(uint16_t port, const char *holder)
{
	if (host_daemon("slurmd"))
		check_tell(
			CHECK_MISSING, "",
			"no agent runs: restart slurmd, and see its log if that does not help");
	else
		check_tell(CHECK_OK, "", "port %u is %s, and no slurmd runs",
			   port, holder);
}

/* It is there; does it run? */
static void host_check_agent(uint16_t port)
{
	pid_t agent = host_daemon("storm_agent");
	char state[LINE];

	if (agent &&
	    host_line_of(agent, "status", "State:\t", state, sizeof(state)) &&
	    (*state == 'T' || *state == 't'))
		check_tell(CHECK_MISSING, "",
			   "the agent (process %d) is stopped: 'kill -CONT %d'",
			   (int) agent, (int) agent);
	else if (agent)
		check_tell(CHECK_OK, "", "port %u is the agent's", port);
	else
		host_check_no_agent(port, "root's");
}

static void host_check_port(uint16_t port)
{
	struct storm_udp_port p = STORM_UDP_PORT_NONE;
	char holder[128];
	int rc = storm_udp_port_open(&p, port);

	if (!rc) {
		storm_udp_port_close(&p);
		host_check_no_agent(port, "free");
		return;
	}
	if (errno != EADDRINUSE) {
		check_tell(
			CHECK_MISSING, "",
			"port %u cannot be used: %s: set another Port in storm.conf on all hosts",
			port, strerror(errno));
		return;
	}
	storm_udp_port_holder(port, holder, sizeof(holder));
	if (strstr(holder, "(storm_agent)") || strstr(holder, "(slurmd)"))
		host_check_agent(port);
	else if (!strcmp(holder, "a process of uid 0")) /* root sees which */
		host_check_agent(port);
	else
		check_tell(
			CHECK_MISSING, "",
			"port %u is in use by %s: end it, or set another Port in storm.conf on all hosts",
			port, holder);
}

/* --------------------------------------------------------------- the interface --- */

/* Names of interfaces, by blanks; those that are up, without lo. */
static int host_interfaces(char (*name)[INTERFACES][IF_NAMESIZE], char *list,
			   size_t size)
{
	struct if_nameindex *all = if_nameindex();
	char path[LINE], state[LINE];
	int n = 0;

	*list = '\0';
	for (struct if_nameindex *i = all; i && i->if_name; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/operstate",
			 i->if_name);
		host_first_line(path, state, sizeof(state));
		snprintf(list + strlen(list), size - strlen(list), "%s%s",
			 *list ? " " : "", i->if_name);
		if (strcmp(i->if_name, "lo") && strcmp(state, "down") &&
		    n < INTERFACES) {
			snprintf((*name)[n], sizeof((*name)[n]), "%s",
				 i->if_name);
			n++;
		}
	}
	if_freenameindex(all);
	return n;
}

/* The one of the default route. */
static bool host_default_route(char (*name)[IF_NAMESIZE])
{
	char line[LINE], dev[IF_NAMESIZE], dest[16];
	FILE *f = fopen("/proc/net/route", "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%15s %15s", dev, dest) == 2 &&
			!strcmp(dest, "00000000");
	if (found)
		strcpy(*name, dev);
	if (f)
		fclose(f);
	return found;
}

static void host_check_this(const struct storm_settings *s, const char *name)
{
	char path[LINE];
	long mtu, flags, max;

	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", name);
	mtu = host_number(path);
	snprintf(path, sizeof(path), "/sys/class/net/%s/flags", name);
	flags = host_number(path);
	max = host_number("/proc/sys/net/core/rmem_max");
	check_tell(CHECK_OK, "",
		   "interface %s, MTU %ld bytes; net.core.rmem_max is %ld",
		   name, mtu, max);
	if ((long) s->mtu > mtu)
		check_tell(
			CHECK_NOTE, "",
			"MTU=%u in storm.conf is more than the interface's: packets have %ld bytes",
			s->mtu, mtu);
	if (s->multicast && !(flags & IFF_MULTICAST))
		check_tell(
			CHECK_MISSING, "",
			"interface %s has no multicast: 'ip link set %s multicast on', or set Multicast=no in storm.conf",
			name, name);
	if (max < (long) s->socket_buffer)
		check_tell(
			CHECK_NOTE, "",
			"net.core.rmem_max is %ld, less than SocketBuffer (%u): srun's and sbcast_storm's buffers are smaller; 'sysctl -w net.core.rmem_max=%u', and a file in /etc/sysctl.d",
			max, s->socket_buffer, s->socket_buffer);
}

void check_host_interface(const struct storm_settings *s, const char *place)
{
	char up[INTERFACES][IF_NAMESIZE], name[IF_NAMESIZE], list[LINE];
	int n = host_interfaces(&up, list, sizeof(list));

	if (*s->interface) {
		snprintf(name, sizeof(name), "%s", s->interface);
		if (!if_nametoindex(name)) {
			check_tell(
				CHECK_MISSING, "",
				"there is no interface %s: correct Interface in storm.conf: %s",
				name, list);
			return;
		}
	} else if (*place) {
		snprintf(name, sizeof(name), "%s", place);
	} else if (!host_default_route(&name)) {
		if (n != 1) {
			check_tell(
				CHECK_MISSING, "",
				"no default route shows which interface to use, and there are: %s: set Interface in storm.conf",
				list);
			return;
		}
		strcpy(name, up[0]);
	}
	host_check_this(s, name);
}

static void host_check_neighbours(void)
{
	struct storm_neighbours n;

	if (storm_udp_neighbours(&n))
		check_tell(
			CHECK_NOTE, "",
			"cannot look at the kernel's table of neighbours: %s",
			strerror(errno));
	else if (storm_udp_neighbours_short(&n))
		check_tell(
			CHECK_MISSING, "",
			"the kernel has room for %u neighbours, and needed more: packets to further hosts are discarded: raise net.ipv4.neigh.default.gc_thresh2 and gc_thresh3 above %u, with 'sysctl -w' and a file in /etc/sysctl.d",
			n.most, n.most);
}

/* Debian's installer gives a host's own name to 127.0.1.1. */
static void host_check_name(void)
{
	const struct addrinfo want = { .ai_family = AF_INET,
				       .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct utsname u;
	uint32_t ip;

	if (uname(&u) || getaddrinfo(u.nodename, NULL, &want, &list))
		return;
	ip = ntohl(((struct sockaddr_in *) list->ai_addr)->sin_addr.s_addr);
	freeaddrinfo(list);
	if (ip >> 24 == 127)
		check_tell(
			CHECK_NOTE, "",
			"this host's own name %s is %u.%u.%u.%u, which no other host can reach: give it the real address in /etc/hosts, or NodeAddr in slurm.conf",
			u.nodename, ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
			ip & 255);
}

/* --------------------------------------------------------------------- daemons --- */

static void host_check_munge(void)
{
	char *cred = NULL;
	munge_err_t err = munge_encode(&cred, NULL, NULL, 0);
	const char *type = slurm_file_value("AuthType");

	if (type && !strcasecmp(type, "auth/slurm"))
		check_tell(
			CHECK_NOTE, "",
			"AuthType=auth/slurm: STORM needs munged nevertheless");
	if (!err)
		err = munge_decode(cred, NULL, NULL, NULL, NULL, NULL);
	free(cred);
	if (err)
		check_tell(
			CHECK_MISSING, "",
			"munged does not work here: %s: 'systemctl start munge', with the cluster's /etc/munge/munge.key",
			munge_strerror(err));
	else
		check_tell(CHECK_OK, "", "munged makes and takes credentials");
}

/* With CONFIG_RT_GROUP_SCHED a group of processes has no real time by default. */
static void host_check_rt_group(const char *name, pid_t pid)
{
	char path[64], line[LINE], file[2 * LINE];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int) pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *at = strstr(line, "cpu:");

		if (!at || (at[-1] != ':' && at[-1] != ','))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(file, sizeof(file),
			 "/sys/fs/cgroup/cpu%s/cpu.rt_runtime_us", at + 4);
		if (!host_number(file))
			check_tell(
				CHECK_NOTE, "",
				"%s's control group has no real time (%s is 0): set it to 950000 there and above",
				name, file);
	}
	if (f)
		fclose(f);
}

/* May its children run in real time? */
static void host_check_rt_of(const char *name, int priority)
{
	char limit[LINE], caps[LINE];
	pid_t pid = host_daemon(name);
	long most;

	if (!pid ||
	    !host_line_of(pid, "limits", "Max realtime priority", limit,
			  sizeof(limit)) ||
	    !host_line_of(pid, "status", "CapEff:", caps, sizeof(caps)))
		return;
	most = strstr(limit, "unlimited") ? priority : strtol(limit, NULL, 10);
	if (most < priority &&
	    !(strtoull(caps, NULL, 16) >> CAP_SYS_NICE_BIT & 1))
		check_tell(
			CHECK_NOTE, "",
			"%s may not run its child in real time (RLIMIT_RTPRIO is %ld), so turns may begin late: LimitRTPRIO=%d in its unit ('systemctl edit %s'), then restart it",
			name, most, priority, name);
	host_check_rt_group(name, pid);
}

static void host_check_rt(void)
{
	const char *scheduler = slurm_file_value("SchedulerType");

	if (!host_number("/proc/sys/kernel/sched_rt_runtime_us"))
		check_tell(
			CHECK_NOTE, "",
			"the kernel grants no real time: 'sysctl -w kernel.sched_rt_runtime_us=950000'");
	if (scheduler && !strcasecmp(scheduler, "sched/storm"))
		host_check_rt_of("slurmctld", CTLD_PRIORITY);
	host_check_rt_of("slurmd", SLURMD_PRIORITY);
}

static void host_check_groups(void)
{
	static const char *const at[] = { "/sys/fs/cgroup",
					  "/sys/fs/cgroup/unified" };
	char path[LINE];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/cgroup.controllers", at[i]);
		if (access(path, F_OK))
			continue;
		check_tell(
			CHECK_OK, "",
			"cgroup v2 at %s: steps are stopped by cgroup.freeze",
			at[i]);
		return;
	}
	if (!access("/sys/fs/cgroup/freezer", F_OK))
		check_tell(
			CHECK_NOTE, "",
			"only cgroup v1: steps are stopped by signals, which debuggers and shells see; Freezer=freezer in storm.conf uses /sys/fs/cgroup/freezer");
	else
		check_tell(
			CHECK_NOTE, "",
			"no control groups: steps are stopped by signals, which debuggers and shells see; mount cgroup2 at /sys/fs/cgroup");
}

/* Where files of ours and of Slurm's go. */
static void host_check_disk(const char *what, const char *path)
{
	struct statvfs v;
	unsigned long long room;

	if (!path || strchr(path, '%') || statvfs(path, &v) || !v.f_blocks)
		return;
	room = (unsigned long long) v.f_bavail * v.f_frsize;
	if (room < ROOM_MIN)
		check_tell(
			CHECK_MISSING, "",
			"%s (%s) has %llu kB left: make room, or files and turns fail",
			path, what, room >> 10);
	else if (v.f_files && !v.f_favail)
		check_tell(CHECK_MISSING, "",
			   "%s (%s) has no inode left: remove files", path,
			   what);
}

static void host_check_disks(void)
{
	const char *spool = slurm_file_value("SlurmdSpoolDir");
	const char *tmp = slurm_file_value("TmpFS");

	host_check_disk("the agent's own files",
			access("/run/slurm-storm", F_OK) ? "/run" :
							   "/run/slurm-storm");
	host_check_disk("SlurmdSpoolDir", spool ? spool : "/var/spool/slurmd");
	host_check_disk("TmpFS", tmp ? tmp : "/tmp");
}

void check_host(const struct storm_conf *conf)
{
	host_check_port(conf->set.port);
	host_check_neighbours();
	host_check_name();
	host_check_munge();
	host_check_rt();
	host_check_groups();
	host_check_disks();
}
