#pragma once
#include "isolation/layer.h"

namespace podjail {

// The parts of Plan::landlock, one for each layer.
void plan_landlock_filesystem(const LayerInput& input, Plan& plan, LayerPlan& line);
void plan_landlock_network(const LayerInput& input, Plan& plan, LayerPlan& line);
void plan_landlock_scopes(const LayerInput& input, Plan& plan, LayerPlan& line);

}  // namespace podjail
