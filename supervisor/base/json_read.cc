#include "base/json_read.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"

namespace podjail {
namespace {

// nlohmann's SAX events carry no positions. It reads the text through this iterator, which leaves in `*read` how far it is.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(std::string_view text, std::size_t at, std::size_t* read) : text_(text), at_(at), read_(read) {}
  reference operator*() const { return text_[at_]; }
  CountingIterator& operator++() {
    *read_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.at_ == b.at_; }

 private:
  std::string_view text_;
  std::size_t at_;
  std::size_t* read_;
};

constexpr std::string_view kBom = "\xEF\xBB\xBF";

// Offsets only grow, so one pass over the text finds every line and column.
class Position {
 public:
  explicit Position(std::string_view text) : text_(text) {
    if (text.starts_with(kBom)) offset_ = kBom.size();
  }
  void advance(std::size_t offset) {
    for (; offset_ < std::min(offset, text_.size()); ++offset_) {
      if (text_[offset_] == '\n') {
        ++line_;
        column_ = 1;
      } else if ((static_cast<unsigned char>(text_[offset_]) & 0xC0) != 0x80) {
        ++column_;
      }
    }
    // `column_` now counts the characters that start before the offset; within one, step back to its start.
    if (offset_ < text_.size() && (static_cast<unsigned char>(text_[offset_]) & 0xC0) == 0x80 && column_ > 1)
      inside_ = 1;
    else
      inside_ = 0;
  }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] int column() const { return column_ - inside_; }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  int line_ = 1, column_ = 1, inside_ = 0;
};

