// Preloaded into the daemon under test: its clocks run ahead of this machine's by what a file holds, in nanoseconds:
// first how much time has gone by (all clocks), then by how much the wall clock alone was set, then how long the machine
// slept (all but the monotonic clocks). See clock.rs.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct shift {
  volatile int64_t gone, set, slept;
};

static const struct shift *shift(void) {
  static const struct shift none, *found;
  if (found) return found;
  const char *path = getenv("MOVED_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *page = file < 0 ? MAP_FAILED : mmap(0, sizeof(struct shift), PROT_READ, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  found = page == MAP_FAILED ? &none : page;
  return found;
}

int clock_gettime(clockid_t id, struct timespec *time) {
  int status = syscall(SYS_clock_gettime, id, time);
  int64_t by;
  switch (id) {
    case CLOCK_MONOTONIC: case CLOCK_MONOTONIC_RAW: case CLOCK_MONOTONIC_COARSE:
      by = shift()->gone;
      break;
    case CLOCK_BOOTTIME:
      by = shift()->gone + shift()->slept;
      break;
    case CLOCK_REALTIME: case CLOCK_REALTIME_COARSE:
      by = shift()->gone + shift()->slept + shift()->set;
      break;
    default:
      return status;
  }
  const int64_t second = 1000000000;
  int64_t nanoseconds = time->tv_nsec + by % second;
  time->tv_sec += by / second + (nanoseconds >= second) - (nanoseconds < 0);
  time->tv_nsec = (nanoseconds + second) % second;
  return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}

// The kernel waits by its own clock: look at ours every 50 ms, or as often as MOVED_CLOCK_LOOK says.
static int bounded(int milliseconds) {
  static int longest;
  if (!longest) {
    const char *look = getenv("MOVED_CLOCK_LOOK");
    longest = look ? atoi(look) : 0;
    if (longest < 1) longest = 50;
  }
  return milliseconds < 0 || milliseconds > longest ? longest : milliseconds;
}

int epoll_wait(int poll, struct epoll_event *events, int most, int milliseconds) {
  return syscall(SYS_epoll_wait, poll, events, most, bounded(milliseconds));
}

int epoll_pwait(int poll, struct epoll_event *events, int most, int milliseconds, const sigset_t *mask) {
  return syscall(SYS_epoll_pwait, poll, events, most, bounded(milliseconds), mask, 8);
}
