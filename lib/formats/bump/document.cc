#include "formats/bump/document.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/types.h"

namespace modelutils::bump {

namespace {

constexpr std::nullopt_t none = std::nullopt;

// clang-format off
constexpr std::array<DtypeInfo, 14> dtypes = {{
    // dtype      name    element type       original  renumbered
    {Dtype::fp32, "fp32", TensorType::F32,   u8{0},    u8{0}},
    {Dtype::bf16, "bf16", TensorType::BF16,  u8{1},    u8{1}},
    {Dtype::fp16, "fp16", TensorType::F16,   u8{2},    u8{2}},
    {Dtype::int8, "int8", TensorType::I8,    u8{3},    u8{3}},
    {Dtype::int4, "int4", none,              u8{4},    u8{4}},
    {Dtype::q4_0, "q4_0", TensorType::Q4_0,  u8{5},    u8{5}},
    {Dtype::q4_1, "q4_1", TensorType::Q4_1,  none,     u8{6}},
    {Dtype::q4_k, "q4_k", TensorType::Q4_K,  u8{6},    u8{7}},
    {Dtype::q6_k, "q6_k", TensorType::Q6_K,  u8{7},    u8{8}},
    {Dtype::q8_0, "q8_0", TensorType::Q8_0,  u8{8},    u8{9}},
    {Dtype::q8_k, "q8_k", TensorType::Q8_K,  none,     u8{10}},
    {Dtype::q5_0, "q5_0", TensorType::Q5_0,  none,     u8{11}},
    {Dtype::q5_1, "q5_1", TensorType::Q5_1,  none,     u8{12}},
    {Dtype::q5_k, "q5_k", TensorType::Q5_K,  none,     u8{13}},
}};
// clang-format on

}  // namespace

std::string_view numbering_name(Numbering numbering) {
  return numbering == Numbering::original ? "original" : "renumbered";
}

std::optional<Numbering> numbering_from_name(std::string_view name) {
  for (Numbering numbering : all_numberings) {
    if (numbering_name(numbering) == name) return numbering;
  }
  return std::nullopt;
}

const DtypeInfo& dtype_info(Dtype dtype) {
  return dtypes[static_cast<std::size_t>(dtype)];
}

std::optional<Dtype> dtype_of(TensorType type) {
  const auto found = std::find_if(dtypes.begin(), dtypes.end(), [&](const DtypeInfo& row) { return row.type == type; });
  return found == dtypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::optional<u8> code_of(Dtype dtype, Numbering numbering) {
  const DtypeInfo& row = dtype_info(dtype);
  return numbering == Numbering::original ? row.original_code : row.renumbered_code;
}

std::optional<Dtype> dtype_from_code(u8 code, Numbering numbering) {
  for (const DtypeInfo& row : dtypes) {
    if (code_of(row.dtype, numbering) == code) return row.dtype;
  }
  return std::nullopt;
}

std::optional<u64> row_bytes(Dtype dtype, u64 columns) {
  if (const std::optional<TensorType> type = dtype_info(dtype).type) return modelutils::row_bytes(*type, columns);
  return columns % 2 == 0 ? std::optional(columns / 2) : std::nullopt;  // int4: two elements per byte
}

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

namespace {

// Returns all divisors of `number`, ascending. It is a u32 of the header, so this takes at most 65,536 steps.
std::vector<u64> divisors_of(u64 number) {
  std::vector<u64> divisors;
  for (u64 i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    divisors.push_back(i);
    if (i != number / i) divisors.push_back(number / i);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

// The file size grows linearly with the intermediate size, in steps of whole blocks. One division gives the candidate;
// computing its size again checks that it fits exactly.
std::optional<u64> solve_intermediate(Dimensions dimensions, const Census& census, u64 size) {
  constexpr u64 step = 256;  // a multiple of every block size
  dimensions.intermediate = 0;
  const std::optional<u64> base = file_bytes(dimensions, census);
  dimensions.intermediate = step;
  const std::optional<u64> next = file_bytes(dimensions, census);
  if (!base || !next || *base >= size || *next <= *base) return std::nullopt;
  const std::optional<u64> scaled = checked_mul(size - *base, step);
  if (!scaled || *scaled % (*next - *base) != 0) return std::nullopt;
  dimensions.intermediate = *scaled / (*next - *base);
  return file_bytes(dimensions, census) == size ? std::optional(dimensions.intermediate) : std::nullopt;
}

}  // namespace

Result<Document> parse_ignoring_magic(const ByteSource& source) {
  Document document;
  document.name = source.name();
  document.file_size = source.size().value_or(0);
  if (document.file_size < codes_offset) {
    document.findings.add({.code = "bump-short",
                           .message = fmt::format("{}; the file ends inside its header",
                                                  incomplete_text(document.file_size, codes_offset, true)),
                           .offset = document.file_size,
                           .leads = true});
    return document;
  }
  std::array<std::byte, codes_offset> head{};
  MU_TRY(source.read_exact(0, head));
  document.header = decode(std::span(head).first<header_bytes>());
  document.code_count = load<u32>(head.data() + table_offset);
  if (document.header.num_layers > max_layers) {
    document.findings.error(Scope::container, "bump-layers",
                            fmt::format("is {}, at most {} are supported", document.header.num_layers, max_layers),
                            "field num_layers", 0x10);
    return document;
  }
  const u64 expected = entry_count(document.header.num_layers);
  if (document.code_count != expected) {
    document.findings.error(
        Scope::container, "bump-entries",
        fmt::format("is {}, but {} {} {} entries", document.code_count, counted(document.header.num_layers, "layer"),
                    verb(document.header.num_layers, "has", "have"), expected),
        "number of dtype codes", table_offset);
    return document;
  }
  if (!fits(codes_offset, expected, document.file_size)) {
    document.findings.add(
        {.code = "bump-short",
         .message = fmt::format("{}; the file ends inside its dtype table, which has {} from byte {} on",
                                incomplete_text(document.file_size, codes_offset + expected, true),
                                counted(expected, "byte"), codes_offset),
         .where = "dtype table",
         .offset = document.file_size,
         .leads = true});
    return document;
  }
  document.codes.resize(expected);
  MU_TRY(source.read_exact(codes_offset, std::as_writable_bytes(std::span(document.codes))));
  return document;
}

Result<Document> parse(const ByteSource& source) {
  std::array<char, magic.size()> head{};
  const Status read = source.read_exact(0, std::as_writable_bytes(std::span(head)));
  if (!read && read.error().code != "io-short") return tl::make_unexpected(read.error());
  if (!read || std::string_view(head.data(), head.size()) != magic) {
    return input_error("bump-magic", "does not start with BUMPWGT3", {}, 0, source.name());
  }
  return parse_ignoring_magic(source);
}

std::optional<std::vector<Dtype>> dtypes_of(const Document& document, Numbering numbering) {
  std::vector<Dtype> dtypes;
  dtypes.reserve(document.codes.size());
  for (u8 code : document.codes) {
    const std::optional<Dtype> dtype = dtype_from_code(code, numbering);
    if (!dtype) return std::nullopt;
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

std::vector<Reading> readings_of(const Document& document, const Geometry& known, std::size_t most) {
  std::vector<Reading> readings;
  for (Numbering numbering : all_numberings) {
    const std::optional<std::vector<Dtype>> dtypes = dtypes_of(document, numbering);
    if (!document.complete() || !dtypes) continue;
    const Census census = census_of(*dtypes, document.header.num_layers);
    Dimensions dimensions = dimensions_of(document.header);
    for (u64 k : divisors_of(document.header.num_heads)) {
      if (known.kv_heads != 0 && known.kv_heads != k) continue;
      dimensions.kv_heads = k;
      if (known.intermediate != 0) {
        dimensions.intermediate = known.intermediate;
        if (file_bytes(dimensions, census) != document.file_size) continue;
      } else if (const auto solved = solve_intermediate(dimensions, census, document.file_size)) {
        dimensions.intermediate = *solved;
      } else {
        continue;
      }
      readings.push_back({numbering, {k, dimensions.intermediate}});
      if (readings.size() == most) return readings;
    }
  }
  return readings;
}

Dimensions dimensions_of(const Document& document, const Geometry& geometry) {
  Dimensions dimensions = dimensions_of(document.header);
  dimensions.kv_heads = geometry.kv_heads;
  dimensions.intermediate = geometry.intermediate;
  return dimensions;
}

std::vector<Entry> entries_of(const Document& document, const Reading& reading) {
  const std::optional<std::vector<Dtype>> dtypes = dtypes_of(document, reading.numbering);
  if (!dtypes) return {};
  return lay_out(dimensions_of(document, reading.geometry), *dtypes).value_or(std::vector<Entry>{});
}

}  // namespace modelutils::bump
