#include "json/writer.h"

#include <fmt/core.h>
#if defined(__clang__)
// RapidJSON 1.1 adds an offset to an empty stack's null pointer. That is harmless, but the sanitizer would report it.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/prettywriter.h>
#include <rapidjson/writer.h>
#if defined(__clang__)
#pragma clang attribute pop
#endif

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "base/escape.h"
#include "base/utf8.h"

namespace modelutils::json {

namespace {

constexpr std::size_t flush_size = 64 * 1024;

// Implements RapidJSON's output stream concept.
struct StringStream {
  using Ch = char;
  std::string text;
  void Put(char c) { text.push_back(c); }
  void Flush() {}
};

// Throws if out of memory; RapidJSON's own allocator does not check.
struct Allocator {
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t /*old_size*/, std::size_t size) {
    if (size == 0) {
      Free(old);
      return nullptr;
    }
    void* const memory = std::realloc(old, size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  static void Free(void* memory) { std::free(memory); }
};

using CompactWriter = rapidjson::Writer<StringStream, rapidjson::UTF8<>, rapidjson::UTF8<>, Allocator>;
using PrettyWriter = rapidjson::PrettyWriter<StringStream, rapidjson::UTF8<>, rapidjson::UTF8<>, Allocator>;

// RapidJSON's writers, which write raw text character by character, extended to append a whole value at once.
struct Compact : CompactWriter {
  using CompactWriter::CompactWriter;
  std::string& begin_value(rapidjson::Type type) {
    Prefix(type);
    return os_->text;
  }
};
struct Pretty : PrettyWriter {
  using PrettyWriter::PrettyWriter;
  std::string& begin_value(rapidjson::Type type) {
    PrettyPrefix(type);
    return os_->text;
  }
};

}  // namespace

struct Writer::State {
  State(Style style, std::function<void(std::string_view)> to) : sink(std::move(to)) {
    if (style == Style::pretty) {
      pretty = std::make_unique<Pretty>(stream);
      pretty->SetIndent(' ', 2);
    } else {
      compact = std::make_unique<Compact>(stream);
    }
  }

  template <typename F>
  void write(F&& call) {
    if (compact) {
      call(*compact);
    } else {
      call(*pretty);
    }
    if (sink && stream.text.size() >= flush_size) hand_over();
  }

  void hand_over() {
    if (!sink) return;
    sink(stream.text);
    stream.text.clear();
  }

  // RapidJSON escapes only C0 and passes invalid UTF-8 through, so use our escaping.
  void quoted(std::string_view text) {
    write([&](auto& writer) {
      std::string& out = writer.begin_value(rapidjson::kStringType);
      out.push_back('"');
      append_json_escaped(out, text);
      out.push_back('"');
    });
  }

  void digits(std::string_view text) {
    write([&](auto& writer) { writer.begin_value(rapidjson::kNumberType) += text; });
  }

  template <typename T>
  void integer(T value) {
    char text[24];
    digits({text, std::to_chars(std::begin(text), std::end(text), value).ptr});
  }

  template <typename T>
  void floating(T value) {
    if (std::isnan(value)) {
      quoted("NaN");
    } else if (std::isinf(value)) {
      quoted(value > 0 ? "Infinity" : "-Infinity");
    } else {
      digits(fmt::format("{}", value));
    }
  }

  StringStream stream;
  std::function<void(std::string_view)> sink;
  std::unique_ptr<Compact> compact;
  std::unique_ptr<Pretty> pretty;
};

Writer::Writer(Style style) : Writer(style, nullptr) {}
Writer::Writer(Style style, std::function<void(std::string_view)> sink)
    : state_(std::make_unique<State>(style, std::move(sink))) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

void Writer::begin_object() {
  state_->write([](auto& writer) { writer.StartObject(); });
}
void Writer::end_object() {
  state_->write([](auto& writer) { writer.EndObject(); });
}
void Writer::begin_array() {
  state_->write([](auto& writer) { writer.StartArray(); });
}
void Writer::end_array() {
  state_->write([](auto& writer) { writer.EndArray(); });
}

Writer::Scope::~Scope() noexcept(false) {
  if (std::uncaught_exceptions() == 0) (writer_.*end_)();
}

Writer::Scope Writer::object() {
  begin_object();
  return {*this, &Writer::end_object};
}
Writer::Scope Writer::object(std::string_view name) {
  key(name);
  return object();
}
Writer::Scope Writer::array() {
  begin_array();
  return {*this, &Writer::end_array};
}
Writer::Scope Writer::array(std::string_view name) {
  key(name);
  return array();
}

void Writer::key(std::string_view name) {
  state_->quoted(name);
}

void Writer::string(std::string_view text) {
  if (is_utf8(text)) {
    state_->quoted(text);
    return;
  }
  const Scope scope = object();
  key("base64");
  state_->quoted(base64(text));
}

void Writer::number(u64 value) {
  state_->integer(value);
}
void Writer::number(i64 value) {
  state_->integer(value);
}
void Writer::number(double value) {
  state_->floating(value);
}
void Writer::decimal(float value) {
  const std::string digits = fmt::format("{}", value);
  if (std::isfinite(value) && digits.find_first_not_of("-0123456789") == std::string::npos) {
    state_->digits(digits + ".0");
  } else {
    state_->floating(value);
  }
}
void Writer::number(float value) {
  state_->floating(value);
}
void Writer::boolean(bool value) {
  state_->write([&](auto& writer) { writer.Bool(value); });
}
void Writer::null() {
  state_->write([](auto& writer) { writer.Null(); });
}

void Writer::text_or_null(std::string_view name, std::string_view text) {
  text.empty() ? null_member(name) : member(name, text);
}
void Writer::null_member(std::string_view name) {
  key(name);
  null();
}

void Writer::end_line() {
  state_->stream.Put('\n');
  if (state_->compact) {
    state_->compact->Reset(state_->stream);
  } else {
    state_->pretty->Reset(state_->stream);
  }
  if (state_->sink && state_->stream.text.size() >= flush_size) state_->hand_over();
}

void Writer::flush() {
  state_->hand_over();
}

const std::string& Writer::text() const {
  return state_->stream.text;
}

}  // namespace modelutils::json
