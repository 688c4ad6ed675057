// Any bytes -> safetensors parser and rules. Compares the parser with our other JSON reader, which validates the whole
// text.
#include <cstdlib>

#include "formats/safetensors/parse.h"
#include "io/random_access_file.h"
#include "json/cursor.h"
#include "json/reader.h"
#include "rules/safetensors/rules.h"

using namespace modelutils;

namespace {

bool has_code(std::span<const Finding> findings, std::string_view code) {
  for (const Finding& finding : findings) {
    if (finding.code == code) return true;
  }
  return false;
}

// The parser and the other reader must agree on whether the text is valid JSON.
void compare_with_reader(const safetensors::Document& document, std::string_view json) {
  const auto parsed = json::parse(json, "");
  if (parsed) {
    if (has_code(document.findings, "st-header-json") && (*parsed)->root.is_object()) std::abort();
    return;
  }
  // The reader refuses bad escapes; the parser reports them as findings.
  const bool is_bad_escape = parsed.error().message.ends_with(json::syntax_text(json::SyntaxError::escape));
  if (document.complete && !has_code(document.findings, "st-header-trailing") && !is_bad_escape) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemoryFile file({bytes.begin(), bytes.end()}, "m.safetensors");
  const auto document = safetensors::parse(file);
  if (!document) {
    if (document.error().code != "st-not-safetensors") std::abort();
    return 0;
  }
  if (!document->complete && first_container_error(document->findings) == nullptr) std::abort();
  for (std::size_t i = 0; i < document->tensors.size(); ++i) {
    const safetensors::Tensor& tensor = document->tensors[i];
    if (tensor.entry_offset >= size || data[tensor.entry_offset] != '"') std::abort();
    const safetensors::Tensor* found = document->find(tensor.name);
    if (found == nullptr || found > &tensor || found->name != tensor.name) std::abort();
    if (document->names.size() != 0 && document->names.find(tensor.name) != i) std::abort();
    (void)tensor.expected_bytes();
  }
  const FindingLog log = safetensors_container_rules(*document);
  if (log.errors() == 0) {  // a valid file: every byte of the data belongs to exactly one tensor
    u64 bytes_of_tensors = 0;
    for (const safetensors::Tensor& tensor : document->tensors) bytes_of_tensors += tensor.bytes();
    if (bytes_of_tensors != document->data_bytes()) std::abort();
  }
  if (document->storage != nullptr) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    compare_with_reader(*document, all.substr(8, document->header_bytes));
  }
  return 0;
}
