#include "isolation/supervisor_guard.h"

#include <cap-ng.h>
#include <sys/prctl.h>

#include <cerrno>

namespace podjail {

Expected<void> drop_own_capabilities() {
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fail("prctl(PR_SET_DUMPABLE)", errno);
  if (capng_get_caps_process() != 0) return fail("libcap-ng could not read the supervisor's capabilities");
  // Without CAP_SETPCAP (as in a restricted pod) the bounding set can't change, and no_new_privs makes it moot. Ambient ones fall with the
  // permitted.
  const bool drops_bounding = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) != 0;
  capng_clear(CAPNG_SELECT_BOTH);
  if (const int code = capng_apply(drops_bounding ? CAPNG_SELECT_BOTH : CAPNG_SELECT_CAPS); code != 0) {
    return fail("libcap-ng could not empty the supervisor's capabilities (code " + std::to_string(code) + ")", errno);
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("prctl(PR_SET_NO_NEW_PRIVS)", errno);
  return {};
}

}  // namespace podjail
