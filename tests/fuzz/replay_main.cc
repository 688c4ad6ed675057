// Runs a fuzz target over the files of folders, without a fuzzer: usage: replay TARGET [FOLDER…]
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "support/temp_dir.h"

// REPLAYED(NAME) for each target of targets.cmake.
#define REPLAYED(name) extern "C" int replay_##name(const std::uint8_t* data, std::size_t size);
#include "replayed.inc"
#undef REPLAYED

namespace {

using Target = int (*)(const std::uint8_t* data, std::size_t size);

Target find_target(std::string_view wanted) {
#define REPLAYED(name) \
  if (wanted == #name) return replay_##name;
#include "replayed.inc"
#undef REPLAYED
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const Target target = argc > 1 ? find_target(argv[1]) : nullptr;
  if (target == nullptr) {
    std::fprintf(stderr, "usage: replay TARGET [FOLDER…]: no such target\n");
    return 2;
  }
  std::size_t files = 0;
  target(nullptr, 0);
  for (int i = 2; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      const std::string bytes = modelutils::test::read_file(entry.path().string());
      target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++files;
    }
  }
  std::printf("%zu inputs replayed\n", files);
  return 0;
}
