#pragma once
#include "base/error.h"

namespace podjail {

/// The supervisor's own protection, once set-up is done: no capabilities, no_new_privs, and not dumpable, so that no process of the same
/// UID may attach to it or open its /proc/PID/mem, maps and fd. It can still signal, wait for and set limits of its children, which have
/// its UID. A child that is forked afterwards is dumpable again once it executes a program that it may read.
Expected<void> drop_own_capabilities();

}  // namespace podjail
