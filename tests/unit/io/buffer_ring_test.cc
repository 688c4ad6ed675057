#include "io/buffer_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <string>

namespace modelutils {
namespace {

constexpr std::size_t slot_bytes = 16;

// Publishes slots of one letter each.
void publish_all(BufferRing& ring, std::size_t number) {
  for (std::size_t i = 0; i < number; ++i) {
    BufferRing::Slot& slot = ring.acquire();
    slot.size = 1;
    slot.offset = i;
    slot.data[0] = std::byte{static_cast<unsigned char>('a' + i % 26)};
    ring.publish();
  }
  ring.finish();
}

TEST(BufferRing, EveryConsumerSeesEverySlotInOrder) {
  std::string first, second;
  BufferRing ring(3, slot_bytes);
  for (std::string* text : {&first, &second}) {
    ring.add_consumer([text](const BufferRing::Slot& slot) {
      EXPECT_EQ(slot.offset, text->size());
      *text += static_cast<char>(slot.data[0]);
    });
  }
  publish_all(ring, 52);
  EXPECT_EQ(first, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(second, first);
}

TEST(BufferRing, AnExceptionOfAConsumerIsThrownHere) {
  for (const u64 at : {u64{0}, u64{1}, u64{40}, u64{99}}) {
    u64 others = 0;
    BufferRing ring(3, slot_bytes);
    ring.add_consumer([&](const BufferRing::Slot&) { ++others; });
    ring.add_consumer([&](const BufferRing::Slot& slot) {
      if (slot.offset == at) throw std::bad_alloc();
    });
    EXPECT_THROW(publish_all(ring, 100), std::bad_alloc);
  }
}

}  // namespace
}  // namespace modelutils
