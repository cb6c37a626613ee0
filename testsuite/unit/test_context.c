/*
 * test_context.c - network contexts: which step has which, what a killed slurmctld
 * leaves behind, and which contexts a node accepts as slurmctld's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "small_disk.h"
#include "src/libstorm/wire/credential.h"
#include "src/plugins/switch/storm/context/context.h"
#include "src/plugins/switch/storm/context/context_file.h"
#include "unit.h"

#define GROUPS 0xefc30000 /* 239.195.0.0 */

static const uint8_t key_a[CONTEXT_KEY_LEN] = "a", key_b[CONTEXT_KEY_LEN] = "b";
static char path[64];

static void setup(void)
{
	int fd;

	strcpy(path, "/tmp/storm-test-context-XXXXXX");
	fd = mkstemp(path);
	must(fd >= 0 && !close(fd) && !unlink(path));
}

static void teardown(void)
{
	unlink(path);
}

static struct context_holder of(uint32_t job, uint32_t step, uint32_t part)
{
	return (struct context_holder) { job, step, part };
}

static uint64_t serial[100]; /* by id, of its latest lease */

static uint32_t lease(struct context_table *t, uint32_t job)
{
	struct context_holder h = of(job, 0, 0);
	const struct context_lease *l =
		context_table_lease(t, &h, false, key_a);

	if (!l)
		return 0;
	serial[l->id] = l->serial;
	return l->id;
}

static bool give_back(struct context_table *t, uint32_t id, uint32_t job)
{
	struct context_holder h = of(job, 0, 0);

	return context_table_return(t, id, id < 100 ? serial[id] : 1, &h);
}

/* ------------------------------------------------------------ the table --- */

START_TEST(test_life)
{
	struct context_table *t = context_table_create(3, GROUPS);
	struct context_holder h = of(1, 0, 0);
	const struct context_lease *l;

	l = context_table_lease(t, &h, false, key_b);
	must(l && l->id == 1 && l->group == GROUPS && l->job == 1);
	serial[1] = l->serial;
	must(!memcmp(l->key, key_b, sizeof(key_b)));
	must(lease(t, 2) == 2 && lease(t, 3) == 3);
	must(!lease(t, 4)); /* none is left */
	must(context_table_figures(t).leased == 3);
	must(!give_back(t, 2, 1)); /* not its own */
	must(!give_back(t, 0, 1) && !give_back(t, 4, 1));
	must(!give_back(t, UINT32_MAX, 1));
	must(!context_table_return(t, 1, serial[1] + 1, &h));
	l = context_table_return(t, 1, serial[1], &h);
	must(l && !l->job && l->id == 1 && l->key[0] == 0);
	must(!give_back(t, 1, 1)); /* twice */
	must(lease(t, 5) == 1 && !lease(t, 6));
	must(!give_back(t, 1, 1) && give_back(t, 1, 5));
	context_table_destroy(t);
}
END_TEST

/* A returned context is leased again last. */
START_TEST(test_late)
{
	struct context_table *t = context_table_create(4, GROUPS);

	for (uint32_t n = 0; n < 10; n++) {
		must(lease(t, 7) == n % 4 + 1);
		must(give_back(t, n % 4 + 1, 7));
	}
	context_table_destroy(t);
}
END_TEST

static bool even_job(void *arg, uint32_t job, uint32_t *uid)
{
	*uid = *(uint32_t *) arg;
	return job % 2 == 0;
}

/* A user's leases are counted while they are leased. */
START_TEST(test_owners)
{
	struct context_table *t = context_table_create(64, GROUPS);
	uint32_t one = 77;

	must(!context_table_owned(t, 0) && !context_table_owned(t, 77));
	for (uint32_t n = 1; n <= 40; n++) {
		must(lease(t, n) == n);
		/* users 39, 38, ... with one each, and 0 with the rest */
		context_table_owner(t, n, n < 20 ? 40 - n : 0);
	}
	must(context_table_owned(t, 39) == 1 &&
	     context_table_owned(t, 0) == 21);
	must(give_back(t, 1, 1) && give_back(t, 30, 30));
	must(!context_table_owned(t, 39) && context_table_owned(t, 0) == 20);
	context_table_owner(t, 1, 39); /* it is free */
	context_table_owner(t, 0, 39);
	context_table_owner(t, 65, 39);
	must(!context_table_owned(t, 39));
	must(lease(t, 100) == 41 && lease(t, 101) == 42);
	context_table_find_owners(t, even_job, &one);
	must(context_table_owned(t, 77) == 1 &&
	     context_table_owned(t, 0) == 20);
	context_table_destroy(t);
}
END_TEST

