#include "convert/transfer/plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "formats/gguf/write.h"
#include "io/random_access_file.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::read_file;
using test::TempDir;

std::string text_of(const ByteSource& source, u64 offset, std::size_t size) {
  std::string text(size, '?');
  const auto read = source.read_some(offset, std::as_writable_bytes(std::span(text)));
  text.resize(read.value_or(0));
  return text;
}

TEST(PlannedSource, HasZerosBehindTheHeader) {
  const PlannedSource source("head", 7, "m");
  EXPECT_EQ(source.size(), 7u);
  EXPECT_EQ(text_of(source, 0, 4), "head");
  EXPECT_EQ(text_of(source, 2, 1), "a");
  EXPECT_EQ(text_of(source, 4, 9), std::string(3, '\0'));
  EXPECT_EQ(text_of(source, 7, 1), "");
}

TEST(PlannedSource, ContinuesWithTheRestAtTheSameOffset) {
  const Bytes old = std::as_bytes(std::span("0123456", 7));
  const auto rest = std::make_shared<MemoryFile>(std::vector<std::byte>(old.begin(), old.end()));
  const PlannedSource source("head", 6, "m", rest);
  EXPECT_EQ(text_of(source, 4, 9), "45");
}

TEST(PlannedFile, IsOpenedLikeAFile) {
  const auto layout = gguf::layout({gguf::make_key("a", 3)}, {{"w", TensorType::F32, {4, 2}}});
  ASSERT_TRUE(layout);
  const auto file = planned_file(layout->header, layout->file_size, "m.gguf");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path, "m.gguf");
  EXPECT_TRUE(file->document.complete);
  EXPECT_EQ(std::get<u32>(file->document.find("a")->value), 3u);
  ASSERT_EQ(file->document.tensors.size(), 1u);
  EXPECT_EQ(file->document.tensors[0].ne, (std::vector<u64>{4, 2}));
  EXPECT_EQ(file->document.data_offset, layout->header.size());
  EXPECT_EQ(file->source->size(), layout->header.size() + 32);
}

TEST(PlannedFile, WithABrokenHeaderIsAnError) {
  EXPECT_FALSE(planned_file("no header", 9, "m.gguf"));
}

// Two files with a tensor each; `plan.files[i].size` is right for every tensor of four rows of one byte.
Plan two_files() {
  Plan plan;
  plan.files = {{"a", "first:", 10}, {"b", "b:", 6}};
  for (std::size_t f = 0; f < plan.files.size(); ++f) {
    StreamTensor& tensor = plan.stream.emplace_back();
    tensor.file = f;
    tensor.rows = 4;
    tensor.parts[0] = {plan.files[f].header.size(), 1};
    tensor.is_measured = f == 1;
  }
  return plan;
}

class WritePlanned : public testing::Test {
 protected:
  Result<std::vector<ValueSums>> write(const Plan& plan) {
    std::vector<AtomicOutput> outputs;
    for (const PlannedFile& file : plan.files) {
      MU_ASSIGN(AtomicOutput output, AtomicOutput::create(folder_.file(file.path), {}));
      outputs.push_back(std::move(output));
    }
    const EncodeRows encode = [](std::size_t tensor, u64, u64 count, const EncodedParts& out, unsigned,
                                 ValueSums* error) -> Status {
      std::memset(out[0].data(), tensor == 0 ? 'x' : 'y', count);
      if (error != nullptr) error->dd += 1;
      return {};
    };
    Progress progress;
    auto errors = write_planned(plan, outputs, 1, encode, progress);
    if (errors) MU_TRY(AtomicOutput::commit_all(outputs));
    return errors;
  }

  TempDir folder_;
};

TEST_F(WritePlanned, WritesHeadersAndTensors) {
  const Plan plan = two_files();
  EXPECT_EQ(plan.bytes(), 16u);
  const auto errors = write(plan);
  ASSERT_TRUE(errors) << errors.error().message;
  EXPECT_EQ(read_file(folder_.file("a")), "first:xxxx");
  EXPECT_EQ(read_file(folder_.file("b")), "b:yyyy");
  EXPECT_EQ((*errors)[0].dd, 0);
  EXPECT_EQ((*errors)[1].dd, 1);
}

// The tensor begins one byte early, inside the header.
TEST_F(WritePlanned, FindsAnOverwrittenHeader) {
  Plan plan = two_files();
  plan.stream[1].parts[0].offset = 1;
  const auto errors = write(plan);
  ASSERT_FALSE(errors);
  EXPECT_EQ(errors.error().code, "out-check");
}

}  // namespace
}  // namespace modelutils
