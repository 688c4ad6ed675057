#include "bump/layout.h"

#include <fmt/core.h>

#include <array>

#include "base/checked_math.h"

namespace modelutils::bump {

namespace {

constexpr u64 largest_file = u64{1} << 62;

// clang-format off
constexpr std::array<RoleInfo, role_count> roles = {{
    {Role::token_emb,       "token_emb",       false, true,  {"token_embd.weight", ""}},
    {Role::pos_emb,         "pos_emb",         false, false, {"", ""}},
    {Role::ln1_gamma,       "ln1_gamma",       true,  false, {"attn_norm.weight", ""}},
    {Role::ln2_gamma,       "ln2_gamma",       true,  false, {"ffn_norm.weight", ""}},
    {Role::wq,              "wq",              true,  true,  {"attn_q.weight", ""}},
    {Role::bq,              "bq",              true,  false, {"attn_q.bias", ""}},
    {Role::wk,              "wk",              true,  true,  {"attn_k.weight", ""}},
    {Role::bk,              "bk",              true,  false, {"attn_k.bias", ""}},
    {Role::wv,              "wv",              true,  true,  {"attn_v.weight", ""}},
    {Role::bv,              "bv",              true,  false, {"attn_v.bias", ""}},
    {Role::wo,              "wo",              true,  true,  {"attn_output.weight", ""}},
    {Role::bo,              "bo",              true,  false, {"attn_output.bias", ""}},
    {Role::w1,              "w1",              true,  true,  {"ffn_gate.weight", "ffn_up.weight"}},
    {Role::b1,              "b1",              true,  false, {"ffn_gate.bias", "ffn_up.bias"}},
    {Role::w2,              "w2",              true,  true,  {"ffn_down.weight", ""}},
    {Role::b2,              "b2",              true,  false, {"ffn_down.bias", ""}},
    {Role::final_ln_weight, "final_ln_weight", false, false, {"output_norm.weight", ""}},
    {Role::final_ln_bias,   "final_ln_bias",   false, false, {"", ""}},
}};
// clang-format on

std::optional<Shape> matrix(std::optional<u64> rows, std::optional<u64> columns) {
  if (!rows || !columns) return std::nullopt;
  return Shape{*rows, *columns};
}

}  // namespace

Dimensions dimensions_of(const Header& header) {
  Dimensions d;
  d.layers = header.num_layers;
  d.vocab = header.vocab_size;
  d.embed = header.embed_dim;
  d.context = header.context_len;
  d.heads = header.num_heads;
  d.head_dim = header.head_dim;
  d.aligned_embed = header.aligned_embed;
  d.aligned_head = header.aligned_head;
  return d;
}

Header header_of(const Dimensions& d) {
  Header header;
  header.num_layers = d.layers;
  header.vocab_size = d.vocab;
  header.embed_dim = d.embed;
  header.context_len = d.context;
  header.num_heads = d.heads;
  header.head_dim = d.head_dim;
  header.aligned_embed = d.aligned_embed;
  header.aligned_head = d.aligned_head;
  header.aligned_ctx = aligned_context(d.context);
  return header;
}

const RoleInfo& role_info(Role role) {
  return roles[static_cast<std::size_t>(role)];
}

std::pair<Role, u32> entry_at(u64 index, u64 layers) {
  constexpr u64 before = 2;  // token_emb, pos_emb
  if (index < before) return {static_cast<Role>(index), 0};
  const u64 inside = index - before;
  if (inside < layer_roles * layers) {
    return {static_cast<Role>(before + inside % layer_roles), static_cast<u32>(inside / layer_roles)};
  }
  return {static_cast<Role>(before + layer_roles + (inside - layer_roles * layers)), 0};
}

std::string entry_name(Role role, u32 layer) {
  const RoleInfo& row = role_info(role);
  return row.in_layer ? fmt::format("layer.{}.{}", layer, row.name) : std::string(row.name);
}

std::optional<Shape> shape_of(Role role, const Dimensions& d) {
  switch (role) {
    case Role::token_emb: return Shape{d.vocab, d.embed};
    case Role::pos_emb: return Shape{d.context, d.aligned_embed};
    case Role::wq: return matrix(checked_mul(d.heads, d.aligned_head), d.embed);
    case Role::bq: return matrix(1, checked_mul(d.heads, d.aligned_head));
    case Role::wk:
    case Role::wv: return matrix(checked_mul(d.kv_heads, d.aligned_head), d.embed);
    case Role::bk:
    case Role::bv: return matrix(1, checked_mul(d.kv_heads, d.aligned_head));
    case Role::wo: return matrix(d.embed, checked_mul(d.heads, d.aligned_head));
    case Role::w1: return matrix(checked_mul(2, d.intermediate), d.embed);
    case Role::b1: return matrix(1, checked_mul(2, d.intermediate));
    case Role::w2: return Shape{d.embed, d.intermediate};
    case Role::ln1_gamma:
    case Role::ln2_gamma:
    case Role::bo:
    case Role::b2:
    case Role::final_ln_weight:
    case Role::final_ln_bias: return Shape{1, d.aligned_embed};
  }
  return std::nullopt;
}

std::optional<u64> entry_bytes(Role role, Dtype dtype, const Dimensions& dimensions) {
  const std::optional<Shape> shape = shape_of(role, dimensions);
  if (!shape) return std::nullopt;
  const std::optional<u64> row = row_bytes(dtype, shape->columns);
  return row ? checked_mul(shape->rows, *row) : std::nullopt;
}

std::optional<std::vector<Entry>> lay_out(const Dimensions& dimensions, std::span<const Dtype> dtypes) {
  if (dimensions.layers > max_layers || dtypes.size() != entry_count(dimensions.layers)) return std::nullopt;
  std::vector<Entry> entries;
  entries.reserve(dtypes.size());
  u64 offset = codes_offset + dtypes.size();
  for (u64 i = 0; i < dtypes.size(); ++i) {
    Entry entry;
    std::tie(entry.role, entry.layer) = entry_at(i, dimensions.layers);
    entry.dtype = dtypes[i];
    entry.offset = offset;
    const std::optional<u64> size = entry_bytes(entry.role, entry.dtype, dimensions);
    if (!size || *size > largest_file - offset) return std::nullopt;
    entry.size = *size;
    offset += *size;
    entries.push_back(entry);
  }
  return entries;
}

Census census_of(std::span<const Dtype> dtypes, u64 layers) {
  Census census;
  for (u64 i = 0; i < dtypes.size(); ++i) ++census[{entry_at(i, layers).first, dtypes[i]}];
  return census;
}

std::optional<u64> file_bytes(const Dimensions& dimensions, const Census& census) {
  u64 total = codes_offset + entry_count(dimensions.layers);
  for (const auto& [kind, count] : census) {
    const std::optional<u64> one = entry_bytes(kind.first, kind.second, dimensions);
    const std::optional<u64> all = one ? checked_mul(*one, count) : std::nullopt;
    if (!all || *all > largest_file - total) return std::nullopt;
    total += *all;
  }
  return total;
}

}  // namespace modelutils::bump