/* Without a key only parts of a step get the lease that there is. */
START_TEST(test_join_alone)
{
	struct context_table *t = context_table_create(4, GROUPS);
	struct context_holder h = of(1, 0, 0), part = of(1, 0, 1);
	const struct context_lease *l;

	must(!context_table_lease(t, &h, true, NULL));
	l = context_table_lease(t, &h, true, key_b);
	must(l && context_table_lease(t, &part, true, NULL) == l);
	must(!context_table_lease(t, &part, false, NULL));
	must(context_table_figures(t).leased == 1);
	context_table_destroy(t);
}
END_TEST

START_TEST(test_none)
{
	struct context_table *t = context_table_create(0, GROUPS);

	must(!lease(t, 1));
	must(!context_table_resize(t, 1, GROUPS));
	must(lease(t, 1) == 1);
	context_table_destroy(t);
}
END_TEST

/* The parts of a step have one context, until the last of them is gone. */
START_TEST(test_parts)
{
	struct context_table *t = context_table_create(9, GROUPS);
	struct context_holder a = of(1, 0, 0), b = of(1, 0, 127),
			      c = of(1, 0, 5);
	const struct context_lease *l;
	uint32_t id;
	uint64_t n;

	l = context_table_lease(t, &a, true, key_a);
	id = l->id;
	n = l->serial;
	l = context_table_lease(t, &b, true, key_b);
	must(l->id == id && !memcmp(l->key, key_a, sizeof(key_a)));
	must(context_table_figures(t).leased == 1);
	/* another step of the job, and a part that there is already */
	must(context_table_lease(t, &(struct context_holder) { 1, 1, 1 }, true,
				 key_b)
		     ->id != id);
	must(context_table_lease(t, &a, true, key_b)->id != id);
	l = context_table_return(t, id, n, &a);
	must(l && l->job == 1 && l->closed);
	must(!context_table_return(t, id, n, &a));
	must(context_table_lease(t, &c, true, key_b)->id != id);
	l = context_table_return(t, id, n, &b);
	must(l && !l->job);
	context_table_destroy(t);
}
END_TEST

/* Another pool, while leases of the old one live: no group is given twice. */
START_TEST(test_other_pool)
{
	struct context_table *t = context_table_create(8, GROUPS);
	uint32_t ids = 0;

	for (uint32_t job = 1; job <= 8; job++)
		must(lease(t, job) == job);
	must(give_back(t, 1, 1) && give_back(t, 2, 2));
	/* groups 4 ... 11; 1 and 2 are free, but their groups are not */
	must(!context_table_resize(t, 12, GROUPS + 4));
	for (uint32_t job = 9; job; job++) {
		uint32_t id = lease(t, job);

		if (!id)
			break;
		must(!(ids >> id & 1));
		must(id >= 9);
		ids |= 1u << id;
	}
	must(ids == 0x1e00);
	for (uint32_t job = 3; job <= 8; job++)
		must(give_back(t, job, job));
	must(lease(t, 20) && lease(t, 21));
	/* fewer: what is beyond stays leased, and comes back */
	must(!context_table_resize(t, 1, GROUPS));
	must(context_table_figures(t).leased == 6);
	must(give_back(t, 9, 9) && context_table_figures(t).leased == 5);
	context_table_destroy(t);
}
END_TEST

/* ----------------------------------------------------- kills and restarts --- */

static struct context_table *reopen(uint32_t count, int *fd)
{
	struct context_table *t = context_table_create(count, GROUPS);
	uint32_t damaged;

	*fd = context_file_open(path, t, &damaged);
	must(*fd >= 0 && !damaged);
	context_table_loaded(t);
	return t;
}

static bool is_gone(void *arg, uint32_t job)
{
	return job == *(uint32_t *) arg;
}

