#include "transfer/encoders.h"

#include <algorithm>
#include <array>

#include "tensor/narrow.h"
#include "transfer/q8_0_best.h"

namespace modelutils {

namespace {

template <TensorType type>
void encode_floats(std::span<const float> values, u64 /*columns*/, const EncodeHints& /*hints*/, MutableBytes out) {
  narrow(type, values, out.data());
}

void encode_q8_0(std::span<const float> values, u64 /*columns*/, const EncodeHints& /*hints*/, MutableBytes out) {
  encode_q8_0_best({}, {}, {}, {}, values, out);
}

constexpr std::array encoders = {
    Encoder{TensorType::F32, encode_floats<TensorType::F32>},
    Encoder{TensorType::F16, encode_floats<TensorType::F16>},
    Encoder{TensorType::BF16, encode_floats<TensorType::BF16>},
    Encoder{TensorType::Q8_0, encode_q8_0},
};

}  // namespace

const Encoder* encoder_of(TensorType type) {
  const auto found = std::ranges::find(encoders, type, &Encoder::type);
  return found == encoders.end() ? nullptr : &*found;
}

}  // namespace modelutils
