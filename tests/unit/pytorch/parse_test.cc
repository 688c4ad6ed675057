#include "pytorch/parse.h"

#include <gtest/gtest.h>

#include "io/random_access_file.h"
#include "support/checkpoint_builder.h"

namespace modelutils::pytorch {
namespace {

using namespace test::pickle;
using test::checkpoint;
using test::zip;

Document read(const std::string& content) {
  const auto bytes = std::as_bytes(std::span(content));
  const MemoryFile file({bytes.begin(), bytes.end()}, "m.pt");
  auto document = parse(file);
  EXPECT_TRUE(document.has_value());
  return document ? std::move(*document) : Document{};
}

std::string first_code(const std::string& content) {
  const Document document = read(content);
  return document.findings.empty() ? "" : document.findings.front().code;
}

const std::string four = storage("FloatStorage", "0", 4);
const std::string bytes16(16, '\1');

TEST(Parse, TensorsWithTheirPlaces) {
  const Document document = read(
      checkpoint(dict({{"w", tensor(four, 0, {2, 2}, {2, 1})}, {"t", tensor(four, 1, {3}, {1})}}), {{"0", bytes16}}));
  EXPECT_TRUE(document.findings.empty()) << document.findings.front().message;
  EXPECT_TRUE(document.complete);
  EXPECT_EQ(document.root, "archive");
  ASSERT_EQ(document.tensors.size(), 2u);
  EXPECT_EQ(document.tensors[0].name, "w");
  EXPECT_EQ(document.tensors[0].type, TensorType::F32);
  EXPECT_EQ(document.tensors[0].bytes, 16u);
  EXPECT_TRUE(document.tensors[0].is_contiguous);
  EXPECT_EQ(document.tensors[1].offset, 4u);
  EXPECT_EQ(document.tensors[1].storage, document.tensors[0].storage);
}

TEST(Parse, NamesAndWrappers) {
  const std::string w = tensor(four, 0, {4}, {1});
  const std::string inner = "}(" + text("a") + w + "K\7" + w + "N" + w + "u";
  const Document document =
      read(checkpoint(dict({{"state_dict", inner}, {"optimizer", "](" + w + w + "e"}}), {{"0", bytes16}}));
  std::vector<std::string> names;
  for (const Tensor& each : document.tensors) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"state_dict.a", "state_dict.7", "optimizer.0", "optimizer.1"}));
  EXPECT_EQ(document.wrapper, "state_dict");
}

TEST(Parse, OfAKeySetTwiceTheLastValueCounts) {
  const Document document =
      read(checkpoint(dict({{"a", tensor(four, 0, {4}, {1})}, {"a", tensor(four, 0, {2}, {1})}}), {{"0", bytes16}}));
  ASSERT_EQ(document.tensors.size(), 1u);
  EXPECT_EQ(document.tensors[0].elements, 2u);
}

TEST(Parse, GraphsOfSharedListsEnd) {
  std::string laughs = "\x80\x02]" + tensor(four, 0, {4}, {1}) + "aq\1";
  for (int i = 0; i < 60; ++i) laughs += "](h\1h\1eq\1";  // 2^60 paths
  const Document document = read(checkpoint(laughs + ".", {{"0", bytes16}}));
  EXPECT_EQ(document.tensors.size(), 1u);
}

TEST(Parse, SizesThatDoNotFit) {
  const auto code = [](const std::string& made) {
    return first_code(checkpoint(dict({{"w", made}}), {{"0", bytes16}}));
  };
  EXPECT_EQ(code(tensor(four, 0, {5}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 1, {4}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {2}, {4})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {-1}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, -1, {1}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {2, 2}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {1 << 30, 1 << 30, 1 << 30}, {0, 0, 0})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {1 << 30, 8}, {0, 0})), "pt-expanded");
  EXPECT_EQ(code(tensor(storage("FloatStorage", "0", 5), 0, {5}, {1})), "pt-storage");
  EXPECT_EQ(code(tensor(storage("FloatStorage", "1", 4), 0, {4}, {1})), "pt-storage");
  EXPECT_EQ(code(tensor(storage("FloatStorage", "0", 3), 0, {3}, {1})), "pt-storage-long");
  EXPECT_EQ(code(tensor(storage("ComplexDoubleStorage", "0", 1), 0, {1}, {1})), "pt-tensor");
  EXPECT_EQ(code(tensor(four, 0, {4}, {1})), "");
}

