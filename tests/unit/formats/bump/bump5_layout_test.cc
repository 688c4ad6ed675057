#include "formats/bump/bump5_layout.h"

#include <gtest/gtest.h>

#include <string>

#include "io/random_access_file.h"
#include "support/reference_bump5.h"

namespace modelutils::bump5 {

namespace {

test::ReferenceBump5 tiny_model(const char* architecture, bool untied) {
  test::LlamaShape shape;
  shape.architecture = architecture;
  test::Bump5Traits traits;
  traits.vocabulary = test::tiny_tokens("gpt2");
  test::LlamaModel model = test::bump5_model(shape, traits);
  if (untied) model.add("output.weight", {shape.embed, shape.vocab}, test::ggml_f16);
  return test::reference_bump5(model, traits, "test");
}

Document parsed(const std::string& bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  const auto document = parse(MemoryFile({view.begin(), view.end()}, "w.bump"));
  EXPECT_TRUE(document);
  return document.value_or(Document{});
}

bool has(const Document& document, std::string_view code) {
  for (const Finding& finding : document.findings) {
    if (finding.code == code) return true;
  }
  return false;
}

TEST(Bump5Parse, FindsTheLayoutOfEveryArchitecture) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma3"}) {
    for (const bool untied : {false, true}) {
      const test::ReferenceBump5 expected = tiny_model(architecture, untied);
      const Document document = parsed(expected.weights);
      EXPECT_EQ(document.payload_end, expected.payload_end);
      const std::vector<Reading> readings = readings_of(document);
      ASSERT_EQ(readings.size(), 1u) << architecture;
      EXPECT_FALSE(readings[0].has_fp16_head);
      ASSERT_EQ(readings[0].entries.size(), expected.entries.size());
      for (std::size_t i = 0; i < expected.entries.size(); ++i) {
        const Entry& entry = readings[0].entries[i];
        EXPECT_EQ(entry.name(), expected.entries[i].name);
        EXPECT_EQ(entry.word(), expected.entries[i].dtype);
        EXPECT_EQ(entry.offset, expected.entries[i].offset);
        EXPECT_EQ(entry.size, expected.entries[i].bytes.size());
      }
    }
  }
}

TEST(Bump5Parse, AnOutputHeadWhoseCodeIsWrong) {
  std::string bytes = tiny_model("llama", true).weights;
  bytes[codes_offset + 1] = 0;  // as written by upstream's converter
  const std::vector<Reading> readings = readings_of(parsed(bytes));
  ASSERT_EQ(readings.size(), 1u);
  EXPECT_TRUE(readings[0].has_fp16_head);
  EXPECT_EQ(readings[0].entries[1].word(), "fp16");
}

TEST(Bump5Parse, CutFiles) {
  const std::string whole = tiny_model("llama", false).weights;
  EXPECT_TRUE(has(parsed(whole.substr(0, 155)), "bump-short"));
  EXPECT_TRUE(has(parsed(whole.substr(0, 160)), "bump-short"));
  EXPECT_TRUE(has(parsed(whole.substr(0, 200)), "bump-footer"));
  EXPECT_TRUE(has(parsed(whole.substr(0, whole.size() - 1)), "bump-footer"));
  std::string far = whole;
  far[far.size() - 35] = '\x7f';  // size of the metadata
  EXPECT_TRUE(has(parsed(far), "bump-footer"));
  std::string deep = whole;
  deep[18] = 1;
  EXPECT_TRUE(has(parsed(deep), "bump-layers"));
}

TEST(Bump5Parse, MapsAsTheEngineReadsThem) {
  std::vector<std::string> lines;
  visit_map("# comment\n\na|fp32|16|0x10|020\r\nb|q8_0|1|2\nc|u8|1|x|1\nd|u8|1||1\ne|u8|0XfF|18446744073709551615|0",
            [&](u64 number, const std::optional<MapLine>& line) {
              lines.push_back(std::to_string(number) +
                              (line ? " " + std::string(line->name) + " " + std::to_string(line->file_offset) + " " +
                                          std::to_string(line->size) + " " + std::to_string(line->runtime_offset)
                                    : " bad"));
            });
  EXPECT_EQ(lines,
            (std::vector<std::string>{"3 a 16 16 16", "4 bad", "5 bad", "6 bad", "7 e 255 18446744073709551615 0"}));
}

}  // namespace

}  // namespace modelutils::bump5
