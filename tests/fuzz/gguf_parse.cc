// Any bytes -> parser, array readers, index, split names. What it reads must be inside the file.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "io/random_access_file.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemoryFile file({bytes.begin(), bytes.end()});
  const auto document = gguf::parse(file);
  if (!document) {
    if (document.error().code != "gguf-magic" || document.error().message.empty()) std::abort();
    return 0;
  }
  if (document->header_end > size || document->data_offset < document->header_end) std::abort();
  if (!document->complete && first_container_error(document->findings) == nullptr) std::abort();
  for (const gguf::KeyValue& key : document->keys) {
    const auto* array = std::get_if<gguf::ArrayRef>(&key.value);
    if (array == nullptr) continue;
    if (array->offset > size || array->bytes > size - array->offset) std::abort();
    const auto values = gguf::read_values(file, *document, *array);
    if (!values || values->size() != array->count) std::abort();
    if (array->element_type == gguf::ValueType::string) {
      u64 end = array->offset;
      std::vector<u64> ends;
      const Status status =
          gguf::visit_strings(file, *document, *array, [&](u64 index, std::string_view text, u64 offset) {
            end = offset + text.size();
            if (std::ranges::find(gguf::end_texts(), text) != gguf::end_texts().end()) ends.push_back(index);
            return true;
          });
      if (!status || end != array->offset + array->bytes) std::abort();
      if (key.key == gguf::tokens_key && document->find(key.key) == &key && ends != document->end_tokens) std::abort();
      if (array->count == 0) continue;
      const std::vector<u64> last = {array->count - 1};
      const auto is_last = [&](u64, std::string_view text, u64 offset) {
        if (offset + text.size() != end) std::abort();
        return true;
      };
      if (!gguf::visit_strings_at(file, *document, *array, last, is_last)) std::abort();
    } else if (gguf::value_size(array->element_type) != 0) {
      if (gguf::read_numbers<i64>(file, *document, *array).value().size() != array->count) std::abort();
      if (gguf::read_numbers<double>(file, *document, *array).value().size() != array->count) std::abort();
    }
  }
  const gguf::Index index(*document);
  for (const gguf::KeyValue& key : document->keys) {
    const gguf::KeyValue* found = index.key(key.key);
    if (found == nullptr || found > &key || found->key != key.key) std::abort();
    (void)index.unsigned_value(key.key);
    (void)index.float_value(key.key);
  }
  for (const gguf::TensorInfo& info : document->tensors) {
    const gguf::TensorInfo* found = index.tensor(info.name);
    if (found == nullptr || found > &info || found->name != info.name) std::abort();
    (void)info.bytes();
    (void)info.elements();
  }
  return 0;
}
