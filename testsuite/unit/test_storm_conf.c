/*
 * test_storm_conf.c - storm.conf: syntax, defaults, every key, and the errors
 * with their messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <unistd.h>

#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/libstorm/base/clock.h"
#include "src/storm_common/conf_read.h"
#include "unit.h"

static char path[64];
static char *why;
static struct storm_conf conf;

static void setup(void)
{
	log_options_t quiet = { .stderr_level = LOG_LEVEL_QUIET,
				.syslog_level = LOG_LEVEL_QUIET,
				.logfile_level = LOG_LEVEL_QUIET,
				.prefix_level = 1 };
	int fd;

	log_init("test_storm_conf", quiet, 0, NULL);
	strcpy(path, "/tmp/storm-test-conf-XXXXXX");
	fd = mkstemp(path);
	must(fd >= 0);
	close(fd);
	memset(&conf, 0x5a, sizeof(conf));
}

static void teardown(void)
{
	unlink(path);
	xfree(why);
}

static int load(const char *text)
{
	FILE *f = fopen(path, "w");

	must(f && fputs(text, f) >= 0 && !fclose(f));
	xfree(why);
	return storm_conf_load_file(path, &conf, &why);
}

static void good(const char *text)
{
	if (load(text))
		ck_abort_msg("%s is refused: %s", text, why);
}

START_TEST(test_defaults)
{
	struct storm_conf d;

	memset(&d, 0, sizeof(d));
	storm_conf_default(&d);
	good("# nothing but a comment\n");
	must(conf.set.port == 8383 && conf.set.multicast && conf.set.ttl == 1);
	must(conf.set.window == 16 << 20 && conf.set.radix == 8);
	must(conf.fallback == FALLBACK_NODES && conf.launch_nodes == 12);
	must(conf.agent_linger == 30 * STORM_SEC);
	must(conf.launcher_idle == 600 * STORM_SEC);
	must(conf.launcher_port_first == 63001 &&
	     conf.launcher_port_last == 65000);
	must(conf.set.transport == STORM_TRANSPORT_UDP);
	must(conf.set.transport_fallback && !conf.set.device[0]);
	must(!conf.set.strobe_device[0] && conf.set.gid_index == -1);
	must(conf.set.strobe_gid_index == -1 && !conf.set.pkey);
	must(conf.set.recv_depth == conf.set.strobe_recv_depth);
	must(!memcmp(&conf.set.group, &d.set.group, sizeof(d.set.group)));
}
END_TEST

START_TEST(test_every_key)
{
	static const uint8_t group[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };

	good("Interface=eth1\nPort=9000\nMulticast=No\nGroupBase=239.1.2.3\n"
	     "GroupCount=4\nTTL=3\nDSCP=10\nControlDSCP=40\nRadix=4\n"
	     "Window=1M\nRate=2g\nSocketBuffer=128k\nMTU=9000\n"
	     "OpenTimeout=2s\nDeadTimeout=700\nOpTimeout=900ms\n"
	     "MulticastTimeout=2s\n"
	     "Heartbeat=300\nMaxSessions=5\nFallback=NEVER\nAgentLinger=0\n"
	     "MaxUserSessions=3\nMaxMemory=64M\nMaxUserMemory=8m\n"
	     "AllowUsers=ann,1042,@staff\nAllowHosts=n[1-4],10.0.0.0/8\n"
	     "Freezer=Signals\n"
	     "LaunchNodes=2\nLauncherIdle=2s\nLauncherPorts=1024-65535\n"
	     "DropPercent=2.5\nDropSeed=18446744073709551615\n");
	must(conf.launch_nodes == 2);
	must(conf.launcher_idle == 2 * STORM_SEC);
	must(conf.launcher_port_first == 1024 &&
	     conf.launcher_port_last == 65535);
	ck_assert_str_eq(conf.set.interface, "eth1");
	must(conf.set.port == 9000 && !conf.set.multicast);
	must(!memcmp(conf.set.group.ip, group, 16));
	must(conf.set.group.port == 9000);
	must(conf.set.groups == 4 && conf.set.ttl == 3);
	must(conf.set.dscp == 10 && conf.set.dscp_control == 40);
	must(conf.set.radix == 4 && conf.set.window == 1 << 20);
	must(conf.set.rate == 2ULL << 30);
	must(conf.set.socket_buffer == 128 << 10 && conf.set.mtu == 9000);
	must(conf.set.open_timeout == 2 * STORM_SEC);
	must(conf.set.multicast_timeout == 2 * STORM_SEC);
	must(conf.set.dead_timeout == 700 * STORM_MS);
	must(conf.set.op_timeout == 900 * STORM_MS);
	must(conf.set.heartbeat == 300 * STORM_MS);
	must(conf.set.sessions_max == 5 && conf.fallback == FALLBACK_NEVER);
	must(conf.set.user_sessions_max == 3);
	must(conf.set.memory_max == 64 << 20);
	must(conf.set.user_memory_max == 8 << 20);
	ck_assert_str_eq(conf.allow_users, "ann,1042,@staff");
	ck_assert_str_eq(conf.allow_hosts, "n[1-4],10.0.0.0/8");
	must(conf.agent_linger == 0 && !strcmp(conf.freezer, "signals"));
	must(conf.set.drop_ppm == 25000 && conf.set.drop_seed == UINT64_MAX);
}
END_TEST

START_TEST(test_rails)
{
	good("Transport=Verbs\nTransportFallback=no\nDataRail=mlx5_0:2\n"
	     "StrobeRail=ib1\nGidIndex=3\nStrobeGidIndex=0\nPKey=0x8001\n"
	     "StrobePKey=32767\nServiceLevel=1\nStrobeServiceLevel=15\n"
	     "ReceiveQueue=64\nStrobeReceiveQueue=32768\n"
	     "MTU=4096\nStrobeMTU=2048\n");
	must(conf.set.mtu == 4096 && conf.set.strobe_mtu == 2048);
	must(conf.set.transport == STORM_TRANSPORT_VERBS);
	must(!conf.set.transport_fallback);
	ck_assert_str_eq(conf.set.device, "mlx5_0");
	ck_assert_str_eq(conf.set.strobe_device, "ib1");
	must(conf.set.ib_port == 2 && conf.set.strobe_ib_port == 0);
	must(conf.set.gid_index == 3 && conf.set.strobe_gid_index == 0);
	must(conf.set.pkey == 0x8001 && conf.set.strobe_pkey == 0x7fff);
	must(conf.set.service_level == 1);
	must(conf.set.service_level_control == 15);
	must(conf.set.recv_depth == 64);
	must(conf.set.strobe_recv_depth == 32768);
	/* of the data rail's own, a device that is two letters shorter */
	good("DataRail=mlx5_bond_0\nDataRail=rxe0\n");
	ck_assert_str_eq(conf.set.device, "rxe0");
}
END_TEST