class TreeBuilder {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text), position_(text), end_(text.starts_with(kBom) ? kBom.size() : 0) {}

  std::size_t read = 0;  // bytes that the lexer took: one more than the token where it is a number not at the end of the text

  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  bool null() { return add(JsonNode::Kind::null) != nullptr; }
  bool boolean(bool value) {
    add(JsonNode::Kind::boolean)->boolean = value;
    return true;
  }
  bool number_integer(number_integer_t) { return number(); }
  bool number_unsigned(number_unsigned_t) { return number(); }
  bool number_float(number_float_t, const string_t& token) {
    number();
    // What doesn't fit int64 or uint64 comes as a float.
    if (token.find_first_of(".eE") == string_t::npos) report("the integer " + token.substr(0, 40) + " is out of range");
    return true;
  }
  bool string(string_t& value) {
    add(JsonNode::Kind::string)->text = std::move(value);
    return true;
  }
  bool binary(binary_t&) { return false; }  // no such value in JSON text
  bool start_object(std::size_t) { return open(JsonNode::Kind::object); }
  bool start_array(std::size_t) { return open(JsonNode::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(string_t& value) {
    Frame& frame = frames_.back();
    start_token();
    frame.token = value;
    frame.awaits_value = true;
    frame.duplicate = !frame.keys.insert(value).second;
    frame.key_line = position_.line();
    frame.key_column = position_.column();
    if (frame.duplicate) report("duplicate key");
    end_ = read;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    const std::size_t start = next_token();
    std::string message = readable(error.what());
    const std::string_view rest = text_.substr(start);
    const auto starts_with_any = [&](auto... words) { return (rest.starts_with(words) || ...); };
    if (starts_with_any("NaN", "nan", "Infinity", "-Infinity", "-NaN", "inf", "-inf"))
      message = "NaN and Infinity are not JSON numbers";
    else if (starts_with_any("//", "/*", "#"))
      message = "JSON has no comments";
    else if (error.id == 406)
      message = "the number is out of range";
    else if (message.starts_with("unexpected end of input"))
      return end_with(text_.size(), message);
    // A whole token that doesn't belong there is known by its start, anything else by the byte that the lexer stopped at.
    else if (!message.starts_with("unexpected ") || message.find(" literal") > message.find(';'))
      return end_with(read == 0 ? 0 : read - 1, message);
    return end_with(start, message);
  }

  JsonDocument refuse(std::size_t offset, const std::string& message) && {
    end_with(offset, message);
    return std::move(*this).finish(false);
  }

  JsonDocument finish(bool whole) && {
    JsonDocument document;
    if (whole) document.root = std::move(root_);
    document.problems = std::move(problems_);
    return document;
  }

 private:
  struct Frame {
    JsonNode* node = nullptr;
    std::unordered_set<std::string> keys;
    std::string token;  // the last key
    int key_line = 0, key_column = 0;
    bool duplicate = false;
    bool awaits_value = false;
  };

  // Between two tokens the valid text has only white space and separators.
  [[nodiscard]] std::size_t next_token() const {
    const std::size_t at = text_.find_first_not_of(" \t\r\n:,", end_);
    return at == std::string_view::npos ? text_.size() : at;
  }
  std::size_t start_token() {
    const std::size_t start = next_token();
    position_.advance(start);
    return start;
  }

  // The new value's place: the root, the next item, or the value of the last key (one without a home where that is a duplicate).
  JsonNode* add(JsonNode::Kind kind) {
    start_token();
    JsonNode* node = &root_;
    if (!frames_.empty()) {
      Frame& frame = frames_.back();
      frame.awaits_value = false;
      if (frame.node->kind == JsonNode::Kind::array) {
        node = &frame.node->items.emplace_back();
      } else if (frame.duplicate) {
        node = discarded_.emplace_back(std::make_unique<JsonNode>()).get();
      } else {
        JsonMember& member = frame.node->members.emplace_back();
        member.key = frame.token;
        member.line = frame.key_line;
        member.column = frame.key_column;
        node = &member.value;
      }
    }
    node->kind = kind;
    node->line = position_.line();
    node->column = position_.column();
    end_ = read;
    return node;
  }

  bool number() {
    const std::size_t start = next_token();
    JsonNode* const node = add(JsonNode::Kind::number);
    // The lexer saw the number's end by the byte after it, if there is one.
    const bool ends_the_text = read == text_.size() && text_.find_first_not_of("+-.0123456789eE", start) == std::string_view::npos;
    const std::size_t end = ends_the_text ? read : read - 1;
    node->text = text_.substr(start, end - start);
    end_ = end;
    return true;
  }

  bool open(JsonNode::Kind kind) {
    if (frames_.size() >= kJsonMaxDepth) {
      start_token();
      report("nested more than " + std::to_string(kJsonMaxDepth) + " deep", false);
      return false;
    }
    JsonNode* const node = add(kind);
    frames_.emplace_back().node = node;  // stays valid: a parent's vector grows only while the parent is the last frame
    return true;
  }

  bool close() {
    frames_.pop_back();
    end_ = read;
    return true;
  }

  bool end_with(std::size_t offset, const std::string& message) {
    position_.advance(offset);
    report(message, false);
    return false;
  }

  // `value_added`: it is about the last key or item, not about what should follow it.
  void report(const std::string& message, bool value_added = true) {
    std::string pointer;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const Frame& frame = frames_[i];
      if (frame.node->kind == JsonNode::Kind::object) {
        if (i + 1 < frames_.size() || frame.awaits_value || value_added) pointer = json_pointer(pointer, frame.token);
      } else if (!frame.node->items.empty() && (i + 1 < frames_.size() || value_added)) {
        pointer = json_pointer(pointer, std::to_string(frame.node->items.size() - 1));
      }
    }
    problems_.push_back({std::move(pointer), position_.line(), position_.column(), message});
  }

  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value - invalid literal; last read: 'x';
  // expected …"
  static std::string readable(std::string_view what) {
    if (const auto dash = what.find(" - "); dash != std::string_view::npos) what.remove_prefix(dash + 3);
    std::string text = to_valid_utf8(what);
    if (const auto last_read = text.find("; last read: '"); last_read != std::string::npos) {
      const auto close = text.rfind('\'');
      const auto expected = text.rfind("; expected ");
      text.erase(last_read, expected != std::string::npos && expected > last_read ? expected - last_read : close + 1 - last_read);
    }
    return text;
  }

  std::string_view text_;
  Position position_;
  std::size_t end_;  // of the last token
  JsonNode root_;
  std::vector<Frame> frames_;
  std::vector<std::unique_ptr<JsonNode>> discarded_;
  std::vector<JsonProblem> problems_;
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  for (const JsonMember& member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

JsonDocument read_json(std::string_view text) {
  if (text.size() > kJsonMaxBytes) return {std::nullopt, {{"", 1, 1, "larger than " + std::to_string(kJsonMaxBytes >> 20) + " MiB"}}};
  TreeBuilder builder(text);
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    return std::move(builder).refuse(nul, "a NUL byte");  // the lexer takes one for the text's end
  const CountingIterator begin(text, 0, &builder.read), end(text, text.size(), &builder.read);
  const bool whole = nlohmann::json::sax_parse(begin, end, &builder);
  return std::move(builder).finish(whole);
}

std::string json_pointer(std::string_view parent, std::string_view token) {
  std::string pointer(parent);
  pointer += '/';
  for (const char c : token) {
    if (c == '~')
      pointer += "~0";
    else if (c == '/')
      pointer += "~1";
    else
      pointer += c;
  }
  return pointer;
}

std::string describe_json(const JsonNode& node) {
  switch (node.kind) {
    case JsonNode::Kind::null:
      return "null";
    case JsonNode::Kind::boolean:
      return node.boolean ? "true" : "false";
    case JsonNode::Kind::number:
      return "the number " + node.text;
    case JsonNode::Kind::string:
      return "a string";
    case JsonNode::Kind::array:
      return "a list";
    case JsonNode::Kind::object:
      return "an object";
  }
  return "a value";
}

}  // namespace podjail