static void no_save(void *arg, const struct context_lease *l)
{
	must(arg && !l->job);
}

START_TEST(test_restart)
{
	struct context_holder known = of(1, 3, 0), lost = of(2, 0, 0);
	struct context_holder other = of(9, 9, 0);
	struct context_table *t;
	uint32_t gone = 1;
	int fd;

	t = reopen(3, &fd);
	must(!context_file_put(fd,
			       context_table_lease(t, &known, false, key_a)));
	must(!context_file_put(fd,
			       context_table_lease(t, &lost, false, key_b)));
	context_table_destroy(t);
	close(fd);
	t = reopen(3, &fd);
	must(context_table_figures(t).leased == 2);
	must(context_table_figures(t).unclaimed == 2);
	must(!context_table_claim(t, 1, 1, GROUPS, &other));
	must(!context_table_claim(t, 0, 1, GROUPS, &known));
	must(!context_table_claim(t, 1, 2, GROUPS, &known));
	must(context_table_claim(t, 1, 1, GROUPS, &known));
	must(context_table_claim(t, 1, 1, GROUPS, &known)); /* again */
	must(context_table_figures(t).unclaimed == 1);
	must(lease(t, 5) == 3 && !lease(t, 6));
	/* a step of the same name is another one */
	must(!context_table_lease(t, &lost, true, key_a));
	must(!context_table_return(t, 2, 2, &lost));
	/* a claimed context stays, whatever the job's state */
	context_table_sweep(t, is_gone, no_save, &gone);
	must(context_table_figures(t).leased == 3);
	gone = 2;
	context_table_sweep(t, is_gone, no_save, &gone);
	must(context_table_figures(t).leased == 2);
	must(!context_table_figures(t).unclaimed);
	must(context_table_return(t, 1, 1, &known));
	context_table_destroy(t);
	close(fd);
}
END_TEST

/* The file is gone: the steps' own reports count. */
START_TEST(test_lost_file)
{
	struct context_table *t = context_table_create(3, GROUPS);
	struct context_holder h = of(1, 0, 4), g = of(1, 0, 5);

	context_table_loaded(t);
	must(context_table_claim(t, 2, 9, GROUPS + 1, &h));
	must(context_table_claim(t, 2, 9, GROUPS + 1, &g));
	must(context_table_claim(
		t, 70, 4, GROUPS + 69,
		&(struct context_holder) { 2, 0, 0 })); /* there were more */
	must(context_table_figures(t).leased == 2);
	must(lease(t, 3) == 1 && lease(t, 4) == 3 && !lease(t, 5));
	must(context_table_return(t, 2, 9, &h));
	must(context_table_return(t, 2, 9, &g));
	must(lease(t, 5) == 2 && serial[2] == 12);
	context_table_destroy(t);
}
END_TEST

static void scribble(off_t at, const char *what)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0 && pwrite(fd, what, strlen(what), at) > 0);
	close(fd);
}

START_TEST(test_damaged)
{
	struct context_table *t;
	struct stat st;
	uint32_t damaged;
	int fd;

	t = reopen(600, &fd);
	for (uint32_t job = 1; job <= 600; job++) {
		struct context_holder h = of(job, 0, 0);

		must(!context_file_put(fd, context_table_lease(t, &h, false,
							       key_a)));
	}
	context_table_destroy(t);
	must(!fstat(fd, &st) && (st.st_mode & 07777) == 0600);
	must(!ftruncate(fd, st.st_size - 1));
	close(fd);
	scribble(5 * 128 + 60, "x");
	t = context_table_create(600, GROUPS);
	fd = context_file_open(path, t, &damaged);
	must(fd >= 0 && damaged == 2);
	must(context_table_figures(t).leased == 598);
	close(fd);
	context_table_destroy(t);
	/* none of ours */
	scribble(0, "STORM network contexts 3");
	t = context_table_create(600, GROUPS);
	fd = context_file_open(path, t, &damaged);
	must(fd >= 0 && damaged == 1 && !context_table_figures(t).leased);
	close(fd);
	context_table_destroy(t);
	t = reopen(600, &fd); /* restarted */
	must(!context_table_figures(t).leased);
	close(fd);
	context_table_destroy(t);
	must(!unlink(path) && !mkdir(path, 0700));
	t = context_table_create(1, GROUPS);
	must(context_file_open(path, t, &damaged) < 0);
	context_table_destroy(t);
	must(!rmdir(path));
}
END_TEST

