// Reads manifests from files and pipes.
#include <fmt/core.h>

#include <algorithm>

#include "io/file_kind.h"
#include "io/random_access_file.h"
#include "verify/manifest/lines.h"
#include "verify/manifest/manifest.h"

namespace modelutils {

namespace {

constexpr u64 max_manifest_bytes = u64{256} << 20;
constexpr std::size_t piece = 64 * 1024;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

class Loader {
 public:
  Loader(const ByteSource& source, const std::string& path) : source_(source), path_(path) {}

  Result<Manifest> load() {
    while (!is_at_end_ && text_.size() < piece) MU_TRY(read_more());
    if (text_.starts_with(byte_order_mark)) text_.erase(0, byte_order_mark.size());
    MU_TRY(refuse_other_kinds(std::string_view(text_).substr(0, file_kind_bytes), path_));
    if (source_.size().value_or(0) > max_manifest_bytes) return too_large();
    // The first line shows whether the text consists of lines.
    if (text_.find('\n') == std::string::npos) MU_TRY(read_to_line_feed());
    if (is_of_lines(text_)) return load_lines();
    while (!is_at_end_) MU_TRY(read_more());
    return parse_manifest(text_, path_);
  }

 private:
  Result<Manifest> load_lines() {
    Manifest manifest;
    manifest.path = path_;
    ManifestLines lines(manifest);
    while (true) {
      std::size_t begin = 0;
      for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
        MU_TRY(take(lines, std::string_view(text_).substr(begin, end - begin)));
      }
      text_.erase(0, begin);
      if (is_at_end_) break;
      MU_TRY(read_to_line_feed());
    }
    if (!text_.empty()) MU_TRY(take(lines, text_));
    return complete(std::move(manifest));
  }

  Status take(ManifestLines& lines, std::string_view line) const {
    Status taken = lines.take(line);
    if (!taken) return tl::make_unexpected(in_file(std::move(taken.error()), path_));
    return {};
  }

  // Reads up to the next line feed or the end. The text read so far contains no line feed.
  Status read_to_line_feed() {
    std::size_t searched = 0;
    do {
      searched = text_.size();
      MU_TRY(read_more());
    } while (!is_at_end_ && text_.find('\n', searched) == std::string::npos);
    return {};
  }

  Status read_more() {
    const std::size_t size = text_.size();
    text_.resize(size + piece);
    MU_ASSIGN(const std::size_t got, source_.read_some(at_, std::as_writable_bytes(std::span(text_).subspan(size))));
    text_.resize(size + got);
    at_ += got;
    is_at_end_ = got == 0;
    return at_ > max_manifest_bytes ? too_large() : Status{};
  }

  tl::unexpected<Error> too_large() const {
    return input_error("manifest-too-large",
                       fmt::format("is larger than {} bytes, the limit for a manifest", max_manifest_bytes), {}, {},
                       path_);
  }

  const ByteSource& source_;
  const std::string& path_;
  std::string text_;  // read but not yet parsed
  u64 at_ = 0;
  bool is_at_end_ = false;
};

}  // namespace

Result<Manifest> load_manifest(const std::string& path) {
  MU_ASSIGN(const auto source, open_source(path));
  return Loader(*source, path).load();
}

}  // namespace modelutils
