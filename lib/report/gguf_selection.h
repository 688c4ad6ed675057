// Which keys and tensors a dump is about, and small texts that its forms share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gguf/parse.h"
#include "gguf/split_set.h"
#include "json/writer.h"
#include "report/gguf_dump.h"
#include "report/not_found.h"

namespace modelutils {

/// Elements of an array that are read and printed at a time.
inline constexpr u64 elements_at_a_time = 4096;

/// What gguf-py shows of the header as if they were keys: those that were read.
struct PseudoKey {
  std::string_view name;
  gguf::ValueType type;
  u64 offset;
  u64 value;
};
std::vector<PseudoKey> pseudo_keys(const gguf::Document& document);

struct SelectedKey {
  const gguf::KeyValue* key;
  u64 index;  ///< in the file, counted from the pseudo keys on: the first real key is 3
};
struct SelectedTensor {
  const gguf::SetFile* file;
  const gguf::TensorInfo* tensor;
  u64 index;  ///< in the model
};

/// Does any of the globs match (or are there none)?
bool selects(const std::vector<std::string>& globs, std::string_view name);
/// Keys of the first file; split.* of the others say nothing new.
std::vector<SelectedKey> select_keys(const gguf::SplitSet& set, const GgufDumpOptions& options);
std::vector<SelectedTensor> select_tensors(const gguf::SplitSet& set, const GgufDumpOptions& options);

/// Every name that key_globs and --get choose from, those of the pseudo keys too.
EachName each_key_name(const gguf::SplitSet& set);
EachName each_tensor_name(const gguf::SplitSet& set);

/// Absolute offset of the tensor's data; nothing on overflow, or where the header is not complete.
std::optional<u64> data_offset_of(const SelectedTensor& selected);

/// The file of a tensor as the tensor table names it: the base name, where several models are shown the path.
std::string told_file(const SelectedTensor& selected, const GgufDumpOptions& options);

/// A scalar as text: shortest decimals, "true", strings escaped. Empty for arrays.
std::string scalar_text(const gguf::Value& value);
/// "u32", "string[128,256]".
std::string key_type_text(const gguf::Value& value);
/// Writes what it visits as JSON: inner arrays as arrays, the elements without the brackets of the outermost.
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
/// The values of an array, those of arrays in it too, as one JSON array.
Status write_array(json::Writer& json, const gguf::SetFile& file, const gguf::ArrayRef& array);
/// The beginning of a value on one line, about `columns` wide: strings escaped, arrays as "[a, b, …]".
Result<std::string> preview(const gguf::SetFile& file, const gguf::Value& value, std::size_t columns);

}  // namespace modelutils
