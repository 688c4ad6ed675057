#include "io/buffer_ring.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace modelutils {

namespace {
constexpr std::size_t page = 4096;
}

void BufferRing::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t(page));
}

BufferRing::BufferRing(std::size_t slots, std::size_t slot_bytes)
    : slot_bytes_(slot_bytes),
      memory_(static_cast<std::byte*>(::operator new(slots* slot_bytes, std::align_val_t(page)))),
      slots_(slots) {
  for (std::size_t i = 0; i < slots; ++i) slots_[i].data = memory_.get() + i * slot_bytes;
}

BufferRing::~BufferRing() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (const auto& consumer : consumers_) {
    if (consumer->thread.joinable()) consumer->thread.join();
  }
}

void BufferRing::add_consumer(Consumer consumer) {
  consumers_.push_back(std::make_unique<Running>());
  Running& running = *consumers_.back();
  running.work = std::move(consumer);
  try {
    running.thread = std::thread([this, &running] { consume(running); });
  } catch (const std::system_error&) {
    // No thread to be had: publish() does the work.
  }
}

void BufferRing::consume(Running& consumer) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || consumer.seen < published_; });
    if (ending_) return;
    const Slot& slot = slots_[consumer.seen % slots_.size()];
    lock.unlock();
    consumer.work(slot);
    lock.lock();
    ++consumer.seen;
    changed_.notify_all();
  }
}

BufferRing::Slot& BufferRing::acquire() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::all_of(consumers_.begin(), consumers_.end(),
                       [&](const auto& consumer) { return published_ - consumer->seen < slots_.size(); });
  });
  return slots_[published_ % slots_.size()];
}

void BufferRing::publish() {
  for (const auto& consumer : consumers_) {
    if (consumer->thread.joinable()) continue;
    consumer->work(slots_[published_ % slots_.size()]);
    ++consumer->seen;
  }
  {
    const std::lock_guard lock(mutex_);
    ++published_;
  }
  changed_.notify_all();
}

void BufferRing::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::all_of(consumers_.begin(), consumers_.end(),
                       [&](const auto& consumer) { return consumer->seen == published_; });
  });
}

}  // namespace modelutils