/* Cut off anywhere, or with any bit changed: each other lease is there, and the
 * damaged one is not. */
START_TEST(test_all_damages)
{
	enum { LEASES = 3, SIZE = (LEASES + 1) * 128 };
	char all[SIZE + 1];
	struct context_table *t;
	uint32_t damaged;
	FILE *f;
	int fd;

	t = reopen(LEASES, &fd);
	for (uint32_t job = 1; job <= LEASES; job++) {
		struct context_holder h = of(job, 0, 0);

		must(!context_file_put(fd, context_table_lease(t, &h, false,
							       key_a)));
	}
	close(fd);
	context_table_destroy(t);
	f = fopen(path, "re");
	must(f && fread(all, 1, sizeof(all), f) == SIZE && !fclose(f));
	for (int i = 0; i < SIZE; i++) {
		/* bytes of a record behind its checksum mean nothing */
		bool filled = i < 128 || all[i] || i % 128 < 81;
		uint32_t leases = i < 128 ? 0 : LEASES - 1, cut = i / 128;

		put_file(path, all, (size_t) i);
		t = context_table_create(LEASES, GROUPS);
		fd = context_file_open(path, t, &damaged);
		must(fd >= 0 && damaged == (i % 128 != 0));
		must(context_table_figures(t).leased == (cut ? cut - 1 : 0));
		close(fd);
		context_table_destroy(t);
		for (int bit = 0; filled && bit < 8; bit++) {
			all[i] ^= 1 << bit;
			put_file(path, all, SIZE);
			t = context_table_create(LEASES, GROUPS);
			fd = context_file_open(path, t, &damaged);
			must(fd >= 0 && damaged == 1);
			must(context_table_figures(t).leased == leases);
			close(fd);
			context_table_destroy(t);
			all[i] ^= 1 << bit;
		}
	}
}
END_TEST

START_TEST(test_full_disk)
{
	struct context_table *t;
	char disk[128];
	uint32_t damaged;
	int fd, kept = 0;

	snprintf(disk, sizeof(disk), "%s.disk", path);
	must(!mkdir(disk, 0700));
	if (!small_disk(disk)) {
		rmdir(disk);
		return;
	}
	snprintf(disk, sizeof(disk), "%s.disk/c", path);
	t = context_table_create(100, GROUPS);
	fd = context_file_open(disk, t, &damaged);
	must(fd >= 0 && !damaged);
	for (uint32_t job = 1; job <= 100; job++) {
		struct context_holder h = of(job, 0, 0);

		kept += !context_file_put(fd, context_table_lease(t, &h, false,
								  key_a));
	}
	must(kept == 31); /* and the head */
	close(fd);
	context_table_destroy(t);
	t = context_table_create(100, GROUPS);
	fd = context_file_open(disk, t, &damaged);
	must(fd >= 0 && !damaged && context_table_figures(t).leased == 31);
	close(fd);
	context_table_destroy(t);
	snprintf(disk, sizeof(disk), "%s.disk", path);
	must(!umount(disk) && !rmdir(disk));
}
END_TEST

/*
 * Steps come and go, slurmctld is killed and has forgotten the latest of them or
 * taken steps for alive that had ended; the pool changes.  Of those that run no two
 * have one id, or one group.
 */
#define APPS 40
static struct app {
	bool runs, known; /* known: to slurmctld */
	uint32_t job, step, parts, id, group;
	uint64_t serial;
	uint8_t key[CONTEXT_KEY_LEN];
} app[APPS];

static void no_two(void)
{
	for (int i = 0; i < APPS; i++)
		for (int k = 0; k < i; k++)
			must(!app[i].runs || !app[k].runs ||
			     (app[i].id != app[k].id &&
			      app[i].group != app[k].group));
}

/* Of those that slurmctld knows no two have one name. */
static bool name_taken(const struct app *a)
{
	for (int i = 0; i < APPS; i++)
		if (&app[i] != a && app[i].runs && app[i].known &&
		    app[i].job == a->job && app[i].step == a->step)
			return true;
	return false;
}

