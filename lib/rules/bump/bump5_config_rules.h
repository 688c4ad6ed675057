// config.json next to BUMPWGT4 and BUMPWGT5 files, and the numbers that several of their files say.
#pragma once

#include <span>
#include <string_view>

#include "base/finding_log.h"
#include "bump/bump5_parse.h"
#include "json/reader.h"
#include "rules/bump/bump5_companions.h"

namespace modelutils {

/// A number that the header has, too, by its key in JSON.
struct Bump5Number {
  std::string_view key;
  u64 bump5::Header::*value;
};

/// The numbers that `object` has, against the header. A finding's place is "WHAT KEY".
void compare_bump5_numbers(json::Element object, std::span<const Bump5Number> numbers, const bump5::Header& header,
                           std::string_view code, std::string_view what, std::string_view file, FindingLog& log);

/// config.json against the header, the payload (`untied`: it has an output.weight) and the manifest's config
/// ("bump-config", "bump-no-config").
void check_bump5_config(const ModelFolder& folder, const bump5::Document& document, const Bump5Companions& companions,
                        bool untied, FindingLog& log);

}  // namespace modelutils
