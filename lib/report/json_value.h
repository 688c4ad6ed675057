// Values of keys as JSON.
#pragma once

#include "gguf/parse.h"
#include "json/writer.h"
#include "listing/listing.h"

namespace modelutils {

/// Writes the visited elements: inner arrays as arrays, the outermost array without its brackets.
class ArrayToJson : public gguf::ArrayVisitor {
 public:
  explicit ArrayToJson(json::Writer& json) : json_(json) {}
  bool begin() override;
  bool end() override;
  bool text(std::string_view text) override;
  bool scalar(const gguf::Value& value) override;

 private:
  json::Writer& json_;
};

/// Writes a value; arrays in full. A float32 is written as its exact double. Errors: those of reading.
Status write_json_value(json::Writer& json, const ListedValue& value);

/// Writes the member "array_types": element types from the outermost array inwards, as gguf-py's field.types. Errors:
/// those of reading.
Status write_array_types(json::Writer& json, ListedArray listed);

}  // namespace modelutils
