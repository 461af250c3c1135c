#include "script/prescan.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace podjail {
namespace {

// The bounds, with what CPython 3.11 does beyond them (peak memory of compile() divided by the number of tokens; single core, 2.1 GHz).
constexpr int kMaxNesting = 200;                  // the tokenizer's own limit (MAXLEVEL)
constexpr std::uint64_t kMaxMemory = 256U << 20;  // bytes, by the costs below
constexpr std::uint64_t kMaxCodePairs =
    50'000'000;  // code objects of one name may be equal and are compared with each other; 37,000 `def f():0` take 20 s
constexpr std::uint64_t kMaxNestedNames =
    25'000'000;  // the symbol table copies a function's names for each function in it; 60,000 x 9,000 take over 20 s
constexpr std::uint64_t kMaxKeywordPairs = 100'000'000;  // keyword arguments of one call are compared with each other; 29,000 take 8 s
constexpr std::uint64_t kMaxFieldSearch =
    1'500'000'000;                       // each field of an f-string is searched for from its start; 100,000 in 300 kB take 6 s
constexpr int kMaxOperandChain = 3'000;  // prefix operators in a row: the parser recurses

// Peak bytes per token while parsing and compiling.
constexpr std::uint64_t kNameCost = 700, kNumberCost = 420, kStringCost = 420, kOperatorCost = 420, kBracketCost = 600, kLineCost = 420;
constexpr std::uint64_t kBlockCost = 3'000;  // if, with, try, and, …: jumps, blocks, exception tables
constexpr std::uint64_t kFunctionCost = 1'500;

constexpr std::string_view kBlockWords[] = {"and", "assert", "async", "await", "case",   "elif", "else",  "except", "finally", "for",
                                            "if",  "match",  "or",    "raise", "return", "try",  "while", "with",   "yield"};

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_part(char c) {
  return is_name_start(c) || is_digit(c);
}

// Of two and three characters; all others are one.
std::size_t operator_length(std::string_view rest) {
  for (std::string_view op : {"**=", "//=", ">>=", "<<=", "..."}) {
    if (rest.starts_with(op)) return 3;
  }
  for (std::string_view op :
       {"**", "//", ">>", "<<", "<=", ">=", "==", "!=", "->", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", ":=", "<>"}) {
    if (rest.starts_with(op)) return 2;
  }
  return 1;
}

class Prescan {
 public:
  explicit Prescan(std::string_view text) : text_(text) {}

  std::optional<PrescanProblem> run() {
    while (at_ < text_.size() && !problem_) token();
    return std::move(problem_);
  }

 private:
  char look(std::size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void refuse(std::string message) {
    if (problem_) return;
    const std::string_view before = text_.substr(0, at_);
    const std::size_t line_start = before.find_last_of("\r\n");
    PrescanProblem problem{std::move(message)};
    problem.line = 1;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i] == '\n' || (before[i] == '\r' && before.substr(i, 2) != "\r\n")) ++problem.line;
    }
    problem.column = static_cast<int>(utf8_length(before.substr(line_start == before.npos ? 0 : line_start + 1))) + 1;
    problem_ = std::move(problem);
  }

  void charge(std::uint64_t bytes) {
    memory_ += bytes;
    if (memory_ > kMaxMemory) refuse("more code than Python can compile in 256 MiB");
  }

