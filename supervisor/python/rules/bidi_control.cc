#include <cstdio>

#include "python/findings.h"
#include "python/rules/rule.h"

namespace podjail::python {

const RuleInfo kBidiControl{
    "PJ003",
    "bidi-control",
    Severity::error,
    false,
    "Bidirectional control characters make an editor show other code than Python runs (Trojan Source, CVE-2021-42574).",
    "Remove the invisible character; in a string, write it as an escape."};

// U+202A..U+202E are E2 80 AA..AE, U+2066..U+2069 are E2 81 A6..A9 in UTF-8. The marks U+200E, U+200F and U+061C reorder nothing that
// stands between other characters and are common in right-to-left prose: they are not looked for.
void check_bidi_controls(const RuleInput& input) {
  const std::string_view text = input.text;
  for (std::size_t at = text.find('\xE2'); at != text.npos && at + 2 < text.size(); at = text.find('\xE2', at + 1)) {
    const auto second = static_cast<unsigned char>(text[at + 1]), third = static_cast<unsigned char>(text[at + 2]);
    const bool embedding = second == 0x80 && third >= 0xAA && third <= 0xAE;
    const bool isolate = second == 0x81 && third >= 0xA6 && third <= 0xA9;
    if (!embedding && !isolate) continue;
    const unsigned code_point = (embedding ? 0x2000U : 0x2040U) + (third & 0x3FU);
    char name[16];
    std::snprintf(name, sizeof name, "%04X", code_point);
    char escape[16];
    std::snprintf(escape, sizeof escape, "\\u%04x", code_point);
    input.findings.add_at(kBidiControl, at, 3, std::string("invisible bidirectional control character U+") + name,
                          std::string("Remove it; if a string needs it, write ") + escape + ".");
  }
}

}  // namespace podjail::python
