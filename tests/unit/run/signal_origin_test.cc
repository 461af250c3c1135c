#include "run/signal_origin.h"

#include <gtest/gtest.h>

#include <csignal>

namespace podjail {
namespace {

TEST(SignalOrigin, AProcessOutsideOrTheTerminalMayCancel) {
  for (const int code : {SI_USER, SI_QUEUE, SI_TKILL}) EXPECT_TRUE(came_from_outside(SIGTERM, code, false)) << code;
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP}) EXPECT_TRUE(came_from_outside(signal, SI_KERNEL, false)) << signal;
}

TEST(SignalOrigin, TheJailMayNot) {
  for (const int code : {SI_USER, SI_QUEUE, SI_TKILL}) EXPECT_FALSE(came_from_outside(SIGTERM, code, true)) << code;
}

TEST(SignalOrigin, NorMayWhatTheKernelSendsForADescriptor) {
  EXPECT_FALSE(came_from_outside(SIGTERM, SI_KERNEL, false));
  for (const int code : std::initializer_list<int>{SI_SIGIO, POLL_IN, POLL_OUT, POLL_HUP})
    EXPECT_FALSE(came_from_outside(SIGTERM, code, false)) << code;
}

}  // namespace
}  // namespace podjail