static void begin_app(struct context_table *t, int fd, struct rnd *r,
		      struct app *a, uint32_t number)
{
	uint32_t parts = below(r, 3) ? 1 : 1 + below(r, 4);

	*a = (struct app) { .job = 1 + below(r, 9),
			    .step = number % 3,
			    .parts = (1u << parts) - 1 };
	while (name_taken(a))
		a->step++;
	for (uint32_t p = 0; p < parts; p++) {
		struct context_holder h = of(a->job, a->step, p);
		const struct context_lease *l;
		uint8_t key[CONTEXT_KEY_LEN];

		rnd_fill(r, key, sizeof(key));
		l = context_table_lease(t, &h, parts > 1, key);
		if (!l) {
			must(!p);
			return;
		}
		must(!context_file_put(fd, l));
		if (!p) {
			a->id = l->id;
			a->group = l->group;
			a->serial = l->serial;
			memcpy(a->key, l->key, sizeof(key));
		}
		must(p == 0 ||
		     (l->id == a->id && !memcmp(l->key, a->key, sizeof(key))));
	}
	a->runs = a->known = true;
}

static void end_app(struct context_table *t, int fd, struct rnd *r,
		    struct app *a)
{
	for (uint32_t p = 0; p < 4; p++) {
		struct context_holder h = of(a->job, a->step, p);
		const struct context_lease *l;

		if (!(a->parts >> p & 1))
			continue;
		l = context_table_return(t, a->id, a->serial, &h);
		must(l);
		must(!context_file_put(fd, l));
		a->parts &= ~(1u << p);
		if (!below(r, 3))
			break;
	}
	a->runs = a->parts;
}

static bool nothing_runs(void *arg, uint32_t job)
{
	(void) arg;
	for (int i = 0; i < APPS; i++)
		if (app[i].runs && app[i].job == job)
			return false;
	return true;
}

static void save(void *arg, const struct context_lease *l)
{
	must(!context_file_put(*(int *) arg, l));
}

static struct context_table *killed(struct context_table *t, int *fd,
				    struct rnd *r, uint32_t count)
{
	context_table_destroy(t);
	close(*fd);
	t = reopen(count, fd);
	for (int i = 0; i < APPS; i++) {
		struct app *a = &app[i];
		struct context_holder h;

		if (a->runs && !below(r, 3))
			a->known = false;
		for (uint32_t p = 0; p < 4 && a->runs && a->known; p++) {
			h = of(a->job, a->step, p);
			if (a->parts >> p & 1)
				must(context_table_claim(t, a->id, a->serial,
							 a->group, &h));
		}
		/* ended since slurmctld saved what it knew */
		h = of(a->job, a->step, 0);
		if (!a->runs && a->id && !below(r, 4) &&
		    context_table_claim(t, a->id, a->serial, a->group, &h))
			must(!context_file_put(
				*fd,
				context_table_return(t, a->id, a->serial, &h)));
	}
	return t;
}

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	uint32_t count = 1 + below(&r, 30), refused = 0;
	struct context_table *t;
	int fd;

	memset(app, 0, sizeof(app));
	t = reopen(count, &fd);
	for (uint32_t n = 0; n < 600; n++) {
		struct app *a = &app[below(&r, APPS)];

		if (!a->runs) {
			begin_app(t, fd, &r, a, n);
			refused += !a->runs;
		} else if (a->known) {
			end_app(t, fd, &r, a);
		} else {
			/* with its job, of which slurmctld may know */
			a->runs = false;
			context_table_sweep(t, nothing_runs, save, &fd);
		}
		no_two();
		if (!below(&r, 40))
			t = killed(t, &fd, &r, count);
		if (!below(&r, 60)) {
			count = 1 + below(&r, 30);
			must(!context_table_resize(t, count,
						   GROUPS + below(&r, 30)));
		}
	}
	must(refused);
	for (int i = 0; i < APPS; i++)
		while (app[i].runs && app[i].known)
			end_app(t, fd, &r, &app[i]);
	memset(app, 0, sizeof(app));
	context_table_sweep(t, nothing_runs, save, &fd);
	must(!context_table_figures(t).leased);
	must(!context_table_figures(t).unclaimed);
	context_table_destroy(t);
	close(fd);
	t = reopen(count, &fd);
	must(!context_table_figures(t).leased);
	context_table_destroy(t);
	close(fd);
}
END_TEST

