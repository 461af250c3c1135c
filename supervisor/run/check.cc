#include "run/check.h"

#include <fcntl.h>

#include "isolation/supervisor_guard.h"
#include "run/supervision.h"
#include "sys/files.h"

namespace podjail {

std::expected<std::vector<wire::Verdict>, Cause> check_texts(const Policy& policy, const std::vector<CheckText>& texts) {
  std::vector<wire::Verdict> verdicts;
  while (verdicts.size() < texts.size()) {
    const std::vector<CheckText> rest(texts.begin() + static_cast<std::ptrdiff_t>(verdicts.size()), texts.end());
    auto prepared = prepare_check(policy, rest);
    if (!prepared) return std::unexpected(prepared.error());
    if (auto guarded = drop_own_capabilities(); !guarded)
      return std::unexpected(Cause{Status::internal_error, "setup", guarded.error().message(), true});
    // Only Landlock keeps the runner from writing to this file of the same UID.
    const std::string probe = prepared->scratch.task() + "/probe";
    if (auto made = open_at(AT_FDCWD, probe, O_WRONLY | O_CREAT | O_EXCL, 0600); !made) {
      return std::unexpected(Cause{Status::internal_error, "setup", made.error().message(), true});
    }
    Supervision supervision(*prepared, policy, {}, probe);
    if (auto started = supervision.start(); !started)
      return std::unexpected(Cause{Status::internal_error, "setup", started.error().message(), true});
    Supervised supervised = supervision.finish({});
    if (supervised.verdicts.empty()) {
      Cause cause = supervised.evidence.first.value_or(Cause{Status::internal_error, "setup", "the checker gave no verdict", true});
      return std::unexpected(std::move(cause));
    }
    for (wire::Verdict& verdict : supervised.verdicts) verdicts.push_back(std::move(verdict));
    if (supervised.evidence.first && supervised.evidence.first->status == Status::cancelled)
      return std::unexpected(*supervised.evidence.first);
  }
  return verdicts;
}

}  // namespace podjail