  void token() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\f') {
      indented_ = c != '\f';  // a form feed starts the count anew
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
    } else if (c == '\n' || c == '\r') {
      if (depth_ == 0 && !blank_line_) charge(kLineCost);
      blank_line_ = blank_line_ || depth_ == 0;
      indented_ = false;
      ++at_;
    } else if (c == '\\') {
      at_ += at_ + 1 < text_.size() ? 2 : 1;  // a continuation; anything else after it is an error that the parser tells
    } else {
      if (blank_line_ && !indented_) new_block();
      blank_line_ = false;
      const std::size_t quote = string_prefix();
      if (quote != std::string_view::npos) {
        string(quote);
      } else if (is_name_start(c)) {
        name();
      } else if (is_digit(c) || (c == '.' && is_digit(look(1)))) {
        number();
      } else {
        other();
      }
    }
  }

  // Length of the prefix where a string starts here, npos where none does.
  std::size_t string_prefix() const {
    std::size_t n = 0;
    while (n < 2 && std::string_view("rRbBuUfF").find(look(n)) != std::string_view::npos && look(n) != '\0') ++n;
    for (std::size_t i = 0; i <= n; ++i) {
      if (look(i) == '"' || look(i) == '\'') return i;
      if (i < n && !std::string_view("rRbBuUfF").contains(look(i))) break;
    }
    return std::string_view::npos;
  }

  void string(std::size_t prefix) {
    const std::string_view letters = text_.substr(at_, prefix);
    const bool formatted = letters.find_first_of("fF") != letters.npos;
    at_ += prefix;
    const char quote = text_[at_];
    const bool triple = look(1) == quote && look(2) == quote;
    const std::size_t start = at_;
    at_ += triple ? 3 : 1;
    std::uint64_t fields = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {  // in raw strings too, a backslash keeps the quote from ending it
        at_ += 2;
        continue;
      }
      if (c == quote && (!triple || (look(1) == quote && look(2) == quote))) {
        at_ += triple ? 3 : 1;
        break;
      }
      if (!triple && (c == '\n' || c == '\r')) break;  // unterminated: an error that the parser tells
      if (formatted && c == '{') {
        ++fields;
        charge(kNameCost + kStringCost);
      } else if (formatted && fields > 0 && !is_name_part(c)) {
        charge(kNameCost / 4);  // expressions in fields are code
      }
      ++at_;
    }
    at_ = std::min(at_, text_.size());
    charge(kStringCost);
    chain_ = 0;
    if (fields == 0) return;
    field_search_ += fields * (at_ - start);
    if (field_search_ > kMaxFieldSearch) refuse("an f-string with too many fields for its length");
  }

  void name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word == "not" || word == "await" || word == "lambda") {
      prefix_operator();
    } else {
      chain_ = 0;
    }
    const bool defines = word == "def" || word == "class";
    if (defines || word == "lambda" || (word == "for" && depth_ > 0)) {
      charge(kFunctionCost);
      if (!defines) code_object(word);
      pending_definition_ = defines;
      return;
    }
    if (pending_definition_) code_object(word);
    pending_definition_ = false;
    if (std::binary_search(std::begin(kBlockWords), std::end(kBlockWords), word)) return charge(kBlockCost);
    charge(kNameCost);
    note_name(word);
  }

  static std::size_t hash(std::string_view word) {
    std::uint32_t value = 2166136261U;  // FNV-1a
    for (const char c : word) value = (value ^ static_cast<unsigned char>(c)) * 16777619U;
    return value ^ (value >> 16U);
  }

  // Squares are added up as 1 + 3 + 5 + …
  void code_object(std::string_view name) {
    code_pairs_ += 2 * std::uint64_t{same_name_[hash(name) % same_name_.size()]++} + 1;
    if (code_pairs_ > kMaxCodePairs) refuse("too many functions, classes, lambdas or comprehensions of one name");
    ++block_objects_;
    check_block();
  }

  // Which names a top-level statement (a function with all that is in it) has, by a bit each.
  void note_name(std::string_view word) {
    const std::size_t bit = hash(word) % (block_names_.size() * 64);
    std::uint64_t& bits = block_names_[bit / 64];
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    if ((bits & mask) != 0) return;
    bits |= mask;
    ++block_name_count_;
    check_block();
  }

  void check_block() {
    if (block_objects_ * block_name_count_ > kMaxNestedNames) refuse("too many functions within one that has too many names");
  }

  void new_block() {
    if (block_name_count_ > 0) block_names_.fill(0);
    block_name_count_ = block_objects_ = 0;
  }

  void number() {
    while (at_ < text_.size() && (is_name_part(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '+' || text_[at_] == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))) {
      ++at_;
    }
    charge(kNumberCost);
    chain_ = 0;
  }

  void prefix_operator() {
    if (++chain_ > kMaxOperandChain) refuse("more than " + std::to_string(kMaxOperandChain) + " prefix operators in a row");
  }

  void other() {
    const char c = text_[at_];
    switch (c) {
      case '(':
      case '[':
      case '{':
        if (depth_ == kMaxNesting) return refuse("more than " + std::to_string(kMaxNesting) + " nested brackets");
        keywords_[static_cast<std::size_t>(depth_++)] = 0;
        charge(kBracketCost - kOperatorCost);
        break;
      case ')':
      case ']':
      case '}':
        if (depth_ > 0) --depth_;
        break;
      case '+':
      case '-':
      case '~':
        prefix_operator();
        break;
      default:
        break;
    }
    if (c == '=' && look(1) != '=' && depth_ > 0) {
      keyword_pairs_ += 2 * keywords_[static_cast<std::size_t>(depth_ - 1)]++ + 1;
      if (keyword_pairs_ > kMaxKeywordPairs) refuse("too many keyword arguments in one call");
    }
    if (c != '+' && c != '-' && c != '~') chain_ = 0;
    at_ += operator_length(text_.substr(at_));
    charge(kOperatorCost);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t memory_ = 0, code_pairs_ = 0, keyword_pairs_ = 0, field_search_ = 0;
  std::array<std::uint32_t, 4096> same_name_{};    // code objects, by hash of their names
  std::array<std::uint64_t, 1024> block_names_{};  // a bit per hash
  std::uint64_t block_name_count_ = 0, block_objects_ = 0;
  std::array<std::uint64_t, kMaxNesting> keywords_{};  // by bracket
  int depth_ = 0, chain_ = 0;
  bool blank_line_ = true, indented_ = false, pending_definition_ = false;
  std::optional<PrescanProblem> problem_;
};

}  // namespace

std::optional<PrescanProblem> prescan(std::string_view source) {
  return Prescan(source).run();
}

}  // namespace podjail
