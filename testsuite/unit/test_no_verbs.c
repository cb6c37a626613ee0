/*
 * test_no_verbs.c - Transport=verbs by a libstorm that was built without: what is
 * missing is named, and UDP is used where it may be.  This program has drivers.c as
 * it is where configure has found no libibverbs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/program/drivers.c"

#include "src/libstorm/storm.h"
#include "unit.h"

static char said[1024];
static enum storm_log_level level;

static void keep(enum storm_log_level l, const char *msg)
{
	level = l;
	snprintf(said, sizeof(said), "%s", msg);
}

static storm_domain_t *owner(bool fallback, int *err)
{
	struct storm_node node = { .name = "n0" };
	struct storm_domain_conf conf = { .nodes = &node, .count = 1 };

	storm_log_set(keep);
	must(!storm_addr_set(&node.addr, "127.0.0.1", 18400));
	storm_settings_default(&conf.set);
	strcpy(conf.set.interface, "lo");
	conf.set.transport = STORM_TRANSPORT_VERBS;
	conf.set.transport_fallback = fallback;
	return storm_domain_create(&conf, err);
}

START_TEST(test_refused)
{
	int err = STORM_OK;

	must(!owner(false, &err));
	ck_assert_int_eq(err, STORM_ESYS);
	must(level == STORM_LOG_ERROR);
	must(strstr(said, "libibverbs-dev and librdmacm-dev"));
}
END_TEST

START_TEST(test_udp_is_used)
{
	int err = STORM_OK;
	storm_domain_t *d = owner(true, &err);

	must(d);
	must(level == STORM_LOG_WARN);
	must(strstr(said, "libibverbs-dev and librdmacm-dev") &&
	     strstr(said, "UDP is used"));
	storm_domain_destroy(d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("no_verbs");
	TCase *t = tcase_create("no_verbs");

	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_udp_is_used);
	suite_add_tcase(s, t);
	return unit_main(s);
}
