#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isolation/verify.h"
#include "policy/policy.h"
#include "wire/wire.h"

namespace podjail {

/// How a run ended; `running` is the started record.
enum class Status {
  running,
  succeeded,
  failed,
  rejected,
  timed_out,
  cpu_exceeded,
  memory_exceeded,
  processes_exceeded,
  disk_exceeded,
  output_exceeded,
  killed,
  cancelled,
  interrupted,
  isolation_unavailable,
  invalid_policy,
  invalid_input,
  internal_error,
};

std::string_view to_string(Status status);
std::optional<Status> status_from(std::string_view name);

/// Something that the jail refused.
struct Violation {
  std::string layer, what, detail, action;  ///< "seccomp", "socket", "AF_INET, SOCK_STREAM", "EPERM"
  std::uint64_t count = 0;
  double first_at = 0;  ///< seconds after "go"
};

/// One of the script's streams, as captured.
struct StreamReport {
  std::string file;         ///< name beside result.json
  std::uint64_t bytes = 0;  ///< all that the script wrote
  std::uint64_t kept = 0;   ///< of them, in `file`
  std::string sha256;       ///< of all bytes
  std::string head, tail;   ///< raw bytes, each at most result.text; tail only where something was dropped between
};

struct ArtifactReport {
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    std::string sha256;
  };
  struct Refused {
    std::string path, reason;
  };
  std::vector<File> files;
  std::vector<Refused> refused;           ///< the first of them by path, at most kMaxListed
  std::uint64_t found = 0;                ///< entries of the output folder that are no folders
  std::uint64_t refused_count = 0;        ///< of them; the rest was taken
  std::set<std::string> refused_reasons;  ///< of all that were refused
  bool complete = true;                   ///< false: there were too many to count, and `found` is how far it came

  static constexpr std::size_t kMaxListed = 1000;
  void refuse(std::string path, const char* reason) {
    ++refused_count;
    refused_reasons.insert(reason);
    if (refused.size() < kMaxRemembered) refused.push_back({std::move(path), reason});
  }

 private:
  static constexpr std::size_t kMaxRemembered = 20000;  ///< before they are sorted
};

/// All that result.json says. A plain value; only write.cc knows its field names.
struct Result {
  Status status = Status::running;
  bool retry_safe = false;
  std::string reason;    ///< empty: null
  bool observed = true;  ///< false: the status rests on the script's own word
  std::string message;   ///< empty: null

  struct Run {
    std::string id;
    int attempt = 1;
    std::string created_at, started_at, finished_at;  ///< empty: null
    std::string job, pod, pod_uid, node;              ///< from the downward API; empty: null
  } run;

  struct Script {
    std::string name;
    std::optional<std::uint64_t> bytes;
    std::string sha256;
    std::optional<std::string> function;
    std::optional<wire::Ended> claim;  ///< what it said of itself at its end
  } script;

  struct Exit {
    std::optional<int> code, signal;
    int supervisor_code = 0;
  } exit;

  std::string policy_name, policy_sha256;
  std::optional<wire::Verdict> validation;
  std::string tier;
  std::vector<LayerReport> layers;
  std::vector<Violation> violations;
  std::optional<Policy::Limits> limits;

  struct Usage {
    double wall = 0, user = 0, system = 0;
    std::uint64_t peak_memory = 0, peak_processes = 0, peak_threads = 0, killed_leftovers = 0, scratch_bytes = 0;
  };
  std::optional<Usage> usage;

  std::optional<StreamReport> out, err;
  ArtifactReport artifacts;
  std::map<std::string, double> timings;  ///< seconds per step

  struct Supervisor {
    std::string python, kernel;
    int landlock_abi = 0;
  } supervisor;
};

}  // namespace podjail
