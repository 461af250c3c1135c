#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "python/rules/rule.h"
#include "python/source_lines.h"

namespace podjail::python {

/// Where a node stands, as the syntax tree says it: 1-based lines, 0-based byte offsets.
struct Span {
  int line = 0, byte = 0, end_line = 0, end_byte = 0;
  template <class Node>
  static Span of(const Node* node) {
    return {node->lineno, node->col_offset, node->end_lineno, node->end_col_offset};
  }
};

/// Collects what the rules find: applies the policy's severities and the script's suppressions, turns positions into characters, sorts, and
/// bounds the number.
class Findings {
 public:
  Findings(std::string_view text, const wire::Job& job);

  /// `hint` empty: the rule's own.
  void add(const RuleInfo& rule, const Span& span, std::string message, std::string hint = {});
  /// `length` bytes from a byte of the text.
  void add_at(const RuleInfo& rule, std::size_t offset, std::size_t length, std::string message, std::string hint = {});
  /// With a position that is 1-based and in characters already; 0: none.
  void add_exact(const RuleInfo& rule, wire::Finding position, std::string message, std::string hint = {});

  SourceLines& lines() { return lines_; }

  /// Sorted by position.
  std::vector<wire::Finding> take();
  [[nodiscard]] std::size_t errors() const { return errors_; }  ///< also those beyond the bound

 private:
  Severity severity_of(const RuleInfo& rule) const;
  bool suppressed(const RuleInfo& rule, int line);
  bool admit(const RuleInfo& rule, int line);
  void keep(const RuleInfo& rule, wire::Finding finding, std::string message, std::string hint);

  const wire::Job& job_;
  SourceLines lines_;
  std::vector<wire::Finding> findings_;
  std::map<std::string_view, std::size_t> per_rule_;
  std::size_t errors_ = 0;
  int marked_line_ = 0;  // the line that suppressed() looked at last
  std::string_view marked_ids_;
};

}  // namespace podjail::python
