// Manifests: written, read back and compared; other tools' manifests; invalid ones.
#include "verify/manifest/manifest.h"

#include <gtest/gtest.h>

#include "io/random_access_file.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

std::string hash(HashAlgorithm algorithm, std::string_view text) {
  Hasher hasher(algorithm);
  hasher.update(std::as_bytes(std::span(text)));
  return hasher.hex_digest();
}
std::string sha256(std::string_view text) {
  return hash(HashAlgorithm::sha256, text);
}

struct Item {
  std::string name;
  std::string data;
};
struct File {
  std::string name;
  std::vector<Item> tensors;
};

// Every file consists of the header "HEAD" and its tensors.
Catalog catalog_of(const std::vector<File>& files) {
  Catalog catalog;
  for (const File& file : files) {
    std::string bytes = "HEAD";
    for (const Item& item : file.tensors) {
      Tensor& tensor = catalog.add(item.name, {item.data.size()});
      tensor.type = TensorType::I8;
      tensor.file = static_cast<u32>(catalog.files.size());
      tensor.offset = bytes.size();
      tensor.bytes = item.data.size();
      bytes += item.data;
    }
    const auto view = std::as_bytes(std::span(bytes));
    catalog.files.push_back({"/some/folder/" + file.name, file.name,
                             std::make_shared<MemoryFile>(std::vector<std::byte>(view.begin(), view.end()))});
  }
  return catalog;
}

const std::vector<File> one_file = {{"m.gguf", {{"a", "AAAA"}, {"b", "BB"}}}};

std::string manifest_of(const Catalog& catalog, HashAlgorithm algorithm = HashAlgorithm::sha256, bool whole = false) {
  std::string text;
  FindingLog log;
  write_manifest(
      catalog, algorithm, whole, 2, [&](std::string_view line) { return text += line, true; }, log);
  EXPECT_EQ(log.errors(), 0u);
  return text;
}

// Returns codes and places of the differences, "" if there are none; notes in brackets.
std::string compare_all(std::string_view manifest, const std::vector<Catalog>& models) {
  auto loaded = parse_manifest(manifest, "manifest");
  if (!loaded) return loaded.error().code + " " + loaded.error().where;
  ManifestCheck check(std::move(*loaded), models.size() == 1);
  FindingLog log;
  for (const Catalog& model : models) check.check_model(model, 2, log);
  check.finish(log);
  std::string text;
  for (const Finding& finding : log.findings()) {
    if (!text.empty()) text += ", ";
    text += finding.severity == Severity::note ? "(" + finding.code + ")" : finding.code + " " + finding.where;
  }
  return text;
}
std::string compare(std::string_view manifest, const std::vector<File>& files) {
  return compare_all(manifest, {catalog_of(files)});
}

// 80,000 lines about 8,000 files; also if names are equal up to a colon, which may end a name.
TEST(Manifest, ManyLinesAboutManyFiles) {
  for (const std::string beginning : {"m-", "m:"}) {
    std::vector<File> files;
    std::string manifest;
    for (int i = 0; i < 8000; ++i) {
      files.push_back({beginning + std::to_string(10000 + i) + "-of-18000.gguf", {}});
      for (int k = 0; k < 10; ++k) {
        const Item item{"blk." + std::to_string(k) + ".weight", std::to_string(i * 10 + k)};
        manifest += "xxh64  " + hash(HashAlgorithm::xxh64, item.data) + "  models/" + files.back().name + ":" +
                    item.name + "\n";
        files.back().tensors.push_back(item);
      }
    }
    EXPECT_EQ(compare(manifest, files), "");
    files[4321].tensors[7].data = "changed";
    EXPECT_EQ(compare(manifest, files), "manifest-differs tensor 'blk.7.weight'");
  }
}

// The same for many models with one file each, each of which searches the whole manifest.
TEST(Manifest, ManyLinesAboutManyModels) {
  std::vector<Catalog> models;
  std::string manifest;
  for (int i = 0; i < 8000; ++i) {
    const File file{std::to_string(i) + ".gguf", {{"t", std::to_string(i)}}};
    for (int k = 0; k < 10; ++k) {
      manifest += "xxh64  " + hash(HashAlgorithm::xxh64, file.tensors[0].data) + "  " + file.name + ":t\n";
    }
    models.push_back(catalog_of({file}));
  }
  EXPECT_EQ(compare_all(manifest, models), "");
}

