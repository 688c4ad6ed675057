#include "rules/directory/value_checks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "base/byte_reader.h"
#include "formats/hf/names.h"
#include "io/copy_range.h"
#include "model/catalog.h"
#include "model/mlx/quantization.h"
#include "rules/directory/mlx_rules.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

// A code's value is at most 480 in magnitude, so with smaller scales and biases neither the product nor its sum with
// the bias exceeds 2^127 + 2^126.
constexpr float large_scale = 0x1p118f;
constexpr float large_bias = 0x1p126f;

// Groups checked at a time; their values take at most 1 MiB.
constexpr u64 batch_groups = 256;

bool is_large(float value, float limit) {
  return std::fabs(value) >= limit && std::isfinite(value);  // values that are not finite have a finding of their own
}

// True if any word of `data` has a magnitude of at least `limit`, including infinities and NaN. Branch-free so that
// compilers vectorise it.
template <typename Word>
bool any_from(Bytes data, Word limit) {
  constexpr Word sign = Word{1} << (8 * sizeof(Word) - 1);
  const Word carry = static_cast<Word>(sign - limit);
  Word seen = 0;
  for (std::size_t at = 0; at < data.size(); at += sizeof(Word)) {
    seen = static_cast<Word>(seen | ((load<Word>(data.data() + at) & ~sign) + carry));
  }
  return (seen & sign) != 0;
}

bool any_large(TensorType type, Bytes data, float limit) {
  const u32 bits = std::bit_cast<u32>(limit);
  switch (type) {
    case TensorType::F16: return false;  // the largest F16 is 65504
    case TensorType::BF16: return any_from(data, static_cast<u16>(bits >> 16));
    case TensorType::F32: return any_from(data, bits);
    default: {  // E8M0 is just an exponent
      u8 most = 0;
      for (const std::byte exponent : data) most = std::max(most, std::to_integer<u8>(exponent));
      return most >= bits >> 23;
    }
  }
}

class PackedBatch {
 public:
  PackedBatch(const Catalog& catalog, const PackedWeight& weight) : catalog_(catalog), weight_(weight) {}

  // Decodes `count` groups starting at group `first`.
  Status read(u64 first, u64 count) {
    MU_TRY(read_factors(weight_.scales, first, count, scale_bytes_, scales_));
    mlx::Groups groups;
    groups.scale_type = *catalog_.tensors[weight_.scales].type;
    groups.scales = scale_bytes_;
    if (weight_.biases != mlx::no_tensor) {
      MU_TRY(read_factors(weight_.biases, first, count, bias_bytes_, biases_));
      groups.bias_type = *catalog_.tensors[weight_.biases].type;
      groups.biases = bias_bytes_;
    }
    MU_TRY(read_bytes(weight_.weight, first, count, weight_.params.group_bytes(), codes_));
    groups.codes = codes_;
    values_.resize(count * weight_.params.group_size);
    mlx::dequantize(weight_.params, groups, values_);
    return {};
  }

  // True if a value of group `i` in the batch overflows and the cause is the bias (`is_bias`) or the scale (otherwise).
  bool overflows(std::size_t i, bool is_bias) const {
    if (is_bias ? !std::isfinite(scales_[i]) || is_large(scales_[i], large_scale) : !biases_are_finite(i)) return false;
    const std::size_t size = weight_.params.group_size;
    return std::ranges::any_of(std::span(values_).subspan(i * size, size),
                               [](float value) { return !std::isfinite(value); });
  }

 private:
  bool biases_are_finite(std::size_t i) const { return biases_.empty() || std::isfinite(biases_[i]); }

  Status read_bytes(std::size_t index, u64 first, u64 count, u64 width, std::vector<std::byte>& bytes) const {
    bytes.resize(count * width);
    return catalog_.read(catalog_.tensors[index], first * width, bytes);
  }
  Status read_factors(std::size_t index, u64 first, u64 count, std::vector<std::byte>& bytes,
                      std::vector<float>& factors) const {
    const TensorType type = *catalog_.tensors[index].type;
    MU_TRY(read_bytes(index, first, count, type_info(type).block_bytes, bytes));
    factors.resize(count);
    dequantize(type, bytes, factors);
    return {};
  }

  const Catalog& catalog_;
  const PackedWeight& weight_;
  std::vector<std::byte> scale_bytes_, bias_bytes_, codes_;
  std::vector<float> scales_, biases_, values_;
};

}  // namespace

Result<BlockCheck> check_packed(const Catalog& catalog, const PackedWeight& weight, bool is_bias, u64 first,
                                Bytes piece) {
  BlockCheck result;
  const TensorType type = *catalog.tensors[is_bias ? weight.biases : weight.scales].type;
  const float limit = is_bias ? large_bias : large_scale;
  if (!any_large(type, piece, limit)) return result;
  const u64 width = type_info(type).block_bytes;
  const u64 count = piece.size() / width;
  const auto large = [limit](float value) { return is_large(value, limit); };
  PackedBatch batch(catalog, weight);
  std::vector<float> factors;
  for (u64 done = 0; done < count; done += factors.size()) {
    factors.resize(std::min(batch_groups, count - done));
    dequantize(type, piece.subspan(done * width, factors.size() * width), factors);
    if (std::ranges::none_of(factors, large)) continue;
    MU_TRY(batch.read(first + done, factors.size()));
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (!large(factors[i]) || !batch.overflows(i, is_bias)) continue;
      ++result.bad_blocks;
      if (!result.first) {
        result.first = BadBlock{done + i, is_bias ? "bias" : "scale", "makes values of its group overflow to Inf"};
      }
    }
  }
  return result;
}

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
