/*
 * test_wait_page.c - the accounts of tasks: the page that slurmstepd makes, tasks
 * map, and the agent reads; and files that are none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/storm_wait/wait_page.h"
#include "unit.h"

START_TEST(test_sums)
{
	int fd = wait_page_create(100);
	struct wait_account sum;
	char name[64];

	must(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
	must(wait_page_sum(fd, &sum) && !sum.waits && !sum.ran);
	must(wait_page_name(fd, name, sizeof(name)));
	for (uint32_t task = 0; task < 100; task++) {
		struct wait_slot *s = wait_page_map(name, task);

		must(s);
		s->waits += 1;
		s->computed += task;
		s->waited += 10;
		s->ran += 2 * task;
	}
	must(!wait_page_map(name, 100) && !wait_page_map(name, UINT32_MAX));
	must(wait_page_sum(fd, &sum));
	must(sum.waits == 100 && sum.computed == 4950 && sum.waited == 1000 &&
	     sum.ran == 9900);
	close(fd);
}
END_TEST

/* What a task can do with it. */
START_TEST(test_size_stays)
{
	int fd = wait_page_create(1);
	struct wait_account sum;
	char junk[4096];

	memset(junk, 0xff, sizeof(junk));
	must(ftruncate(fd, 0) && errno == EPERM);
	must(ftruncate(fd, 1 << 20) && errno == EPERM);
	must(pwrite(fd, junk, sizeof(junk), 64) < 0);
	must(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) && errno == EPERM);
	must(pwrite(fd, junk, 64, 0) == 64);
	must(wait_page_sum(fd, &sum) && sum.waits == UINT64_MAX);
	close(fd);
}
END_TEST

START_TEST(test_too_many)
{
	must(wait_page_create(0) < 0 && errno == ERANGE);
	must(wait_page_create(WAIT_PAGE_TASKS + 1) < 0 && errno == ERANGE);
	must(wait_page_create(UINT32_MAX) < 0 && errno == ERANGE);
}
END_TEST

/* Without the seals, of another size, no memory at all: at a descriptor that once
 * was a page's. */
static int none(unsigned int which)
{
	int fd, pipes[2];

	switch (which) {
	case 0:
		fd = memfd_create("storm_wait", MFD_ALLOW_SEALING);
		must(!ftruncate(fd, 64));
		return fd;
	case 1:
		fd = memfd_create("storm_wait", MFD_ALLOW_SEALING);
		must(!ftruncate(fd, 65));
		must(!fcntl(fd, F_ADD_SEALS,
			    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
		return fd;
	case 2:
		fd = memfd_create("storm_wait", MFD_ALLOW_SEALING);
		must(!ftruncate(fd, 1LL << 40));
		must(!fcntl(fd, F_ADD_SEALS,
			    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
		return fd;
	case 3:
		fd = memfd_create("storm_wait", MFD_ALLOW_SEALING);
		must(!fcntl(fd, F_ADD_SEALS,
			    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
		return fd;
	case 4:
		must(!pipe(pipes));
		close(pipes[1]);
		return pipes[0];
	case 5:
		return open("/dev/zero", O_RDWR);
	default:
		return open("/tmp", O_RDONLY);
	}
}

START_TEST(test_no_page)
{
	struct wait_account sum;
	struct stat st;
	char name[64];

	for (unsigned int i = 0; i < 7; i++) {
		int fd = none(i);

		must(fd >= 0 && !fstat(fd, &st));
		must(!wait_page_sum(fd, &sum) && !sum.waits);
		must(!wait_page_name(fd, name, sizeof(name)));
		snprintf(name, sizeof(name), "%d:%ju", fd,
			 (uintmax_t) st.st_ino);
		must(!wait_page_map(name, 0));
		close(fd);
	}
	must(!wait_page_sum(-1, &sum));
}
END_TEST

/* A name of the environment. */
START_TEST(test_names)
{
	int fd = wait_page_create(1), other = wait_page_create(1);
	char name[64], wrong[64];

	must(!wait_page_map(NULL, 0) && !wait_page_map("", 0));
	must(!wait_page_map("x", 0) && !wait_page_map("-1:1", 0));
	must(wait_page_name(fd, name, sizeof(name)));
	must(wait_page_map(name, 0));
	/* another page has come to stand there */
	must(dup2(other, fd) == fd && !wait_page_map(name, 0));
	close(fd);
	must(!wait_page_map(name, 0));
	must(wait_page_name(other, wrong, sizeof(wrong)));
	must(wait_page_map(wrong, 0));
	close(other);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("wait_page");
	TCase *t = tcase_create("wait_page");

	tcase_add_test(t, test_sums);
	tcase_add_test(t, test_size_stays);
	tcase_add_test(t, test_too_many);
	tcase_add_test(t, test_no_page);
	tcase_add_test(t, test_names);
	suite_add_tcase(s, t);
	return unit_main(s);
}