START_TEST(test_gang)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {
		{ "100us", 100 * STORM_US }, { "0.1", 100 * STORM_US },
		{ "2", 2 * STORM_MS },	     { "2.5ms", 2500 * STORM_US },
		{ "600s", 600 * STORM_SEC }, { "0.5S", STORM_SEC / 2 },
	};
	const struct storm_conf_partition *p;
	char text[32 * 10 + 64] = "LocalPartitions=";

	good("\n");
	must(conf.gang.base == BASE_BACKFILL && !conf.gang.partitions);
	must(conf.gang.packing == PACKING_FIRST_FIT);
	must(conf.gang.quantum == 50 * STORM_MS);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		char line[32];

		snprintf(line, sizeof(line), "Quantum=%s\n", times[i].text);
		good(line);
		ck_assert_uint_eq(conf.gang.quantum, times[i].ns);
	}
	must(!conf.gang.lead);
	good("StrobeLead=1.5ms\n");
	must(conf.gang.lead == 1500 * STORM_US);
	good("StrobeLead=10\n");
	must(conf.gang.lead == 10 * STORM_MS);
	must(!conf.gang.allow_gpus && !conf.gang.allow_licenses);
	good("GangAllow=Licenses\n");
	must(!conf.gang.allow_gpus && conf.gang.allow_licenses);
	good("GangAllow=gpus,licenses\n");
	must(conf.gang.allow_gpus && conf.gang.allow_licenses);
	must(!CPU_COUNT(&conf.agent_cpus));
	good("AgentCPUs=0,2-3\n");
	must(CPU_COUNT(&conf.agent_cpus) == 3 &&
	     CPU_ISSET(0, &conf.agent_cpus) && CPU_ISSET(2, &conf.agent_cpus) &&
	     CPU_ISSET(3, &conf.agent_cpus));
	must(conf.gang_debug && conf.gang.cluster);
	must(conf.gang.failed == FAILED_REPORT && !conf.gang.failed_max);
	must(conf.gang.act_after == 5 * STORM_SEC);
	good("Cluster=no\n");
	must(!conf.gang.cluster);
	good("FailedNode=Drain\nActAfter=30s\nMaxFailedNodes=7\n");
	must(conf.gang.failed == FAILED_DRAIN);
	must(conf.gang.act_after == 30 * STORM_SEC);
	must(conf.gang.failed_max == 7 && !conf.gang.failed_percent);
	good("FailedNode=down\nMaxFailedNodes=10%\n");
	must(conf.gang.failed == FAILED_DOWN);
	must(conf.gang.failed_max == 10 && conf.gang.failed_percent);
	must(conf.fallback == FALLBACK_NODES && conf.odd_max == 10 &&
	     conf.odd_percent);
	good("Fallback=warn\nMaxFallbackNodes=3\n");
	must(conf.fallback == FALLBACK_WARN && conf.odd_max == 3 &&
	     !conf.odd_percent);
	must(conf.failed_launch == FAILED_LAUNCH_FALLBACK);
	good("FailedLaunch=Retry\n");
	must(conf.failed_launch == FAILED_LAUNCH_RETRY);
	good("FailedLaunch=fail\n");
	must(conf.failed_launch == FAILED_LAUNCH_FAIL);
	good("FailedLaunch=fallback\n");
	must(conf.failed_launch == FAILED_LAUNCH_FALLBACK);
	good("Health=0\nHealthSpace=1G\nHealthPaths=/a:/b/c\nHealthBusy=yes\n");
	must(!conf.health.period && conf.health.space == 1 << 30);
	must(!strcmp(conf.health.paths, "/a:/b/c") && conf.health.busy);
	must(conf.health.inodes == 1000 && !conf.health.program[0]);
	good("HealthProgram=None\nHealthTimeout=5s\n");
	must(!strcmp(conf.health.program, "none"));
	must(conf.health.timeout == 5 * STORM_SEC);
	good("GangDebug=No\n");
	must(!conf.gang_debug && !conf.gang_yield);
	good("GangYield=Yes\n");
	must(conf.gang_yield && conf.gang_debug);
	good("Base=Builtin\nPacking=buddy\nLocalPartitions=c,a\n"
	     "PartitionQuantum=a:1,b:2s\n");
	must(conf.gang.base == BASE_BUILTIN);
	must(conf.gang.packing == PACKING_BUDDY);
	p = storm_conf_partition(&conf.gang, "a");
	must(p && p->local && p->quantum == STORM_MS);
	p = storm_conf_partition(&conf.gang, "b");
	must(p && !p->local && p->quantum == 2 * STORM_SEC);
	p = storm_conf_partition(&conf.gang, "c");
	must(p && p->local && !p->quantum);
	must(!storm_conf_partition(&conf.gang, "d"));
	for (int i = 0; i < STORM_CONF_PARTITIONS; i++)
		sprintf(text + strlen(text), "%sp%d", i ? "," : "", i);
	good(text);
	must(conf.gang.partitions == STORM_CONF_PARTITIONS);
	strcat(text, ",more");
	must(load(text) == SLURM_ERROR);
}
END_TEST

START_TEST(test_policies)
{
	static const char clash[] = "LocalPartitions=a,b\n\n"
				    "PartitionPolicy=c:gang,b:Flexible\n";
	const struct storm_conf_partition *p;
	char says[256];

	good("PartitionPolicy=a:Flexible,b:gang,c:local\nQuantum=5\n"
	     "LocalPartitions=d,c\nPartitionQuantum=a:10\n");
	p = storm_conf_partition(&conf.gang, "a");
	must(p && p->turns && p->policy == GANG_POLICY_FLEXIBLE && !p->local);
	must(p->quantum == 10 * STORM_MS);
	must(storm_conf_gives_way(&conf.gang));
	p = storm_conf_partition(&conf.gang, "b");
	must(p && p->turns && p->policy == GANG_POLICY_GANG && !p->local);
	p = storm_conf_partition(&conf.gang, "c");
	must(p && p->local && !p->turns);
	p = storm_conf_partition(&conf.gang, "d");
	must(p && p->local && !p->turns);
	good("PartitionPolicy=b:gang,c:local\nLocalPartitions=d\n");
	must(!storm_conf_gives_way(&conf.gang));
	good("Partition=a Policy=yield\n");
	must(storm_conf_gives_way(&conf.gang));
	/* two words for one partition */
	must(load(clash) == SLURM_ERROR);
	snprintf(says, sizeof(says),
		 "%s:3: partition b is local, and has the policy flexible",
		 path);
	ck_assert_msg(strstr(why, says) == why, "%s", why);
	must(load("PartitionPolicy=a:gang,a:local\n") == SLURM_ERROR);
	must(load("PartitionPolicy=a:local,a:flexible\n") == SLURM_ERROR);
}
END_TEST

