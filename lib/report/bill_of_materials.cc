#include "report/bill_of_materials.h"

#include <algorithm>
#include <array>
#include <span>

#include "io/hash.h"

namespace modelutils {

namespace {

// Licences in the Hub's list (huggingface.co/docs/hub/repositories-licenses) whose SPDX identifier differs in case
// only.
constexpr std::array<std::string_view, 34> known_licenses = {"Apache-2.0",
                                                             "MIT",
                                                             "BSD-2-Clause",
                                                             "BSD-3-Clause",
                                                             "BSD-3-Clause-Clear",
                                                             "BSL-1.0",
                                                             "CC0-1.0",
                                                             "CC-BY-2.0",
                                                             "CC-BY-2.5",
                                                             "CC-BY-3.0",
                                                             "CC-BY-4.0",
                                                             "CC-BY-SA-3.0",
                                                             "CC-BY-SA-4.0",
                                                             "CC-BY-NC-2.0",
                                                             "CC-BY-NC-3.0",
                                                             "CC-BY-NC-4.0",
                                                             "CC-BY-ND-4.0",
                                                             "CC-BY-NC-ND-3.0",
                                                             "CC-BY-NC-ND-4.0",
                                                             "CC-BY-NC-SA-2.0",
                                                             "CC-BY-NC-SA-3.0",
                                                             "CC-BY-NC-SA-4.0",
                                                             "CDLA-Permissive-1.0",
                                                             "CDLA-Permissive-2.0",
                                                             "CDLA-Sharing-1.0",
                                                             "WTFPL",
                                                             "Artistic-2.0",
                                                             "ISC",
                                                             "MPL-2.0",
                                                             "MS-PL",
                                                             "Zlib",
                                                             "Unlicense",
                                                             "ECL-2.0",
                                                             "EUPL-1.2"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::unique_ptr<VerifyForm> make_bill_of_materials(std::string_view form) {
  return form == "spdx" ? spdx_form() : cyclonedx_form();
}

std::string_view spdx_license(std::string_view license) {
  const auto is_same = [license](std::string_view known) {
    return std::ranges::equal(license, known, {}, lower, lower);
  };
  const auto found = std::ranges::find_if(known_licenses, is_same);
  return found == known_licenses.end() ? std::string_view() : *found;
}

std::string digest_of_files(const ModelIdentity& identity) {
  Hasher hasher(HashAlgorithm::sha256);
  for (const IdentityFile& file : identity.files) {
    hasher.update(std::as_bytes(std::span(file.name)));
    hasher.update(std::as_bytes(std::span(file.sha256)));
  }
  return hasher.hex_digest();
}

}  // namespace modelutils