// A manifest that repeats an entry a thousand times does not cause a thousand hashes.
TEST(Manifest, WhatIsAskedForAgainIsReadOnce) {
  const Catalog catalog = catalog_of(one_file);
  std::string manifest;
  for (int i = 0; i < 1000; ++i) {
    manifest += "sha256  " + sha256("AAAABB") + "  m.gguf\n" + "sha256  " + sha256("BB") + "  m.gguf:b\n";
  }
  ManifestCheck check(*parse_manifest(manifest, "manifest"), true);
  FindingLog log;
  Progress progress("", 0, false);
  check.check_model(catalog, 1, log, &progress);
  EXPECT_EQ(progress.done(), 6u + 2u);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].code, "manifest-new");
  EXPECT_EQ(log[0].where, "tensor 'a'");
}

// If a file's name is a suffix of another's, the longer name counts; names may contain colons and spaces.
TEST(Manifest, WhichFileALineOfTextIsAbout) {
  const std::vector<File> files = {
      {"m.gguf", {{"t", "1"}}}, {"a m.gguf", {{"t", "2"}}}, {"c:d.gguf", {{"t", "3"}}}, {"sub/m.gguf", {{"t", "4"}}}};
  const auto line = [](std::string_view data, std::string_view subject) {
    return "sha256  " + sha256(data) + "  " + std::string(subject) + "\n";
  };
  EXPECT_EQ(compare(line("1", "m.gguf:t") + line("2", "x/a m.gguf:t") + line("3", "C:\\x\\c:d.gguf:t") +
                        line("4", "deep/sub/m.gguf:t"),
                    {files[0], files[1], files[2]}),
            "manifest-differs tensor 't'")
      << "without sub/m.gguf the last line is about m.gguf";
  EXPECT_EQ(compare(line("2", "x/a m.gguf:t") + line("3", "C:\\x\\c:d.gguf:t") + line("4", "deep/sub/m.gguf:t"),
                    {files[1], files[2], files[3]}),
            "");
}

TEST(Manifest, LinesAreThoseOfTheContract) {
  EXPECT_EQ(manifest_of(catalog_of(one_file), HashAlgorithm::sha256, true),
            R"({"file":"m.gguf","tensor":"a","bytes":4,"sha256":")" + sha256("AAAA") + "\"}\n" +
                R"({"file":"m.gguf","tensor":"b","bytes":2,"sha256":")" + sha256("BB") + "\"}\n" +
                R"({"file":"m.gguf","tensor":null,"bytes":10,"sha256":")" + sha256("HEADAAAABB") + "\"}\n");
  const std::string xxh3 = manifest_of(catalog_of({{"m", {{"t", ""}}}}), HashAlgorithm::xxh3);
  EXPECT_EQ(xxh3, R"({"file":"m","tensor":"t","bytes":0,"xxh3":"99aa06d3014798d86001c324468d497f"})"
                  "\n");
}

TEST(Manifest, LinesStandInFileOrder) {
  Catalog catalog = catalog_of({{"1", {{"a", "A"}, {"b", "BB"}}}, {"2", {{"c", "CCC"}}}});
  std::swap(catalog.tensors[0], catalog.tensors[2]);
  const std::string text = manifest_of(catalog);
  EXPECT_LT(text.find("\"a\""), text.find("\"b\""));
  EXPECT_LT(text.find("\"b\""), text.find("\"c\""));
}

TEST(Manifest, StopsWhenTheReaderIsGone) {
  int lines = 0;
  FindingLog log;
  write_manifest(
      catalog_of(one_file), HashAlgorithm::xxh3, false, 1, [&](std::string_view) { return ++lines, false; }, log);
  EXPECT_EQ(lines, 1);
}

TEST(Manifest, RoundTripOfEveryAlgorithm) {
  for (const HashAlgorithm algorithm :
       {HashAlgorithm::sha256, HashAlgorithm::xxh3, HashAlgorithm::sha1, HashAlgorithm::xxh64}) {
    EXPECT_EQ(compare(manifest_of(catalog_of(one_file), algorithm, true), one_file), "");
  }
}

TEST(Manifest, NamesThatAreNotUtf8SurviveTheRoundTrip) {
  const std::vector<File> odd = {{"m\xff.gguf", {{"a\xfe", "AAAA"}, {"\xe2\x80\xae", "B"}}}};
  EXPECT_EQ(compare(manifest_of(catalog_of(odd), HashAlgorithm::sha256, true), odd), "");
}

