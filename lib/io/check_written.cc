#include "io/check_written.h"

#include "io/random_access_file.h"

namespace modelutils {

Status check_written(const AtomicOutput& output, std::string_view header, u64 size) {
  if (!output.is_seekable()) return {};
  const auto refuse = [&](std::string message) { return output_error("out-check", std::move(message), output.path()); };
  const auto file = RandomAccessFile::open(output.staging_path());
  if (!file) return refuse(file.error().message);
  if ((*file)->file_size() != size) return refuse("does not have the size that was written");
  std::string found(header.size(), '\0');
  if (const Status read = (*file)->read_exact(0, std::as_writable_bytes(std::span(found))); !read) {
    return refuse(read.error().message);
  }
  return found == header ? Status{} : refuse("does not have the header that was written");
}

}  // namespace modelutils
