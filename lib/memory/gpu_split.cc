#include "memory/gpu_split.h"

#include "base/checked_math.h"

namespace modelutils::memory {

namespace {

constexpr u64 steps = 1024;  // resolution of fullness

class Split {
 public:
  Split(std::span<const LayerBytes> layers, u64 first, u64 copied, u64 compute, std::span<const u64> rooms)
      : layers_(layers), first_(first), copied_(copied), compute_(compute), rooms_(rooms) {}

  // Lets each GPU in turn take layers until `fullness` steps of its memory are used. Returns an empty list if layers
  // remain.
  std::vector<GpuShare> filled_to(u64 fullness) const {
    std::vector<GpuShare> shares;
    u64 next = first_;
    for (const u64 room : rooms_) {
      // room × fullness / steps without overflow: quotient and remainder are scaled separately.
      const u64 limit = room / steps * fullness + room % steps * fullness / steps;
      GpuShare share{room, next, 0, copied_, 0, compute_};
      while (next < layers_.size()) {
        const std::optional<u64> wanted = checked_add(share.total(), layers_[next].weights + layers_[next].caches);
        if (!wanted || *wanted > limit) break;
        share.weights += layers_[next].weights;
        share.caches += layers_[next].caches;
        ++share.layers;
        ++next;
      }
      if (share.layers == 0) share.weights = share.compute = 0;
      shares.push_back(share);
    }
    if (next < layers_.size()) shares.clear();
    return shares;
  }

 private:
  std::span<const LayerBytes> layers_;
  u64 first_, copied_, compute_;
  std::span<const u64> rooms_;
};

}  // namespace

std::vector<GpuShare> split_layers(std::span<const LayerBytes> layers, u64 first, u64 copied, u64 compute,
                                   std::span<const u64> rooms) {
  const Split split(layers, first, copied, compute, rooms);
  std::vector<GpuShare> best = split.filled_to(steps);
  if (best.empty()) return best;
  u64 too_little = 0, enough = steps;
  while (too_little + 1 < enough) {
    const u64 middle = too_little + (enough - too_little) / 2;
    std::vector<GpuShare> shares = split.filled_to(middle);
    (shares.empty() ? too_little : enough) = middle;
    if (!shares.empty()) best = std::move(shares);
  }
  return best;
}

}  // namespace modelutils::memory