TEST(Parse, Archives) {
  const std::string sound = dict({});
  EXPECT_EQ(first_code(zip({{.name = "a/b", .content = "x"}})), "pt-no-pickle");
  EXPECT_EQ(first_code("PK\3\4"), "pt-zip-end");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound}})), "pt-version");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound}, {.name = "a/version", .content = "99\n"}})),
            "pt-version");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound}, {.name = "b/version", .content = "3\n"}})),
            "pt-root");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound},
                            {.name = "a/version", .content = "3\n"},
                            {.name = "a/byteorder", .content = "big"}})),
            "pt-byteorder");
  EXPECT_EQ(first_code(zip({{.name = "a/data.pkl", .content = sound},
                            {.name = "a/version", .content = "3\n"},
                            {.name = "a/constants.pkl", .content = sound}})),
            "pt-torchscript");
  EXPECT_EQ(first_code(checkpoint(sound + "N.")), "pt-pickle");
  EXPECT_EQ(first_code(checkpoint(sound)), "");
}

TEST(Parse, DeepNamesEnd) {
  std::string deep = tensor(four, 0, {4}, {1});
  for (int i = 0; i < 200; ++i) deep += "\x85";
  EXPECT_EQ(first_code(checkpoint("\x80\x02" + deep + ".", {{"0", bytes16}})), "pt-limit");
}

// The stream of pickles that torch wrote before 1.6, by hand.
std::string legacy(const std::string& object, const std::string& keys, const std::string& storages) {
  return "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
         "\x80\x02M\xe9\x03."
         "\x80\x02}." +
         object + keys + storages;
}

TEST(Parse, LegacyForm) {
  const std::string object = dict({{"w", tensor(four, 0, {4}, {1})}});
  const std::string keys = "\x80\x02]" + text("0") + "a.";
  const std::string data = u64_bytes(4) + bytes16;
  const Document document = read(legacy(object, keys, data));
  EXPECT_TRUE(document.findings.empty()) << document.findings.front().message;
  ASSERT_EQ(document.tensors.size(), 1u);
  EXPECT_TRUE(document.is_legacy);
  EXPECT_EQ(first_code(legacy(object, keys, u64_bytes(u64{1} << 60) + bytes16)), "pt-storage");
  EXPECT_EQ(first_code(legacy(object, keys, "")), "pt-storage");
  EXPECT_EQ(first_code(legacy(object, "\x80\x02].", "")), "pt-storage");
  EXPECT_EQ(first_code(legacy(object, "\x80\x02}.", data)), "pt-legacy");
  EXPECT_EQ(first_code(legacy(object, keys, data + "x")), "pt-legacy");
  EXPECT_EQ(first_code("\x80\x02N."), "pt-legacy");
  EXPECT_EQ(first_code("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                       "\x80\x02M\x01\x00."),
            "pt-pickle");
}

class Pipe : public ByteSource {
 public:
  Result<std::size_t> read_some(u64, MutableBytes) const override { return 0; }
  std::optional<u64> size() const override { return std::nullopt; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "pipe";
};

TEST(Parse, NeedsAFile) {
  EXPECT_EQ(parse(Pipe()).error().code, "pt-size");
}

TEST(Parse, RecognisesByContent) {
  EXPECT_TRUE(is_checkpoint(checkpoint(dict({})), "whatever"));
  EXPECT_TRUE(is_checkpoint("\x80\x02}.", "whatever"));
  EXPECT_TRUE(is_checkpoint(zip({{.name = "a/b", .content = "x"}}), "m.pt"));
  EXPECT_FALSE(is_checkpoint(zip({{.name = "a/b", .content = "x"}}), "m.docx"));
  EXPECT_FALSE(is_checkpoint("GGUF", "m.bin"));
  // Headers of 384, 640, 896, 1152 and 1408 bytes, and of so many more than 64 KiB.
  for (const char low : {'\x01', '\x02', '\x03', '\x04', '\x05'}) {
    for (const char next : {'\0', '\x01', '}'}) {
      const std::string header = std::string{'\x80', low, next, '\0', '\0', '\0', '\0', '\0'} + "{\"w\":";
      EXPECT_FALSE(is_checkpoint(header, "m.safetensors"));
      EXPECT_FALSE(is_checkpoint(header, "m"));
      EXPECT_EQ(is_checkpoint(header, "m.bin"), next == '}') << "what torch would run is a pickle";
    }
  }
  EXPECT_TRUE(is_checkpoint("cos\nsystem\n(", "m.bin"));
  EXPECT_FALSE(is_checkpoint("cos\nsystem\n(", "notes"));
}

}  // namespace
}  // namespace modelutils::pytorch