/* -------------------------------------------------------------- on its way --- */

static uint32_t maker; /* uid of the maker according to MUNGE */

/* In the place of MUNGE: the payload in hexadecimal, and a sum of it. */
static int fake_encode(uint32_t uid, const void *payload, size_t len,
		       char **cred)
{
	const uint8_t *p = payload;
	uint32_t sum = 1;
	char *s;

	must(uid == 64);
	s = malloc(2 * len + 9);
	must(s);
	for (size_t i = 0; i < len; i++) {
		sum = sum * 31 + p[i];
		sprintf(s + 2 * i, "%02x", p[i]);
	}
	sprintf(s + 2 * len, "%08x", sum);
	*cred = s;
	return STORM_OK;
}

static int fake_decode(const char *cred, void **payload, size_t *len,
		       uint32_t *uid, uint32_t *gid)
{
	size_t n = strlen(cred) / 2;
	uint32_t sum = 1, is = 0;
	uint8_t *p = malloc(n + 1);
	bool right = !(strlen(cred) % 2); /* written as we write it */

	must(p);
	*uid = *gid = maker;
	for (size_t i = 0; i < n; i++) {
		unsigned int v = 0;
		char again[3];

		sscanf(cred + 2 * i, "%2x", &v);
		p[i] = (uint8_t) v;
		snprintf(again, sizeof(again), "%02x", p[i]);
		right &= !memcmp(again, cred + 2 * i, 2);
		if (i + 4 < n)
			sum = sum * 31 + p[i];
		else
			is = is << 8 | p[i];
	}
	if (n < 4 || is != sum || !right) {
		free(p);
		return STORM_EAUTH;
	}
	*payload = p;
	*len = n - 4;
	return STORM_OK;
}

static const struct storm_credential_ops fake = { fake_encode, fake_decode };
static const struct context given = {
	.job = 12,
	.step = 3,
	.het = 0xfffffffe,
	.uid = 1000,
	.holder = { 11, 3, 1 },
	.id = 258,
	.serial = 77,
	.group = 0xefc30101,
	.key = { 1, 2, 3, [31] = 0xff },
};
static const struct context_expected wanted = {
	.job = 12,
	.step = 3,
	.het = 0xfffffffe,
	.uid = 1000,
	.ctld_uid = 900,
	.cluster = "zeta",
};
static uint8_t bytes[CONTEXT_BYTES_MAX];
static size_t len;

static void pack(const char *cluster)
{
	char *cred;

	storm_credential_use(&fake);
	maker = 900;
	cred = context_sign(&given, cluster, 64);
	must(cred);
	len = context_pack(&given, cred, bytes);
	must(len);
	free(cred);
}

static void refused(const struct context_expected *e, const char *word)
{
	uint8_t *p = exact(bytes, len);
	char why[CONTEXT_WHY_MAX] = "";
	struct context c;

	must(!context_verify(p, len, e, &c, &why));
	if (!strstr(why, word))
		ck_abort_msg("not \"%s\" but: %s", word, why);
	free(p);
}

START_TEST(test_accepted)
{
	struct context_expected e = wanted;
	char why[CONTEXT_WHY_MAX], text[CONTEXT_KEY_TEXT];
	char group[CONTEXT_GROUP_TEXT];
	struct context c;

	pack("zeta");
	must(context_verify(bytes, len, &e, &c, &why));
	must(c.id == 258 && c.group == 0xefc30101 && c.uid == 1000);
	must(!memcmp(c.key, given.key, sizeof(c.key)));
	maker = 0; /* slurmctld runs as root */
	must(context_verify(bytes, len, &e, &c, &why));
	context_group_text(c.group, &group);
	ck_assert_str_eq(group, "239.195.1.1");
	context_key_text(c.key, &text);
	must(strlen(text) == 64 && !strncmp(text, "01020300", 8) &&
	     !strcmp(text + 62, "ff"));
}
END_TEST

