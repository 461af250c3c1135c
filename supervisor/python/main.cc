// podjail-python: the embedded interpreter that checks a script and runs it, started by podjail with a control socket as fd 3 and a report
// pipe as fd 4. argv = {the image's python3, SCRIPT, ARG…}, the environment is the script's already. See wire/FORMAT.md for the
// conversation.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include "python/call_function.h"
#include "python/check.h"
#include "python/confine.h"
#include "python/finalise.h"
#include "python/interpreter.h"
#include "python/python_version.h"
#include "python/run_script.h"
#include "wire/wire.h"

namespace podjail::python {
namespace {

enum Exit { kDone = 0, kUsage = 64, kBroken = 70 };

// Out of the way: the script's first open() is fd 3, as in python3.
Expected<Fd> move_high(int fd) {
  constexpr int kHigh = 200;
  int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kHigh);
  if (moved < 0) moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 10);  // RLIMIT_NOFILE is below that
  if (moved < 0) return fail("move a descriptor", errno);
  ::close(fd);
  return Fd(moved);
}

Expected<std::string> read_whole(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail("stat the script", errno);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t n = ::pread(fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail("read the script", n < 0 ? errno : EIO);
    got += static_cast<std::size_t>(n);
  }
  return bytes;
}

Expected<wire::Frame> receive(int control, wire::Type expected) {
  wire::Frame frame = TRY(wire::receive_frame(control));
  if (frame.type != expected) return fail("an unexpected message (" + std::to_string(static_cast<unsigned>(frame.type)) + ")");
  return frame;
}

void say_version() {
  std::printf("{\"podjail\":\"%s\",\"python\":\"%s\",\"abi\":\"%s\",\"link\":\"%s\"}\n", PODJAIL_VERSION,
              version_text(static_cast<std::uint32_t>(Py_Version)).c_str(), PODJAIL_PYTHON_SOABI, PODJAIL_PYTHON_LINK);
}

// Answers jobs until one was run (its exit code is returned, the interpreter is still there) or there are no more.
Expected<std::optional<int>> serve(Fd control, Fd pipe) {
  while (true) {
    wire::Frame frame = TRY(wire::receive_frame(control.get()));
    if (frame.type == wire::Type::done) return std::nullopt;
    if (frame.type != wire::Type::job || frame.fds.empty()) return fail("an unexpected message");
    const wire::Job job = TRY(wire::decode_job(frame.payload));
    std::string source = TRY(read_whole(frame.fds[0].get()));
    if (job.has_payload && frame.fds.size() < 2) return fail("a job without its payload");
    const std::string payload = job.has_payload ? TRY(read_whole(frame.fds[1].get())) : std::string();
    frame.fds.clear();
    const Ref filename = decode_path(job.script_path.empty() ? job.name : job.script_path);
    if (!filename) return fail("a script path that Python can't hold");
    Checked checked = check_script(job, source, filename.ptr());
    Ref argument;
    if (checked.verdict.verdict == "accepted" && job.mode == wire::Job::Mode::run) {
      import_for(job);
      std::string problem;
      if (job.function) argument = parse_payload(job, payload, problem);
      if (!problem.empty()) checked.verdict = {"invalid_input", "payload_not_json", problem, {}};
    }
    const bool accepted = checked.verdict.verdict == "accepted";
    TRY_VOID(wire::send_frame(control.get(), wire::Type::verdict, wire::encode(checked.verdict)));
    if (job.mode == wire::Job::Mode::check) continue;
    if (!accepted) return std::nullopt;
    TRY(receive(control.get(), wire::Type::go));
    control.reset();
    Report report(std::move(pipe));
    return run_script(job, std::move(source), std::move(checked), argument, report);
  }
}

Expected<int> run(std::span<char*> argv) {
  Fd control = TRY(move_high(wire::kControlFd));
  Fd pipe = TRY(move_high(wire::kReportFd));
  wire::Hello hello;
  hello.python_version = version_text(static_cast<std::uint32_t>(Py_Version));
  const auto started = start_interpreter(argv);
  if (!started) hello.error = started.error().message();
  TRY_VOID(wire::send_frame(control.get(), wire::Type::hello, wire::encode(hello)));
  if (!started) return kBroken;
  {
    const wire::Frame frame = TRY(receive(control.get(), wire::Type::confine));
    wire::Confine filters = TRY(wire::decode_confine(frame.payload));
    if (!confine_myself(control.get(), filters)) return kBroken;
  }
  const std::optional<int> ended = TRY(serve(std::move(control), std::move(pipe)));
  return ended ? finalise(*ended) : kDone;
}

int main_function(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--podjail-version") {
    say_version();
    return kDone;
  }
  struct stat status {};
  if (::fstat(wire::kControlFd, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    std::fputs("podjail-python is started by podjail\n", stderr);
    return kUsage;
  }
  try {
    const auto code = run({argv, static_cast<std::size_t>(argc)});
    if (code) return *code;
    std::fprintf(stderr, "podjail-python: %s\n", code.error().message().c_str());
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "podjail-python: %s\n", exception.what());
  }
  return kBroken;
}

}  // namespace
}  // namespace podjail::python

int main(int argc, char** argv) {
  return podjail::python::main_function(argc, argv);
}
