#include "formats/bump/bump5_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/byte_reader.h"
#include "base/text.h"
#include "base/types.h"

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

namespace {

// Parses a number like C's strtoull() with base 0.
std::optional<u64> number_of(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string_view> next_field(std::string_view& rest) {
  if (rest.data() == nullptr) return std::nullopt;
  const std::size_t bar = rest.find('|');
  const std::string_view field = rest.substr(0, bar);
  rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  return field;
}

std::optional<MapLine> line_of(std::string_view text) {
  const auto name = next_field(text);
  const auto dtype = next_field(text);
  const auto offset = next_field(text);
  const auto size = next_field(text);
  const auto place = next_field(text);
  if (!name || !dtype || !offset || !size || !place) return std::nullopt;
  const std::optional<u64> numbers[] = {number_of(*offset), number_of(*size), number_of(*place)};
  if (!numbers[0] || !numbers[1] || !numbers[2]) return std::nullopt;
  return MapLine{*name, *dtype, *numbers[0], *numbers[1], *numbers[2]};
}

// Sorts by offset; an empty entry comes after the one at the same offset.
std::vector<Entry> in_map_order(std::span<const Entry> entries) {
  std::vector<Entry> ordered(entries.begin(), entries.end());
  std::ranges::stable_sort(ordered, [](const Entry& a, const Entry& b) {
    return a.offset != b.offset ? a.offset < b.offset : (a.size != 0 && b.size == 0);
  });
  return ordered;
}

}  // namespace

std::string map_text(std::span<const Entry> entries) {
  std::string text =
      "# ck-bumpwgt5-manifest-map v1\n"
      "# name|dtype|file_offset|size|runtime_offset\n";
  for (const Entry& entry : in_map_order(entries)) {
    text += fmt::format("{}|{}|0x{:016X}|0x{:016X}|0x{:016X}\n", entry.name(), entry.word(), entry.offset, entry.size,
                        entry.offset);
  }
  return text;
}

void visit_map(std::string_view text, const std::function<void(u64 line, const std::optional<MapLine>&)>& visit) {
  for (u64 number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') visit(number, line_of(line));
  }
}

namespace {

Status read_footer(const ByteSource& source, Document& document) {
  const u64 end = document.file_size;
  const auto report = [&](std::string message, u64 offset) {
    document.findings.error(Scope::container, "bump-footer", std::move(message), "footer", offset);
  };
  if (end - document.payload_begin() < footer_bytes) {
    report("is missing: the file ends too early", end);
    return {};
  }
  std::array<std::byte, footer_bytes> footer{};
  const u64 offset = end - footer_bytes;
  MU_TRY(source.read_exact(offset, footer));
  if (std::memcmp(footer.data(), footer_magic.data(), footer_magic.size()) != 0) {
    report(fmt::format("does not begin with {}: the file is cut off or damaged", footer_magic), offset);
    return {};
  }
  MetadataPlace place;
  place.size = load<u64>(footer.data() + 8);
  if (place.size > offset - document.payload_begin()) {
    report(fmt::format("says that the metadata has {}, more than the file", counted(place.size, "byte")), offset + 8);
    return {};
  }
  place.offset = offset - place.size;
  std::memcpy(place.sha256.data(), footer.data() + 16, place.sha256.size());
  document.metadata = place;
  document.payload_end = place.offset;
  return {};
}

// Returns the dtype table with output.weight changed to FP16; nullopt if it does not apply.
std::optional<std::vector<u8>> with_fp16_head(const Document& document, const Features& features) {
  if (!features.untied || document.codes.size() < 2 || document.codes[1] != 0) return std::nullopt;
  std::vector<u8> codes = document.codes;
  codes[1] = *bump::code_of(bump::Dtype::fp16, bump::Numbering::renumbered);
  return codes;
}

}  // namespace

Result<Document> parse(const ByteSource& source) {
  Document document;
  document.name = source.name();
  document.file_size = document.payload_end = source.size().value_or(0);
  const auto too_short = [&](std::string_view what, u64 needed) {
    document.findings.add({.code = "bump-short",
                           .message = fmt::format("{}; the file ends inside its {}",
                                                  incomplete_text(document.file_size, needed, true), what),
                           .offset = document.file_size,
                           .leads = true});
  };
  if (document.file_size < codes_offset) {
    too_short("header", codes_offset);
    return document;
  }
  std::array<std::byte, codes_offset> head{};
  MU_TRY(source.read_exact(0, head));
  document.version = std::memcmp(head.data(), magic4.data(), magic4.size()) == 0 ? 4 : 5;
  document.header = decode(std::span(head).first<header_bytes>());
  document.code_count = load<u32>(head.data() + table_offset);
  if (document.header.num_layers > bump::max_layers) {
    document.findings.error(
        Scope::container, "bump-layers",
        fmt::format("is {}, at most {} are supported", document.header.num_layers, bump::max_layers),
        "field num_layers", 16);
    return document;
  }
  if (!fits(codes_offset, document.code_count, document.file_size)) {
    too_short("dtype table", codes_offset + document.code_count);
    return document;
  }
  document.codes.resize(document.code_count);
  MU_TRY(source.read_exact(codes_offset, std::as_writable_bytes(std::span(document.codes))));
  if (document.version == 5) MU_TRY(read_footer(source, document));
  return document;
}

std::vector<Reading> readings_of(const Document& document) {
  std::vector<Reading> readings;
  const auto add = [&](const Features& features, const std::vector<u8>& codes, bool has_fp16_head) {
    const auto dtypes = dtypes_of(codes, document.header.num_layers, features);
    if (!dtypes) return;
    auto entries = lay_out(document.header, features, *dtypes);
    if (!entries || entries->back().offset + entries->back().size != document.payload_end) return;
    readings.push_back({features, has_fp16_head, std::move(*entries)});
  };
  for (const bool untied : {false, true}) {
    for (const bool post_norms : {false, true}) {
      for (const bool qk_norms : {false, true}) {
        const Features features{untied, document.header.vocab_bytes != 0, post_norms, qk_norms};
        add(features, document.codes, false);
        if (const auto codes = with_fp16_head(document, features)) add(features, *codes, true);
      }
    }
  }
  return readings;
}

}  // namespace modelutils::bump5
