// Any bytes -> the Hub's list of a repository's files. No name may lead out of a folder, and none may occur twice.
#include <algorithm>
#include <cstdlib>

#include "formats/hf/names.h"

using namespace modelutils;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const auto listing = hf::parse_hub_listing({reinterpret_cast<const char*>(data), size}, "hf://a/b");
  if (!listing) {
    if (listing.error().code != "json-syntax" && listing.error().code != "remote-listing") std::abort();
    return 0;
  }
  for (std::size_t i = 0; i < listing->files.size(); ++i) {
    const std::string& name = listing->files[i].name;
    const std::string inside = "/" + name + "/";
    if (name.empty() || inside.find("//") != name.npos || inside.find("/./") != name.npos) std::abort();
    if (inside.find("/../") != name.npos || name.find('\\') != name.npos) std::abort();
    if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 32 || c == 127; })) std::abort();
    if (i > 0 && listing->files[i - 1].name >= name) std::abort();
  }
  return 0;
}
