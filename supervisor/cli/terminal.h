#pragma once
#include <string>
#include <string_view>

namespace podjail {

// What a script or a user wrote must neither drive the reader's terminal nor make up lines of podjail's own.

/// Many lines: C0 and C1 controls but newline and tab, and bytes that are no UTF-8, shown as \x1b.
std::string neutral_text(std::string_view text);

/// One line: a newline is shown as \n as well. At most `limit` bytes, never a part of a character or of an escape; "…" stands for the rest.
std::string neutral_line(std::string_view text, std::size_t limit = std::string_view::npos);

/// "podjail: MESSAGE" on stderr, as one line.
void complain(std::string_view message);

}  // namespace podjail
