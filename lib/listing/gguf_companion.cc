#include "listing/gguf_companion.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "arch/projectors.h"
#include "base/counted.h"
#include "gguf/keys.h"
#include "listing/adapter_facts.h"

namespace modelutils {

namespace {

using Facts = std::vector<std::string>;

Facts imatrix_facts(const gguf::Document& document, const gguf::Index& index) {
  Facts facts = {"importance matrix"};
  const auto chunks = index.unsigned_value("imatrix.chunk_count");
  const auto tokens = index.unsigned_value("imatrix.chunk_size");
  if (chunks && tokens) facts.push_back(fmt::format("{} of {}", counted(*chunks, "chunk"), counted(*tokens, "token")));
  const auto matrices = std::ranges::count_if(
      document.tensors, [](const gguf::TensorInfo& tensor) { return tensor.name.ends_with(".counts"); });
  facts.push_back("of " + counted(static_cast<u64>(matrices), "tensor"));
  if (const gguf::ArrayRef* texts = index.array_value("imatrix.datasets")) {
    facts.push_back("from " + counted(texts->count, "file"));
  }
  return facts;
}

Facts projector_facts(const gguf::Index& index) {
  Facts facts;
  for (const arch::Encoder& encoder : arch::encoders) {
    if (!index.bool_value(encoder.flag).value_or(false)) continue;
    const auto type = arch::projector_type(index, encoder);
    facts.push_back(fmt::format("{} projector{}", encoder.name, type ? fmt::format(" {}", *type) : std::string()));
    const auto number = [&](std::string_view name) {
      return index.unsigned_value(fmt::format("clip.{}.{}", encoder.name, name));
    };
    if (const auto size = number("image_size")) facts.push_back(fmt::format("images of {}", *size));
    if (const auto size = number("patch_size")) facts.push_back(fmt::format("patches of {}", *size));
    if (const auto bins = number("num_mel_bins")) facts.push_back(fmt::format("{} mel bins", *bins));
    if (const auto layers = number("block_count")) facts.push_back(counted(*layers, "layer"));
    if (const auto width = arch::projector_width(index, encoder)) {
      facts.push_back(fmt::format("for a width of {}", width->size));
    }
  }
  if (facts.empty()) facts.emplace_back("projector");
  return facts;
}

}  // namespace

std::vector<std::string> legacy_imatrix_facts(const quantize::ImportanceMatrix& matrix) {
  Facts facts = {"importance matrix"};
  if (matrix.chunks() > 0) facts.push_back(counted(matrix.chunks(), "chunk"));
  facts.push_back("of " + counted(matrix.entries().size(), "tensor"));
  if (!matrix.datasets().empty()) facts.push_back("from " + counted(matrix.datasets().size(), "file"));
  return facts;
}

std::vector<std::string> companion_facts(const gguf::SplitSet& set) {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  if (const auto adapter = adapter_facts(set)) return adapter_words(*adapter);
  if (index.string_value("general.type") == "imatrix") return imatrix_facts(document, index);
  if (index.architecture() == "clip") return projector_facts(index);
  return {};
}

}  // namespace modelutils
