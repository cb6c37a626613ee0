/*
 * unwind_walk.c - see unwind.h: elfutils' libdwfl walks the stacks, by registers and memory that
 * storm_unwind has got.  It reads ELF files and call frame information that the user made,
 * so it has no right, little memory and little time.
 *
 * Python with -X perf calls each of its functions by a piece of code that it has made
 * itself.  That has a name (unwind_map.h), and no call frame information.  So the walk ends
 * there, and goes on with the registers of its caller.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/storm_stack/stack_line.h"
#include "unwind.h"
#include "unwind_map.h"

#define FRAMES 64
#define NAME_MOST 200 /* bytes of a function's name; C++ has longer ones */

/* One process, or one of its threads. */
struct walk {
	const struct unwind_process *p;
	Dwfl *dwfl;
	int fd;
	uint32_t now; /* thread */
	bool again;   /* with other registers, which it has now */
	bool resumed; /* so it was, and its first address is behind a call */
	unsigned int frames;
	struct stack_rec rec;
	size_t len; /* of rec.text */
};

/* ------------------------------------------------------------------ the process --- */

static pid_t walk_next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct walk *w = arg;
	uint32_t nth = *thread ? (uint32_t) ((struct unwind_thread *) *thread -
					     w->p->threads) +
					 1 :
				 0;

	(void) dwfl;
	if (nth >= w->p->count)
		return 0;
	w->now = nth;
	*thread = &w->p->threads[nth];
	return w->p->threads[nth].tid;
}

static bool walk_memory(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *out, void *arg)
{
	const struct walk *w = arg;

	(void) dwfl;
	return at <= LONG_MAX &&
	       pread(w->p->mem, out, sizeof(*out), (off_t) at) == sizeof(*out);
}

/* Registers by DWARF's numbers. */
static bool walk_registers(Dwfl_Thread *thread, void *arg)
{
	const struct user_regs_struct *r =
		&((struct unwind_thread *) arg)->regs;
#if defined(__x86_64__)
	const Dwarf_Word all[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi,
				   r->rdi, r->rbp, r->rsp, r->r8,  r->r9,
				   r->r10, r->r11, r->r12, r->r13, r->r14,
				   r->r15, r->rip };

	return dwfl_thread_state_registers(thread, 0, 17, all);
#elif defined(__aarch64__)
	Dwarf_Word all[32];

	for (int k = 0; k < 31; k++)
		all[k] = r->regs[k];
	all[31] = r->sp;
	dwfl_thread_state_register_pc(thread, r->pc);
	return dwfl_thread_state_registers(thread, 0, 32, all);
#else
#error "unwind_walk.c knows the registers of x86-64 and of ARM64 alone"
#endif
}

static const Dwfl_Thread_Callbacks walk_callbacks = {
	.next_thread = walk_next_thread,
	.memory_read = walk_memory,
	.set_initial_registers = walk_registers,
};

/* libdwfl has the process's number only later. */
static pid_t walk_pid;

/* Is it the program's own file, which has no name any more? */
static bool walk_is_program(const char *name, char (*path)[PATH_MAX])
{
	char link[PATH_MAX];
	ssize_t n;

	snprintf(*path, sizeof(*path), "/proc/%d/exe", (int) walk_pid);
	n = readlink(*path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	return !strcmp(link, name);
}

/* A file as the process sees it, whose root can be another one: a container, or what
 * chroot(2) made.  Devices, and pipes that nobody writes, are not opened. */
static int walk_find_elf(Dwfl_Module *mod, void **userdata, const char *name,
			 Dwarf_Addr base, char **file, Elf **elf)
{
	char path[PATH_MAX];
	struct stat st;
	int fd = -1;

	if (*name == '/') {
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int) walk_pid,
			 name);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0 && walk_is_program(name, &path))
			fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	if (fd < 0)
		return dwfl_linux_proc_find_elf(mod, userdata, name, base, file,
						elf);
	*file = strdup(path);
	return fd;
}

/* ------------------------------------------------------------------- the frames --- */

static void walk_add(struct walk *w, const char *text)
{
	char clean[NAME_MOST + 1];
	const char *arrow = w->len ? " < " : "";
	size_t n;

	stack_clean(clean, sizeof(clean), text);
	n = strlen(arrow) + strlen(clean);
	if (w->len + n >= sizeof(w->rec.text))
		return;
	snprintf(w->rec.text + w->len, sizeof(w->rec.text) - w->len, "%s%s",
		 arrow, clean);
	w->len += n;
}

#if defined(__x86_64__)
/* The registers behind Python's own code at pc, of a thread that is only remembered.  It
 * pushes 8 bytes, calls, pops them, and returns. */
static bool walk_leave_python(struct walk *w, Dwfl_Frame *frame, Dwarf_Addr pc)
{
	static const uint8_t drop[] = { 0x48, 0x83, 0xc4, 8, 0xc3 };
	static const uint8_t pop[] = { 0x5d, 0xc3 };
	struct user_regs_struct *r = &w->p->threads[w->now].regs;
	Dwarf_Word reg[17] = { 0 }, top[2];
	uint8_t code[sizeof(drop)];

	for (unsigned int k = 0; k < 16; k++)
		dwfl_frame_reg(frame, k, &reg[k]);
	if (pc > LONG_MAX || reg[7] > LONG_MAX ||
	    pread(w->p->mem, code, sizeof(code), (off_t) pc) != sizeof(code) ||
	    pread(w->p->mem, top, sizeof(top), (off_t) reg[7]) != sizeof(top))
		return false;
	if (!memcmp(code, pop, sizeof(pop)))
		reg[6] = top[0];
	else if (memcmp(code, drop, sizeof(drop)) != 0)
		return false;
	r->rbx = reg[3];
	r->rbp = reg[6];
	r->rsp = reg[7] + sizeof(top);
	r->r12 = reg[12];
	r->r13 = reg[13];
	r->r14 = reg[14];
	r->r15 = reg[15];
	r->rip = top[1];
	return true;
}
#else
static bool walk_leave_python(struct walk *w, Dwfl_Frame *frame, Dwarf_Addr pc)
{
	(void) w;
	(void) frame;
	(void) pc;
	return false;
}
#endif

