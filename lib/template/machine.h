// The resource limits and the memory of one rendering.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "template/failure.h"

namespace modelutils::jinja {

/// Far above the needs of a prompt of a million tokens, and low enough that no template costs more than a few seconds
/// and a few hundred MiB.
struct Limits {
  u64 steps = 20'000'000;
  u64 memory = u64{320} << 20;  ///< bytes of all values, including those no longer in use
  u64 output = u64{32} << 20;   ///< bytes
  u32 depth = 400;              ///< nesting of expressions, statements and calls
  i64 range = 100'000;          ///< longest range(), as in Jinja's sandbox
};

/// Allocates the values of one rendering and enforces its limits.
class Machine {
 public:
  explicit Machine(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }

  /// Charges `count` steps. Also fails if the bytes noted by count() exceed the limit.
  Outcome<void> charge(u64 count);
  /// Charges for making or scanning `bytes` bytes. Call it first wherever the template determines the size.
  Outcome<void> reserve(u64 bytes);
  /// Records bytes that are allocated already: objects, messages, pieces of text. The next charge() fails if they
  /// exceed the limit, so `bytes` must be small or bounded by the size of one literal in the template.
  void count(u64 bytes) { spent_.memory += bytes; }

  /// The resources used so far.
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
  /// Fails like Python does when an undefined value is used.
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

  /// Counts one nesting level while it exists; see MU_DEEPER.
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

/// For every recursive function: counts one nesting level until the function returns, and returns a failure if the
/// nesting is too deep.
#define MU_DEEPER(machine)                                        \
  const ::modelutils::jinja::Machine::Level mu_level_((machine)); \
  MU_TRY((machine).check_depth())
