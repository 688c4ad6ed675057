#include "support/tokenizer_builder.h"

#include <fmt/core.h>

#include <bit>

#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

namespace modelutils::test {

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  append_json_escaped(out, text);
  return out + "\"";
}

std::string split_json(std::string_view regex, std::string_view behaviour, bool invert) {
  return fmt::format(R"({{"type":"Split","pattern":{{"Regex":{}}},"behavior":"{}","invert":{}}})", json_quoted(regex),
                     behaviour, invert);
}

std::string byte_level_json(bool use_regex, bool add_prefix_space) {
  return fmt::format(R"({{"type":"ByteLevel","add_prefix_space":{},"trim_offsets":true,"use_regex":{}}})",
                     add_prefix_space, use_regex);
}

std::string sequence_json(const std::vector<std::string>& members, std::string_view key) {
  return fmt::format(R"({{"type":"Sequence","{}":[{}]}})", key, joined(members, ","));
}

std::string TokenizerJson::text() const {
  std::string out = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)";
  for (std::size_t i = 0; i < added.size(); ++i) {
    out += fmt::format(R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,)", i ? "," : "",
                       added[i].id, json_quoted(added[i].content));
    out += fmt::format(R"("normalized":{},"special":{}}})", added[i].normalized, added[i].special);
  }
  out += fmt::format(R"(],"normalizer":{},"pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{{)",
                     normalizer_json, pre_tokenizer_json, post_processor_json, decoder_json);
  if (!type.empty()) out += fmt::format(R"("type":{},)", json_quoted(type));
  if (unk_token) out += fmt::format(R"("unk_token":{},)", json_quoted(*unk_token));
  out += fmt::format(R"("byte_fallback":{},"ignore_merges":{},"vocab":{{)", byte_fallback, ignore_merges);
  for (std::size_t i = 0; i < vocab.size(); ++i) {
    out += fmt::format("{}{}:{}", i ? "," : "", json_quoted(vocab[i].first), vocab[i].second);
  }
  out += R"(},"merges":[)";
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    if (i) out += ",";
    out += merges_as_pairs ? fmt::format("[{},{}]", json_quoted(left), json_quoted(right))
                           : json_quoted(left + " " + right);
  }
  return out + "]}}";
}

TokenizerJson& TokenizerJson::word(std::string_view text) {
  vocab.emplace_back(text, static_cast<i64>(vocab.size()));
  return *this;
}

TokenizerJson& TokenizerJson::merge(std::string_view left, std::string_view right) {
  merges.emplace_back(left, right);
  return word(std::string(left) + std::string(right));
}

TokenizerJson TokenizerJson::byte_level() {
  TokenizerJson json;
  for (u32 byte = 0; byte < 256; ++byte) json.word(tokenizer::byte_symbol(static_cast<u8>(byte)));
  json.pre_tokenizer_json = byte_level_json(true);
  json.decoder_json = R"({"type":"ByteLevel"})";
  return json;
}

TokenizerJson TokenizerJson::sentencepiece_like(std::string_view characters) {
  TokenizerJson json;
  json.byte_fallback = true;
  json.unk_token = "<unk>";
  json.word("<unk>").word("<s>").word("</s>");
  for (u32 byte = 0; byte < 256; ++byte) json.word(tokenizer::byte_token(static_cast<u8>(byte)));
  while (!characters.empty()) {
    const std::size_t size = decode_utf8(characters).size;
    json.word(characters.substr(0, size));
    characters.remove_prefix(size);
  }
  return json;
}

void ProtoBuilder::put_varint(u64 value) {
  while (value >= 0x80) {
    out_ += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out_ += static_cast<char>(value);
}

ProtoBuilder& ProtoBuilder::varint(u32 field, u64 value) {
  put_varint(u64{field} << 3);
  put_varint(value);
  return *this;
}

ProtoBuilder& ProtoBuilder::bytes(u32 field, std::string_view value) {
  put_varint((u64{field} << 3) | 2);
  put_varint(value.size());
  out_ += value;
  return *this;
}

ProtoBuilder& ProtoBuilder::fixed32(u32 field, u32 value) {
  put_varint((u64{field} << 3) | 5);
  for (u32 i = 0; i < 4; ++i) out_ += static_cast<char>(value >> (8 * i));
  return *this;
}

ProtoBuilder& ProtoBuilder::fixed64(u32 field, u64 value) {
  put_varint((u64{field} << 3) | 1);
  for (u32 i = 0; i < 8; ++i) out_ += static_cast<char>(value >> (8 * i));
  return *this;
}

ProtoBuilder& ProtoBuilder::number(u32 field, float value) {
  return fixed32(field, std::bit_cast<u32>(value));
}

std::string piece_message(std::string_view text, float score, i32 type) {
  ProtoBuilder piece;
  piece.bytes(1, text).number(2, score);
  if (type != 1) piece.varint(3, static_cast<u64>(type));
  return piece.text();
}

std::string sentencepiece_file(const std::vector<SpmPiece>& pieces, i32 model_type, bool add_dummy_prefix) {
  ProtoBuilder file;
  for (const SpmPiece& piece : pieces) file.bytes(1, piece_message(piece.text, piece.score, piece.type));
  const ProtoBuilder trainer = ProtoBuilder()
                                   .varint(3, static_cast<u64>(model_type))
                                   .varint(4, pieces.size())
                                   .varint(35, 1)
                                   .varint(43, ~u64{0});  // pad_id −1
  const ProtoBuilder normalizer = ProtoBuilder().bytes(1, "identity").varint(3, add_dummy_prefix ? 1 : 0).varint(4, 0);
  return file.bytes(2, trainer.text()).bytes(3, normalizer.text()).text();
}

std::string charsmap_unit(u32 value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((value >> shift) & 0xFF);
  return bytes;
}

std::string charsmap(u32 changed) {
  std::string array;
  for (u32 i = 0; i < 256; ++i) array += charsmap_unit(i == 65 ? changed : 0);
  return charsmap_unit(static_cast<u32>(array.size())) + array + std::string("x\0", 2);
}

}  // namespace modelutils::test
