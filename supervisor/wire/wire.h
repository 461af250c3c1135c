#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sys/fd.h"

// Messages between podjail and podjail-python; FORMAT.md has the picture. Only this folder knows their bytes. Everything that
// podjail-python says is a claim: bounded, parsed strictly, and never used where the supervisor can look for itself.
namespace podjail::wire {

inline constexpr int kControlFd = 3;  ///< socketpair (STREAM), closed by both sides before "go"
inline constexpr int kReportFd =
    4;  ///< pipe, the runner writes; it moves it to a high number at once, so that the script's first open() gives 3

inline constexpr std::size_t kMaxFrame = 64U << 20;  ///< bytes of one payload; the supervisor lowers it per connection

enum class Type : std::uint16_t {
  hello = 1,     ///< py -> sup: the interpreter is up
  confine = 2,   ///< sup -> py: the filters
  confined = 3,  ///< py -> sup: they are on; carries the listener fd
  job = 4,       ///< sup -> py: what to check or run; carries the script's sealed memfd, then the payload's
  verdict = 5,   ///< py -> sup
  go = 6,        ///< sup -> py: the limits are raised; run it
  done = 7,      ///< sup -> py (check mode): no more files, exit 0
  ended = 8,     ///< py -> sup, on the report pipe
};

struct Frame {
  Type type{};
  std::string payload;
  std::vector<Fd> fds;
};

struct Hello {
  std::string python_version;  ///< "3.11.2"
  std::string error;           ///< not empty: the interpreter can't be used, and why (a stdlib of another patch level, …)
};

struct Confine {
  std::vector<sock_filter> guard, allow_list, fallback;
  bool listener = false;
  std::string landlock_probe;  ///< a path that exists and that only Landlock keeps from the runner; empty: Landlock is not planned
};

struct Confined {
  std::string error;  ///< not empty: the step that failed, with its errno; nothing follows
  int listener_err = 0;
  int landlock_probe_err = 0;
};

struct Finding {
  std::string rule, name, severity;  ///< "PJ101", "forbidden-import", "error" | "warn"
  std::string message, hint;
  int line = 0, column = 0, end_line = 0, end_column = 0;  ///< 1-based, columns in characters, end exclusive; 0: no position
  std::string file;                                        ///< the supervisor's to fill: which of several files
};

struct Job {
  enum class Mode { run, check };
  Mode mode = Mode::run;
  std::string name;         ///< what findings and messages call it
  std::string script_path;  ///< __file__ and argv[0]; its folder becomes sys.path[0]
  std::optional<std::string> function;
  std::vector<std::string> python_paths;  ///< appended to sys.path
  bool validate = true;
  std::vector<std::string> deny_imports;
  std::optional<std::vector<std::string>> allow_imports;
  std::vector<std::string> deny_builtins;
  std::vector<std::pair<std::string, std::string>> rules;  ///< rule id -> off | warn | error
  bool suppressions = false;
  std::uint64_t max_script = 0;
  std::uint64_t return_value_limit = 0;
  bool has_payload = false;    ///< the second fd is the payload
  bool line_buffered = false;  ///< podjail's stdout is a terminal: the script's is line-buffered, as python3's would be
  std::vector<std::string>
      local_modules;  ///< top-level modules that lie beside the script (from --input); never forbidden by an allow-list
};

struct Verdict {
  std::string verdict;  ///< "accepted", "rejected", "invalid_input"
  std::string reason;   ///< word of result.reason: "syntax_error", "forbidden", "nul_byte", "source_encoding", "function_not_found", …;
                        ///< empty: accepted
  std::string message;
  std::vector<Finding> findings;
};

struct ExceptionClaim {
  std::string type, message, traceback;
  int line = 0;  ///< of the innermost frame that is the script's own
};

/// The last thing the runner says; the script may have forged or suppressed it.
struct Ended {
  std::optional<ExceptionClaim> exception;
  bool memory_error = false;                  ///< the uncaught exception is a MemoryError
  std::optional<std::string> exit_argument;   ///< sys.exit(X): X as JSON (an integer, a string, null)
  std::optional<std::string> return_value;    ///< function mode: JSON text
  std::vector<std::string> return_notes;      ///< "/half lone surrogate"
  std::string return_reason, return_message;  ///< function mode: why there is no value ("return_value_not_json", "return_value_too_large",
                                              ///< "function_not_found", "wrong_arity")
  std::uint64_t return_bytes = 0;
};

std::string encode(const Hello&);
std::string encode(const Confine&);
std::string encode(const Confined&);
std::string encode(const Job&);
std::string encode(const Verdict&);
std::string encode(const Ended&);
Expected<Hello> decode_hello(std::string_view payload);
Expected<Confine> decode_confine(std::string_view payload);
Expected<Confined> decode_confined(std::string_view payload);
Expected<Job> decode_job(std::string_view payload);
Expected<Verdict> decode_verdict(std::string_view payload);
/// A return value of more than `return_limit` bytes, or nested deeper than kMaxValueDepth, was not written by the runner and is left out.
Expected<Ended> decode_ended(std::string_view payload, std::size_t return_limit);
inline constexpr int kMaxValueDepth = 200;  ///< of the script's own JSON; readers of result.json recurse

/// Blocking; sends the whole frame, descriptors with its first byte. EPIPE is an error, never a signal.
Expected<void> send_frame(int socket, Type type, std::string_view payload, std::span<const int> fds = {});

/// For the report pipe (no descriptors): one write(2) loop.
Expected<void> write_frame(int pipe, Type type, std::string_view payload);

/// Blocking; the runner's side.
Expected<Frame> receive_frame(int socket);

/// Incremental and non-blocking; the supervisor's side. Accepts at most `max_payload` bytes a frame, `max_fds` descriptors in all; what is
/// more is an error and the stream ends.
class FrameReader {
 public:
  FrameReader(std::size_t max_payload, std::size_t max_fds) : max_payload_(max_payload), max_fds_(max_fds) {}
  enum class State { more, frame, end };  ///< nothing whole yet (EAGAIN), a frame is in `frame`, the peer closed
  /// Reads what is there (recvmsg with MSG_CMSG_CLOEXEC on a socket, read(2) on a pipe).
  Expected<State> read(int fd, Frame& frame);

 private:
  Expected<bool> take(Frame& frame);
  std::size_t max_payload_, max_fds_;
  std::size_t fds_seen_ = 0;
  bool is_pipe_ = false;
  std::string buffer_;
  std::vector<Fd> fds_;
};

}  // namespace podjail::wire
