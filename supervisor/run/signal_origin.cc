#include "run/signal_origin.h"

#include <csignal>

namespace podjail {

bool came_from_outside(int signal, int code, bool sender_in_jail) {
  if (code == SI_KERNEL) return signal != SIGTERM;  // a terminal sends INT, QUIT and HUP, never TERM
  const bool by_process = code == SI_USER || code == SI_QUEUE || code == SI_TKILL;
  return by_process && !sender_in_jail;
}

}  // namespace podjail
