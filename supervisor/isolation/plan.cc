#include "isolation/plan.h"

#include <algorithm>

#include "isolation/layer.h"

namespace podjail {
namespace {

bool is_required(const Policy& policy, std::string_view layer) {
  if (layer == "namespaces" && policy.isolation.namespaces == Policy::Namespaces::always) return true;
  return std::ranges::find(policy.isolation.require, layer) != policy.isolation.require.end();
}

}  // namespace

Plan make_plan(const Policy& policy, const PodFacts& facts, const RunPaths& paths) {
  Plan plan;
  plan.tier = "T0";  // what is enforced, not what the pod could give: T1 and T2 are namespaces
  for (const Layer& layer : layers()) {
    LayerPlan line{.layer = std::string(layer.name), .required = is_required(policy, layer.name)};
    const Offer offer = layer.offer(facts);
    line.planned = offer.available;
    if (offer.available) {
      layer.plan({policy, facts, paths}, plan, line);
    } else {
      line.reason = offer.reason;
      line.enable = layer.enable;
    }
    plan.layers.push_back(std::move(line));
  }
  return plan;
}

Expected<void> missing_requirement(const Plan& plan, const Policy& policy) {
  for (const std::string& name : policy.isolation.require) {
    if (std::ranges::find(plan.layers, name, &LayerPlan::layer) == plan.layers.end())
      return fail("isolation.require: " + name + " is no layer of podjail", 0, name);
  }
  for (const LayerPlan& line : plan.layers) {
    if (!line.required || line.planned) continue;
    return fail("the policy requires " + line.layer + ", which can't be enforced here: " + line.reason +
                    (line.enable.empty() ? "" : "; what would give it: " + line.enable),
                0, line.layer);
  }
  return {};
}

}  // namespace podjail
