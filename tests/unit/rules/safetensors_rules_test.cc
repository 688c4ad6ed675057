#include "rules/safetensors/rules.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/safetensors/parse.h"
#include "json/reader.h"
#include "model/catalog.h"
#include "support/opened_model.h"
#include "support/safetensors_builder.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::SafetensorsBuilder;
using Codes = std::vector<std::string>;

std::string text(const Finding& finding) {
  return fmt::format("{} {} {}", severity_name(finding.severity), finding.code, finding.where);
}

Codes codes(const SafetensorsBuilder& builder) {
  const auto document = safetensors::parse(*builder.source());
  EXPECT_TRUE(document.has_value());
  Codes all;
  for (const Finding& finding : safetensors_container_rules(*document).findings()) all.push_back(text(finding));
  return all;
}

std::string some_bytes(std::size_t size) {
  return std::string(size, 'x');
}

TEST(SafetensorsRules, ARightFileHasNoFindings) {
  SafetensorsBuilder builder;
  builder.tensor("a", "F32", "[2,2]", some_bytes(16))
      .tensor("empty", "F32", "[0,7]", "")
      .tensor("b", "BF16", "[]", some_bytes(2));
  EXPECT_EQ(codes(builder), Codes{});
  EXPECT_EQ(codes(SafetensorsBuilder()), Codes{});
}

TEST(SafetensorsRules, EntriesMayStandInAnyOrder) {
  SafetensorsBuilder builder;
  builder.entry("c", "U8", "[4]", "[8,12]").entry("z", "U8", "[0]", "[4,4]").entry("a", "U8", "[4]", "[0,4]");
  builder.entry("b", "U8", "[4]", "[4,8]").entry("end", "U8", "[0]", "[12,12]").data(some_bytes(12));
  EXPECT_EQ(codes(builder), Codes{});
}

TEST(SafetensorsRules, SizesMustAgree) {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return codes(SafetensorsBuilder().entry("a", dtype, shape, offsets).data(some_bytes(16)));
  };
  EXPECT_EQ(one("F32", "[2,2]", "[0,16]"), Codes{});
  EXPECT_EQ(one("F16", "[2,2]", "[0,16]"), Codes{"error st-size tensor 'a'"});
  EXPECT_EQ(one("F32", "[]", "[0,16]"), Codes{"error st-size tensor 'a'"});
  EXPECT_EQ(one("F4", "[5,3]", "[0,16]"), Codes{"error st-partial-byte tensor 'a'"});
  EXPECT_EQ(one("F32", "[4294967296,4294967296,0]", "[0,16]"), Codes{"error st-shape-overflow tensor 'a'"});
  EXPECT_EQ(one("F32", "[4611686018427387904]", "[0,16]"), Codes{"error st-shape-overflow tensor 'a'"});
  EXPECT_EQ(one("F32", "[2,2]", "[16,0]"), Codes{"error st-offsets tensor 'a'"});
}

TEST(SafetensorsRules, AnUnknownDtypeIsNoErrorOfTheContainer) {
  SafetensorsBuilder builder;
  builder.tensor("a", "f32", "[1]", some_bytes(4));
  EXPECT_EQ(codes(builder), Codes{"error st-dtype tensor 'a'"});
  const auto document = safetensors::parse(*builder.source());
  const Findings findings = safetensors_container_rules(*document).findings();
  EXPECT_EQ(first_container_error(findings), nullptr);
  ASSERT_NE(first_error(findings), nullptr);
}

