#pragma once
#include "policy/policy.h"
#include "result/result.h"
#include "sys/fd.h"

namespace podjail {

/// Copies what lies in the output folder to artifacts/ in the result folder, once the tree is dead. Only regular files with one name, valid
/// UTF-8 paths without control characters, no link followed (openat2), within limits.artifact_bytes and artifact_files; everything else is
/// listed with its reason. Errors: only where the result folder refuses a write. `data_folder`: the run's writable folder; the output
/// folder is work/output in it, whatever the script made of it.
Expected<ArtifactReport> collect_artifacts(int data_folder, int result_folder, const Policy::Limits& limits);

}  // namespace podjail
