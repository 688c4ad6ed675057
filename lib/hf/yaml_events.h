// Reads libyaml's events of a text one at a time. A reader can stop at the first event that it does not need, so deeply
// nested values are never read.
#pragma once

#include <yaml.h>

#include <new>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::hf {

class YamlEvents {
 public:
  /// `text` must be UTF-8 without a byte order mark, and outlive the object.
  explicit YamlEvents(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    const char* const input = text.empty() ? "" : text.data();  // libyaml does not accept a null pointer
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(input), text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  ~YamlEvents() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;

  /// Advances to the next event and returns its type; YAML_NO_EVENT after an error.
  yaml_event_type_t next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) == 0) {
      event_ = {};
      if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    }
    return event_.type;
  }

  /// Properties of the event that next() returned. Lines count from 1.
  u64 line() const { return event_.start_mark.line + 1; }
  bool has_anchor_or_tag() const {
    switch (event_.type) {
      case YAML_SCALAR_EVENT: return event_.data.scalar.anchor != nullptr || event_.data.scalar.tag != nullptr;
      case YAML_SEQUENCE_START_EVENT:
        return event_.data.sequence_start.anchor != nullptr || event_.data.sequence_start.tag != nullptr;
      case YAML_MAPPING_START_EVENT:
        return event_.data.mapping_start.anchor != nullptr || event_.data.mapping_start.tag != nullptr;
      default: return false;
    }
  }

  /// Return the text and style of a scalar. Precondition: the event is a scalar.
  std::string_view text() const {
    const auto& scalar = event_.data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }
  bool is_plain() const { return event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE; }
  bool is_block() const {
    return event_.data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
           event_.data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
  }

  /// libyaml's description of the error and its line; only after an error.
  std::string_view problem() const { return parser_.problem != nullptr ? parser_.problem : "is cut off"; }
  u64 problem_line() const { return parser_.problem_mark.line + 1; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

}  // namespace modelutils::hf
