#include "model/same_values.h"

#include <algorithm>
#include <vector>

#include "forms/tensor_values.h"

namespace modelutils {

Result<bool> same_values(const StoredMatrix& a, const StoredMatrix& b) {
  constexpr u64 at_once = u64{1} << 16;
  if (a.elements != b.elements) return false;
  const MatrixValues left(a, {}, {}), right(b, {}, {});
  std::vector<float> x, y;
  for (u64 first = 0; first < a.elements; first += at_once) {
    x.resize(static_cast<std::size_t>(std::min(at_once, a.elements - first)));
    y.resize(x.size());
    MU_TRY(left.read_values(first, x));
    MU_TRY(right.read_values(first, y));
    if (x != y) return false;
  }
  return true;
}

}  // namespace modelutils