START_TEST(test_limits)
{
	good("TimeLimitByTurns=a,b\nPartitionQuantum=a:10\n");
	must(storm_conf_partition(&conf.gang, "a")->limit_by_turns);
	must(storm_conf_partition(&conf.gang, "b")->limit_by_turns);
	good("PartitionQuantum=a:10\n");
	must(!storm_conf_partition(&conf.gang, "a")->limit_by_turns);
}
END_TEST

START_TEST(test_weights)
{
	char text[1024] = "QosWeight=";

	good("QosWeight=high:3,low:1,most:16\n");
	must(storm_conf_weight(&conf.gang, "high") == 3);
	must(storm_conf_weight(&conf.gang, "HIGH") == 3);
	must(storm_conf_weight(&conf.gang, "low") == 1);
	must(storm_conf_weight(&conf.gang, "most") == 16);
	must(storm_conf_weight(&conf.gang, "other") == 1);
	must(storm_conf_weight(&conf.gang, NULL) == 1);
	for (int i = 0; i < STORM_CONF_QOS; i++)
		sprintf(text + strlen(text), "%sq%d:2", i ? "," : "", i);
	good(text);
	must(conf.gang.qoses == STORM_CONF_QOS);
	strcat(text, ",more:2");
	must(load(text) == SLURM_ERROR);
}
END_TEST

/* Each policy's word and number. */
START_TEST(test_policy_names)
{
	must(gang_policy_find("GANG") == GANG_POLICY_GANG);
	must(gang_policy_find("flexible") == GANG_POLICY_FLEXIBLE);
	must(gang_policy_find("Yield") == GANG_POLICY_YIELD);
	must(gang_policy_find("") == GANG_POLICIES);
	must(gang_policy_find("gangs") == GANG_POLICIES);
	must(!gang_policy_name(GANG_POLICIES));
	for (unsigned int i = 0; i < GANG_POLICIES; i++)
		must(gang_policy_find(gang_policy_name(i)) == i);
}
END_TEST

/* The groups of steps are not those of agents. The latter may be where the
 * former would be. */
START_TEST(test_contexts)
{
	good("\n");
	must(conf.context.count == 65536 && conf.context.group == 0xefc30000);
	good("ContextCount=0\nContextGroupBase=239.192.83.0\n");
	must(!conf.context.count);
	good("ContextCount=1048576\nContextGroupBase=224.0.0.0\n");
	must(conf.context.count == 1048576);
	must(conf.context.group == 0xe0000000);
	good("GroupBase=239.195.255.240\n");
	must(conf.context.group == 0xefc20000);
	good("GroupBase=239.196.0.0\n");
	must(conf.context.group == 0xefc30000);
	must(load("GroupBase=239.195.255.240\nContextGroupBase=239.195.0.0\n") ==
	     SLURM_ERROR);
	must(strstr(why, "overlap"));
	must(load("ContextGroupBase=239.192.83.15\n") == SLURM_ERROR);
	must(strstr(why, "overlap"));
	good("ContextGroupBase=239.192.83.16\n");
	must(load("ContextGroupBase=239.255.0.1\n") == SLURM_ERROR);
	must(strstr(why, "ContextCount=65536"));
	good("ContextGroupBase=239.255.0.0\n");
}
END_TEST

/* The message names the file, the line, the key, the value and what is allowed. */
START_TEST(test_wrong_values)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "Interface", "averylonginterface" },
		{ "Interface", "a/b" },
		{ "Transport", "tcp" },
		{ "TransportFallback", "1" },
		{ "DataRail", ":1" },
		{ "DataRail", "mlx5_0:" },
		{ "DataRail", "mlx5_0:0" },
		{ "DataRail", "mlx5_0:255" },
		{ "DataRail", "mlx5_0:1:2" },
		{ "DataRail", "a/b" },
		{ "StrobeRail", "averylongdevicename_averylongdevicename_"
				"averylongdevicename_1234" },
		{ "GidIndex", "-1" },
		{ "GidIndex", "65536" },
		{ "StrobeGidIndex", "x" },
		{ "PKey", "0" },
		{ "PKey", "0x8000" },
		{ "PKey", "0x" },
		{ "PKey", "0x10000" },
		{ "PKey", "-1" },
		{ "PKey", "7fff" },
		{ "ServiceLevel", "16" },
		{ "StrobeServiceLevel", "16" },
		{ "ReceiveQueue", "15" },
		{ "StrobeReceiveQueue", "32769" },
		{ "StrobeMTU", "500" },
		{ "Port", "0" },
		{ "Port", "65536" },
		{ "Port", "x" },
		{ "Port", "-1" },
		{ "Port", "80x" },
		{ "Port", "99999999999999999999" },
		{ "Multicast", "maybe" },
		{ "ContextCount", "1048577" },
		{ "ContextCount", "-1" },
		{ "ContextGroupBase", "10.0.0.0" },
		{ "ContextGroupBase", "239.1.0.0/16" },
		{ "GroupBase", "10.1.2.3" },
		{ "GroupBase", "239.1.2" },
		{ "GroupCount", "0" },
		{ "GroupCount", "65" },
		{ "TTL", "256" },
		{ "DSCP", "64" },
		{ "ControlDSCP", "64" },
		{ "Radix", "1" },
		{ "Radix", "65" },
		{ "Window", "1" },
		{ "Window", "2G" },
		{ "Window", "1MB" },
		{ "Window", "99999999999999G" },
		{ "Rate", "1" },
		{ "SocketBuffer", "1" },
		{ "MTU", "575" },
		{ "MTU", "65536" },
		{ "OpenTimeout", "0" },
		{ "DeadTimeout", "5m" },
		{ "OpTimeout", "99999999999999999s" },
		{ "Heartbeat", "1" },
		{ "MaxSessions", "0" },
		{ "MaxUserSessions", "0" },
		{ "MaxMemory", "1k" },
		{ "MaxUserMemory", "some" },
		{ "AllowUsers", "," },
		{ "Fallback", "always" },
		{ "FailedLaunch", "again" },
		{ "AgentCPUs", "some" },
		{ "AgentCPUs", "1024" },
		{ "AgentCPUs", "3-1" },
		{ "AgentCPUs", "-" },
		{ "AgentCPUs", "2-" },
		{ "AgentCPUs", "1,,2" },
		{ "AgentLinger", "-1" },
		{ "LauncherPorts", "1023-1030" },
		{ "LauncherPorts", "2000-1999" },
		{ "LauncherPorts", "65535-65536" },
		{ "LauncherPorts", "2000" },
		{ "LauncherPorts", "2000-" },
		{ "LauncherPorts", "2000-2001x" },
		{ "LaunchNodes", "0" },
		{ "Freezer", "ice" },
		{ "DropPercent", "100.1" },
		{ "DropPercent", "nan" },
		{ "DropSeed", "x" },
		{ "Base", "slurm" },
		{ "Packing", "first" },
		{ "Quantum", "0" },
		{ "Quantum", "99us" },
		{ "StrobeLead", "10.1ms" },
		{ "StrobeLead", "-1us" },
		{ "Quantum", "601s" },
		{ "Quantum", "5m" },
		{ "Quantum", "-1" },
		{ "Quantum", "1e3" },
		{ "Quantum", "1.2.3" },
		{ "Quantum", "0x1" },
		{ "Quantum", "nan" },
		{ "Quantum", ".5" },
		{ "PartitionQuantum", "5ms" },
		{ "PartitionQuantum", "a:" },
		{ "PartitionQuantum", ":5" },
		{ "PartitionQuantum", "a:1,b" },
		{ "PartitionQuantum", "a:99us" },
		{ "PartitionQuantum", "a:1,b:601s" },
		{ "OpenTimeout", "0.5" },
		{ "OpenTimeout", "5us" },
		{ "DropPercent", "1e1" },
		{ "DropPercent", "0x1" },
		{ "GangDebug", "perhaps" },
		{ "GangAllow", "memory" },
		{ "GangAllow", "gpus;licenses" },
		{ "QosWeight", "high" },
		{ "QosWeight", "high:" },
		{ "QosWeight", ":2" },
		{ "QosWeight", "high:0" },
		{ "QosWeight", "high:17" },
		{ "QosWeight", "high:-1" },
		{ "QosWeight", "high:2x" },
		{ "QosWeight", "high:2,low" },
		{ "QosWeight", "high:2,High:3" },
		{ "QosWeight", "high:99999999999999999999" },
		{ "QosWeight", "a_name_of_more_than_63_letters_that_no_qos_of_"
			       "any_site_will_have_in_its_database:2" },
		{ "PartitionPolicy", "flexible" },
		{ "PartitionPolicy", "a:" },
		{ "PartitionPolicy", ":gang" },
		{ "PartitionPolicy", "a:gang,b" },
		{ "PartitionPolicy", "a:gang,b:implicit" },
		{ "PartitionPolicy", "a:gang,a:flexible" },
		{ "LocalPartitions", "a_name_of_more_than_63_letters_that_no_"
				     "partition_of_any_site_will_have" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct storm_conf was = conf;
		char text[128], says[256];

		snprintf(text, sizeof(text), "\n%s=%s\n", bad[i].key,
			 bad[i].value);
		if (load(text) != SLURM_ERROR)
			ck_abort_msg("%s is taken", text);
		snprintf(says, sizeof(says),
			 "%s:2: %s=%s is invalid, allowed: ", path, bad[i].key,
			 bad[i].value);
		ck_assert_msg(strstr(why, says) == why, "%s", why);
		must(!memcmp(&was, &conf, sizeof(conf)));
	}
}
END_TEST

