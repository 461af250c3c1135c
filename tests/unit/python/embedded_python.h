#pragma once
#include <gtest/gtest.h>

#include "python/ref.h"

/// Starts one interpreter for the whole test program, on first use: isolated, so that nothing of the machine's environment matters.
class EmbeddedPython : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (Py_IsInitialized() != 0) return;
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    PyConfig_SetBytesString(&config, &config.program_name, PODJAIL_PYTHON);
    const PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    ASSERT_FALSE(PyStatus_Exception(status)) << status.err_msg;
  }
};
