#include "python/python_version.h"

#include <gtest/gtest.h>

#include "python/ref.h"

using namespace podjail::python;

TEST(PythonVersion, ReadsItFromAnExecutable) {
  const auto version = python_version_of(PODJAIL_PYTHON);
  if (version) {
    EXPECT_EQ(*version >> 16U, static_cast<std::uint32_t>(PY_VERSION_HEX) >> 16U);
  }
  EXPECT_EQ(python_version_of("/bin/true"), std::nullopt);
  EXPECT_EQ(python_version_of("/etc/passwd"), std::nullopt);
  EXPECT_EQ(python_version_of("/nonexistent"), std::nullopt);
  EXPECT_EQ(python_version_of("/dev/zero"), std::nullopt);
  EXPECT_EQ(version_text(0x030b02f0), "3.11.2");
}

TEST(PythonVersion, AcceptsItsOwn) {
  EXPECT_TRUE(check_python_version(PODJAIL_PYTHON));
  EXPECT_TRUE(check_python_version("/nonexistent/bin/python3"));
}
