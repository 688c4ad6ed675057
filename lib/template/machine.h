// What a rendering may use up, and where its values lie.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "template/failure.h"

namespace modelutils::jinja {

/// Far above what a prompt of a million tokens takes, and low enough that no template costs more than a few seconds and
/// some hundred MiB.
struct Limits {
  u64 steps = 20'000'000;
  u64 memory = u64{320} << 20;  ///< bytes of all values that are ever made
  u64 output = u64{32} << 20;   ///< bytes
  u32 depth = 400;              ///< of expressions, statements and calls within each other
  i64 range = 100'000;          ///< the longest range(), as in Jinja's sandbox
};

/// The resources of one rendering.
class Machine {
 public:
  explicit Machine(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }

  /// Something is done `count` times. Fails also if count() counted more than there may be.
  Outcome<void> charge(u64 count);
  /// Something of `bytes` bytes is about to be made, or read from end to end. Asked for first wherever a template
  /// chooses the size.
  Outcome<void> reserve(u64 bytes);
  /// So many bytes were made already: objects, messages, pieces of a text. The next charge() fails if they are too
  /// many, so `bytes` must be small, or no more than the template has in one place.
  void count(u64 bytes) { spent_.memory += bytes; }

  /// What was used up so far.
  struct Spent {
    u64 steps = 0;
    u64 memory = 0;
  };
  const Spent& spent() const { return spent_; }

  tl::unexpected<Failure*> fail(FailureKind kind, std::string message) {
    count(message.size());
    return tl::make_unexpected(make<Failure>(kind, std::move(message)));
  }
  tl::unexpected<Failure*> raise(std::string message) { return fail(FailureKind::runtime, std::move(message)); }
  tl::unexpected<Failure*> unsupported(std::string_view what) {
    return fail(FailureKind::unsupported, std::string(what) + " is not supported");
  }
  /// Using what is not there.
  tl::unexpected<Failure*> raise_undefined(const Value& undefined);

  Outcome<Value> text(std::string bytes, bool is_markup = false);
  Outcome<Value> list(std::vector<Value> items, Kind kind = Kind::list);
  Outcome<Value> dict(const Dict* made) { return Value::of(Kind::dict, made); }
  Value undefined(std::string message, bool is_unsafe = false);

  template <typename T, typename... Arguments>
  T* make(Arguments&&... arguments) {
    count(sizeof(T) + sizeof(Object*));
    return heap_.make<T>(std::forward<Arguments>(arguments)...);
  }

  /// One level deeper for as long as it lives; see MU_DEEPER.
  class Level {
   public:
    explicit Level(Machine& machine) : machine_(machine) { ++machine_.depth_; }
    ~Level() { --machine_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Machine& machine_;
  };
  Outcome<void> check_depth();

 private:
  Outcome<void> bytes_left(u64 bytes);

  const Limits limits_;
  Heap heap_;
  Spent spent_;
  u32 depth_ = 0;
};

}  // namespace modelutils::jinja

/// Everything that calls itself: one level deeper until the function returns, or out with a failure.
#define MU_DEEPER(machine)                                        \
  const ::modelutils::jinja::Machine::Level mu_level_((machine)); \
  MU_TRY((machine).check_depth())
