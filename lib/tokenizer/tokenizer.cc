#include "tokenizer/tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/byte_reader.h"
#include "base/utf8.h"

namespace modelutils::tokenizer {

std::string_view tokenizer_kind_name(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::gpt2: return "gpt2";
    case TokenizerKind::llama: return "llama";
    case TokenizerKind::rwkv: return "rwkv";
    case TokenizerKind::plamo2: return "plamo2";
    case TokenizerKind::bert: return "bert";
    case TokenizerKind::t5: break;
  }
  return "t5";
}

bool has_scores(TokenizerKind kind) {
  return kind == TokenizerKind::llama || kind == TokenizerKind::plamo2 || kind == TokenizerKind::t5;
}

bool Tokenizer::allows_phi3_name() const {
  const std::string_view needed[] = {"</s>", "<unk>", "<s>", "<|endoftext|>"};
  return std::all_of(std::begin(needed), std::end(needed), [&](std::string_view text) {
    return std::find(tokens.begin(), tokens.end(), text) != tokens.end();
  });
}

bool promises_phi3_tokens(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return lower.find("phi-3") != std::string::npos || lower.find("phi3") != std::string::npos;
}

namespace {

constexpr std::array roles = {
    TokenRole{"bos", "tokenizer.ggml.bos_token_id", &SpecialIds::bos},
    TokenRole{"eos", "tokenizer.ggml.eos_token_id", &SpecialIds::eos},
    TokenRole{"unk", "tokenizer.ggml.unknown_token_id", &SpecialIds::unk},
    TokenRole{"sep", "tokenizer.ggml.seperator_token_id", &SpecialIds::sep},
    TokenRole{"pad", "tokenizer.ggml.padding_token_id", &SpecialIds::pad},
    TokenRole{"cls", "tokenizer.ggml.cls_token_id", &SpecialIds::cls},
    TokenRole{"mask", "tokenizer.ggml.mask_token_id", &SpecialIds::mask},
    TokenRole{"eot", "tokenizer.ggml.eot_token_id", &SpecialIds::eot},
    TokenRole{"eom", "tokenizer.ggml.eom_token_id", &SpecialIds::eom},
    TokenRole{"fim_pre", "tokenizer.ggml.fim_pre_token_id", &SpecialIds::fim_pre},
    TokenRole{"fim_suf", "tokenizer.ggml.fim_suf_token_id", &SpecialIds::fim_suf},
    TokenRole{"fim_mid", "tokenizer.ggml.fim_mid_token_id", &SpecialIds::fim_mid},
    TokenRole{"fim_pad", "tokenizer.ggml.fim_pad_token_id", &SpecialIds::fim_pad},
    TokenRole{"fim_rep", "tokenizer.ggml.fim_rep_token_id", &SpecialIds::fim_rep},
    TokenRole{"fim_sep", "tokenizer.ggml.fim_sep_token_id", &SpecialIds::fim_sep},
};

}  // namespace

std::span<const TokenRole> token_roles() {
  return roles;
}

const TokenRole* find_token_role(std::string_view name) {
  const auto* found =
      std::find_if(roles.begin(), roles.end(), [&](const TokenRole& role) { return role.name == name; });
  return found == roles.end() ? nullptr : found;
}

namespace {

int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

constexpr bool stands_for_itself(u32 byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

}  // namespace

std::optional<u8> byte_token_value(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<u8>(high * 16 + low);
}

std::string byte_token(u8 byte) {
  return fmt::format("<0x{:02X}>", byte);
}

std::string byte_symbol(u8 byte) {
  char32_t symbol = byte;
  if (!stands_for_itself(byte)) {
    symbol = 0x100;
    for (u32 other = 0; other < byte; ++other) symbol += stands_for_itself(other) ? 0 : 1;
  }
  std::string text;
  append_utf8(text, symbol);
  return text;
}

namespace {

constexpr u32 leaf_bit = 1U << 31;

// Returns the offset of a unit's children: 21 bits, shifted left by eight if bit 9 is set.
u32 offset_of(u32 unit) {
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}

tl::unexpected<Error> broken(std::string message) {
  return input_error("hf-tok-charsmap", "the precompiled map of characters " + std::move(message));
}

}  // namespace

Status check_charsmap(std::string_view bytes) {
  ByteReader reader(std::as_bytes(std::span(bytes)));
  const u64 array_bytes = reader.read<u32>();
  if (bytes.size() < 4 || array_bytes >= bytes.size() - 4) {
    return broken(fmt::format("has {} bytes, fewer than it says", bytes.size()));
  }
  // Units come in blocks of 256. XOR with a byte thus stays in the block that the offset leads to.
  constexpr u64 block_bytes = 4 * 256;
  if (array_bytes == 0 || array_bytes % block_bytes != 0) {
    return broken(fmt::format("has an array of {} bytes, which is not a multiple of {}", array_bytes, block_bytes));
  }
  if (bytes.back() != '\0') return broken("does not end with a zero byte");
  const u64 units = array_bytes / 4, texts = bytes.size() - 4 - array_bytes;
  for (u64 index = 0; index < units; ++index) {
    const u32 unit = reader.read<u32>();
    const bool is_leaf = (unit & leaf_bit) != 0;
    const u64 target = is_leaf ? unit & ~leaf_bit : index ^ offset_of(unit);
    if (target >= (is_leaf ? texts : units)) return broken(fmt::format("leads out of itself at unit {}", index));
  }
  return {};
}

Result<std::string> read_charsmap(const ByteSource& source, const gguf::ArrayRef& array) {
  constexpr u64 largest = u64{64} << 20;  // real ones have less than 1 MiB
  const auto refuse = [](std::string message) { return input_error("tok-charsmap", std::move(message)); };
  if (gguf::value_size(array.element_type) != 1) return refuse("is not an array of bytes");
  if (array.count > largest) return refuse(fmt::format("has {} bytes, which is more than {}", array.count, largest));
  ByteReader reader(source, array.offset);
  std::string bytes = reader.read_string(array.count);
  if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
  const Status checked = check_charsmap(bytes);
  if (!checked) return refuse(checked.error().message);
  return bytes;
}

}  // namespace modelutils::tokenizer