TEST(SafetensorsRules, EveryByteBelongsToOneTensor) {
  const auto two = [](std::string_view first, std::string_view second, std::size_t data) {
    return codes(
        SafetensorsBuilder().entry("a", "U8", "[8]", first).entry("b", "U8", "[8]", second).data(some_bytes(data)));
  };
  EXPECT_EQ(two("[0,8]", "[8,16]", 16), Codes{});
  EXPECT_EQ(two("[0,8]", "[0,8]", 8), Codes{"error st-overlap tensor 'b'"});
  EXPECT_EQ(two("[4,12]", "[0,8]", 12), Codes{"error st-overlap tensor 'a'"});
  EXPECT_EQ(two("[0,8]", "[12,20]", 20), Codes{"error st-hole tensor 'b'"});
  EXPECT_EQ(two("[4,12]", "[12,20]", 20), Codes{"error st-hole tensor 'a'"});
  EXPECT_EQ(two("[0,8]", "[8,16]", 17), Codes{"error st-trailing-data data"});
  EXPECT_EQ(two("[0,8]", "[8,16]", 15), Codes{"error st-data-truncated tensor 'b'"});
  EXPECT_EQ(two("[0,8]", "[8,16]", 0), Codes{"error st-data-truncated tensor 'a'"});
  EXPECT_EQ(codes(SafetensorsBuilder().data("x")), Codes{"error st-trailing-data data"});
  // The header {"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}} is padded from 53 to 56 bytes and follows 8 bytes
  // of length, so the data ends at byte 72.
  const SafetensorsBuilder cut = SafetensorsBuilder().entry("a", "U8", "[8]", "[0,8]").data(some_bytes(7));
  const Findings findings = safetensors_container_rules(*safetensors::parse(*cut.source())).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "st-data-truncated");
  EXPECT_TRUE(findings[0].leads);
  EXPECT_EQ(findings[0].message,
            "incomplete: 71 of 72 bytes (99 %); download it again; 1 of 1 tensor is missing or cut off");
  SafetensorsBuilder inside;
  inside.tensor("a", "U8", "[8]", some_bytes(8)).entry("z", "U8", "[0]", "[4,4]");
  EXPECT_EQ(codes(inside), Codes{"error st-overlap tensor 'z'"});
}

TEST(SafetensorsRules, TheMessageNamesWhatWasFoundAndWhere) {
  SafetensorsBuilder builder;
  builder.tensor("a", "U8", "[8]", some_bytes(8)).entry("b", "U8", "[8]", "[4,12]").data(some_bytes(4));
  const auto document = safetensors::parse(*builder.source());
  const Findings findings = safetensors_container_rules(*document).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "st-overlap");
  EXPECT_EQ(findings[0].message, "shares 4 bytes with tensor 'a'");
  EXPECT_EQ(findings[0].offset, document->tensors[1].entry_offset);
}

TEST(SafetensorsRules, HolesAreNotBlamedOnEntriesThatCouldNotBeRead) {
  SafetensorsBuilder builder;
  builder.member(R"("a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,8]})").entry("b", "U8", "[8]", "[8,16]");
  EXPECT_EQ(codes(builder.data(some_bytes(16))), Codes{"error st-number tensor 'a'"});
}

TEST(SafetensorsRules, NamesAndAlignment) {
  EXPECT_EQ(codes(SafetensorsBuilder().tensor("a\\u001b[31m", "U8", "[1]", "x")),
            Codes{"warning st-name-control tensor 'a\x1b[31m'"});
  EXPECT_EQ(codes(SafetensorsBuilder().padded(false).tensor("a", "U8", "[1]", "x")), Codes{"note st-unaligned data"});
}

TEST(SafetensorsRules, CountsWhatItDoesNotKeep) {
  SafetensorsBuilder builder;
  for (int i = 0; i < 300; ++i) builder.tensor(fmt::format("t{}", i), "F32", "[1]", "x");
  const auto document = safetensors::parse(*builder.source());
  const FindingLog log = safetensors_container_rules(*document);
  EXPECT_EQ(log.errors(), 300u);
  EXPECT_EQ(log[0].code, "st-size");
  EXPECT_EQ(log.findings().back().code, "st-size");
  EXPECT_EQ(log.findings().size(), FindingLog::kept_per_code + 1);
}

class SafetensorsFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    dir.write(one,
              SafetensorsBuilder().tensor("a", "F32", "[2,3]", some_bytes(24)).tensor("b", "f99", "[1]", "x").build());
    dir.write(two, SafetensorsBuilder().tensor("c", "F32", "[9]", "x").tensor("d", "U8", "[]", "x").build());
    dir.write("model.safetensors.index.json",
              test::safetensors_index({{"a", one}, {"b", one}, {"c", two}, {"d", two}}, 27));
  }
  const std::string one = "model-00001-of-00002.safetensors";
  const std::string two = "model-00002-of-00002.safetensors";
  test::TempDir dir;
};