TEST(Manifest, DifferencesMissingAndNewTensorsAreNamed) {
  const std::string text = manifest_of(catalog_of(one_file), HashAlgorithm::xxh3, true);
  EXPECT_EQ(compare(text, {{"m.gguf", {{"a", "AAAx"}, {"b", "BB"}}}}),
            "manifest-differs tensor 'a', manifest-differs file 'm.gguf'");
  EXPECT_EQ(compare(text, {{"m.gguf", {{"a", "AAAA"}, {"b", "B"}}}}),
            "manifest-differs tensor 'b', manifest-differs file 'm.gguf'");
  EXPECT_EQ(compare(text, {{"m.gguf", {{"a", "AAAA"}, {"c", "BB"}}}}),
            "manifest-missing tensor 'b', manifest-new tensor 'c'");
}

TEST(Manifest, DigitsMayBeUpperCase) {
  std::string text = manifest_of(catalog_of({{"m", {{"t", "AAAA"}}}}));
  const std::size_t begin = text.find("sha256\":\"") + 9;
  for (std::size_t i = begin; i < begin + 64; ++i) text[i] = static_cast<char>(std::toupper(text[i]));
  EXPECT_EQ(compare(text, {{"m", {{"t", "AAAA"}}}}), "");
}

TEST(Manifest, AModelInSeveralFiles) {
  const std::vector<File> two = {{"1", {{"a", "A"}}}, {"2", {{"b", "B"}}}};
  const std::string text = manifest_of(catalog_of(two), HashAlgorithm::sha256, true);
  EXPECT_EQ(compare(text, two), "");
  EXPECT_EQ(compare(text, {{"1", {{"a", "A"}}}}), "manifest-missing-file file '2'");
  EXPECT_EQ(compare(manifest_of(catalog_of({two[0]})), two), "manifest-new-file file '2'");
  // Tensors of the same name in two files are different tensors.
  const std::vector<File> same = {{"1", {{"a", "A"}}}, {"2", {{"a", "B"}}}};
  EXPECT_EQ(compare(manifest_of(catalog_of(same)), same), "");
}

TEST(Manifest, SeveralModelsShareOneManifest) {
  const Catalog first = catalog_of({{"1", {{"a", "A"}}}});
  const Catalog second = catalog_of({{"2", {{"b", "B"}}}});
  const std::string text = manifest_of(first) + manifest_of(second);
  EXPECT_EQ(compare_all(text, {first, second}), "");
  EXPECT_EQ(compare_all(manifest_of(first), {first, second}), "manifest-new-file file '2'");
}

TEST(Manifest, TheOnlyFileMayHaveBeenRenamed) {
  const std::string text = manifest_of(catalog_of(one_file), HashAlgorithm::sha256, true);
  EXPECT_EQ(compare(text, {{"renamed.gguf", one_file[0].tensors}}), "(manifest-renamed)");
  EXPECT_EQ(compare(text, {{"renamed.gguf", {{"a", "AAAA"}, {"b", "xx"}}}}),
            "(manifest-renamed), manifest-differs tensor 'b', manifest-differs file 'm.gguf'");
}

TEST(Manifest, ABrokenFileMayHaveANameTwice) {
  const std::vector<File> twice = {{"m", {{"a", "1"}, {"a", "2"}}}};
  EXPECT_EQ(compare(manifest_of(catalog_of(twice)), twice), "");
}

TEST(Manifest, TextOfLlamaGgufHash) {
  const std::string text = "xxh64     " + hash(HashAlgorithm::xxh64, "AAAA") + "  m.gguf:a\n" + "sha1      " +
                           hash(HashAlgorithm::sha1, "BB") + "  m.gguf:b\r\n\n" + "sha256    " + sha256("AAAABB") +
                           "  m.gguf\n";
  EXPECT_EQ(compare(text, one_file), "");
  EXPECT_EQ(compare(text, {{"m.gguf", {{"a", "AAAx"}, {"b", "BB"}}}}),
            "manifest-differs tensor 'a', manifest-differs all tensors of 'm.gguf'");
  EXPECT_EQ(compare(text, {{"other.gguf", one_file[0].tensors}}), "(manifest-renamed)");
  EXPECT_EQ(compare("sha1  " + hash(HashAlgorithm::sha1, "AAAA") + "  m.gguf:a\n", one_file),
            "manifest-new tensor 'b'");
  EXPECT_EQ(compare("SHA256  " + sha256("AAAABB") + "  some/path/m.gguf\n", one_file), "");
  EXPECT_EQ(compare("uuid  f00f00f0-1234  m.gguf\nsha256  " + sha256("AAAABB") + "  m.gguf\n", one_file),
            "(manifest-uuid)");
}

