#include "listing/value_reader.h"

namespace modelutils {

namespace {

// Returns the number of bytes per stored word: the element size, or 1 for blocks of several elements and unknown types.
u64 word_bytes(const Tensor& tensor) {
  if (!tensor.type) return 1;
  const TypeInfo& type = type_info(*tensor.type);
  return type.block_elements == 1 && type.block_bytes <= 8 ? type.block_bytes : 1;
}

}  // namespace

ValueReader::ValueReader(const Model& model, const Tensor& tensor, bool raw)
    : model_(model),
      tensor_(tensor),
      values_of_tensor_(model.values_of(tensor)),
      form_(form_of(model, tensor, raw)),
      width_(word_bytes(tensor)) {
  available_ = form_ == Form::decoded ? model.elements_of(tensor) : tensor.bytes / width_;
}

Status ValueReader::read_bytes(u64 offset, MutableBytes out) const {
  if (model_.catalog().big_endian) {
    return input_error("tensor-no-decoder", "values of a big-endian file cannot be decoded", at_tensor(tensor_.name));
  }
  return model_.catalog().read(tensor_, offset, out);
}

ValueReader::Form ValueReader::form_of(const Model& model, const Tensor& tensor, bool raw) {
  if (raw) return Form::unsigned_word;
  if (model.weight_of(tensor) != nullptr || !tensor.type) return Form::decoded;
  switch (*tensor.type) {
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
