#include "python/interpreter.h"

#include "python/python_version.h"
#include "python/ref.h"

namespace podjail::python {

Expected<void> start_interpreter(std::span<char*> argv) {
  TRY_VOID(check_python_version(argv[0]));
  const auto failed = [](const PyStatus& status) -> Expected<void> {
    return fail(std::string("Python can't start: ") + (status.err_msg != nullptr ? status.err_msg : "no reason given"));
  };
  PyPreConfig preconfig;
  PyPreConfig_InitPythonConfig(&preconfig);
  const auto argc = static_cast<Py_ssize_t>(argv.size());
  PyStatus status = Py_PreInitializeFromBytesArgs(&preconfig, argc, argv.data());
  if (PyStatus_Exception(status) != 0) return failed(status);
  // argv is parsed by CPython itself: {python3, SCRIPT, ARG…} gives sys.argv, sys.orig_argv, sys.executable, prefix and flags as python3
  // has them. SCRIPT is an absolute path, so nothing after argv[0] is taken for an option.
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  status = PyConfig_SetBytesArgv(&config, argc, argv.data());
  if (PyStatus_Exception(status) == 0) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status) != 0) return failed(status);
  return {};
}

}  // namespace podjail::python
