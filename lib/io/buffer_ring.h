// One thread fills aligned buffers, others look at each of them in order: how a file is hashed while it is written.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/types.h"

namespace modelutils {

/// A ring of `slots` buffers. The producer calls acquire(), fills the slot, publish(), and may go on reading the slot
/// until its next acquire(). Every consumer sees every slot once, in order, on a thread of its own (or, if the system
/// gives no thread, inside publish()).
class BufferRing {
 public:
  struct Slot {
    std::byte* data = nullptr;  ///< page-aligned
    std::size_t size = 0;       ///< bytes filled
    u64 offset = 0;             ///< position of the first byte in the stream
    MutableBytes bytes() const { return {data, size}; }
  };
  using Consumer = std::function<void(const Slot&)>;

  BufferRing(std::size_t slots, std::size_t slot_bytes);
  ~BufferRing();  ///< ends the consumers; what they have not seen yet they do not see
  BufferRing(const BufferRing&) = delete;
  BufferRing& operator=(const BufferRing&) = delete;

  std::size_t slot_bytes() const { return slot_bytes_; }

  /// Before the first acquire().
  void add_consumer(Consumer consumer);

  // An exception of a consumer ends all of them; each of the three throws it again.
  Slot& acquire();  ///< waits until every consumer is done with the slot
  void publish();
  void finish();  ///< waits until every consumer has seen everything

 private:
  struct Running {
    Consumer work;
    u64 seen = 0;
    std::thread thread;
  };
  void consume(Running& consumer);
  template <typename Predicate>
  void wait(std::unique_lock<std::mutex>& lock, Predicate is_done);

  std::size_t slot_bytes_;
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<Running>> consumers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  u64 published_ = 0;
  bool ending_ = false;
  std::exception_ptr thrown_;
};

}  // namespace modelutils