/* Code of no file.  True: the walk goes on by itself. */
static bool walk_made_code(struct walk *w, Dwfl_Frame *frame, Dwarf_Addr pc)
{
	char name[512];

	if (!unwind_map_name(w->p->pid, pc, name, sizeof(name))) {
		walk_add(w, "?");
		return true;
	}
	if (unwind_map_python(name, sizeof(name)))
		w->again = walk_leave_python(w, frame, pc);
	walk_add(w, name);
	return !w->again;
}

/* A function's name, or where in which file the address is: that merges as well. */
static void walk_name(struct walk *w, Dwarf_Addr pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(w->dwfl, pc);
	const char *name = mod ? dwfl_module_addrname(mod, pc) : NULL;
	const char *file, *slash;
	Dwarf_Addr low = 0;
	char text[NAME_MOST + 1];

	if (name) {
		walk_add(w, name);
		return;
	}
	file = mod ? dwfl_module_info(mod, NULL, &low, NULL, NULL, NULL, NULL,
				      NULL) :
		     NULL;
	slash = file ? strrchr(file, '/') : NULL;
	if (file)
		snprintf(text, sizeof(text), "%.150s+0x%llx",
			 slash ? slash + 1 : file,
			 (unsigned long long) (pc - low));
	walk_add(w, file ? text : "?");
}

static int walk_frame(Dwfl_Frame *frame, void *arg)
{
	struct walk *w = arg;
	Dwarf_Addr pc;
	bool active;

	if (w->frames++ == FRAMES) {
		walk_add(w, "...");
		return DWARF_CB_ABORT;
	}
	if (!dwfl_frame_pc(frame, &pc, &active))
		return DWARF_CB_ABORT;
	/* a return address is behind its call */
	active = active && !w->resumed;
	w->resumed = false;
	if (!dwfl_addrmodule(w->dwfl, active ? pc : pc - 1))
		return walk_made_code(w, frame, pc) ? DWARF_CB_OK :
						      DWARF_CB_ABORT;
	walk_name(w, active ? pc : pc - 1);
	return DWARF_CB_OK;
}

/* ------------------------------------------------------------------------ lines --- */

static void walk_write(int fd, const char *line, size_t len)
{
	while (len) {
		ssize_t n = write(fd, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		line += n;
		len -= (size_t) n;
	}
}

static void walk_say(struct walk *w)
{
	struct storm_range only = { w->p->rank, w->p->rank };
	struct stack_one one = {
		.kind = w->rec.kind,
		.label = w->p->label,
		.program = w->p->program,
		.text = w->rec.text,
		.count = 1,
		.ranks = { &only, 1, 1 },
	};
	char line[STACK_LINE];
	uint32_t from = 0;
	size_t len;

	while (stack_line_put(&line, &one, &from)) {
		len = strlen(line);
		line[len++] = '\n';
		walk_write(w->fd, line, len);
	}
}

static void walk_begin(struct walk *w, enum stack_kind kind)
{
	w->frames = 0;
	w->len = 0;
	w->rec.text[0] = '\0';
	w->rec.kind = kind;
}

static int walk_thread(Dwfl_Thread *thread, void *arg)
{
	struct walk *w = arg;

	walk_begin(w, dwfl_thread_tid(thread) == w->p->threads[0].tid ?
			      STACK_MAIN :
			      STACK_THREAD);
	w->resumed = false;
	do {
		w->again = false;
		dwfl_thread_getframes(thread, walk_frame, w);
		w->resumed = w->again;
	} while (w->again);
	if (!w->len)
		walk_add(w, "?");
	walk_say(w);
	return DWARF_CB_OK;
}

static void walk_fault(struct walk *w, const char *why)
{
	walk_begin(w, STACK_FAULT);
	walk_add(w, why);
	walk_say(w);
}

static void walk_process(struct walk *w)
{
	/* no file but the program's own and its libraries: no other one's debug
	 * information, by the network or else */
	static char *nowhere = "";
	static const Dwfl_Callbacks callbacks = {
		.find_elf = walk_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &nowhere,
	};

	if (*w->p->why) {
		walk_fault(w, w->p->why);
		return;
	}
	/* its first thread may have ended, and has no files then */
	walk_pid = w->p->threads[0].tid;
	w->dwfl = dwfl_begin(&callbacks);
	if (!w->dwfl || dwfl_linux_proc_report(w->dwfl, walk_pid) ||
	    dwfl_report_end(w->dwfl, NULL, NULL) ||
	    !dwfl_attach_state(w->dwfl, NULL, w->p->pid, &walk_callbacks, w) ||
	    dwfl_getthreads(w->dwfl, walk_thread, w) < 0)
		walk_fault(w, dwfl_errmsg(-1));
	if (w->dwfl)
		dwfl_end(w->dwfl);
}

void unwind_walk(const struct unwind_job *j, uint32_t first, int fd)
{
	static struct walk w; /* large */

	w.fd = fd;
	for (uint32_t i = first; i < j->count; i++) {
		char line[16];
		int len = snprintf(line, sizeof(line), "P\t%u\n", i);

		w.p = &j->all[i];
		walk_write(fd, line, (size_t) len);
		walk_process(&w);
	}
}
