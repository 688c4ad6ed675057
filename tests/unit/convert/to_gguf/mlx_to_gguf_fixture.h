// Converts small models with mlx_to_gguf in a temporary folder, and opens the results.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "convert/to_gguf/mlx_to_gguf.h"
#include "formats/gguf/split_set.h"
#include "model/catalog.h"
#include "support/hf_directory.h"
#include "support/opened_model.h"
#include "support/temp_dir.h"
#include "verify/against/against.h"

namespace modelutils::to_gguf {

// The result of a conversion.
struct Converted {
  TransferReport report;
  std::string path;
  gguf::SplitSet set;
  Catalog catalog;

  std::vector<float> values(const std::string& name) const {
    const Tensor* tensor = catalog.find(name);
    if (tensor == nullptr) return {};
    u64 count = 1;
    for (u64 dim : tensor->ne) count *= dim;
    std::vector<float> out(count);
    EXPECT_TRUE(catalog.values_of(*tensor).read_values(0, out)) << name;
    return out;
  }
  const gguf::KeyValue* key(std::string_view name) const { return set.files.front().document.find(name); }
  template <typename T>
  T value(std::string_view name) const {
    const gguf::KeyValue* found = key(name);
    if (found == nullptr || !std::holds_alternative<T>(found->value)) {
      ADD_FAILURE() << name << " is missing or of another type";
      return T{};
    }
    return std::get<T>(found->value);
  }
};

class MlxToGguf : public ::testing::Test {
 protected:
  // Each result has a folder of its own: Windows may replace no file that an earlier result has open.
  MlxToGgufOptions options_for(const std::string& directory) {
    MlxToGgufOptions options;
    options.directory = directory;
    const std::string folder = folder_.file("result-" + std::to_string(++results_));
    std::filesystem::create_directory(folder);
    options.output = folder + "/out.gguf";
    options.force = true;
    options.threads = 2;
    return options;
  }

  std::string write(const test::HfDirectory& model, const std::string& name = "model") {
    std::filesystem::create_directories(folder_.file(name));
    model.write(folder_.file(name));
    return folder_.file(name);
  }

  Converted convert(const MlxToGgufOptions& options) {
    Converted result;
    Progress silent;
    Result<TransferReport> report = mlx_to_gguf(options, silent);
    if (!report) {
      ADD_FAILURE() << options.directory << ": " << report.error().where << ": " << report.error().message << " ["
                    << report.error().code << "]";
      return result;
    }
    result.report = std::move(*report);
    result.path = result.report.files.front().path;
    Result<gguf::SplitSet> set = gguf::open_set(result.path);
    if (!set) {
      ADD_FAILURE() << set.error().message;
      return result;
    }
    result.set = std::move(*set);
    result.catalog = catalog_of(result.set);
    return result;
  }

  std::string refusal(const MlxToGgufOptions& options) {
    std::filesystem::remove(options.output);
    Progress silent;
    const Result<TransferReport> report = mlx_to_gguf(options, silent);
    EXPECT_EQ(std::filesystem::exists(options.output), report.has_value());
    std::filesystem::remove(options.output);
    return report ? "converted" : report.error().code;
  }

  // Returns the errors of verify --against as text; empty if there are none.
  std::string parity_errors(const Converted& converted, const std::string& source) {
    CheckedModel checked;
    checked.catalog = converted.catalog;
    const Result<FindingLog> log =
        compare_models_strictly(checked, *test::opened(converted.path), *test::opened(source));
    if (!log) return log.error().code + ": " + log.error().message;
    std::string text;
    for (const Finding& finding : log->findings()) {
      if (finding.severity == Severity::error)
        text += finding.code + " " + finding.where + ": " + finding.message + "\n";
    }
    return text;
  }

  test::TempDir folder_;
  int results_ = 0;
};

}  // namespace modelutils::to_gguf