START_TEST(test_other_step)
{
	struct context_expected e;

	pack("zeta");
	e = wanted;
	e.job++;
	refused(&e, "was given to step 12.3 of uid 1000 on cluster zeta");
	e = wanted;
	e.step--;
	refused(&e, "was given to");
	e = wanted;
	e.het = 0;
	refused(&e, "was given to");
	e = wanted;
	e.uid++;
	refused(&e, "was given to");
	e = wanted;
	e.cluster = "zeta2";
	refused(&e, "was given to");
	maker = 1000; /* the user's own */
	refused(&wanted, "uid 1000 has made its credential");
}
END_TEST

START_TEST(test_none_signed)
{
	char cred[CONTEXT_CRED_MAX + 1];
	char *other = NULL;
	struct context c;

	storm_credential_use(&fake);
	maker = 900;
	len = context_pack(&given, NULL, bytes);
	must(len);
	refused(&wanted, "no credential");
	/* slurmctld finds all that it needs in there, and no secret */
	must(context_unpack(bytes, len, &c, &cred) && !cred[0]);
	must(c.holder.job == 11 && c.holder.part == 1 && c.id == 258);
	must(!c.key[0] && !c.key[31]);
	/* slurmctld's, but of another kind */
	must(!fake_encode(64, "storm", 5, &other));
	len = context_pack(&given, other, bytes);
	refused(&wanted, "for something else");
	free(other);
	len = 0;
	refused(&wanted, "malformed");
}
END_TEST

/* Not one bit can be another. */
START_TEST(test_any_change)
{
	char why[CONTEXT_WHY_MAX];
	struct context c;

	pack("zeta");
	for (size_t n = 0; n < len * 8; n++) {
		uint8_t *p = exact(bytes, len);

		p[n / 8] ^= 1 << n % 8;
		why[0] = '\0';
		must(!context_verify(p, len, &wanted, &c, &why));
		must(!c.id && why[0]);
		free(p);
	}
	for (size_t n = 0; n < len; n++) {
		uint8_t *p = exact(bytes, n);

		must(!context_verify(p, n, &wanted, &c, &why));
		free(p);
	}
}
END_TEST

/* The open part of one, with the credential of another one. */
START_TEST(test_exchanged)
{
	struct context other = given;
	char *cred;

	storm_credential_use(&fake);
	maker = 900;
	cred = context_sign(&given, "zeta", 64);
	other.id++;
	len = context_pack(&other, cred, bytes);
	refused(&wanted, "was changed on its way");
	other = given;
	other.serial++;
	len = context_pack(&other, cred, bytes);
	refused(&wanted, "was changed on its way");
	other = given;
	other.holder.part = 0;
	len = context_pack(&other, cred, bytes);
	refused(&wanted, "was changed on its way");
	free(cred);
}
END_TEST

/* As the nodes of this version read it: it must stay so. */
START_TEST(test_known_bytes)
{
	storm_credential_use(&fake);
	len = context_pack(&given, "MUNGE:x:", bytes);
	same_hex(bytes, len,
		 "0000000c"
		 "00000003"
		 "fffffffe"
		 "0000000b"
		 "00000003"
		 "00000001"
		 "00000102"
		 "000000000000004d"
		 "00000000000000000000ffffefc30101"
		 "0000"
		 "0008"
		 "4d554e47453a783a");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("context");
	TCase *t = tcase_create("context");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_life);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_owners);
	tcase_add_test(t, test_join_alone);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_parts);
	tcase_add_test(t, test_other_pool);
	tcase_add_test(t, test_restart);
	tcase_add_test(t, test_lost_file);
	tcase_add_test(t, test_damaged);
	tcase_add_test(t, test_all_damages);
	tcase_add_test(t, test_full_disk);
	tcase_add_loop_test(t, test_random, 0, unit_runs(50));
	tcase_add_test(t, test_accepted);
	tcase_add_test(t, test_other_step);
	tcase_add_test(t, test_none_signed);
	tcase_add_test(t, test_any_change);
	tcase_add_test(t, test_exchanged);
	tcase_add_test(t, test_known_bytes);
	suite_add_tcase(s, t);
	return unit_main(s);
}
