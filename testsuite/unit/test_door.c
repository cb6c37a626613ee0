/*
 * test_door.c - clients at a door, and the head's connections by its carrier: the real
 * sockets, in one process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "src/storm_launcher/carrier_sock.h"
#include "src/storm_launcher/conn.h"
#include "src/storm_launcher/door.h"
#include "unit.h"

#define CLIENTS 3
#define MUCH 400000

static const uint8_t key[STORM_KEY_LEN], one[SEALED_RANDOM], two[SEALED_RANDOM];
static char folder[] = "/tmp/test_door.XXXXXX", path[RUN_SOCK_PATH];
static struct door *door;
static struct carrier *head;
static int stream;

static struct carrier *carrier_of(bool calls)
{
	const struct sealed_form f = { SEALED_DOOR, key, one, two, calls, 0 };
	struct sealed *s = sealed_create(&f);
	struct carrier *c = s ? carrier_create(s, calls) : NULL;

	must(c);
	return c;
}

static void join(void)
{
	int pair[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			 pair));
	stream = pair[1];
	head = carrier_of(false);
	door_give(door, pair[0], carrier_of(true));
}

static void setup(void)
{
	must(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/sock", folder);
	door = door_create(path, true);
	must(door);
	head = NULL;
	stream = -1;
}

static void teardown(void)
{
	door_destroy(door);
	must(access(path, F_OK) && errno == ENOENT);
	must(!rmdir(folder));
	carrier_destroy(head);
	if (stream >= 0)
		close(stream);
}

/* Until neither end has anything to do. */
static void settle(void)
{
	struct pollfd p = { door_fd(door), POLLIN, 0 };

	for (int quiet = 0; quiet < 3; quiet++) {
		if (poll(&p, 1, 0) > 0)
			quiet = 0;
		door_serve(door);
		if (!head)
			continue;
		must(carrier_sock_send(head, stream));
		must(carrier_sock_receive(head, stream));
	}
}

static int client_of(void)
{
	int fd = run_sock_connect(path);

	must(fd >= 0);
	return fd;
}

static void client_says(int fd, const char *text, const int file[RUN_SOCK_FDS])
{
	must(!run_sock_send(fd, text, strlen(text), file));
}

/* What it has, as text; "" and its end. */
static const char *client_hears(int fd)
{
	static char buf[100];
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN ? "nothing" : "end"; /* a reset */
	buf[n] = '\0';
	return n ? buf : "end";
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino;
}

START_TEST(test_clients)
{
	int client[CLIENTS], file[RUN_SOCK_FDS], got[RUN_SOCK_FDS];
	uint32_t channel;
	size_t len;

	must(!pipe(file));
	file[2] = file[1];
	for (int k = 0; k < CLIENTS; k++) {
		client[k] = client_of();
		client_says(client[k], "ask", file);
	}
	settle();
	must(door_waits(door) && !door_carrier(door));
	join();
	settle();
	must(!door_waits(door) && door_carrier(door));
	for (uint32_t k = 1; k <= CLIENTS; k++) {
		must(carrier_next(head, &channel));
		must(!memcmp(carrier_data(head, channel, &len), "ask", 3));
		must(len == 3);
		carrier_used(head, channel, len);
		must(carrier_put(head, channel, "end", 3) == 3);
		if (channel != 2)
			carrier_close(head, channel);
	}
	/* its own descriptors, and once */
	ck_assert_int_eq(door_files(door, 2, &got), 0);
	must(same_file(got[0], file[0]) && same_file(got[1], file[1]) &&
	     same_file(got[2], file[2]));
	ck_assert_int_eq(door_files(door, 2, &got), EMFILE);
	ck_assert_int_eq(door_files(door, 9, &got), EPIPE);
	settle();
	int open = 0;

	for (int k = 0; k < CLIENTS; k++) {
		ck_assert_str_eq(client_hears(client[k]), "end");
		open += !strcmp(client_hears(client[k]), "nothing");
	}
	ck_assert_int_eq(open, 1);
	/* the one that is left goes */
	for (int k = 0; k < CLIENTS; k++)
		close(client[k]);
	settle();
	must(carrier_next(head, &channel) && channel == 2);
	must(carrier_ended(head, channel));
	ck_assert_int_eq(door_files(door, 2, &got), EPIPE);
}
END_TEST

