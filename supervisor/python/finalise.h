#pragma once

namespace podjail::python {

/// Whether the script ended by a KeyboardInterrupt that nothing caught.
void note_interrupt(bool unhandled);

/// Ends the interpreter (threads joined, atexit, streams flushed, modules cleared) and returns the process's exit code: 120 where flushing
/// failed. After an unhandled KeyboardInterrupt the process dies of SIGINT in here. Nothing may hold a Python object any more. May end the
/// process itself.
int finalise(int exit_code);

}  // namespace podjail::python
