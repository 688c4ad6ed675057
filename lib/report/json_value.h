// Values of keys as JSON.
#pragma once

#include "gguf/parse.h"
#include "json/writer.h"
#include "listing/listing.h"

namespace modelutils {

/// Writes what it visits: inner arrays as arrays, the elements without the brackets of the outermost.
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

/// The member "shape".
void write_shape(json::Writer& json, std::span<const u64> shape);

/// A value; arrays with everything in them. A float32 is written as the double it is. Errors: those of reading.
Status write_json_value(json::Writer& json, const ListedValue& value);

/// The member "array_types": element types from the outside in, as gguf-py's field.types. Errors: those of reading.
Status write_array_types(json::Writer& json, ListedArray listed);

/// An array of texts.
void write_texts(json::Writer& out, std::string_view name, std::span<const std::string> texts);

}  // namespace modelutils
