#include "isolation/verify.h"

#include <cerrno>

#include "isolation/layer.h"

namespace podjail {

Expected<std::vector<LayerReport>> verify_confinement(const Plan& plan, const PodFacts& facts, const ProcStatus& status,
                                                      const ChildReport& report) {
  std::vector<LayerReport> reports;
  for (std::size_t i = 0; i < layers().size() && i < plan.layers.size(); ++i) {
    const Layer& layer = layers()[i];
    const LayerPlan& line = plan.layers[i];
    LayerReport entry{
        .layer = line.layer, .required = line.required, .enforced = line.planned, .mechanism = line.mechanism, .reason = line.reason};
    if (line.planned) {
      if (auto verified = layer.verify(plan, facts, status, report); !verified) {
        const bool refused_listener = line.layer == "seccomp.notify" && !report.listener_arrived && report.listener_err != 0;
        if (!refused_listener || line.required) {
          return fail(verified.error().step +
                          (verified.error().err != 0 ? std::string(" (") + std::strerror(verified.error().err) + ")" : "") + ":",
                      0, line.layer);
        }
        // The filter is on with plain errnos (seccomp_child.h): what it denies isn't recorded, and that is said.
        entry.enforced = false;
        entry.mechanism.clear();
        entry.reason = report.listener_err == EBUSY
                           ? "another seccomp listener is in the pod's process tree (EBUSY): denied calls are not recorded"
                           : std::string("the kernel gave no listener (") + std::strerror(report.listener_err) + ")";
      }
    }
    reports.push_back(std::move(entry));
  }
  return reports;
}

}  // namespace podjail
