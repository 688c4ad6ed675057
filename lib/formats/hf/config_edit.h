// Changes members of a JSON file's text (config.json) and leaves every other byte as it is: order, spacing, numbers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"

namespace modelutils::hf {

/// The text of a JSON object. A path names a member: "quantization", or "text_config/dtype" for one inside an object.
class ConfigEdit {
 public:
  ConfigEdit() = default;
  /// Fails with "json-syntax" if the text is not a JSON object as json::parse() accepts it.
  static Result<ConfigEdit> parse(std::string text, const std::string& name);

  const std::string& text() const { return text_; }
  bool is_changed() const { return is_changed_; }

  /// Returns the member's value as it is in the text; nullopt if there is none.
  std::optional<std::string_view> find(std::string_view path) const;
  /// Replaces the value with `json`. A new member becomes the last one of its object, which must exist: otherwise, and
  /// if the value is already this, nothing happens.
  void set(std::string_view path, std::string_view json);
  /// Removes the member, if it exists.
  void remove(std::string_view path);
  /// Renames the member and keeps its value and place.
  void rename(std::string_view path, std::string_view name);
  /// Replaces each element of a list by what `change` returns for its index and text; nullopt removes it. Does nothing
  /// if the value is not a list.
  void edit_list(std::string_view path,
                 const std::function<std::optional<std::string>(std::size_t index, std::string_view json)>& change);
  /// Renames each member of an object to what `change` returns for its name; nullopt removes it. Does nothing if the
  /// value is not an object.
  void edit_names(std::string_view path,
                  const std::function<std::optional<std::string>(std::string_view name)>& change);
  /// Returns the names of an object's members; none if the value is not an object. "" is the whole object.
  std::vector<std::string> names(std::string_view path) const;
  /// Replaces the whole text.
  void replace(std::string text);

 private:
  struct Span {
    std::size_t key = 0;     // the name's opening quote
    std::size_t begin = 0;   // of the value
    std::size_t end = 0;     // of the value
    std::size_t before = 0;  // end of the previous member's value, or after the opening bracket
    bool is_first = true;
  };
  struct Extent {
    std::size_t inside = 0;    // after the opening bracket
    std::size_t last_end = 0;  // end of the last member; `inside` if the object is empty
    std::size_t last_key = 0;
  };
  std::optional<Span> locate(std::string_view path, Extent* object = nullptr) const;
  void splice(std::size_t begin, std::size_t end, std::string_view with);

  std::string text_;
  bool is_changed_ = false;
};

/// Returns a JSON string.
std::string json_string(std::string_view text);

}  // namespace modelutils::hf
