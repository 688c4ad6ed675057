#include "rules/directory/head_values.h"

#include <algorithm>
#include <optional>

#include "hf/tensor_names.h"
#include "io/same_bytes.h"
#include "model/catalog.h"
#include "model/same_values.h"
#include "rules/directory/mlx_rule_parts.h"

namespace modelutils {

namespace {

struct Stored {
  const safetensors::Tensor* tensor = nullptr;
  StoredPlane plane;
};

// Returns nullopt if the tensor is truncated, which is reported elsewhere.
std::optional<Stored> stored(const SafetensorsModel& model, std::size_t place) {
  const safetensors::TensorRef ref = model.set.tensors[place];
  const safetensors::ShardFile& file = model.set.file(ref);
  const safetensors::Tensor& tensor = model.set.tensor(ref);
  if (readability_of(file.document, tensor) != Unreadable::no) return std::nullopt;
  return Stored{&tensor, {file.source.get(), file.document.data_offset + tensor.begin}};
}

// Returns nullopt if the type is not a plain floating-point type.
std::optional<StoredMatrix> plain(const Stored& stored) {
  const std::optional<TensorType> type = stored.tensor->type;
  if (type != TensorType::F32 && type != TensorType::F16 && type != TensorType::BF16) return std::nullopt;
  StoredMatrix matrix;
  matrix.form = plain_form(*type);
  matrix.elements = stored.tensor->elements().value_or(0);
  matrix.columns = stored.tensor->shape.empty() ? 1 : std::max<u64>(stored.tensor->shape.back(), 1);
  matrix.planes[0] = stored.plane;
  return matrix;
}

bool differs(const SafetensorsModel& model, std::size_t a, std::size_t b) {
  const auto left = stored(model, a), right = stored(model, b);
  if (!left || !right) return false;
  if (!std::ranges::equal(left->tensor->shape, right->tensor->shape)) return true;
  if (left->tensor->type != right->tensor->type) {
    const auto x = plain(*left), y = plain(*right);
    return !x || !y || !same_values(*x, *y).value_or(true);
  }
  return !same_bytes(*left->plane.file, left->plane.offset, *right->plane.file, right->plane.offset,
                     left->tensor->bytes())
              .value_or(true);
}

}  // namespace

void check_tied_head(const SafetensorsModel& model, FindingLog& log) {
  if (!model.config || !model.config->tie_word_embeddings.value_or(false)) return;
  const Module* const embedding = mlx_rules::embedding_of(model);
  const auto is_head = [](const Module& module) { return hf::canonical_name(module.path) == "lm_head"; };
  const auto head = std::ranges::find_if(model.modules.list, is_head);
  if (embedding == nullptr || head == model.modules.list.end()) return;
  bool is_other = false;
  for (std::size_t i = 0; i < max_planes && !is_other; ++i) {
    const std::size_t own = head->planes[i], theirs = embedding->planes[i];
    if (own == no_tensor && theirs == no_tensor) continue;
    is_other = own == no_tensor || theirs == no_tensor || differs(model, own, theirs);
  }
  if (!is_other) return;
  log.note(Scope::data, "hf-tied-head",
           "is true, but lm_head.weight is not a copy of the embedding: loaders that follow config.json ignore it",
           at_field("tie_word_embeddings"));
}

}  // namespace modelutils
