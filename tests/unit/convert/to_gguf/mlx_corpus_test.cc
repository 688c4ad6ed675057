// Every quantised matrix of the reference models: exact targets decode to the published values, others stay within the
// published errors.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "convert/transfer/carriers.h"
#include "io/hash.h"
#include "json/reader.h"
#include "model/hf_model.h"
#include "support/temp_dir.h"
#include "tensor/dequantize.h"
#include "tensor/value_sums.h"

namespace modelutils::to_gguf {
namespace {

using Buffer = std::vector<std::byte>;

Buffer read(const HfModel& model, const Tensor& tensor) {
  Buffer bytes(tensor.bytes);
  if (!bytes.empty() && !model.model->catalog().read(tensor, 0, bytes)) ADD_FAILURE() << "cannot read";
  return bytes;
}

struct Outcome {
  TensorType type;
  bool exact;
  ValueSums error;
  std::string sha256;  // of the decoded values, with −0 as +0
};

Outcome convert_matrix(const HfModel& model, const Weight& matrix, const RepackOptions& options) {
  const Buffer codes = read(model, *matrix.planes[0]);
  const Buffer scales = read(model, *matrix.planes[1]);
  const Buffer biases = read(model, *matrix.planes[2]);
  const Carrier& carrier = carrier_of(matrix.form);
  const StoredPlanes planes = {codes, scales, biases};
  ScaleAnalysis analysis;
  carrier.analyse(matrix.form, matrix.columns(), planes, analysis);
  const Result<Target> target = carrier.choose(matrix.form, matrix.columns(), analysis, options, false);
  EXPECT_TRUE(target) << matrix.name;
  Buffer out(matrix.rows() * *row_bytes(target->type, matrix.columns()));
  ValueSums error;
  carry_rows(matrix.form, matrix.columns(), *target, planes, out, &error);
  std::vector<float> values(matrix.rows() * matrix.columns());
  dequantize(target->type, out, values);
  for (float& value : values) value += 0.0f;
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(values)));
  return {target->type, target->exact, error, hasher.hex_digest()};
}

// Mean relative RMS errors of the default for 6 and 8 bits (docs/formats/mlx.md), by bits, scale type and group size.
double published_error(const StoredForm& form) {
  const bool bf16 = form.types[1] == TensorType::BF16;
  if (form.params.bits == 6) return bf16 ? 3.3e-3 : 4.6e-4;
  if (form.params.group_size == 32) return 5.3e-3;
  return bf16 ? 4.8e-3 : 4.3e-3;
}

TEST(MlxCorpus, EveryMatrixOfEveryModel) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const std::string folder = test::shared_dir() + "/corpus/mlx/";
  auto expected = json::load(folder + "expected.json");
  ASSERT_TRUE(expected);
  int models = 0;
  int matrices = 0;
  json::Object of_models;
  ASSERT_TRUE((*expected)->root.get(of_models));
  for (const auto& [name, tensors] : of_models) {
    SCOPED_TRACE(std::string(name));
    const bool is_edge = name.find("edge") != std::string_view::npos;
    auto model = understand_model(std::make_shared<const Model>(*open_safetensors_model(folder + std::string(name))));
    ASSERT_TRUE(model) << model.error().message;
    ++models;
    for (const Weight& matrix : (*model)->matrices) {
      if (!matrix.is_quantized()) continue;
      SCOPED_TRACE(matrix.name);
      ++matrices;
      const auto entry = json::member(tensors, matrix.name);
      ASSERT_TRUE(entry);
      const std::string_view want = json::string_member(*entry, "sha256_f32").value_or("");

      const Outcome usual = convert_matrix(**model, matrix, {});
      EXPECT_EQ(usual.error.max_abs == 0, usual.sha256 == want) << "the measured error says what the values say";
      if (usual.exact) {
        EXPECT_EQ(usual.sha256, want) << type_name(usual.type);
      } else if (!is_edge && usual.type == TensorType::Q8_0) {
        EXPECT_LE(usual.error.rms(), 1.15 * published_error(matrix.form));
      }
      const Outcome compatible = convert_matrix(**model, matrix, {TensorType::Q8_0, false, true});
      EXPECT_NE(compatible.type, TensorType::MXFP4);
      EXPECT_NE(compatible.type, TensorType::NVFP4);
      if (compatible.exact) {
        EXPECT_EQ(compatible.sha256, want) << type_name(compatible.type);
      }
      if (usual.exact) continue;
      const Outcome carried = convert_matrix(**model, matrix, {TensorType::F32, true, false});
      EXPECT_TRUE(carried.exact);
      EXPECT_EQ(carried.sha256, want) << type_name(carried.type);
      for (TensorType fallback : {TensorType::F16, TensorType::BF16}) {
        const Outcome half = convert_matrix(**model, matrix, {fallback, false, false});
        if (!half.exact && !is_edge) {
          EXPECT_LE(half.error.rms(), fallback == TensorType::F16 ? 3e-4 : 2.5e-3);
        }
      }
    }
  }
  EXPECT_EQ(models, 23);
  EXPECT_GT(matrices, 250);
}

}  // namespace
}  // namespace modelutils::to_gguf