/* ... and the line, the last one of several. */
START_TEST(test_line)
{
	char where[96];

	snprintf(where, sizeof(where), "%s:3: Radix=1 is invalid", path);
	must(load("# Radix=1\nRadix=2\n  radix = 1\nPort=80\n") == SLURM_ERROR);
	ck_assert_msg(strstr(why, where) == why, "%s", why);
	snprintf(where, sizeof(where), "%s:2: DSCP=64 is invalid", path);
	must(load("ControlDSCP=1\nDSCP\t= 64 # 1\n#DSCP=1\n") == SLURM_ERROR);
	ck_assert_msg(strstr(why, where) == why, "%s", why);
}
END_TEST

/* The values allowed at the limits, and the errors beyond them. */
START_TEST(test_bounds)
{
	static const struct {
		const char *key, *good, *bad, *allowed;
	} edge[] = {
		{ "Port", "1", "0", "a number from 1 to 65535" },
		{ "Port", "65535", "65536", "a number from 1 to 65535" },
		{ "DSCP", "63", "64", "a number from 0 to 63" },
		{ "GidIndex", "0", "-1",
		  "an index into the port's GID table from 0 to 65535" },
		{ "MTU", "576", "575",
		  "a number from 576 to 65535, or 0 for the interface's" },
		{ "MTU", "0", "1",
		  "a number from 576 to 65535, or 0 for the interface's" },
		{ "ContextCount", "0", "1048577",
		  "a number from 1 to 1048576, or 0 for no contexts" },
		{ "DropSeed", "18446744073709551615", "18446744073709551616",
		  "a number from 0 to 18446744073709551615" },
		{ "Window", "64K", "65535", "bytes from 64K to 1G" },
		{ "SocketBuffer", "1G", "1073741825", "bytes from 64K to 1G" },
		{ "Rate", "10000", "9999",
		  "bytes a second from 10000 to 1024G, or 0 for no limit" },
		{ "Rate", "1024g", "1025G",
		  "bytes a second from 10000 to 1024G, or 0 for no limit" },
		{ "OpenTimeout", "0.1s", "99.9",
		  "a time from 100ms to 600s; a number without a unit is in milliseconds" },
		{ "OpTimeout", "3600000", "3600.1s",
		  "a time from 100ms to 3600s; a number without a unit is in milliseconds" },
		{ "AgentLinger", "0", "3601s",
		  "a time from 0 to 3600s; a number without a unit is in milliseconds" },
		{ "LauncherIdle", "0", "99",
		  "a time from 100ms to 2592000s; a number without a unit is in milliseconds, or 0 for no limit" },
		{ "Quantum", "100us", "0.09",
		  "a time from 100us to 600s; a number without a unit is in milliseconds" },
		{ "GangDebug", "YES", "true", "yes or no" },
		{ "Transport", "UDP", "", "udp or verbs" },
		{ "Packing", "First-Fit", "fit", "first-fit or buddy" },
		{ "DropPercent", "100", "100.01", "a number from 0 to 100" },
		{ "FailedNode", "DOWN", "fail", "report or drain or down" },
		{ "MaxFailedNodes", "100%", "101%",
		  "a number of nodes from 1 to 65536, or 1% to 100%" },
		{ "MaxFallbackNodes", "65536", "0",
		  "a number of nodes from 1 to 65536, or 1% to 100%" },
		{ "MaxFallbackNodes", "100%", "101%",
		  "a number of nodes from 1 to 65536, or 1% to 100%" },
		{ "HealthProgram", "/a", "a",
		  "the absolute path of a program, or none" },
		{ "HealthPaths", "/a:/b", "/a:b",
		  "absolute paths with colons between, at most 1023 characters" },
		{ "MaxFailedNodes", "65536", "0",
		  "a number of nodes from 1 to 65536, or 1% to 100%" },
	};

	for (size_t i = 0; i < sizeof(edge) / sizeof(edge[0]); i++) {
		char text[128], says[256];

		snprintf(text, sizeof(text), "%s=%s\n", edge[i].key,
			 edge[i].good);
		good(text);
		snprintf(text, sizeof(text), "%s=\"%s\"\n", edge[i].key,
			 edge[i].bad);
		snprintf(says, sizeof(says),
			 "%s:1: %s=%s is invalid, allowed: %s", path,
			 edge[i].key, edge[i].bad, edge[i].allowed);
		must(load(text) == SLURM_ERROR);
		ck_assert_str_eq(why, says);
	}
}
END_TEST

