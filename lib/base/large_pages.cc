#include "base/large_pages.h"

#include "base/system.h"

namespace modelutils {

void expect_to_fill(void* memory, std::size_t bytes) {
  constexpr std::size_t small_page =
      4096;  // what the advice is aligned to; larger on other machines, where it then fails
  constexpr std::size_t large_page = std::size_t{2} << 20;
  if (bytes < large_page) return;
  const std::size_t unaligned = reinterpret_cast<std::uintptr_t>(memory) % small_page;
  const std::size_t skipped = unaligned == 0 ? 0 : small_page - unaligned;
  system::prefer_large_pages(static_cast<char*>(memory) + skipped, (bytes - skipped) / small_page * small_page);
}

}  // namespace modelutils
