// Parses tokenizer.model, SentencePiece's protobuf, without a protobuf library.
#include "tokenizer/read/build.h"

#include <fmt/core.h>

#include <cmath>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/utf8.h"

namespace modelutils::tokenizer {

namespace {

// Sixteen times the largest known vocabulary; a piece takes at least two bytes in the file and 32 in memory.
constexpr std::size_t max_pieces = std::size_t{1} << 22;

enum class Wire : u8 { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// One field of a message.
struct Field {
  u64 number = 0;
  Wire wire = Wire::varint;
  u64 varint = 0;         // if wire type is varint
  std::string_view data;  // if wire type is bytes
  u32 fixed32 = 0;        // if wire type is fixed32
  u64 offset = 0;         // absolute offset of `data`, or of the key
};

tl::unexpected<Error> broken(std::string message, u64 offset, std::string where = {}) {
  return input_error("hf-tok-sentencepiece", std::move(message), std::move(where), offset);
}

// Reads the fields of one message in sequence. The message is in memory, so fields can be views into it.
class MessageReader {
 public:
  MessageReader(std::string_view message, u64 base)
      : message_(message), base_(base), reader_(std::as_bytes(std::span(message)), base) {}

  /// Returns the next field; nullopt at the end.
  Result<std::optional<Field>> next() {
    if (reader_.offset() - base_ == message_.size()) return std::nullopt;
    Field field;
    field.offset = reader_.offset();
    MU_ASSIGN(const u64 key, varint());
    field.number = key >> 3;
    field.wire = static_cast<Wire>(key & 7);
    if (field.number == 0 || field.number >= u64{1} << 29) return broken("invalid field number", field.offset);
    switch (field.wire) {
      case Wire::varint: {
        MU_ASSIGN(field.varint, varint());
        break;
      }
      case Wire::fixed64: reader_.read<u64>(); break;
      case Wire::fixed32: field.fixed32 = reader_.read<u32>(); break;
      case Wire::bytes: {
        MU_ASSIGN(const u64 size, varint());
        field.offset = reader_.offset();
        if (!fits(field.offset - base_, size, message_.size())) {
          return broken(fmt::format("a field has {} bytes, but only {} are left: the file is incomplete or damaged",
                                    size, message_.size() - (field.offset - base_)),
                        field.offset);
        }
        field.data = message_.substr(static_cast<std::size_t>(field.offset - base_), static_cast<std::size_t>(size));
        reader_.skip(size);
        break;
      }
      default: return broken(fmt::format("wire type {} does not exist", key & 7), field.offset);
    }
    if (!reader_.ok()) return broken("the data ends inside a field", field.offset);
    return field;
  }

 private:
  // Reads at most ten bytes of seven bits each, lowest first.
  Result<u64> varint() {
    const u64 start = reader_.offset();
    u64 value = 0;
    for (u32 shift = 0; shift < 70; shift += 7) {
      const u8 byte = reader_.read<u8>();
      if (!reader_.ok()) return broken("the data ends inside a number", start);
      if (shift == 63 && byte > 1) break;
      value |= u64{byte & 0x7FU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return broken("a number has more than 64 bits", start);
  }

  std::string_view message_;
  u64 base_;
  ByteReader reader_;
};

// Calls `take(field)` for each field of a message; `take` returns a Status.
template <typename Take>
Status for_each_field(std::string_view message, u64 base, Take take) {
  MessageReader reader(message, base);
  while (true) {
    MU_ASSIGN(const std::optional<Field> field, reader.next());
    if (!field) return {};
    MU_TRY(take(*field));
  }
}

// On the wire, int32 fields are sign-extended to 64 bits.
i32 as_int32(u64 varint) {
  return static_cast<i32>(static_cast<u32>(varint));
}

Status read_piece(const Field& message, std::size_t id, SentencePiece& piece) {
  const std::string where = fmt::format("piece {}", id);
  MU_TRY(for_each_field(message.data, message.offset, [&](const Field& field) -> Status {
    if (field.number == 1 && field.wire == Wire::bytes) piece.text = field.data;
    if (field.number == 2 && field.wire == Wire::fixed32) piece.score = std::bit_cast<float>(field.fixed32);
    if (field.number == 3 && field.wire == Wire::varint) {
      if (field.varint < 1 || field.varint > 6) {
        return broken(fmt::format("type is {}, 1 to 6 are allowed", field.varint), field.offset, where);
      }
      piece.type = as_int32(field.varint);
    }
    return {};
  }));
  if (!std::isfinite(piece.score)) return broken("the score is not a finite number", message.offset, where);
  if (!is_utf8(piece.text)) return broken("the text is not UTF-8", message.offset, where);
  return {};
}

Status read_trainer_spec(const Field& message, SentencePieceModel& model) {
  return for_each_field(message.data, message.offset, [&](const Field& field) -> Status {
    if (field.wire != Wire::varint) return {};
    switch (field.number) {
      case 3: model.model_type = as_int32(field.varint); break;
      case 24: model.treat_whitespace_as_suffix = field.varint != 0; break;
      case 35: model.byte_fallback = field.varint != 0; break;
      case 40: model.unk_id = as_int32(field.varint); break;
      case 41: model.bos_id = as_int32(field.varint); break;
      case 42: model.eos_id = as_int32(field.varint); break;
      case 43: model.pad_id = as_int32(field.varint); break;
      default: break;
    }
    return {};
  });
}

Status read_normalizer_spec(const Field& message, SentencePieceModel& model) {
  return for_each_field(message.data, message.offset, [&](const Field& field) -> Status {
    if (field.number == 2 && field.wire == Wire::bytes) model.charsmap = field.data;
    if (field.wire != Wire::varint) return {};
    if (field.number == 3) model.add_dummy_prefix = field.varint != 0;
    if (field.number == 4) model.remove_extra_whitespaces = field.varint != 0;
    if (field.number == 5) model.escape_whitespaces = field.varint != 0;
    return {};
  });
}

}  // namespace

Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes) {
  if (bytes.empty()) return broken("the file is empty", 0);
  SentencePieceModel model;
  MU_TRY(for_each_field(bytes, 0, [&](const Field& field) -> Status {
    if (field.wire != Wire::bytes) return {};
    if (field.number == 1) {
      if (model.pieces.size() == max_pieces) {
        return broken(fmt::format("contains more than {} pieces", max_pieces), field.offset);
      }
      model.pieces.emplace_back();
      return read_piece(field, model.pieces.size() - 1, model.pieces.back());
    }
    if (field.number == 2) return read_trainer_spec(field, model);
    if (field.number == 3) return read_normalizer_spec(field, model);
    return {};
  }));
  if (model.pieces.empty()) return broken("contains no pieces, so it is not a SentencePiece model", 0);
  if (model.model_type != 1 && model.model_type != 2) {
    return broken(fmt::format("model type {} is not supported, only 1 (UNIGRAM) and 2 (BPE) are", model.model_type), 0);
  }
  return model;
}

}  // namespace modelutils::tokenizer