/* As slurm.conf is written. */
START_TEST(test_syntax)
{
	good("PORT=81\nradix = 3 # 5\n\tTTL\t=\t4\t\n   \n#\n");
	must(conf.set.port == 81 && conf.set.radix == 3 && conf.set.ttl == 4);
	good("Port=81\r\nRadix=3\r\n\r\n");
	must(conf.set.port == 81 && conf.set.radix == 3);
	good("Port=81\nRadix=3");
	must(conf.set.port == 81 && conf.set.radix == 3);
	good("Interface=\"a b\"\nPort = \"81\" # \"\n");
	ck_assert_str_eq(conf.set.interface, "a b");
	/* a line goes on, and what a backslash takes its meaning from */
	good("Port=\\\n  81\nRad\\  \nix=3\nTTL=4 \\ # \\\n\n");
	must(conf.set.port == 81 && conf.set.radix == 3 && conf.set.ttl == 4);
	good("Interface=a\\#b\\\\#c\nPort=81 # \\\nRadix=3\\");
	ck_assert_str_eq(conf.set.interface, "a#b\\");
	must(conf.set.port == 81 && conf.set.radix == 3);
	/* of several the last one counts, and it alone */
	good("Radix=99\nPartitionQuantum=a:1\nradix=5\n"
	     "PARTITIONQUANTUM=b:2\n");
	must(conf.set.radix == 5 && conf.gang.partitions == 1);
}
END_TEST

/* One line with the place, the error and the remedy. */
START_TEST(test_faults)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *says;
	} bad[] = {
		{ "# 1\nPort 80  # c\n", 2,
		  "expected Key=Value, found 'Port 80'" },
		{ "Port\n", 1, "expected Key=Value, found 'Port'" },
		{ "=80\n", 1, "expected Key=Value, found '=80'" },
		{ "Port+=80\n", 1, "expected Key=Value, found 'Port+=80'" },
		{ "Port=80\nRadix= \\\n\nTTL=1\n", 2,
		  "Radix has no value: write Radix=VALUE, or remove the line" },
		{ "Port=80 Radix=4\n", 1,
		  "'Radix=4' follows Port=80: write one key per line, and quote a value that has blanks" },
		{ "Port=\"80\nRadix=4\n", 1,
		  "the value of Port has no closing quote: add one" },
		{ "Port=\"80\"00\n", 1,
		  "'00' follows the closing quote of Port: quote the whole value, or none of it" },
		{ "Port=\\\n80\\\n\nTTL=1\nTTL\n", 5,
		  "expected Key=Value, found 'TTL'" },
		{ "Include\n", 1,
		  "Include names no file: write Include FILE, or remove the line" },
		{ "include /dev/null x\n", 1,
		  "'x' follows Include /dev/null: write one file per line" },
		{ "\nInclude /dev/null\n", 2,
		  "Include: /dev/null is not a regular file" },
		{ "Include /not/there\n", 1,
		  "Include: /not/there: No such file or directory" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char says[256];

		if (load(bad[i].text) != SLURM_ERROR)
			ck_abort_msg("%s is taken", bad[i].text);
		snprintf(says, sizeof(says), "%s:%u: %s", path, bad[i].line,
			 bad[i].says);
		ck_assert_str_eq(why, says);
	}
}
END_TEST

/* Include reads another file, relative to the folder of the including file. Its
 * keys apply there, and an error is reported with its own file and line. */
START_TEST(test_include)
{
	char text[128], other[80], says[256];
	FILE *f;

	snprintf(other, sizeof(other), "%s.more", path);
	snprintf(text, sizeof(text),
		 "Radix=2\nPort=81\ninclude\t%s # c\nTTL=7\n",
		 strrchr(other, '/') + 1);
	f = fopen(other, "w");
	must(f && fputs("\nPort=82\nTTL=6\n", f) >= 0 && !fclose(f));
	good(text);
	must(conf.set.radix == 2 && conf.set.port == 82 && conf.set.ttl == 7);
	f = fopen(other, "w");
	must(f && fputs("\nPort=0\n", f) >= 0 && !fclose(f));
	snprintf(says, sizeof(says), "%s:2: Port=0 is invalid, ", other);
	must(load(text) == SLURM_ERROR);
	ck_assert_msg(strstr(why, says) == why, "%s", why);
	f = fopen(other, "w");
	must(f && fputs("\nPort\n", f) >= 0 && !fclose(f));
	snprintf(says, sizeof(says), "%s:2: expected Key=Value, found 'Port'",
		 other);
	must(load(text) == SLURM_ERROR);
	ck_assert_str_eq(why, says);
	/* itself */
	f = fopen(other, "w");
	must(f && fprintf(f, "Include %s\n", other) > 0 && !fclose(f));
	snprintf(
		says, sizeof(says),
		"%s:1: Include %s: files are nested more than 8 deep: does one include itself?",
		other, other);
	must(load(text) == SLURM_ERROR);
	ck_assert_str_eq(why, says);
	unlink(other);
}
END_TEST

START_TEST(test_cross_checks)
{
	must(load("\nGroupBase=239.255.255.250\n") == SLURM_ERROR);
	must(strstr(why, ":2: GroupCount=16"));
	good("GroupBase=239.255.255.250\nGroupCount=6\n");
	must(load("GroupBase=239.255.255.250\nGroupCount=4\nTransport=verbs\n") ==
	     SLURM_ERROR);
	must(load("DeadTimeout=1500\n") == SLURM_ERROR);
	must(strstr(why, ":1: DeadTimeout (1500 ms)") &&
	     strstr(why, "Heartbeat (1000 ms)"));
	must(load("\nHeartbeat=4s\n") == SLURM_ERROR);
	must(strstr(why, ":2: DeadTimeout (5000 ms)"));
	good("DeadTimeout=2000\n");
	must(load("\nStrobePKey=0x8001\n") == SLURM_ERROR);
	must(strstr(why, ":2: StrobePKey") && strstr(why, "StrobeRail"));
	must(load("StrobeGidIndex=1\n") == SLURM_ERROR);
	must(strstr(why, ":1: StrobeGidIndex"));
	must(load("StrobeMTU=2048\n") == SLURM_ERROR);
	must(strstr(why, ":1: StrobeMTU"));
	good("StrobeRail=mlx5_1\nStrobePKey=0x8001\nStrobeGidIndex=1\n");
	good("StrobeRail=eth1\n");
	must(load("StrobeRail=mlx5_1:2\n") == SLURM_ERROR);
	must(strstr(why, ":1: StrobeRail=mlx5_1:2"));
	good("Transport=verbs\nStrobeRail=mlx5_1:2\n");
}
END_TEST

