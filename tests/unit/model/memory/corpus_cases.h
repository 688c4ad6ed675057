// The measured cases in ../shared/corpus/memory: models as GGUF headers in memory, options, and the runtime's output.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "formats/gguf/split_set.h"
#include "json/reader.h"
#include "model/memory/fit.h"
#include "support/temp_dir.h"

namespace modelutils::test {

inline const std::string memory_cases = shared_dir() + "/corpus/memory/cases.json";

struct MeasuredBuffer {
  u64 weights = 0, caches = 0, compute = 0;
};

struct MeasuredCase {
  u64 id = 0;
  std::string model;
  std::string architecture;
  memory::RunOptions run;
  memory::Placement placement;
  std::vector<std::string> kept_on_host;   ///< regular expressions for tensor names
  bool has_pinned_memory = true;           ///< pinned host memory of the GPU is used
  std::vector<memory::LayerCache> layers;  ///< without f32_bytes
  u64 n_ctx = 0;
  u64 k_bytes = 0, v_bytes = 0, rolling_bytes = 0, state_bytes = 0, f32_bytes = 0;
  std::map<std::string, MeasuredBuffer> buffers;

  MeasuredBuffer gpu() const;
  MeasuredBuffer host() const;  ///< sum over all buffers that are not on the GPU
};

class MemoryCorpus {
 public:
  MemoryCorpus();  ///< reads `memory_cases`, which must exist
  const std::vector<MeasuredCase>& cases() const { return cases_; }
  const gguf::SplitSet& model(const std::string& name) const { return models_.at(name); }

 private:
  std::unique_ptr<json::Document> document_;
  std::map<std::string, gguf::SplitSet> models_;
  std::vector<MeasuredCase> cases_;
};

}  // namespace modelutils::test