TEST(Manifest, TextWithColonsAndSpacesInNames) {
  const std::vector<File> odd = {{"my: model.gguf", {{"a:b c", "AAAA"}, {"my: model.gguf", "B"}}}};
  const std::string text = "sha256  " + sha256("AAAA") + "  ./dir: x/my: model.gguf:a:b c\n" + "sha256  " +
                           sha256("B") + "  my: model.gguf:my: model.gguf\n" + "sha256  " + sha256("AAAAB") +
                           "  my: model.gguf\n";
  EXPECT_EQ(compare(text, odd), "");
}

TEST(Manifest, ObjectOfGguf2bump) {
  const std::string text = R"({"model":{"layers":1},
    "entries":[{"name":"a","dtype":"fp32","file_offset":4,"size":4,"source":null,"sha256":")" +
                           sha256("AAAA") + R"("},
    {"name":"b","dtype":"q4_k","file_offset":8,"size":2,"source":"x","sha256":")" +
                           sha256("BB") + R"("}]})";
  const std::vector<File> weights = {{"weights.bump", one_file[0].tensors}};
  EXPECT_EQ(compare(text, weights), "");
  EXPECT_EQ(compare(text, {{"w", {{"a", "AAAx"}, {"b", "BB"}}}}), "manifest-differs tensor 'a'");
  EXPECT_EQ(compare(text, {{"w", {{"b", "BB"}, {"a", "AAAA"}}}}),
            "manifest-differs tensor 'a', manifest-differs tensor 'b'");
}

TEST(Manifest, BrokenOnesAreRefused) {
  for (const char* text : {
           "hello",
           "sha256 abc m.gguf:a",
           "sha256  0123456789012345678901234567890123456789012345678901234567890123",
           "md5  01234567890123456789012345678901  m.gguf:a",
           "{\"file\":\"m\"",
           "{\"file\":\"m\",\"tensor\":\"a\"}",
           "{\"file\":\"m\",\"tensor\":\"a\",\"sha256\":\"xyz\"}",
           "{\"file\":\"m\",\"tensor\":1,\"sha256\":\"xyz\"}",
           "{\"file\":\"m\",\"sha256\":\"xyz\"}",
           "{\"tensor\":\"a\"}",
           "{\"file\":\"m\",\"tensor\":null,\"bytes\":1.5,\"sha256\":\"\"}",
           "{\"entries\":[{\"name\":\"a\",\"sha256\":\"00\"}]}",
           "{\"entries\":[{\"name\":\"a\",\"file_offset\":0,\"size\":1,\"sha256\":\"00\"}]}",
           "[1]",
           "{}",
       }) {
    const auto manifest = parse_manifest(text, "x");
    ASSERT_FALSE(manifest.has_value()) << text;
    EXPECT_EQ(manifest.error().code, "manifest-syntax") << text;
    EXPECT_EQ(manifest.error().file, "x");
  }
  EXPECT_EQ(parse_manifest("", "x").error().code, "manifest-empty");
  EXPECT_EQ(parse_manifest("\n \n", "x").error().code, "manifest-empty");
  EXPECT_EQ(load_manifest("/nonexistent/manifest").error().code, "io-open");
}

TEST(Manifest, AModelInsteadOfItsManifestIsNamed) {
  const std::string model("GGUF\3\0\0\0\x1b[31m", 13);
  EXPECT_EQ(parse_manifest(model, "x").error().message, "is not a manifest but a GGUF file");
  EXPECT_EQ(parse_manifest(std::string("\x90\0\0\0\0\0\0\0{}", 10), "x").error().message,
            "is not a manifest: it is not text");
}

TEST(Manifest, SyntaxErrorsNameTheLine) {
  const std::string good = manifest_of(catalog_of(one_file));
  EXPECT_EQ(parse_manifest(good + "garbage\n", "x").error().where, "line 3");
}

TEST(Manifest, ReportsBetweenTheLinesAreIgnored) {
  const std::string text = manifest_of(catalog_of(one_file)) + R"({"schema":"verify/1","path":"m"})" + "\n";
  EXPECT_EQ(compare(text, one_file), "");
}

}  // namespace
}  // namespace modelutils
