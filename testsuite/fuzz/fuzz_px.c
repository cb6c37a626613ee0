/*
 * fuzz_px.c - what a launcher and its storm_pmix tell each other.
 *
 *   u8 which: a px_msg; a px_register; a px_env
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/storm_launcher/px_wire.h"
#include "src/storm_launcher/run_names.h"

static void msg_read(struct storm_in *i, size_t len)
{
	struct px_msg m;
	uint8_t *again;
	struct storm_out o;
	size_t n;

	if (!px_msg_get(i, &m))
		return;
	must_be_set(&m.ranks, PX_RANKS - 1);
	n = px_msg_len(&m);
	must(m.len <= len && n <= len);
	again = malloc(n);
	must(again);
	o = (struct storm_out) { again, again + n, false };
	px_msg_put(&o, &m);
	must(!o.bad && o.p == o.end);
	free(again);
	px_msg_free(&m);
}

static bool name_read(void *arg, const char *name)
{
	uint32_t *names = arg;

	must(*name);
	return ++*names < 10000;
}

/* What is read is written in the same bytes. */
static void register_read(struct storm_in *i, const uint8_t *buf, size_t len)
{
	struct px_register r;
	uint8_t *again;
	struct storm_out o;
	uint32_t names = 0;

	if (!px_register_get(i, &r))
		return;
	must(r.nth < r.nodes && px_register_len(&r) == len);
	again = malloc(len);
	must(again);
	o = (struct storm_out) { again, again + len, false };
	px_register_put(&o, &r);
	must(!o.bad && o.p == o.end && !memcmp(again, buf, len));
	run_names_each(r.names, name_read, &names);
	free(again);
	px_register_free(&r);
}

static void env_read(struct storm_in *i)
{
	struct px_env e;

	if (!px_env_get(i, &e))
		return;
	must(e.count);
	for (uint32_t k = 0; k < e.count && k < 50; k++) {
		char **env = px_env_of(&e, k);

		must(env);
		for (char **v = env; *v; v++)
			must(strchr(*v, '=') > *v);
		free(env);
	}
	px_env_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf;
	struct storm_in i;

	if (!size)
		return 0;
	buf = exact(data + 1, size - 1);
	i = (struct storm_in) { buf, buf + size - 1, false };
	if (data[0] % 3 == 0)
		msg_read(&i, size - 1);
	else if (data[0] % 3 == 1)
		register_read(&i, buf, size - 1);
	else
		env_read(&i);
	free(buf);
	return 0;
}
