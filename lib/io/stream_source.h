// Pipes, FIFOs and devices. They are read forward only; bytes are kept, so that a header can be read again, until
// go_forward().
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/byte_source.h"

namespace modelutils {

/// A descriptor that cannot seek. Keeps every byte that it has read, up to `limit`; beyond that, "io-limit". Takes
/// ownership of the descriptor, except of standard input.
class StreamSource : public ByteSource {
 public:
  static constexpr u64 default_limit = u64{1} << 30;

  StreamSource(std::string name, int descriptor, u64 limit = default_limit)
      : name_(std::move(name)), descriptor_(descriptor), limit_(limit) {}
  ~StreamSource() override;
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;

  /// Errors in addition to those of ByteSource: "io-limit"; "io-pipe" for bytes no longer kept.
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  bool is_pipe() const override { return true; }
  /// From now on drops the bytes before the offset of each read and lifts the limit.
  void go_forward() override;
  /// Returns nullopt until the end has been read.
  std::optional<u64> size() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  int descriptor_;
  u64 limit_;
  mutable std::mutex mutex_;
  mutable u64 forgotten_ = 0;  // number of dropped bytes before kept_
  mutable std::vector<std::byte> kept_;
  mutable bool ended_ = false;
  bool is_forward_ = false;
};

}  // namespace modelutils
