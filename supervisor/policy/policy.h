#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace podjail {

using Millis = std::chrono::milliseconds;

/// What a rule's finding does: `off` is not reported, `warn` is reported, `error` rejects the script.
enum class Severity { off, warn, error };

/// One `podjail.policy/v1`, complete: every `extends` and `--set` applied, every value in range. A plain value; made by
/// policy/parse.h alone. Sizes in bytes, times in milliseconds; std::nullopt is JSON null ("no limit") and zero never means unlimited.
struct Policy {
  std::string name;
  std::string canonical_json;  ///< the effective policy, keys sorted, no white space; what `policy show` pretty-prints
  std::string sha256;          ///< lower-case hex of canonical_json

  struct Validation {
    bool enabled = true;
    std::vector<std::string> deny_imports;                  ///< a module stands for its submodules
    std::optional<std::vector<std::string>> allow_imports;  ///< a list: nothing else may be imported
    std::vector<std::string> deny_builtins;
    std::map<std::string, Severity> rules;  ///< by rule id (PJ101); overrides the rule's own severity
    std::uint64_t max_script = 0;           ///< bytes
    bool suppressions = false;              ///< `# podjail: ignore[PJ101]` counts
  } validation;

  enum class AuditAction { off, record, deny };
  AuditAction audit_action = AuditAction::deny;

  struct Python {
    std::optional<std::string> version;  ///< "3.11"; nullopt: the only podjail-pythonX.Y there is
    std::vector<std::string> paths;      ///< appended to sys.path; no .pth processing
  } python;

  bool idempotent = false;

  struct Limits {
    std::optional<Millis> wall;                  ///< from "go" to exit, CLOCK_MONOTONIC
    Millis grace{0};                             ///< between TERM and KILL
    std::optional<Millis> cpu;                   ///< user + system of the whole tree
    std::optional<std::uint64_t> memory;         ///< anonymous + shmem bytes of the whole tree
    std::optional<std::uint64_t> processes;      ///< living processes of the tree; 1: fork and exec are denied
    std::optional<std::uint64_t> threads;        ///< living threads of the tree
    std::optional<std::uint64_t> open_files;     ///< RLIMIT_NOFILE
    std::optional<std::uint64_t> file_size;      ///< RLIMIT_FSIZE
    std::optional<std::uint64_t> scratch;        ///< bytes in the run's scratch folder
    std::optional<std::uint64_t> scratch_files;  ///< inodes in the run's scratch folder
    std::uint64_t stdout_kept = 0;               ///< limits.stdout: bytes kept of the stream, head and tail
    std::uint64_t stderr_kept = 0;               ///< limits.stderr
    std::optional<std::uint64_t> output;         ///< stdout + stderr bytes before output_exceeded
    std::uint64_t artifact_bytes = 0;
    std::uint64_t artifact_files = 0;
    std::uint64_t return_value = 0;  ///< bytes of the return value's JSON
  } limits;

  struct Filesystem {
    std::vector<std::string> read, write, execute;  ///< absolute paths; a folder stands for what is beneath it
  } filesystem;

  struct Network {
    std::vector<std::uint16_t> connect_tcp, bind_tcp;  ///< ports
  } network;

  enum class SyscallBase { python, exec };
  struct Syscalls {
    SyscallBase base = SyscallBase::python;
    std::vector<std::string> allow, deny;  ///< kernel names, appended to the base
  } syscalls;

  struct Environment {
    std::vector<std::string> pass;  ///< names taken from podjail's own environment; a trailing * matches a prefix
    std::map<std::string, std::string> set;
  } environment;

  enum class Namespaces { never, if_available, always };
  struct Isolation {
    std::vector<std::string> require;  ///< layer names, see isolation/layer.h
    Namespaces namespaces = Namespaces::if_available;
  } isolation;

  std::uint64_t result_text = 0;  ///< result.text: bytes of each stream's text in result.json
};

}  // namespace podjail
