#include "cli/read_text.h"

#include <vector>

#include "base/byte_reader.h"
#include "io/random_access_file.h"

namespace modelutils::cli {

Result<std::string> read_text(const std::string& path, std::size_t most) {
  MU_ASSIGN(const auto source, open_source(path));
  std::string text;
  std::vector<std::byte> buffer(std::size_t{1} << 16);
  while (text.size() <= most) {
    MU_ASSIGN(const std::size_t count, source->read_some(text.size(), buffer));
    if (count == 0) break;
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
  return text;
}

}  // namespace modelutils::cli
