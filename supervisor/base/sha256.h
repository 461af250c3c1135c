#pragma once
#include <nettle/sha2.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace podjail {

/// Incremental SHA-256 (nettle: uses SHA-NI where the CPU has it). Not thread-safe.
class Sha256 {
 public:
  Sha256() noexcept { sha256_init(&context_); }
  void update(std::string_view bytes) noexcept {
    sha256_update(&context_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  /// Lower-case hex; resets the object.
  std::string hex_digest();

 private:
  sha256_ctx context_;
};

std::string sha256_hex(std::string_view bytes);

}  // namespace podjail