TEST_F(SafetensorsFolderTest, FindingsOfASetNameTheirFiles) {
  const auto opened = test::opened(dir.path());
  ASSERT_TRUE(opened);
  ASSERT_EQ(opened->format, Format::safetensors);
  const auto model = check_safetensors(*opened);
  ASSERT_TRUE(model.has_value());
  const Findings findings = model->findings.findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(text(findings[0]) + " " + findings[0].file, "error st-dtype tensor 'b' " + one);
  EXPECT_EQ(text(findings[1]) + " " + findings[1].file, "error st-size tensor 'c' " + two);
}

TEST_F(SafetensorsFolderTest, TheCatalogSaysWhatCanBeRead) {
  const auto set = safetensors::open_set(dir.path());
  ASSERT_TRUE(set.has_value());
  const Catalog catalog = catalog_of(*set);
  EXPECT_EQ(catalog.format, Format::safetensors);
  ASSERT_EQ(catalog.files.size(), 2u);
  ASSERT_EQ(catalog.tensors.size(), 4u);
  EXPECT_EQ(catalog.readable(), 3u);
  EXPECT_TRUE(std::ranges::equal(catalog.tensors[0].ne, std::vector<u64>{3, 2}));
  EXPECT_EQ(catalog.tensors[0].offset, set->files[0].document.data_offset);
  EXPECT_EQ(catalog.tensors[0].bytes, 24u);
  EXPECT_EQ(catalog.tensors[1].type, std::nullopt);
  EXPECT_EQ(catalog.tensors[2].name, "c");
  EXPECT_EQ(catalog.tensors[2].unreadable, Unreadable::other_size);
  EXPECT_EQ(catalog.find("c"), nullptr);
  EXPECT_EQ(catalog.tensors[3].name, "d");
  EXPECT_EQ(catalog.tensors[3].file, 1u);
}

TEST_F(SafetensorsFolderTest, RecognisesFilesIndexesAndFolders) {
  const auto recognised = [&](const std::string& path) { return probe_path(path)->format == Format::safetensors; };
  EXPECT_TRUE(recognised(dir.file(one)));
  EXPECT_TRUE(recognised(dir.file("model.safetensors.index.json")));
  EXPECT_TRUE(recognised(dir.write("broken.safetensors", "\1")));
  EXPECT_FALSE(recognised(dir.write("page.safetensors", "<html>")));
  EXPECT_FALSE(recognised(dir.write("config.json", "{}")));
  dir.write("empty/README", "");
  EXPECT_FALSE(recognised(dir.file("empty")));
}

TEST_F(SafetensorsFolderTest, AFileThatCannotEvenGiveItsHeaderHasOneFinding) {
  const auto model = test::opened(dir.write("x.safetensors", std::string(8, '\0')));
  const auto checked = check_safetensors(*model);
  ASSERT_TRUE(checked.has_value());
  ASSERT_EQ(checked->findings.size(), 1u);
  EXPECT_EQ(checked->findings[0].code, "st-header-length");
  EXPECT_TRUE(checked->catalog.tensors.empty());
}

// Checks every case of the malformed corpus against its manifest: the required behaviour of a dumper, and the class for
// verify. Files with invalid data are valid containers.
TEST(SafetensorsCorpus, ContainerErrorsAreThoseOfTheManifest) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const std::string folder = test::shared_dir() + "/corpus/malformed/st/";
  const auto manifest = json::load(folder + "manifest.json");
  ASSERT_TRUE(manifest.has_value());
  json::Array cases;
  ASSERT_TRUE((*manifest)->root.get(cases));
  std::size_t count = 0;
  for (const json::Element entry : cases) {
    const std::string name(*json::string_member(entry, "name"));
    const std::string_view dump = *json::string_member(entry, "dump");
    const auto set = safetensors::open_set(folder + name);
    const Findings findings = set ? safetensors_container_findings(*set) : Findings();
    const bool accepted = set && first_container_error(findings) == nullptr;
    if (dump != "either") {
      EXPECT_EQ(accepted, dump == "accept") << name;
    }
    ++count;
  }
  EXPECT_GE(count, 187u);
}

}  // namespace
}  // namespace modelutils
