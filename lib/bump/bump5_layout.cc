#include "bump/bump5_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/checked_math.h"

namespace modelutils::bump5 {

namespace {

constexpr u64 largest_file = u64{1} << 62;

// clang-format off
constexpr std::array<RoleInfo, role_count> roles = {{
    {Role::token_emb,           "token_emb",           false, Content::matrix,     "",     {"token_embd.weight", ""}},
    {Role::output_weight,       "output.weight",       false, Content::matrix,     "",     {"output.weight", ""}},
    {Role::vocab_offsets,       "vocab_offsets",       false, Content::vocabulary, "i32",  {"", ""}},
    {Role::vocab_strings,       "vocab_strings",       false, Content::vocabulary, "u8",   {"", ""}},
    {Role::vocab_scores,        "vocab_scores",        false, Content::vocabulary, "f32",  {"", ""}},
    {Role::vocab_types,         "vocab_types",         false, Content::vocabulary, "u8",   {"", ""}},
    {Role::vocab_merges,        "vocab_merges",        false, Content::vocabulary, "i32",  {"", ""}},
    {Role::ln1_gamma,           "ln1_gamma",           true,  Content::vector,     "fp32", {"attn_norm.weight", ""}},
    {Role::ln2_gamma,           "ln2_gamma",           true,  Content::vector,     "fp32", {"ffn_norm.weight", ""}},
    {Role::post_attention_norm, "post_attention_norm", true,  Content::vector,     "fp32", {"post_attention_norm.weight", ""}},
    {Role::post_ffn_norm,       "post_ffn_norm",       true,  Content::vector,     "fp32", {"post_ffw_norm.weight", ""}},
    {Role::wq,                  "wq",                  true,  Content::matrix,     "",     {"attn_q.weight", ""}},
    {Role::bq,                  "bq",                  true,  Content::vector,     "fp32", {"attn_q.bias", ""}},
    {Role::q_norm,              "q_norm",              true,  Content::qk_norm,    "fp32", {"attn_q_norm.weight", ""}},
    {Role::wk,                  "wk",                  true,  Content::matrix,     "",     {"attn_k.weight", ""}},
    {Role::bk,                  "bk",                  true,  Content::vector,     "fp32", {"attn_k.bias", ""}},
    {Role::k_norm,              "k_norm",              true,  Content::qk_norm,    "fp32", {"attn_k_norm.weight", ""}},
    {Role::wv,                  "wv",                  true,  Content::matrix,     "",     {"attn_v.weight", ""}},
    {Role::bv,                  "bv",                  true,  Content::vector,     "fp32", {"attn_v.bias", ""}},
    {Role::wo,                  "wo",                  true,  Content::matrix,     "",     {"attn_output.weight", ""}},
    {Role::bo,                  "bo",                  true,  Content::vector,     "fp32", {"attn_output.bias", ""}},
    {Role::w1,                  "w1",                  true,  Content::matrix,     "",     {"ffn_gate.weight", "ffn_up.weight"}},
    {Role::b1,                  "b1",                  true,  Content::vector,     "fp32", {"ffn_gate.bias", "ffn_up.bias"}},
    {Role::w2,                  "w2",                  true,  Content::matrix,     "",     {"ffn_down.weight", ""}},
    {Role::b2,                  "b2",                  true,  Content::vector,     "fp32", {"ffn_down.bias", ""}},
    {Role::final_ln_weight,     "final_ln_weight",     false, Content::vector,     "fp32", {"output_norm.weight", ""}},
    {Role::final_ln_bias,       "final_ln_bias",       false, Content::vector,     "fp32", {"", ""}},
}};
// clang-format on

bool is_present(Role role, const Features& features) {
  switch (role) {
    case Role::output_weight: return features.untied;
    case Role::vocab_offsets:
    case Role::vocab_strings:
    case Role::vocab_scores:
    case Role::vocab_types:
    case Role::vocab_merges: return features.vocabulary;
    case Role::post_attention_norm:
    case Role::post_ffn_norm: return features.post_norms;
    case Role::q_norm:
    case Role::k_norm: return features.qk_norms;
    default: return true;
  }
}

bool has_code(Role role) {
  const Content content = role_info(role).content;
  return content == Content::matrix || content == Content::vector;
}

// In the dtype table, the code of pos_emb follows those of the embedding and the output head.
bool is_before_positions(Role role) {
  return role == Role::token_emb || role == Role::output_weight;
}

std::optional<bump::Shape> matrix(std::optional<u64> rows, std::optional<u64> columns) {
  if (!rows || !columns) return std::nullopt;
  return bump::Shape{*rows, *columns};
}

std::optional<TensorType> element_type(Role role, bump::Dtype dtype) {
  const std::string_view word = role_info(role).word;
  if (word == "i32") return TensorType::I32;
  if (word == "u8") return TensorType::U8;
  if (word == "f32") return TensorType::F32;
  return bump::dtype_info(dtype).type;
}

std::optional<u64> entry_bytes(Role role, bump::Dtype dtype, const Header& header) {
  const std::optional<bump::Shape> shape = shape_of(role, header);
  if (!shape) return std::nullopt;
  const std::optional<TensorType> type = element_type(role, dtype);
  const std::optional<u64> row =
      type ? modelutils::row_bytes(*type, shape->columns) : bump::row_bytes(dtype, shape->columns);
  return row ? checked_mul(shape->rows, *row) : std::nullopt;
}

}  // namespace

const RoleInfo& role_info(Role role) {
  return roles[static_cast<std::size_t>(role)];
}

std::optional<Role> role_from_name(std::string_view name) {
  const auto found = std::ranges::find(roles, name, &RoleInfo::name);
  return found == roles.end() ? std::nullopt : std::optional(found->role);
}

std::string Slot::name() const {
  const RoleInfo& row = role_info(role);
  return row.in_layer ? fmt::format("layer.{}.{}", layer, row.name) : std::string(row.name);
}

std::vector<Slot> slots_of(u64 layers, const Features& features) {
  std::vector<Slot> slots;
  const auto add = [&](std::size_t begin, std::size_t end, u32 layer) {
    for (std::size_t i = begin; i < end; ++i) {
      if (is_present(roles[i].role, features)) slots.push_back({roles[i].role, layer});
    }
  };
  constexpr auto first_in_layer = static_cast<std::size_t>(Role::ln1_gamma);
  constexpr auto first_behind = static_cast<std::size_t>(Role::final_ln_weight);
  add(0, first_in_layer, 0);
  for (u64 layer = 0; layer < layers; ++layer) add(first_in_layer, first_behind, static_cast<u32>(layer));
  add(first_behind, role_count, 0);
  return slots;
}

std::optional<bump::Shape> shape_of(Role role, const Header& h) {
  const std::optional<u64> queries = checked_mul(h.num_heads, h.head_dim);
  const std::optional<u64> keys = checked_mul(h.num_kv_heads, h.head_dim);
  switch (role) {
    case Role::token_emb:
    case Role::output_weight: return bump::Shape{h.vocab_size, h.embed_dim};
    case Role::vocab_offsets:
    case Role::vocab_scores:
    case Role::vocab_types: return bump::Shape{1, h.vocab_size};
    case Role::vocab_strings: return bump::Shape{1, h.vocab_bytes};
    case Role::vocab_merges: return bump::Shape{h.num_merges, 3};
    case Role::wq: return matrix(queries, h.embed_dim);
    case Role::bq: return matrix(1, queries);
    case Role::wk:
    case Role::wv: return matrix(keys, h.embed_dim);
    case Role::bk:
    case Role::bv: return matrix(1, keys);
    case Role::q_norm:
    case Role::k_norm: return bump::Shape{1, h.head_dim};
    case Role::wo: return matrix(h.embed_dim, queries);
    case Role::w1: return matrix(checked_mul(2, h.intermediate), h.embed_dim);
    case Role::b1: return matrix(1, checked_mul(2, h.intermediate));
    case Role::w2: return bump::Shape{h.embed_dim, h.intermediate};
    default: return bump::Shape{1, h.embed_dim};
  }
}

std::string_view Entry::word() const {
  const std::string_view word = role_info(slot.role).word;
  return word.empty() ? bump::dtype_name(dtype) : word;
}

std::optional<TensorType> Entry::type() const {
  return element_type(slot.role, dtype);
}

std::optional<std::vector<Entry>> lay_out(const Header& header, const Features& features,
                                          std::span<const bump::Dtype> dtypes) {
  if (header.num_layers > bump::max_layers) return std::nullopt;
  const std::vector<Slot> slots = slots_of(header.num_layers, features);
  if (slots.size() != dtypes.size()) return std::nullopt;
  std::vector<Entry> entries;
  entries.reserve(slots.size());
  u64 offset = codes_offset + code_count(header.num_layers, features);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::optional<u64> size = entry_bytes(slots[i].role, dtypes[i], header);
    if (!size || *size > largest_file - offset) return std::nullopt;
    entries.push_back({slots[i], dtypes[i], offset, *size});
    offset += *size;
  }
  return entries;
}

