#include "runner_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

using namespace podjail;

namespace {

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string drain(int fd) {
  std::string bytes;
  char chunk[4096];
  for (ssize_t n = 0; (n = ::read(fd, chunk, sizeof chunk)) > 0;) bytes.append(chunk, static_cast<std::size_t>(n));
  return bytes;
}

Fd memory_file(const std::string& bytes) {
  Fd fd(::memfd_create("test", MFD_CLOEXEC));
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("write");
  return fd;
}

// `high` descriptors become 3, 4, … of the child. All were made CLOEXEC and lie above those numbers.
pid_t start(const std::string& program, const RunnerInput& input, const Pipe& out, const Pipe& err, const std::vector<int>& passed) {
  std::vector<std::string> words = {input.python, input.folder + "/script.py"};
  words.insert(words.end(), input.arguments.begin(), input.arguments.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : input.environment) variables.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int null = ::open("/dev/null", O_RDONLY);
  std::vector<int> high;
  for (const int fd : passed) high.push_back(::fcntl(fd, F_DUPFD, 400));
  ::dup2(null, 0);
  ::dup2(out.write.get(), 1);
  ::dup2(err.write.get(), 2);
  for (std::size_t i = 0; i < high.size(); ++i) ::dup2(high[i], 3 + static_cast<int>(i));
  ::close_range(3 + static_cast<unsigned>(high.size()), ~0U, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::chdir(input.folder.c_str()) != 0) ::_exit(126);
  ::execve(program.c_str(), argv.data(), envp.data());
  ::_exit(127);
}

void write_script(const RunnerInput& input) {
  std::ofstream(input.folder + "/script.py", std::ios::binary) << input.source;
}

template <class T>
T must(Expected<T> value) {
  if (!value) throw std::runtime_error(value.error().message());
  return std::move(*value);
}

// Up to "go"; leaves early where the runner has said that it won't go on.
void converse(int control, const RunnerInput& input, RunnerEnd& end) {
  end.hello_error = must(wire::decode_hello(must(wire::receive_frame(control)).payload)).error;
  if (!end.hello_error.empty()) return;
  wire::Confine confine;
  confine.guard = confine.allow_list = {{6, 0, 0, 0x7fff0000}};  // BPF_RET | BPF_K, SECCOMP_RET_ALLOW
  (void)wire::send_frame(control, wire::Type::confine, wire::encode(confine));
  end.confined_error = must(wire::decode_confined(must(wire::receive_frame(control)).payload)).error;
  if (!end.confined_error.empty()) return;
  wire::Job job = input.job;
  job.script_path = input.folder + "/script.py";
  job.name = "script.py";
  job.max_script = 4U << 20;
  if (job.return_value_limit == 0) job.return_value_limit = 1U << 20;
  job.has_payload = input.payload.has_value();
  const Fd script = memory_file(input.source), payload = memory_file(input.payload.value_or(""));
  const int fds[] = {script.get(), payload.get()};
  (void)wire::send_frame(control, wire::Type::job, wire::encode(job), std::span<const int>(fds, job.has_payload ? 2 : 1));
  end.verdict = must(wire::decode_verdict(must(wire::receive_frame(control)).payload));
  if (end.verdict.verdict == "accepted") (void)wire::send_frame(control, wire::Type::go, "");
}

}  // namespace

RunnerEnd run_runner(const RunnerInput& input) {
  write_script(input);
  RunnerEnd end;
  Pipe out = make_pipe(), err = make_pipe(), report = make_pipe();
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) throw std::runtime_error("socketpair");
  Fd control(pair[0]);
  const pid_t pid = start(PODJAIL_RUNNER, input, out, err, {pair[1], report.write.get()});
  ::close(pair[1]);
  for (Pipe* pipe : {&out, &err, &report}) pipe->write.reset();
  std::string said;
  {
    const std::jthread reads_out([&] { end.out = drain(out.read.get()); });
    const std::jthread reads_err([&] { end.err = drain(err.read.get()); });
    const std::jthread reads_report([&] { said = drain(report.read.get()); });
    try {
      converse(control.get(), input, end);
    } catch (const std::exception& exception) {
      end.confined_error = exception.what();
    }
    control.reset();
    ::waitpid(pid, &end.status, 0);
  }
  if (said.size() > 8) {
    if (auto ended = wire::decode_ended(std::string_view(said).substr(8), 64U << 20)) end.ended = std::move(*ended);
  }
  return end;
}

RunnerEnd run_python3(const RunnerInput& input) {
  write_script(input);
  RunnerEnd end;
  Pipe out = make_pipe(), err = make_pipe();
  const pid_t pid = start(input.python, input, out, err, {});
  out.write.reset();
  err.write.reset();
  {
    const std::jthread reads_out([&] { end.out = drain(out.read.get()); });
    const std::jthread reads_err([&] { end.err = drain(err.read.get()); });
    ::waitpid(pid, &end.status, 0);
  }
  return end;
}
