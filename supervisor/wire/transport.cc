#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "wire/wire.h"

// A frame is {u16 type, u16 descriptors, u32 payload length} in host order, then the payload: both ends are the same machine and the same
// build. recvmsg(2) may return one frame together with the next one's descriptors, so the header says whose they are.
namespace podjail::wire {
namespace {

struct Header {
  std::uint16_t type, fds;
  std::uint32_t length;
};
constexpr std::size_t kMaxFdsPerMessage = 4;

std::string with_header(Type type, std::string_view payload, std::size_t fds) {
  const Header header{static_cast<std::uint16_t>(type), static_cast<std::uint16_t>(fds), static_cast<std::uint32_t>(payload.size())};
  std::string bytes(sizeof header + payload.size(), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
  return bytes;
}

void collect_fds(msghdr& message, std::vector<Fd>& fds) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
}

// Bytes read, 0 at the end of the stream, -1 with errno.
ssize_t receive_some(int socket, char* buffer, std::size_t size, int flags, std::vector<Fd>& fds, bool& truncated) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFdsPerMessage * sizeof(int))> control{};
  iovec vector{buffer, size};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n >= 0) {
    collect_fds(message, fds);
    truncated = (message.msg_flags & MSG_CTRUNC) != 0;
  }
  return n;
}

}  // namespace

Expected<void> send_frame(int socket, Type type, std::string_view payload, std::span<const int> fds) {
  if (payload.size() > kMaxFrame) return fail("a message of " + std::to_string(payload.size()) + " bytes is too long");
  const std::string bytes = with_header(type, payload, fds.size());
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    iovec vector{const_cast<char*>(bytes.data()) + sent, bytes.size() - sent};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFdsPerMessage * sizeof(int))> control{};
    if (sent == 0 && !fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
    }
    const ssize_t n = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail("send on the control socket", errno);
    }
    sent += static_cast<std::size_t>(n);
  }
  return {};
}

Expected<void> write_frame(int pipe, Type type, std::string_view payload) {
  const std::string bytes = with_header(type, payload, 0);
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t n = ::write(pipe, bytes.data() + written, bytes.size() - written);
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail("write on the report pipe", errno);
    }
    written += static_cast<std::size_t>(n);
  }
  return {};
}

Expected<Frame> receive_frame(int socket) {
  Frame frame;
  bool truncated = false;
  const auto receive_all = [&](char* into, std::size_t size) -> Expected<void> {
    for (std::size_t got = 0; got < size;) {
      const ssize_t n = receive_some(socket, into + got, size - got, 0, frame.fds, truncated);
      if (n < 0) return fail("receive on the control socket", errno);
      if (n == 0) return fail("the control socket was closed");
      if (truncated) return fail("too many descriptors in one message");
      got += static_cast<std::size_t>(n);
    }
    return {};
  };
  Header header{};
  TRY_VOID(receive_all(reinterpret_cast<char*>(&header), sizeof header));
  if (header.length > kMaxFrame) return fail("a message of " + std::to_string(header.length) + " bytes is too long");
  frame.type = static_cast<Type>(header.type);
  frame.payload.resize(header.length);
  TRY_VOID(receive_all(frame.payload.data(), frame.payload.size()));
  if (frame.fds.size() != header.fds) return fail("a message without its descriptors");
  return frame;
}

Expected<bool> FrameReader::take(Frame& frame) {
  Header header{};
  if (buffer_.size() < sizeof header) return false;
  std::memcpy(&header, buffer_.data(), sizeof header);
  if (header.length > max_payload_) return fail("a message of " + std::to_string(header.length) + " bytes is too long");
  if (buffer_.size() < sizeof header + header.length) return false;
  if (fds_.size() < header.fds) return fail("a message without its descriptors");
  frame.type = static_cast<Type>(header.type);
  frame.payload.assign(buffer_, sizeof header, header.length);
  frame.fds.clear();
  std::move(fds_.begin(), fds_.begin() + header.fds, std::back_inserter(frame.fds));
  fds_.erase(fds_.begin(), fds_.begin() + header.fds);
  buffer_.erase(0, sizeof header + header.length);
  return true;
}

Expected<FrameReader::State> FrameReader::read(int fd, Frame& frame) {
  while (true) {
    if (TRY(take(frame))) return State::frame;
    std::array<char, 16384> chunk;
    ssize_t n = -1;
    if (!is_pipe_) {
      bool truncated = false;
      const std::size_t before = fds_.size();
      n = receive_some(fd, chunk.data(), chunk.size(), MSG_DONTWAIT, fds_, truncated);
      if (n < 0 && errno == ENOTSOCK) is_pipe_ = true;
      fds_seen_ += fds_.size() - before;
      if (truncated || fds_seen_ > max_fds_) {
        fds_.clear();
        return fail("more descriptors than the protocol has");
      }
    }
    if (is_pipe_) {
      do {
        n = ::read(fd, chunk.data(), chunk.size());
      } while (n < 0 && errno == EINTR);
    }
    if (n < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return State::more;
      if (errno == ECONNRESET) return State::end;
      return fail("read a message", errno);
    }
    if (n == 0) return State::end;
    buffer_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace podjail::wire
