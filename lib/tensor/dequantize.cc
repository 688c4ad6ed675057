#include "tensor/dequantize.h"

#include "tensor/block_decoders.h"

namespace modelutils {
namespace {

decode::Decoder* decoder_of(TensorType type) {
  switch (type) {
#define MU_TYPE_DECODER(name, value, elements, bytes, gguf, safetensors, quantized, decoder) \
  case TensorType::name: return decode::decoder;
    MU_TENSOR_TYPES(MU_TYPE_DECODER)
#undef MU_TYPE_DECODER
  }
  return decode::none;
}

}  // namespace

bool has_decoder(TensorType type) {
  return decoder_of(type) != decode::none;
}

void decode::none(const Blocks&) {}

void dequantize(TensorType type, Bytes blocks, std::span<float> out, Instructions instructions) {
  decoder_of(type)({reinterpret_cast<const u8*>(blocks.data()), out.data(), out.size() / type_info(type).block_elements,
                    instructions});
}

}  // namespace modelutils
