// F16 and BF16: rounded to nearest even.
#include "quantize/encoders.h"
#include "tensor/narrow.h"

namespace modelutils::encode {
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