/* One is gone before there is a way to the head. */
START_TEST(test_refused)
{
	int a = client_of(), b = client_of();

	settle();
	close(a);
	settle();
	must(door_waits(door));
	door_refuse(door);
	must(!door_waits(door));
	ck_assert_str_eq(client_hears(b), "end");
	settle();
	close(b);
}
END_TEST

/* The other end of the stream goes: clients hear it, and the next one waits. */
START_TEST(test_lost)
{
	int a = client_of(), b;

	client_says(a, "ask", NULL);
	join();
	settle();
	close(stream);
	carrier_destroy(head);
	stream = -1;
	head = NULL;
	settle();
	must(!door_carrier(door));
	ck_assert_str_eq(client_hears(a), "end");
	b = client_of();
	settle();
	must(door_waits(door));
	close(a);
	close(b);
}
END_TEST

/* What has no key, and what keeps no rule, ends it. */
START_TEST(test_noise)
{
	static const char noise[100] = { 0, 0, 0, 5 };
	int a = client_of();

	client_says(a, "ask", NULL);
	join();
	must(send(stream, noise, sizeof(noise), 0) == sizeof(noise));
	carrier_destroy(head);
	head = NULL;
	settle();
	must(!door_carrier(door));
	ck_assert_str_eq(client_hears(a), "end");
	close(a);
}
END_TEST

/* With few descriptors clients wait in the kernel, and come in turn. */
START_TEST(test_full)
{
	struct rlimit few, before;
	int a[4];

	must(!getrlimit(RLIMIT_NOFILE, &before));
	few = before;
	few.rlim_cur = 18; /* half of it is for three */
	for (int k = 0; k < 4; k++)
		a[k] = client_of();
	join();
	must(!setrlimit(RLIMIT_NOFILE, &few));
	settle();
	ck_assert_int_eq(door_patience(door) > 0, 1);
	must(!setrlimit(RLIMIT_NOFILE, &before));
	for (int k = 0; k < 4; k++)
		client_says(a[k], "ask", NULL);
	settle();
	ck_assert_int_eq(door_patience(door), -1);
	for (uint32_t k = 1, channel; k <= 4; k++)
		must(carrier_next(head, &channel));
	for (int k = 0; k < 4; k++)
		close(a[k]);
}
END_TEST

/* The head's end of it, a frame of any length; a client that does not read; and the
 * last words. */
START_TEST(test_conn)
{
	static uint8_t body[MUCH], frame[RUN_FRAME_HEADER + MUCH];
	int client = client_of();
	struct conn *c = NULL;
	enum run_kind kind;
	struct storm_in in;
	uint32_t channel;
	size_t sent = 0, got = 0;

	for (size_t k = 0; k < MUCH; k++)
		body[k] = (uint8_t) (k * 7);
	run_frame_head(frame, RUN_ASK, MUCH);
	memcpy(frame + RUN_FRAME_HEADER, body, MUCH);
	join();
	for (int n = 0; !c || !run_reader_next(&c->in, &kind, &in); n++) {
		ssize_t k = send(client, frame + sent, sizeof(frame) - sent,
				 MSG_DONTWAIT);

		must(n < 1000);
		sent += k > 0 ? (size_t) k : 0;
		settle();
		if (!c && carrier_next(head, &channel))
			c = conn_create_on(head, channel);
		if (c)
			conn_read(c);
	}
	must(conn_is_open(c) && kind == RUN_ASK);
	must((size_t) (in.end - in.p) == MUCH && !memcmp(in.p, body, MUCH));
	for (int k = 0; k < 5; k++)
		conn_put(c, RUN_OUTPUT, body, MUCH);
	c->bye = true;
	for (int k = 0; k < 50; k++) {
		conn_flush(c);
		settle();
	}
	must(conn_is_open(c) && conn_waits(c) > MUCH); /* it waits for it */
	for (int n = 0; got < 5 * sizeof(frame); n++) {
		ssize_t k = recv(client, frame, sizeof(frame), MSG_DONTWAIT);

		must(n < 5000);
		got += k > 0 ? (size_t) k : 0;
		conn_flush(c);
		settle();
	}
	ck_assert_uint_eq(got, 5 * sizeof(frame));
	must(!conn_is_open(c));
	ck_assert_str_eq(client_hears(client), "end");
	conn_destroy(c);
	close(client);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("door");
	TCase *t = tcase_create("clients");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_clients);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_lost);
	tcase_add_test(t, test_noise);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_conn);
	suite_add_tcase(s, t);
	return unit_main(s);
}
