#include "arch/not_converted.h"

namespace modelutils::arch {

std::span<const NotConverted> not_converted() {
  static constexpr NotConverted rows[] = {
      {"bitnet",
       "its feed-forward layers square a ReLU, and llama.cpp's graph of that name computes SiLU: no GGUF file would "
       "give the model's logits"},
  };
  return rows;
}

}  // namespace modelutils::arch
