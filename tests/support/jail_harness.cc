#include "support/jail_harness.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "isolation/denied_call.h"
#include "isolation/enter_child.h"
#include "isolation/probe.h"
#include "isolation/seccomp_child.h"
#include "isolation/seccomp_program.h"
#include "sys/fd.h"
#include "sys/proc_read.h"
#include "sys/seccomp_notify.h"

namespace podjail::test {
namespace {

bool send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, 0) == 1;
}

Fd receive_descriptor(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  int fd = -1;
  if (header != nullptr) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Fd(fd);
}

bool in_tree(pid_t root, pid_t target) {
  auto processes = descendants(root);
  processes.push_back(root);
  return std::ranges::any_of(processes, [&](pid_t pid) {
    const auto threads = thread_ids(pid);
    return std::ranges::find(threads, target) != threads.end();
  });
}

// Answers until no process is left under the filter.
Records serve(int listener, pid_t root, const SeccompPlan& plan) {
  Records records;
  while (true) {
    pollfd ready{listener, POLLIN, 0};
    if (::poll(&ready, 1, 15'000) <= 0) return records;
    Notification notification;
    const auto state = notify_receive(listener, notification);
    if (!state || *state == NotifyState::ended) return records;
    if (*state == NotifyState::none) continue;
    const CallDecision decision = decide_call(notification.data, plan);
    records.push_back(decision.what + "(" + decision.detail + ")");
    using Kind = CallDecision::Kind;
    const bool passes = decision.kind == Kind::new_process || decision.kind == Kind::new_thread ||
                        (decision.kind == Kind::target && in_tree(root, decision.target));
    (void)(passes ? notify_continue(listener, notification.id) : notify_deny(listener, notification.id, decision.err));
  }
}

}  // namespace

ChildEnd run_jailed(const JailOptions& options, const std::function<int()>& body, Records* records) {
  int result[2];
  if (::pipe(result) != 0) return {};
  const auto supervise = [&] {
    if (!become_unprivileged()) return kHarnessFailed;
    PodFacts facts = probe_pod(options.max_landlock_abi);
    if (!options.listener) facts.seccomp_notify.available = false;
    const Plan plan = make_plan(options.policy, facts, options.paths);
    Fd ruleset;
    if (plan.landlock.on) {
      auto made = make_landlock_ruleset(plan.landlock);
      if (!made) return kHarnessFailed;
      ruleset = std::move(*made);
    }
    auto program = compile_seccomp(plan.seccomp, ::getpid());
    int sockets[2];
    if (!program || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return kHarnessFailed;
    const EnterArgs args{plan.rlimits.data(), plan.rlimits.size(), ruleset.get(), plan.landlock.own_proc};
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::setsid();
      if (enter_jail(args).err != 0) ::_exit(kHarnessFailed + 1);
      auto& [guard, allow_list, fallback, listener] = *program;
      const SeccompInstalled installed =
          install_seccomp(guard.data(), guard.size(), allow_list.data(), allow_list.size(), fallback.data(), fallback.size(), listener);
      if (installed.err != 0) ::_exit(kHarnessFailed + 2);
      if (!send_descriptor(sockets[1], installed.listener)) ::_exit(kHarnessFailed + 3);
      if (installed.listener >= 0) ::close(installed.listener);
      ::close(sockets[0]);
      ::close(sockets[1]);
      ::_exit(body());
    }
    ::close(sockets[1]);
    const Fd listener = receive_descriptor(sockets[0]);
    std::string text;
    if (listener.valid()) {
      for (const std::string& line : serve(listener.get(), child, plan.seccomp)) text += line + "\n";
    }
    const ChildEnd end = wait_for(child);
    text += std::to_string(end.code) + " " + std::to_string(end.signal);
    return ::write(result[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : kHarnessFailed;
  };
  const ChildEnd supervisor = in_child(supervise);
  ::close(result[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(result[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(count));
  ::close(result[0]);
  if (supervisor.code != 0) return supervisor;
  const std::size_t last = text.rfind('\n');
  const std::size_t start = last == std::string::npos ? 0 : last + 1;
  ChildEnd end;
  std::size_t used = 0;
  end.code = std::stoi(text.substr(start), &used);
  end.signal = std::stoi(text.substr(start + used));
  if (records != nullptr) {
    for (std::size_t from = 0; from < start;) {
      const std::size_t to = text.find('\n', from);
      records->push_back(text.substr(from, to - from));
      from = to + 1;
    }
  }
  return end;
}

ChildEnd run_bare(const std::function<int()>& body) {
  ChildEnd end;
  int result[2];
  if (::pipe(result) != 0) return {};
  const ChildEnd parent = in_child([&] {
    if (!become_unprivileged()) return kHarnessFailed;
    const ChildEnd child = in_child([&] {
      ::setsid();
      return body();
    });
    return ::write(result[1], &child, sizeof child) == sizeof child ? 0 : kHarnessFailed;
  });
  ::close(result[1]);
  const bool complete = parent.code == 0 && ::read(result[0], &end, sizeof end) == sizeof end;
  ::close(result[0]);
  return complete ? end : parent;
}

}  // namespace podjail::test
