#include "tensor/dequantize.h"

#include <array>

#include "tensor/block_decoders.h"

namespace modelutils {
namespace {

struct Entry {
  TensorType type;
  decode::Decoder* decoder;
};

constexpr auto decoders = std::to_array<Entry>({
#define MU_TYPE_DECODER(name, value, elements, bytes, gguf, safetensors, quantized, decoder) \
  {TensorType::name, decode::decoder},
    MU_TENSOR_TYPES(MU_TYPE_DECODER)
#undef MU_TYPE_DECODER
});

decode::Decoder* decoder_of(TensorType type) {
  for (const Entry& entry : decoders) {
    if (entry.type == type) return entry.decoder;
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
