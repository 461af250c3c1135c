#pragma once

namespace podjail {

/// Whether a signal that podjail got came from outside the jail: the kubelet (pid 0 in a pod), a person's kill, the terminal. `code` is its
/// si_code, `sender_in_jail` whether its si_pid is one of the jail's. What the kernel sends for a descriptor (F_SETOWN, F_SETSIG) has a
/// positive si_code, and a script can make it do so. Pure.
bool came_from_outside(int signal, int code, bool sender_in_jail);

}  // namespace podjail
