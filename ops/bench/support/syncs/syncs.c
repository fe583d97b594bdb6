// Preloaded into the servers being measured: counts their syncs of files in one folder, and makes each take a minimum time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

// The file named by BENCH_SYNC_GAUGE, 24 bytes: the bench writes the first number and reads the others.
struct gauge {
  _Atomic uint64_t least_ns;
  _Atomic uint64_t count;
  _Atomic uint64_t total_ns;
};

static struct gauge *gauge;
static char folder[PATH_MAX];
static int (*next_fsync)(int);
static int (*next_fdatasync)(int);

static void fail(const char *what) {
  perror(what);
  abort();
}

__attribute__((constructor)) static void open_gauge(void) {
  next_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  next_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  const char *path = getenv("BENCH_SYNC_GAUGE");
  if (path == NULL) return;
  if (realpath(path, folder) == NULL) fail(path);
  // The slash stays: the folder is the gauge's own, with everything below it.
  strrchr(folder, '/')[1] = 0;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file == -1) fail(path);
  gauge = mmap(NULL, sizeof(struct gauge), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (gauge == MAP_FAILED) fail(path);
  close(file);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int is_in_folder(int file) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length == -1) return 0;
  path[length] = 0;
  return strncmp(path, folder, strlen(folder)) == 0;
}

// No slack, as Linux would otherwise add 50 microseconds to each sleep.
static void sleep_until(uint64_t end) {
  int slack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1UL);
  struct timespec time = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
  }
  prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

static int gauged(int (*sync)(int), int file) {
  if (gauge == NULL || !is_in_folder(file)) return sync(file);
  uint64_t began = now();
  int result = sync(file);
  int error = errno;
  uint64_t least = atomic_load(&gauge->least_ns);
  if (now() - began < least) sleep_until(began + least);
  atomic_fetch_add(&gauge->count, 1);
  atomic_fetch_add(&gauge->total_ns, now() - began);
  errno = error;
  return result;
}

int fsync(int file) { return gauged(next_fsync, file); }

int fdatasync(int file) { return gauged(next_fdatasync, file); }