/* All that conf_read() reports, a line each: "E ", "W " or "O " and the text. */
static char told[2048];

static void tell(void *arg, enum conf_fault kind, const char *text)
{
	must(arg == told);
	strcat(told, kind == CONF_ERROR ? "E " :
		     kind == CONF_OLD	? "O " :
					  "W ");
	strcat(told, text + strlen(path)); /* from the line on */
	strcat(told, "\n");
}

static bool judge(const char *text)
{
	const struct conf_sources from = { .path = path, .text = text };

	told[0] = '\0';
	return conf_read(&from, &conf, NULL, tell, told);
}

/* A key that is unknown costs its line alone. */
START_TEST(test_unknown_keys)
{
	static const struct {
		const char *key, *remedy;
	} bad[] = {
		{ "Intreface", "did you mean Interface?" },
		{ "Poort", "did you mean Port?" },
		{ "strobe_pkey", "did you mean StrobePKey?" },
		{ "Nonsense", "see storm.conf(5), or remove the line" },
		{ "a_key_of_more_letters_than_any_has_and_more_and_more_and_mor",
		  "see storm.conf(5), or remove the line" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[128], says[256];

		snprintf(text, sizeof(text), "Radix=3\n%s=1\nTTL=9\n",
			 bad[i].key);
		snprintf(says, sizeof(says),
			 "W :2: unknown key '%s' has no effect: %s\n",
			 bad[i].key, bad[i].remedy);
		must(judge(text));
		ck_assert_str_eq(told, says);
		must(conf.set.radix == 3 && conf.set.ttl == 9);
		good(text);
	}
}
END_TEST

/* Every fault is reported, in the order of the lines. */
START_TEST(test_all_faults)
{
	char says[512];

	snprintf(says, sizeof(says),
		 "E :2: expected Key=Value, found 'Radix 3'\n"
		 "W :3: unknown key 'Prot' has no effect: did you mean Port?\n"
		 "W :6: DSCP overrides the value at %s:5: remove one of them\n"
		 "E :1: TTL=1000 is invalid, allowed: a number from 0 to 255\n"
		 "E :4: Radix=1 is invalid, allowed: a number from 2 to 64\n",
		 path);
	must(!judge("TTL=1000\nRadix 3\nProt=1\nRadix=1\nDSCP=1\nDSCP=2\n"));
	ck_assert_str_eq(told, says);
	must(load("TTL=1000\nRadix 3\n") == SLURM_ERROR);
	must(strstr(why, ":2: ") &&
	     strstr(why, " (and 1 more: storm check lists them)"));
}
END_TEST

/* ------------------------------------------------------ partitions' lines --- */

static const struct storm_conf_partition *partition(const char *name)
{
	const struct storm_conf_partition *p =
		storm_conf_partition(&conf.gang, name);

	must(p);
	return p;
}

START_TEST(test_partition)
{
	const struct storm_conf_partition *p;
	char text[64 * STORM_CONF_PARTITIONS] = "", place[96];

	good("\nPARTITION=gang  policy = Flexible Quantum=10 LimitByTurns=Yes # 1\n"
	     "Partition=\"a b\" \\\n Policy=\"local\"\nQuantum=7\n"
	     "Partition=Gang Policy=gang LimitByTurns=no\n"
	     "Partition=short Quantum=0.1005ms\n"
	     "Partition=soft Policy=yield\n");
	must(conf.gang.partitions == 5 && conf.gang.quantum == 7 * STORM_MS);
	p = partition("gang");
	must(p->turns && p->policy == GANG_POLICY_FLEXIBLE && !p->local);
	must(p->quantum == 10 * STORM_MS && p->limit_by_turns);
	snprintf(place, sizeof(place), "%s:2", path);
	ck_assert_str_eq(p->place, place);
	p = partition("a b");
	must(p->local && !p->turns && !p->quantum && !p->limit_by_turns);
	p = partition("Gang"); /* another partition, as in Slurm */
	must(p->turns && p->policy == GANG_POLICY_GANG && !p->limit_by_turns);
	must(partition("short")->quantum == 100500);
	must(partition("soft")->policy == GANG_POLICY_YIELD);
	must(storm_conf_gives_way(&conf.gang));
	for (int i = 0; i < STORM_CONF_PARTITIONS; i++)
		sprintf(text + strlen(text), "Partition=p%d Quantum=1\n", i);
	good(text);
	must(conf.gang.partitions == STORM_CONF_PARTITIONS);
	strcat(text, "Partition=more Quantum=1\n");
	must(load(text) == SLURM_ERROR);
	ck_assert_msg(
		strstr(why,
		       ":33: Partition=more is one too many, after 32 others"),
		"%s", why);
}
END_TEST

/* What is wrong with a line, and what of the file counts then. */
START_TEST(test_partition_faults)
{
	static const struct {
		bool counts;
		const char *text, *says;
	} bad[] = {
		/* twice: the last one, and it alone */
		{ true,
		  "Partition=a Policy=local Quantum=1\nPartition=a Quantum=9\n",
		  "W :2: Partition=a overrides the line at %s:1: remove one of them\n" },
		{ true, "Partition=a Quantum=1 Quantum=9\n",
		  "W :1: Partition=a has Quantum twice, and the last one counts: remove one of them\n" },
		{ true, "Partition=a Qantum=1 Quantum=9\n",
		  "W :1: unknown key 'Qantum' of Partition=a has no effect: write Policy, Quantum or LimitByTurns, or remove it\n" },
		{ true, "Partition=a Quantum=9 StrobeLead=1\n",
		  "W :1: unknown key 'StrobeLead' of Partition=a has no effect: write it on a line of its own\n" },
		{ true, "Partition=a Quantum=9\nPartition=b\n",
		  "W :2: Partition=b sets nothing: add Policy, Quantum or LimitByTurns, or remove the line\n" },
		{ true, "Partition=a Quantum=9 Policy=yield\n",
		  "W :1: Partition=a: Policy=yield is as gang with a quantum below 50 ms: set Quantum=50 or more\n" },
		{ true,
		  "Quantum=49\nPartition=b Policy=Yield\nPartition=c Quantum=50 Policy=yield\nPartition=a Quantum=9\n",
		  "W :2: Partition=b: Policy=yield is as gang with a quantum below 50 ms: set Quantum=50 or more\n" },
		{ true, "Partition=a Quantum=9\nPolicy=local\n",
		  "W :2: unknown key 'Policy' has no effect: write it behind Partition=NAME on one line\n" },
		{ true, "Partition=a Quantum=9\nPartitionName=a Policy=local\n",
		  "W :2: unknown key 'PartitionName' has no effect: did you mean Partition?\n" },
		{ true, "Partition=a Quantum=9\nPartiton=a Policy=local\n",
		  "W :2: unknown key 'Partiton' has no effect: did you mean Partition?\n" },
		{ false, "Partition=a Policy=flexibel\n",
		  "E :1: Partition=a: Policy=flexibel is invalid, allowed: gang, flexible, yield or local\n" },
		{ false, "\nPartition=a Quantum=99us Policy=local\n",
		  "E :2: Partition=a: Quantum=99us is invalid, allowed: a time from 100us to 600s; a number without a unit is in milliseconds\n" },
		{ false, "Partition=a Quantum=601s LimitByTurns=maybe\n",
		  "E :1: Partition=a: Quantum=601s is invalid, allowed: a time from 100us to 600s; a number without a unit is in milliseconds\n"
		  "E :1: Partition=a: LimitByTurns=maybe is invalid, allowed: yes or no\n" },
		{ false, "Partition=Default Policy=flexible\n",
		  "E :1: Partition=Default is slurm.conf's: here Quantum on a line of its own is the default; write a line for each other partition\n" },
		{ false, "Partition=a,b Quantum=1\n",
		  "E :1: Partition=a,b names several: write a line for each\n" },
		{ false, "Partition=\"\" Quantum=1\n",
		  "E :1: Partition= is invalid, allowed: a partition's name, 1 to 63 characters\n" },
		{ false,
		  "Partition=a_name_of_more_than_63_letters_that_no_partition_of_any_site_will_have Policy=gang\n",
		  "E :1: Partition=a_name_of_more_than_63_letters_that_no_partition_of_any_site_will_have is invalid, allowed: a partition's name, 1 to 63 characters\n" },
		{ false, "Partition=a Quantum=1 b\n",
		  "E :1: expected Key=Value after Partition=a, found 'b'\n" },
		{ false, "Partition=a Quantum=1 Policy=\n",
		  "E :1: Policy has no value: write Policy=VALUE, or remove the line\n" },
		{ false, "Partition=a Quantum=\"1\n",
		  "E :1: the value of Quantum has no closing quote: add one\n" },
		{ false, "Quantum=1 Partition=a\n",
		  "E :1: 'Partition=a' follows Quantum=1: it is the first on its line, and what is for it follows\n" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char says[512];

		snprintf(says, sizeof(says), bad[i].says, path);
		ck_assert_msg(judge(bad[i].text) == bad[i].counts, "%s: %s",
			      bad[i].text, told);
		ck_assert_str_eq(told, says);
		if (!bad[i].counts)
			continue;
		must(partition("a")->quantum == 9 * STORM_MS);
		must(!partition("a")->local);
	}
}
END_TEST

/* What the lines that CONF_OLD prints set is what the old keys did. */
static void must_be_same(const struct storm_gang_conf *was)
{
	for (uint32_t i = 0; i < was->partitions; i++) {
		const struct storm_conf_partition *a = &was->partition[i];
		const struct storm_conf_partition *b = partition(a->name);

		must(a->quantum == b->quantum && a->local == b->local);
		must(a->limit_by_turns == b->limit_by_turns);
		must(a->turns == b->turns && a->policy == b->policy);
	}
	must(was->partitions == conf.gang.partitions);
}

START_TEST(test_old_form)
{
	static const struct {
		const char *text, *says;
	} old[] = {
		{ "\nPartitionPolicy=gang:flexible\n",
		  "O :2: the next version does not read PartitionPolicy: write in place of these keys:\n"
		  "Partition=gang Policy=flexible\n" },
		{ "LocalPartitions=c,d\nTimeLimitByTurns=a\nPartitionQuantum=a:10,b:2s,e:0.1005,f:150us\n"
		  "PartitionPolicy=a:Flexible,b:gang,c:local\n",
		  "O :3: the next version does not read PartitionQuantum, PartitionPolicy, LocalPartitions, TimeLimitByTurns: write in place of these keys:\n"
		  "Partition=c Policy=local\n"
		  "Partition=d Policy=local\n"
		  "Partition=a Policy=flexible Quantum=10 LimitByTurns=yes\n"
		  "Partition=b Policy=gang Quantum=2s\n"
		  "Partition=e Quantum=100.500us\n"
		  "Partition=f Quantum=150us\n" },
		{ "LocalPartitions=\"a \\#b\"\n",
		  "O :1: the next version does not read LocalPartitions: write in place of these keys:\n"
		  "Partition=\"a \\#b\" Policy=local\n" },
	};

	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		struct storm_gang_conf was;
		char *lines;

		must(judge(old[i].text));
		ck_assert_str_eq(told, old[i].says);
		was = conf.gang;
		lines = strdup(strchr(told, '\n') + 1);
		must(judge(lines));
		ck_assert_str_eq(told, "");
		must_be_same(&was);
		free(lines);
	}
}
END_TEST

/* In the midst of an edit: a partition's line counts, and it alone. */
START_TEST(test_both_forms)
{
	must(judge("PartitionPolicy=a:local,b:local\n"
		   "Partition=a Quantum=9\nPartitionQuantum=a:3\n"));
	ck_assert_str_eq(
		told,
		"O :3: the next version does not read PartitionQuantum, PartitionPolicy; for partitions with a line of their own (a) the line counts: write in place of these keys:\n"
		"Partition=b Policy=local\n");
	must(partition("a")->quantum == 9 * STORM_MS && !partition("a")->local);
	must(partition("b")->local);
	must(judge("Partition=a Quantum=9\nTimeLimitByTurns=a\n"));
	ck_assert_str_eq(
		told,
		"O :2: the next version does not read TimeLimitByTurns; for partitions with a line of their own (a) the line counts: remove these keys\n");
	must(!partition("a")->limit_by_turns);
	/* no partition has that name */
	must(judge("TimeLimitByTurns=default\n"));
	ck_assert_str_eq(
		told,
		"O :1: the next version does not read TimeLimitByTurns: remove these keys\n");
}
END_TEST

/* Arguments of spank_storm.so are keys, and storm.conf overrides them. */
START_TEST(test_plugstack)
{
	static const char *const stack =
		"# optional spank_storm.so TTL=7\n"
		"required other.so Radix=9\n"
		"optional /a/spank_storm.so radix=4 Interface=eth1 # TTL=8\n";
	struct conf_sources from = { .plugstack = path };
	char text[128];

	must(load("Radix=9\n") == SLURM_SUCCESS);
	must(load(stack) == SLURM_ERROR); /* it is no storm.conf */
	told[0] = '\0';
	must(conf_read(&from, &conf, NULL, tell, told) && !told[0]);
	must(conf.set.radix == 4 && conf.set.ttl == 1);
	ck_assert_str_eq(conf.set.interface, "eth1");
	from.path = "storm.conf";
	from.text = "TTL=5\nRadix=5\n";
	must(conf_read(&from, &conf, NULL, tell, told) && !told[0]);
	must(conf.set.radix == 5 && conf.set.ttl == 5);
	ck_assert_str_eq(conf.set.interface, "eth1");
	/* a partition has a line, which an argument is not */
	from.text = NULL;
	from.path = NULL;
	load("optional spank_storm.so Partition=a Policy=local\n");
	told[0] = '\0';
	must(!conf_read(&from, &conf, NULL, tell, told));
	ck_assert_str_eq(
		told,
		"E :1: Partition=a has no place here: write the partition's line in storm.conf\n"
		"W :1: unknown key 'Policy' has no effect: write it behind Partition=NAME on one line\n");
	/* nor have the lines that say the same as an old key there */
	load("optional spank_storm.so PartitionPolicy=a:flexible\n");
	told[0] = '\0';
	must(conf_read(&from, &conf, NULL, tell, told));
	ck_assert_str_eq(
		told,
		"O :1: the next version does not read PartitionPolicy: remove these keys, and write in storm.conf on slurmctld's host:\nPartition=a Policy=flexible\n");
	/* a wrong one, behind include */
	load("\noptional spank_storm.so radix=99 TTL Wndow=1\n");
	snprintf(text, sizeof(text), "%s.more", path);
	must(!rename(path, text));
	snprintf(text, sizeof(text), "include %.40s.m*\n", path);
	load(text);
	from.path = from.text = NULL;
	told[0] = '\0';
	must(!conf_read(&from, &conf, NULL, tell, told));
	snprintf(text, sizeof(text), "%s.more", path);
	unlink(text);
	ck_assert_str_eq(
		told,
		"E .more:2: 'TTL' is an argument of spank_storm.so, but not Key=Value: write it so, without blanks, or remove it\n"
		"W .more:2: unknown key 'Wndow' has no effect: did you mean Window?\n"
		"E .more:2: Radix=99 is invalid, allowed: a number from 2 to 64\n");
}
END_TEST

/* What a host that lost its power can leave of a file. */
START_TEST(test_bytes_of_zero)
{
	static const char *const says =
		": a byte of the line is 0: the file is damaged; write it anew";
	static const struct {
		char bytes[16];
		size_t n;
		int line;
	} bad[] = { { "", 16, 1 },
		    { "TTL=5\nTTL=1\0"
		      "0\n",
		      14, 2 } };
	const struct conf_sources from = { .path = path };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char line[100];
		FILE *f = fopen(path, "we");

		must(f && fwrite(bad[i].bytes, bad[i].n, 1, f) == 1);
		must(!fclose(f));
		told[0] = '\0';
		must(!conf_read(&from, &conf, NULL, tell, told));
		snprintf(line, sizeof(line), "E :%d%s\n", bad[i].line, says);
		ck_assert_str_eq(told, line);
	}
}
END_TEST

