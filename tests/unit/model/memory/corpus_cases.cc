#include "unit/model/memory/corpus_cases.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"

namespace modelutils::test {

namespace {

json::Element part_of(json::Element object, std::string_view key) {
  const auto found = json::member(object, key);
  if (!found) throw std::runtime_error("no member " + std::string(key));
  return *found;
}

u64 number(json::Element object, std::string_view key, u64 missing = 0) {
  const auto found = json::member(object, key);
  i64 value = 0;
  return found && found->get(value) ? static_cast<u64>(value) : missing;
}

json::Object object(json::Element element) {
  json::Object all;
  if (!element.get(all)) throw std::runtime_error("no object");
  return all;
}

json::Array array(json::Element element) {
  json::Array all;
  if (!element.get(all)) throw std::runtime_error("no array");
  return all;
}

std::string text(json::Element element) {
  std::string_view view;
  if (!element.get(view)) throw std::runtime_error("no text");
  return std::string(view);
}

TensorType type_of(std::string_view name) {
  const auto type = type_from_name(name);
  if (!type) throw std::runtime_error("unknown type " + std::string(name));
  return *type;
}

// Integers become uint32, lists of integers int32.
void add_key(GgufBuilder& file, const std::string& key, json::Element value) {
  bool flag = false;
  i64 whole = 0;
  double real = 0;
  json::Array list;
  if (value.get(flag)) {
    file.key_bool(key, flag ? 1 : 0);
  } else if (value.get(whole)) {
    file.key_u32(key, static_cast<u32>(whole));
  } else if (value.get(real)) {
    file.key_f32(key, static_cast<float>(real));
  } else if (value.get(list)) {
    std::vector<u8> flags;
    std::vector<i32> numbers;
    for (const json::Element one : list) {
      if (one.get(flag)) {
        flags.push_back(flag ? 1 : 0);
      } else if (one.get(whole)) {
        numbers.push_back(static_cast<i32>(whole));
      }
    }
    if (!flags.empty()) {
      file.key_bools(key, flags);
    } else {
      file.key_array(key, numbers);
    }
  } else {
    file.key_string(key, text(value));
  }
}

// "0-3,6" -> 0, 1, 2, 3, 6
std::vector<u64> blocks_of(const std::string& ranges) {
  std::vector<u64> blocks;
  std::istringstream parts(ranges);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const u64 first = std::stoull(part), last = dash == std::string::npos ? first : std::stoull(part.substr(dash + 1));
    for (u64 block = first; block <= last; ++block) blocks.push_back(block);
  }
  return blocks;
}

void add_tensor(GgufBuilder& file, const std::string& prefix, json::Element row) {
  const json::Array fields = array(row);
  BuilderTensor tensor;
  tensor.name = prefix + text(*fields.at(0));
  tensor.type = static_cast<u32>(type_of(text(*fields.at(1))));
  for (const json::Element one : array(*fields.at(2))) {
    u64 ne = 0;
    if (one.get(ne)) tensor.ne.push_back(ne);
  }
  file.tensor(std::move(tensor));
}

gguf::SplitSet header_of(const std::string& name, json::Element model) {
  GgufBuilder file;
  const std::string architecture = text(part_of(model, "arch"));
  file.key_string("general.architecture", architecture);
  for (const json::Member& key : object(part_of(model, "kv"))) {
    const std::string full = key.key[0] == '.' ? architecture + std::string(key.key) : std::string(key.key);
    add_key(file, full, key.value);
  }
  for (const json::Member& group : object(part_of(model, "tensors"))) {
    if (group.key.empty()) {
      for (const json::Element row : array(group.value)) add_tensor(file, "", row);
      continue;
    }
    for (const u64 block : blocks_of(std::string(group.key))) {
      for (const json::Element row : array(group.value)) {
        add_tensor(file, "blk." + std::to_string(block) + ".", row);
      }
    }
  }
  const std::string header = file.build_header();
  const auto* bytes = reinterpret_cast<const std::byte*>(header.data());
  auto source = std::make_shared<MemoryFile>(std::vector<std::byte>(bytes, bytes + header.size()), name);
  gguf::SplitSet set;
  set.files.push_back({name, source, *gguf::parse(*source)});
  return set;
}

memory::CacheKind kind_of(const std::string& name) {
  using memory::CacheKind;
  for (const CacheKind kind : {CacheKind::full, CacheKind::sliding, CacheKind::compressed, CacheKind::summary,
                               CacheKind::indexer, CacheKind::recurrent}) {
    if (memory::kind_name(kind) == name) return kind;
  }
  throw std::runtime_error("unknown kind " + name);
}

void read_options(json::Element options, MeasuredCase& result) {
  memory::RunOptions& run = result.run;
  run.context = number(options, "ctx");
  run.batch = number(options, "batch", 2048);
  run.ubatch = number(options, "ubatch", 512);
  run.sequences = number(options, "seqs", 1);
  run.unified = number(options, "unified") != 0;
  run.flash_attention = number(options, "fa", 1) != 0;
  run.full_windows = number(options, "swa_full") != 0;
  run.snapshots = number(options, "rs");
  run.outputs = number(options, "outputs");
  if (const auto type = json::string_member(options, "k")) run.k_type = type_of(*type);
  if (const auto type = json::string_member(options, "v")) run.v_type = type_of(*type);
  memory::Placement& placement = result.placement;
  placement.has_gpu = number(options, "gpu") != 0;
  placement.gpu_layers = number(options, "ngl", memory::Placement::all_layers);
  placement.offload_cache = number(options, "kvo", 1) != 0;
  result.has_pinned_memory = number(options, "hostbuf", 1) != 0;
  if (const auto patterns = json::string_member(options, "ot")) {
    std::istringstream parts{std::string(*patterns)};
    for (std::string part; std::getline(parts, part, ';');) result.kept_on_host.push_back(part);
  }
}

void read_measured(json::Element runtime, MeasuredCase& result) {
  result.n_ctx = number(runtime, "n_ctx");
  result.k_bytes = number(runtime, "k_bytes");
  result.v_bytes = number(runtime, "v_bytes");
  result.rolling_bytes = number(runtime, "r_bytes");
  result.state_bytes = number(runtime, "s_bytes");
  result.f32_bytes = number(runtime, "comp_state_bytes");
  for (const json::Element row : array(part_of(runtime, "layers"))) {
    const json::Array fields = array(row);
    const auto at = [&](std::size_t i) {
      u64 value = 0;
      if (!fields.at(i)->get(value)) throw std::runtime_error("a layer's field is no number");
      return value;
    };
    result.layers.push_back({at(0), kind_of(text(*fields.at(1))), at(2), at(3), at(4), at(5), 0});
  }
  for (const json::Member& buffer : object(part_of(runtime, "buffers"))) {
    result.buffers[std::string(buffer.key)] = {number(buffer.value, "model"), number(buffer.value, "context"),
                                               number(buffer.value, "compute")};
  }
}

}  // namespace

