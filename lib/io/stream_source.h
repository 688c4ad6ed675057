// Pipes, FIFOs and devices: read forward only; what was read is kept, so that a header can be looked at again, until
// nobody wants to.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/byte_source.h"

namespace modelutils {

/// A descriptor that cannot seek. Keeps every byte it has read, up to `limit`; "io-limit" beyond that. Takes the
/// descriptor over (standard input excepted).
class StreamSource : public ByteSource {
 public:
  static constexpr u64 default_limit = u64{1} << 30;

  StreamSource(std::string name, int descriptor, u64 limit = default_limit)
      : name_(std::move(name)), descriptor_(descriptor), limit_(limit) {}
  ~StreamSource() override;
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;

  /// Errors beside those of ByteSource: "io-limit"; "io-pipe" for what is forgotten.
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  bool is_pipe() const override { return true; }
  /// From now on what lies before the offset of a read is forgotten, and there is no limit.
  void go_forward() override;
  /// Nothing until the end has been seen.
  std::optional<u64> size() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  int descriptor_;
  u64 limit_;
  mutable std::mutex mutex_;
  mutable u64 forgotten_ = 0;  // bytes before those that are kept
  mutable std::vector<std::byte> kept_;
  mutable bool ended_ = false;
  bool is_forward_ = false;
};

}  // namespace modelutils
