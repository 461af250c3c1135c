// Calls of libc that podjail-python defines itself, so that CPython and every extension module call these: each does what libc's does, and
// then what Landlock and an early end leave to do. They are in the executable alone, so programs that a script executes have libc's own.
//
// open(2) and its kin, fopen, opendir: a path of /proc/self that Landlock refuses (it knows the first process's folder only) is asked for
// from podjail. open(2), shm_open and sem_open that make a file in /dev/shm tell podjail of it.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "python/interpose/request.h"

namespace podjail::python {
namespace {

// Looked up when the program starts: dlsym(3) takes locks, which a forked child may find taken. Set once, before main.
struct Libc {
  FILE* (*fopen)(const char*, const char*) = nullptr;
  DIR* (*opendir)(const char*) = nullptr;
  int (*shm_open)(const char*, int, mode_t) = nullptr;
  sem_t* (*sem_open)(const char*, int, ...) = nullptr;
};
Libc libc;

template <class F>
void look_up(F& function, const char* name) {
  function = reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

[[gnu::constructor]] void look_up_all() {
  look_up(libc.fopen, "fopen64");
  look_up(libc.opendir, "opendir");
  look_up(libc.shm_open, "shm_open");
  look_up(libc.sem_open, "sem_open");
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const int fd = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
  const bool makes = (flags & O_CREAT) != 0;
  if (fd >= 0) {
    if (makes && std::strncmp(path, "/dev/shm/", 9) == 0) claim_shared_memory(fd);
    return fd;
  }
  if (errno != EACCES || makes || (flags & (O_ACCMODE | O_PATH)) != O_RDONLY) return fd;
  return open_proc_file(path, (flags & O_CLOEXEC) != 0);
}

// sem_open(3) gives no descriptor; its file is /dev/shm/sem.NAME.
void claim_semaphore(const char* name) {
  char path[NAME_MAX + 16];
  while (*name == '/') ++name;
  if (static_cast<std::size_t>(std::snprintf(path, sizeof path, "/dev/shm/sem.%s", name)) >= sizeof path) return;
  const int before = errno;
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd >= 0) {
    claim_shared_memory(fd);
    ::close(fd);
  }
  errno = before;
}

mode_t mode_of(int flags, va_list arguments) {
  const bool given = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return given ? va_arg(arguments, mode_t) : 0;
}

}  // namespace
}  // namespace podjail::python

// Under names of their own for the compiler, as the headers declare (and with _FORTIFY_SOURCE define) the real ones.
#define PODJAIL_LIBC(name) __asm__(name) __attribute__((visibility("default")))
extern "C" {
int podjail_open(const char* path, int flags, ...) PODJAIL_LIBC("open64");
int podjail_openat(int folder, const char* path, int flags, ...) PODJAIL_LIBC("openat64");
int podjail_open_2(const char* path, int flags) PODJAIL_LIBC("__open64_2");
int podjail_openat_2(int folder, const char* path, int flags) PODJAIL_LIBC("__openat64_2");
FILE* podjail_fopen(const char* path, const char* mode) PODJAIL_LIBC("fopen64");
DIR* podjail_opendir(const char* path) PODJAIL_LIBC("opendir");
int podjail_shm_open(const char* name, int flags, mode_t mode) PODJAIL_LIBC("shm_open");
sem_t* podjail_sem_open(const char* name, int flags, ...) PODJAIL_LIBC("sem_open");

int podjail_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = podjail::python::mode_of(flags, arguments);
  va_end(arguments);
  return podjail::python::open_at(AT_FDCWD, path, flags, mode);
}

int podjail_openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = podjail::python::mode_of(flags, arguments);
  va_end(arguments);
  return podjail::python::open_at(folder, path, flags, mode);
}

int podjail_open_2(const char* path, int flags) {
  return podjail::python::open_at(AT_FDCWD, path, flags, 0);
}

int podjail_openat_2(int folder, const char* path, int flags) {
  return podjail::python::open_at(folder, path, flags, 0);
}

FILE* podjail_fopen(const char* path, const char* mode) {
  FILE* const file = podjail::python::libc.fopen(path, mode);
  if (file != nullptr || errno != EACCES || mode[0] != 'r' || std::strchr(mode, '+') != nullptr) return file;
  const int fd = podjail::python::open_proc_file(path, std::strchr(mode, 'e') != nullptr);
  if (fd < 0) return nullptr;
  FILE* const given = ::fdopen(fd, mode);
  if (given == nullptr) ::close(fd);
  return given;
}

DIR* podjail_opendir(const char* path) {
  DIR* const folder = podjail::python::libc.opendir(path);
  if (folder != nullptr || errno != EACCES) return folder;
  const int fd = podjail::python::open_proc_file(path, true);
  if (fd < 0) return nullptr;
  DIR* const given = ::fdopendir(fd);
  if (given == nullptr) ::close(fd);
  return given;
}

int podjail_shm_open(const char* name, int flags, mode_t mode) {
  const int fd = podjail::python::libc.shm_open(name, flags, mode);
  if (fd >= 0 && (flags & O_CREAT) != 0) podjail::python::claim_shared_memory(fd);
  return fd;
}

sem_t* podjail_sem_open(const char* name, int flags, ...) {
  if ((flags & O_CREAT) == 0) return podjail::python::libc.sem_open(name, flags);
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = va_arg(arguments, mode_t);
  const auto value = va_arg(arguments, unsigned);
  va_end(arguments);
  sem_t* const semaphore = podjail::python::libc.sem_open(name, flags, mode, value);
  if (semaphore != SEM_FAILED) podjail::python::claim_semaphore(name);
  return semaphore;
}
}

// The same functions by their other names; off_t has 64 bits on this ABI. In assembly, as an alias attribute needs a target in C++.
__asm__(
    ".globl open, openat, __open_2, __openat_2, fopen\n"
    ".set open, open64\n"
    ".set openat, openat64\n"
    ".set __open_2, __open64_2\n"
    ".set __openat_2, __openat64_2\n"
    ".set fopen, fopen64\n"
    ".type open, @function\n.type openat, @function\n.type __open_2, @function\n.type __openat_2, @function\n.type fopen, @function\n");