std::vector<u8> table_of(std::span<const Entry> entries) {
  std::vector<u8> codes;
  bool has_positions = false;
  for (const Entry& entry : entries) {
    if (!has_positions && !is_before_positions(entry.slot.role)) {
      codes.push_back(0);
      has_positions = true;
    }
    if (has_code(entry.slot.role)) codes.push_back(bump::code_of(entry.dtype, bump::Numbering::renumbered).value_or(0));
  }
  return codes;
}

std::optional<std::vector<bump::Dtype>> dtypes_of(std::span<const u8> codes, u64 layers, const Features& features) {
  if (layers > bump::max_layers || codes.size() != code_count(layers, features)) return std::nullopt;
  std::vector<bump::Dtype> dtypes;
  std::size_t next = 0;
  bool has_positions = false;
  for (const Slot& slot : slots_of(layers, features)) {
    if (!has_positions && !is_before_positions(slot.role)) {
      if (codes[next++] != 0) return std::nullopt;
      has_positions = true;
    }
    if (!has_code(slot.role)) {
      dtypes.push_back(bump::Dtype::fp32);
      continue;
    }
    const u8 code = codes[next++];
    const std::optional<bump::Dtype> dtype = bump::dtype_from_code(code, bump::Numbering::renumbered);
    if (!dtype || (role_info(slot.role).content == Content::vector && *dtype != bump::Dtype::fp32)) return std::nullopt;
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

}  // namespace modelutils::bump5
