#include "base/units.h"

#include <array>
#include <limits>
#include <optional>

namespace podjail {
namespace {

using Wide = unsigned __int128;  // 2^63 times the largest divisor still fits

constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxMillis = 3652LL * 24 * 3600 * 1000;  // ten years

// A decimal number at the start of a text: digits, and maybe a fraction, kept exact as numerator / 10^decimals.
struct Decimal {
  Wide numerator = 0;
  Wide divisor = 1;
  std::size_t length = 0;  // characters read; 0: no number there
  bool overflow = false;   // too many digits to keep,
  bool too_fine = false;   // or too many decimals
};

Decimal read_decimal(std::string_view text) {
  Decimal number;
  constexpr Wide kLimit = static_cast<Wide>(1) << 100;
  std::size_t digits = 0;
  const auto take_digits = [&](bool fraction) {
    while (number.length < text.size() && text[number.length] >= '0' && text[number.length] <= '9') {
      if (number.numerator > kLimit || number.divisor > kLimit) (fraction ? number.too_fine : number.overflow) = true;
      if (!number.overflow && !number.too_fine) {
        number.numerator = number.numerator * 10 + static_cast<unsigned>(text[number.length] - '0');
        if (fraction) number.divisor *= 10;
      }
      ++number.length;
      ++digits;
    }
  };
  take_digits(false);
  if (digits > 0 && number.length + 1 < text.size() && text[number.length] == '.' && text[number.length + 1] >= '0' &&
      text[number.length + 1] <= '9') {
    ++number.length;
    take_digits(true);
  }
  return number;
}

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

struct Suffix {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Suffix, 13> kByteSuffixes = {{{"", 1},
                                                   {"Ki", 1ULL << 10},
                                                   {"Mi", 1ULL << 20},
                                                   {"Gi", 1ULL << 30},
                                                   {"Ti", 1ULL << 40},
                                                   {"Pi", 1ULL << 50},
                                                   {"Ei", 1ULL << 60},
                                                   {"k", 1'000},
                                                   {"M", 1'000'000},
                                                   {"G", 1'000'000'000},
                                                   {"T", 1'000'000'000'000},
                                                   {"P", 1'000'000'000'000'000},
                                                   {"E", 1'000'000'000'000'000'000}}};

// What people write instead of a Kubernetes suffix.
std::string byte_suffix_hint(std::string_view number, std::string_view suffix) {
  if (suffix == "b" || suffix == "B") return ": write " + quoted(number);
  if (suffix == "m") return ": m is a thousandth in Kubernetes, write " + std::string(number) + "M or " + std::string(number) + "Mi";
  if (suffix == "K" || suffix == "KB" || suffix == "kB" || suffix == "kb" || suffix == "KiB" || suffix == "ki" || suffix == "KI")
    return ": write " + std::string(number) + "k or " + std::string(number) + "Ki";
  if (suffix.size() <= 3 && !suffix.empty()) {
    const char upper = static_cast<char>(suffix.front() & ~0x20);
    const std::string_view rest = suffix.substr(1);
    if (std::string_view("MGTPE").find(upper) != std::string_view::npos &&
        (rest.empty() || rest == "B" || rest == "b" || rest == "i" || rest == "I" || rest == "iB" || rest == "ib"))
      return ": write " + std::string(number) + upper + " or " + std::string(number) + upper + "i";
  }
  return ": the units are Ki Mi Gi Ti Pi Ei and k M G T P E";
}

struct TimeUnit {
  std::string_view name;
  std::int64_t millis;
};
constexpr std::array<TimeUnit, 4> kTimeUnits = {
    {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};  // as they follow one another in "1h30m"

std::optional<std::size_t> time_unit(std::string_view name) {
  for (std::size_t i = 0; i < kTimeUnits.size(); ++i)
    if (kTimeUnits[i].name == name) return i;
  return std::nullopt;
}

// The whole multiples of `factor` that the number stands for; nullopt: a fraction remains.
std::optional<Wide> scaled(const Decimal& number, std::uint64_t factor) {
  const Wide product = number.numerator * factor;
  if (product % number.divisor != 0) return std::nullopt;
  return product / number.divisor;
}

}  // namespace

Expected<std::uint64_t> parse_bytes(std::string_view text) {
  if (text.empty()) return fail("an empty size");
  if (text.front() == '-') return fail(quoted(text) + " is negative");
  const Decimal number = read_decimal(text);
  if (number.length == 0) return fail(quoted(text) + " is not a size such as 1500 or \"512Mi\"");
  const std::string_view suffix = text.substr(number.length);
  for (const Suffix& known : kByteSuffixes) {
    if (suffix != known.name) continue;
    // 2^100 is far above the limit for every suffix, and 2^64 * 2^60 still fits the product.
    if (number.overflow || number.numerator / number.divisor > kMaxBytes) return fail(quoted(text) + " is more than 2^63-1 bytes");
    if (number.too_fine || number.divisor > 1'000'000'000) return fail(quoted(text) + " has more decimals than a size can have");
    const auto bytes = scaled(number, known.factor);
    if (!bytes) return fail(quoted(text) + " is not a whole number of bytes");
    if (*bytes > kMaxBytes) return fail(quoted(text) + " is more than 2^63-1 bytes");
    return static_cast<std::uint64_t>(*bytes);
  }
  return fail(quoted(text) + " has no known unit" + byte_suffix_hint(text.substr(0, number.length), suffix));
}

Expected<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text.empty()) return fail("an empty duration");
  if (text.front() == '-') return fail(quoted(text) + " is negative");
  Wide total = 0;
  std::size_t next_unit = 0;  // units get smaller from part to part: "1h30m", never "30m1h"
  std::string_view rest = text;
  while (!rest.empty()) {
    const Decimal number = read_decimal(rest);
    if (number.length == 0) return fail(quoted(text) + " is not a duration such as \"30s\", \"1m30s\" or 2.5 (seconds)");
    rest.remove_prefix(number.length);
    std::size_t letters = 0;
    while (letters < rest.size() && !(rest[letters] >= '0' && rest[letters] <= '9') && rest[letters] != '.') ++letters;
    const std::string_view name = rest.substr(0, letters);
    const bool bare = name.empty() && rest.empty() && number.length == text.size();
    const auto unit = bare ? time_unit("s") : time_unit(name);
    if (!unit) return fail(quoted(text) + " has no known unit: the units are h, m, s and ms" + (name == "d" ? ", a day is 24h" : ""));
    if (*unit < next_unit) return fail(quoted(text) + " names its units out of order: write them from h to ms, each once");
    next_unit = *unit + 1;
    if (number.overflow || number.numerator / number.divisor > static_cast<Wide>(kMaxMillis))
      return fail(quoted(text) + " is more than ten years");
    const auto millis = number.too_fine ? std::nullopt : scaled(number, static_cast<std::uint64_t>(kTimeUnits[*unit].millis));
    if (!millis) return fail(quoted(text) + " is finer than a millisecond");
    total += *millis;
    if (total > static_cast<Wide>(kMaxMillis)) return fail(quoted(text) + " is more than ten years");
    rest.remove_prefix(letters);
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

std::string format_bytes(std::uint64_t bytes) {
  for (std::size_t i = 6; i >= 1 && bytes != 0; --i)
    if (bytes % kByteSuffixes[i].factor == 0) return std::to_string(bytes / kByteSuffixes[i].factor) + std::string(kByteSuffixes[i].name);
  return std::to_string(bytes);
}

std::string format_duration(std::chrono::milliseconds d) {
  std::int64_t rest = d.count();
  if (rest == 0) return "0s";
  std::string text;
  for (const TimeUnit& unit : kTimeUnits) {
    if (rest / unit.millis != 0) text += std::to_string(rest / unit.millis) + std::string(unit.name);
    rest %= unit.millis;
  }
  return text;
}

}  // namespace podjail