/* The last good keys are kept: they count until the file is good again. */
START_TEST(test_kept)
{
	char dir[] = "/tmp/storm-test-kept-XXXXXX", file[64], saved[64];
	char *lines, *error;
	FILE *f;

	must(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/storm.conf", dir);
	snprintf(saved, sizeof(saved), "%s/storm_conf", dir);
	slurm_conf.slurm_conf = xstrdup_printf("%s/slurm.conf", dir);
	f = fopen(file, "w");
	must(f &&
	     fputs("TTL=9\nInterface=\"a \\#\\\\b\"\nNone=1\nPartition=a Quantum=9 Policy=local\nTimeLimitByTurns=b\n",
		   f) >= 0 &&
	     !fclose(f));
	must(storm_conf_load_kept(dir, &conf, &lines, &error) ==
	     STORM_CONF_GOOD);
	must(!error && !access(file, F_OK) && access(saved, F_OK));
	ck_assert_str_eq(conf.set.interface, "a #\\b");
	storm_conf_keep(dir, lines);
	f = fopen(file, "w");
	must(f && fputs("TTL=1000\n", f) >= 0 && !fclose(f));
	memset(&conf, 0, sizeof(conf));
	must(storm_conf_load_kept(dir, &conf, &lines, &error) ==
	     STORM_CONF_KEPT);
	must(!lines && conf.set.ttl == 9 && conf.set.port == 8383);
	must(partition("a")->quantum == 9 * STORM_MS && partition("a")->local);
	must(partition("b")->limit_by_turns);
	ck_assert_str_eq(conf.set.interface, "a #\\b");
	must(strstr(error, "storm.conf:1: TTL=1000 is invalid"));
	xfree(error);
	storm_conf_keep(dir, lines);
	/* a damaged copy is none */
	must(!truncate(saved, 40));
	must(storm_conf_load_kept(dir, &conf, NULL, &error) == STORM_CONF_NONE);
	must(conf.set.ttl == 9 && strstr(error, "TTL=1000"));
	xfree(error);
	unlink(file);
	unlink(saved);
	must(!rmdir(dir));
	xfree(slurm_conf.slurm_conf);
}
END_TEST

START_TEST(test_no_file)
{
	unlink(path);
	must(storm_conf_load_file(path, &conf, &why) == SLURM_ERROR);
	must(strstr(why, path) && strstr(why, "No such file"));
	xfree(why);
	must(storm_conf_load_file("/tmp", &conf, &why) == SLURM_ERROR);
	ck_assert_str_eq(why, "/tmp is not a regular file");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("storm_conf");
	TCase *c = tcase_create("storm_conf");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_defaults);
	tcase_add_test(c, test_every_key);
	tcase_add_test(c, test_rails);
	tcase_add_test(c, test_gang);
	tcase_add_test(c, test_policies);
	tcase_add_test(c, test_limits);
	tcase_add_test(c, test_weights);
	tcase_add_test(c, test_policy_names);
	tcase_add_test(c, test_contexts);
	tcase_add_test(c, test_wrong_values);
	tcase_add_test(c, test_line);
	tcase_add_test(c, test_bounds);
	tcase_add_test(c, test_syntax);
	tcase_add_test(c, test_faults);
	tcase_add_test(c, test_include);
	tcase_add_test(c, test_cross_checks);
	tcase_add_test(c, test_unknown_keys);
	tcase_add_test(c, test_all_faults);
	tcase_add_test(c, test_partition);
	tcase_add_test(c, test_partition_faults);
	tcase_add_test(c, test_old_form);
	tcase_add_test(c, test_both_forms);
	tcase_add_test(c, test_plugstack);
	tcase_add_test(c, test_bytes_of_zero);
	tcase_add_test(c, test_kept);
	tcase_add_test(c, test_no_file);
	suite_add_tcase(s, c);
	return unit_main(s);
}
