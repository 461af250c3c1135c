#pragma once
#include "policy/policy.h"
#include "result/result.h"
#include "run/input_tree.h"
#include "sys/fd.h"

namespace podjail {

/// Where an artifact that is a link may lead: a file of the run's own input, which is then taken as a file. Absolute paths without links.
struct LinkTargets {
  std::string output;                ///< the output folder
  std::string work, task;            ///< where the input was laid; what lay in task/ is looked for in work/, then in the input
  std::string input_folder;          ///< --input
  const InputTree* input = nullptr;  ///< nullptr: there is none, or something may still run: every link is refused
};

/// Copies what lies in the output folder to artifacts/ in the result folder, once the tree is dead. Only regular files with one name, valid
/// UTF-8 paths without control characters, links only as `links` says (openat2), within limits.artifact_bytes and artifact_files;
/// everything else is listed with its reason. Errors: only where the result folder refuses a write. `data_folder`: the run's writable
/// folder; the output folder is work/output in it, whatever the script made of it.
Expected<ArtifactReport> collect_artifacts(int data_folder, int result_folder, const Policy::Limits& limits, const LinkTargets& links);

}  // namespace podjail
