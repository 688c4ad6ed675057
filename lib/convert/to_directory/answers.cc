#include "convert/to_directory/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "arch/encoder_rows.h"
#include "formats/gguf/parse.h"
#include "tensor/types.h"

namespace modelutils::to_directory {

namespace {

// Quantised copies of a row differ by less than half of its length, and rows of different matrices by more than it.
constexpr double most_of_copies = 0.5;

tl::unexpected<Error> fail(const gguf::SplitSet& set, std::string message) {
  return input_error("convert-rerank", std::move(message), at_tensor("cls.output.weight"), {}, set.files.front().path);
}

// Returns the id of the token with this text.
Result<std::optional<u64>> id_of(const gguf::SplitSet& set, const gguf::Index& index, std::string_view text) {
  std::optional<u64> id;
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  if (tokens == nullptr || tokens->element_type != gguf::ValueType::string) return id;
  const gguf::SetFile& file = set.files.front();
  MU_TRY(gguf::visit_strings(*file.source, file.document, *tokens, [&](u64 number, std::string_view token, u64) {
    if (token == text) id = number;
    return !id;
  }));
  return id;
}

Result<std::vector<float>> read_row(const Catalog& catalog, const Tensor& tensor, u64 row) {
  std::vector<float> values(static_cast<std::size_t>(tensor.ne.front()));
  MU_TRY(catalog.values_of(tensor).read_values(row * tensor.ne.front(), values));
  return values;
}

// Returns the length of `wanted` - `found` divided by the length of `wanted`.
double difference(const std::vector<float>& wanted, const std::vector<float>& found) {
  double length = 0, apart = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    length += double{wanted[i]} * wanted[i];
    apart += (double{wanted[i]} - found[i]) * (double{wanted[i]} - found[i]);
  }
  return apart == 0 ? 0 : std::sqrt(apart / length);
}

}  // namespace

Status check_answers(const gguf::SplitSet& set, const gguf::Index& index, const Catalog& catalog,
                     const Tensor& scores) {
  const Tensor* head = catalog.find("output.weight");
  if (head == nullptr) head = catalog.find("token_embd.weight");
  const gguf::ArrayRef* labels = index.array_value(index.arch_key("classifier.output_labels"));
  const gguf::SetFile& file = set.files.front();
  std::vector<std::string> texts;
  if (labels != nullptr && labels->element_type == gguf::ValueType::string) {
    MU_ASSIGN(texts, gguf::read_strings(*file.source, file.document, *labels, arch::answer_texts.size() + 1));
  }
  const std::array<u64, 2> ne = {head == nullptr ? 0 : head->ne.front(), arch::answer_texts.size()};
  if (ne.front() == 0 || !std::ranges::equal(texts, arch::answer_texts) || !std::ranges::equal(scores.ne, ne)) {
    return fail(set, "has other scores than those of 'yes' and 'no', for which a directory of this class has no place");
  }
  for (u64 i = 0; i < texts.size(); ++i) {
    MU_ASSIGN(const std::optional<u64> id, id_of(set, index, texts[i]));
    if (!id || *id >= element_count(head->ne).value_or(0) / ne.front()) {
      return fail(set, fmt::format("has a score for '{}', but the vocabulary has no such token; nothing tells whether "
                                   "it is a row of {}",
                                   texts[i], head->name));
    }
    MU_ASSIGN(const std::vector<float> score, read_row(catalog, scores, i));
    MU_ASSIGN(const std::vector<float> row, read_row(catalog, *head, *id));
    if (difference(score, row) <= most_of_copies) continue;
    return fail(set, fmt::format("has another row for '{}' than {}: it is of an output head that the file lacks. Take "
                                 "the original directory; --dequantize TYPE --raw-names writes the tensors as they are "
                                 "stored",
                                 texts[i], head->name));
  }
  return {};
}

}  // namespace modelutils::to_directory