MeasuredBuffer MeasuredCase::gpu() const {
  const auto found = buffers.find("GPU0");
  return found == buffers.end() ? MeasuredBuffer() : found->second;
}

MeasuredBuffer MeasuredCase::host() const {
  MeasuredBuffer sum;
  for (const auto& [name, buffer] : buffers) {
    if (name == "GPU0") continue;
    sum.weights += buffer.weights;
    sum.caches += buffer.caches;
    sum.compute += buffer.compute;
  }
  return sum;
}

MemoryCorpus::MemoryCorpus() {
  document_ = std::move(*json::load(memory_cases));
  const json::Element root = document_->root;
  for (const json::Member& model : object(part_of(root, "models"))) {
    models_.emplace(std::string(model.key), header_of(std::string(model.key), model.value));
  }
  for (const char* list : {"cases", "holdout"}) {
    const auto cases = json::array_member(root, list);
    if (!cases) continue;
    for (const json::Element one : *cases) {
      MeasuredCase& result = cases_.emplace_back();
      result.id = number(one, "id");
      result.model = text(part_of(one, "model"));
      result.architecture = text(part_of(part_of(part_of(root, "models"), result.model), "arch"));
      read_options(part_of(one, "options"), result);
      read_measured(part_of(one, "runtime"), result);
    }
  }
}

}  // namespace modelutils::test
