#include "base/large_pages.h"

#include <algorithm>
#include <new>

#include "base/system.h"

namespace modelutils {

namespace {

constexpr std::size_t small_page =
    4096;  // alignment of the advised range; machines with larger pages reject the advice, which is harmless
constexpr std::size_t large_page = std::size_t{2} << 20;

}  // namespace

void expect_to_fill(void* memory, std::size_t bytes) {
  if (bytes < large_page) return;
  const std::size_t unaligned = reinterpret_cast<std::uintptr_t>(memory) % small_page;
  const std::size_t skipped = unaligned == 0 ? 0 : small_page - unaligned;
  system::prefer_large_pages(static_cast<char*>(memory) + skipped, (bytes - skipped) / small_page * small_page);
}

void* detail::zeros_in_large_pages(std::size_t bytes, std::unique_ptr<void, Freed>& whole) {
  const std::size_t room = bytes < large_page ? 0 : large_page;
  whole.reset(std::calloc(std::max<std::size_t>(bytes + room, 1), 1));
  if (whole == nullptr) throw std::bad_alloc();
  if (room == 0) return whole.get();
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(whole.get()) % large_page;
  void* const begin = static_cast<char*>(whole.get()) + (beyond == 0 ? 0 : large_page - beyond);
  const std::size_t usable = bytes + room - (beyond == 0 ? 0 : large_page - beyond);
  system::prefer_large_pages(
      begin, std::min(usable, (bytes + large_page - 1) / large_page * large_page) / small_page * small_page);
  return begin;
}

}  // namespace modelutils
