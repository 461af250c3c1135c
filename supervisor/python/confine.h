#pragma once
#include "wire/wire.h"

namespace podjail::python {

/// Puts this process under the supervisor's seccomp filters, looks whether Landlock is there, and answers on the control socket with the
/// listener. Errors: the step that failed; the supervisor has been told, and the process must end.
Expected<void> confine_myself(int control, wire::Confine& filters);

}  // namespace podjail::python
