// Copies packed MLX weights into the caller's buffer.
#include <fmt/core.h>
#include <cstddef>
#include <limits>

#include "c_api/handle.h"
#include "mlx/pack.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace {

constexpr uint32_t known_flags = MU_PACK_BF16_TO_F16;

struct Plan {
  std::vector<const Weight*> weights;
  std::vector<mlx::MatrixSizes> sizes;
  mlx::PackedLayout layout;
  bool narrows = false;  // scales and biases are converted from BF16 to F16
  u64 rows = 0;
};

Result<mlx::MatrixSizes> sizes_of(const Model& model, const Tensor& codes, const Weight* weight) {
  if (weight == nullptr || weight->form->kind != FormKind::mlx) {
    return input_error("api-type", "the tensor is not a weight packed by MLX", at_tensor(codes.name), {}, model.path());
  }
  const std::vector<Tensor>& stored = model.catalog().tensors;
  const Tensor& scales = stored[weight->planes[1]];
  mlx::MatrixSizes sizes;
  sizes.params = weight->form->params;
  sizes.columns = columns_of(model, codes);
  sizes.rows = rows_of(model, codes);
  sizes.scale_type = *scales.type;
  sizes.weight_bytes = codes.bytes;
  sizes.scales_bytes = scales.bytes;
  if (weight->planes[2] != mlx::no_tensor) {
    const Tensor& biases = stored[weight->planes[2]];
    sizes.biases_bytes = biases.bytes;
    if (biases.type != scales.type) {
      return input_error("mlx-pack-mismatch", "scales and biases have different types", at_tensor(codes.name), {},
                         model.path());
    }
  }
  return sizes;
}

Result<Plan> make_plan(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags) {
  if (model == nullptr) return null_argument("model");
  if (weights == nullptr) return null_argument("weights");
  if ((flags & ~known_flags) != 0) return bad_argument(fmt::format("unknown flags {:#x}", flags & ~known_flags));
  Plan plan;
  for (u64 i = 0; i < count; ++i) {
    MU_ASSIGN(const Tensor* const codes, tensor_entry(model, weights[i]));
    const Weight* const weight = model->opened.weight_of(*codes);
    MU_ASSIGN(const mlx::MatrixSizes sizes, sizes_of(model->opened, *codes, weight));
    plan.weights.push_back(weight);
    plan.sizes.push_back(sizes);
    const auto rows = checked_add(plan.rows, sizes.rows);
    if (!rows) return bad_argument("the total number of rows does not fit in 64 bits");
    plan.rows = *rows;
  }
  MU_ASSIGN(plan.layout, mlx::fused_layout(plan.sizes, (flags & MU_PACK_BF16_TO_F16) != 0));
  plan.narrows = plan.layout.scale_type != plan.sizes.front().scale_type;
  return plan;
}

mu_packed describe(const Plan& plan) {
  const mlx::MatrixSizes& first = plan.sizes.front();
  mu_packed packed{};
  packed.packing = packing_of(first.params.mode);
  packed.bits = first.params.bits;
  packed.group_size = first.params.group_size;
  packed.scale_type = static_cast<int32_t>(plan.layout.scale_type);
  packed.rows = plan.rows;
  packed.columns = first.columns;
  packed.total_bytes = plan.layout.total_bytes();
  packed.weight_bytes = plan.layout.weight_bytes;
  packed.scales_offset = plan.layout.scales_offset();
  packed.scales_bytes = plan.layout.scales_bytes;
  packed.biases_offset = plan.layout.biases_offset();
  packed.biases_bytes = plan.layout.biases_bytes;
  return packed;
}

// Reads one part of every weight, in order. Returns the rest of the buffer.
Result<MutableBytes> read_parts(const Model& model, const Plan& plan, std::size_t plane, MutableBytes out) {
  for (const Weight* weight : plan.weights) {
    if (weight->planes[plane] == mlx::no_tensor) continue;
    const Tensor& stored = model.catalog().tensors[weight->planes[plane]];
    MU_TRY(model.catalog().read(stored, 0, out.first(stored.bytes)));
    out = out.subspan(stored.bytes);
  }
  return out;
}

}  // namespace

mu_status mu_pack_layout(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags,
                         mu_packed* layout) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Plan plan, make_plan(model, weights, count, flags));
    if (layout == nullptr) return null_argument("layout");
    return give_struct(describe(plan), layout, offsetof(mu_packed, biases_bytes) + sizeof(layout->biases_bytes));
  });
}

mu_status mu_pack(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags, void* out,
                  uint64_t size, uint64_t* inexact) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Plan plan, make_plan(model, weights, count, flags));
    const auto total = checked_cast<std::size_t>(plan.layout.total_bytes());
    if (!total || size < *total) {
      return input_error("api-buffer",
                         fmt::format("the buffer has {} bytes, but {} are needed", size, plan.layout.total_bytes()));
    }
    u64 changed = 0;
    if (*total != 0) {
      if (out == nullptr) return null_argument("out");
      const MutableBytes buffer(static_cast<std::byte*>(out), *total);
      MU_ASSIGN(const MutableBytes behind_codes, read_parts(model->opened, plan, 0, buffer));
      MU_ASSIGN(const MutableBytes behind_scales, read_parts(model->opened, plan, 1, behind_codes));
      MU_TRY(read_parts(model->opened, plan, 2, behind_scales));
      if (plan.narrows) changed = mlx::bf16_to_f16_in_place(behind_codes);
    }
    if (inexact != nullptr) *inexact = changed;
    return {};
  });
}
