#include "listing/value_reader.h"

namespace modelutils {

namespace {

// Bytes per stored word: the element size, or 1 for blocks of several elements and unknown types.
u64 word_bytes(const ValueSource& tensor) {
  if (!tensor.stored_type) return 1;
  const TypeInfo& type = type_info(*tensor.stored_type);
  return type.block_elements == 1 && type.block_bytes <= 8 ? type.block_bytes : 1;
}

}  // namespace

ValueReader::ValueReader(const ValueSource& tensor, bool raw)
    : tensor_(tensor), form_(form_of(tensor, raw)), width_(word_bytes(tensor)) {
  available_ = form_ == Form::decoded ? tensor.elements : tensor.bytes / width_;
}

ValueReader::Form ValueReader::form_of(const ValueSource& tensor, bool raw) {
  if (raw) return Form::unsigned_word;
  if (tensor.packed || !tensor.stored_type) return Form::decoded;
  switch (*tensor.stored_type) {
    case TensorType::U8:
    case TensorType::U16:
    case TensorType::U32:
    case TensorType::U64:
    case TensorType::BOOL: return Form::unsigned_word;
    case TensorType::I8:
    case TensorType::I16:
    case TensorType::I32:
    case TensorType::I64: return Form::signed_word;
    case TensorType::F64: return Form::f64;
    default: return Form::decoded;
  }
}

u64 ValueReader::unsigned_at(const std::byte* at, u64 width) {
  switch (width) {
    case 1: return load<u8>(at);
    case 2: return load<u16>(at);
    case 4: return load<u32>(at);
    default: return load<u64>(at);
  }
}

i64 ValueReader::signed_at(const std::byte* at, u64 width) {
  switch (width) {
    case 1: return load<i8>(at);
    case 2: return load<i16>(at);
    case 4: return load<i32>(at);
    default: return load<i64>(at);
  }
}

}  // namespace modelutils
