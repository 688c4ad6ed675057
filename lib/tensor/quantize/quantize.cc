#include "tensor/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tensor/narrow.h"

namespace modelutils::encode {

// F16 and BF16: rounded to nearest even.

namespace {

void narrowed(TensorType type, const Rows& rows) {
  narrow(type, {rows.values, rows.rows * rows.ne0}, reinterpret_cast<std::byte*>(rows.out), wide(rows.instructions));
}

}  // namespace

void f16(const Rows& rows) {
  narrowed(TensorType::F16, rows);
}

void bf16(const Rows& rows) {
  narrowed(TensorType::BF16, rows);
}

}  // namespace modelutils::encode

namespace modelutils {

namespace {

struct EncoderRow {
  TensorType type;
  encode::Encoder* plain;     // without importance; nullptr if it needs importance
  encode::Encoder* weighted;  // with importance
};

constexpr std::array encoder_rows = {
    EncoderRow{TensorType::F16, encode::f16, encode::f16},
    EncoderRow{TensorType::BF16, encode::bf16, encode::bf16},
    EncoderRow{TensorType::Q4_0, encode::q4_0, encode::weighted_q4_0},
    EncoderRow{TensorType::Q4_1, encode::q4_1, encode::weighted_q4_1},
    EncoderRow{TensorType::Q5_0, encode::q5_0, encode::weighted_q5_0},
    EncoderRow{TensorType::Q5_1, encode::q5_1, encode::weighted_q5_1},
    EncoderRow{TensorType::Q8_0, encode::q8_0, encode::q8_0},
    EncoderRow{TensorType::Q2_K, encode::q2_k, encode::q2_k},
    EncoderRow{TensorType::Q3_K, encode::q3_k, encode::q3_k},
    EncoderRow{TensorType::Q4_K, encode::q4_k, encode::q4_k},
    EncoderRow{TensorType::Q5_K, encode::q5_k, encode::q5_k},
    EncoderRow{TensorType::Q6_K, encode::q6_k, encode::q6_k},
    EncoderRow{TensorType::IQ2_XXS, nullptr, encode::iq2_xxs},
    EncoderRow{TensorType::IQ2_XS, nullptr, encode::iq2_xs},
    EncoderRow{TensorType::IQ3_XXS, encode::iq3_xxs, encode::iq3_xxs},
    EncoderRow{TensorType::IQ1_S, nullptr, encode::iq1_s},
    EncoderRow{TensorType::IQ4_NL, encode::iq4_nl, encode::iq4_nl},
    EncoderRow{TensorType::IQ3_S, encode::iq3_s, encode::iq3_s},
    EncoderRow{TensorType::IQ2_S, encode::iq2_s, encode::iq2_s},
    EncoderRow{TensorType::IQ4_XS, encode::iq4_xs, encode::iq4_xs},
    EncoderRow{TensorType::IQ1_M, encode::iq1_m, encode::iq1_m},
    EncoderRow{TensorType::TQ1_0, encode::tq1_0, encode::tq1_0},
    EncoderRow{TensorType::TQ2_0, encode::tq2_0, encode::tq2_0},
    EncoderRow{TensorType::MXFP4, encode::mxfp4, encode::mxfp4},
    EncoderRow{TensorType::NVFP4, encode::nvfp4, encode::nvfp4},
    EncoderRow{TensorType::Q1_0, encode::q1_0, encode::q1_0},
    EncoderRow{TensorType::Q2_0, encode::q2_0, encode::q2_0},
};

const EncoderRow* encoder_of(TensorType type) {
  const auto* row = std::find_if(encoder_rows.begin(), encoder_rows.end(),
                                 [&](const EncoderRow& encoder) { return encoder.type == type; });
  return row == encoder_rows.end() ? nullptr : row;
}

}  // namespace

bool has_encoder(TensorType type) {
  return type == TensorType::F32 || encoder_of(type) != nullptr;
}

bool needs_importance(TensorType type) {
  const EncoderRow* row = encoder_of(type);
  return row != nullptr && row->plain == nullptr;
}

void quantize_rows(TensorType type, std::span<const float> values, u64 ne0, MutableBytes out,
                   const QuantizeOptions& options) {
  if (type == TensorType::F32) {
    std::memcpy(out.data(), values.data(), values.size_bytes());
    return;
  }
  const EncoderRow& row = *encoder_of(type);
  (options.importance.empty() ? row.plain : row.weighted)(
      {.values = values.data(),
       .importance = options.importance.empty() ? nullptr : options.importance.data(),
       .out = reinterpret_cast<u8*>(out.data()),
       .rows = values.size() / ne0,
       .ne0 = ne0,
       .correct = options.correct,
       .instructions = options.instructions});
}

bool misplaced_in_iq3_s(std::span<const float> row) {
  const auto is_zero = [](float value) { return value == 0; };
  for (std::size_t block = 0; block < row.size(); block += 256) {
    bool zeros_before = false;
    for (std::size_t group = block; group < std::min(block + 256, row.size()); group += 32) {
      const auto values = row.subspan(group, std::min<std::size_t>(32, row.size() - group));
      const bool zeros = std::all_of(values.begin(), values.end(), is_zero);
      if (zeros_before && !zeros) return true;
      zeros_before = zeros_before || zeros;
    }
  }
  return false;
}

}  // namespace modelutils
