#include "formats/gguf/parse.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils::gguf {
namespace {

using test::GgufBuilder;

Document parsed(const GgufBuilder& builder) {
  const auto source = builder.source();
  auto document = parse(*source);
  EXPECT_TRUE(document.has_value());
  return document ? std::move(*document) : Document{};
}

// Returns the only finding of a file.
Finding only_finding(const GgufBuilder& builder) {
  const Document document = parsed(builder);
  EXPECT_EQ(document.findings.size(), 1u);
  return document.findings.empty() ? Finding{} : document.findings.front();
}

std::string magic_error(std::string_view bytes) {
  const auto span = std::as_bytes(std::span(bytes));
  const MemoryFile file({span.begin(), span.end()}, "m.gguf");
  const auto document = parse(file);
  if (document) return "parsed";
  EXPECT_EQ(document.error().code, "gguf-magic");
  EXPECT_EQ(document.error().file, "m.gguf");
  return document.error().message;
}

GgufBuilder every_type() {
  GgufBuilder builder;
  builder.key_u8("a.u8", 255).key_i8("a.i8", -128).key_u16("a.u16", 65535).key_i16("a.i16", -32768);
  builder.key_u32("a.u32", 4294967295u).key_i32("a.i32", -2147483647 - 1).key_f32("a.f32", 1e-5f);
  builder.key_bool("a.bool", 1).key_string("a.string", "text").key_u64("a.u64", ~u64{0});
  builder.key_i64("a.i64", -5).key_f64("a.f64", 0.1).key_array<u16>("a.array", {1, 2, 3});
  return builder;
}

TEST(Parse, ReadsEveryValueTypeInBothByteOrders) {
  for (const bool big_endian : {false, true}) {
    const Document document = parsed(every_type().big_endian(big_endian));
    EXPECT_TRUE(document.complete);
    EXPECT_EQ(document.big_endian, big_endian);
    ASSERT_EQ(document.keys.size(), 13u);
    for (std::size_t i = 0; i < 13; ++i) {
      constexpr ValueType order[] = {ValueType::u8,     ValueType::i8,  ValueType::u16, ValueType::i16,
                                     ValueType::u32,    ValueType::i32, ValueType::f32, ValueType::boolean,
                                     ValueType::string, ValueType::u64, ValueType::i64, ValueType::f64,
                                     ValueType::array};
      EXPECT_EQ(document.keys[i].type(), order[i]) << document.keys[i].key;
    }
    EXPECT_EQ(std::get<u8>(document.find("a.u8")->value), 255);
    EXPECT_EQ(std::get<i8>(document.find("a.i8")->value), -128);
    EXPECT_EQ(std::get<u16>(document.find("a.u16")->value), 65535);
    EXPECT_EQ(std::get<i16>(document.find("a.i16")->value), -32768);
    EXPECT_EQ(std::get<u32>(document.find("a.u32")->value), 4294967295u);
    EXPECT_EQ(std::get<i32>(document.find("a.i32")->value), -2147483647 - 1);
    EXPECT_EQ(std::get<float>(document.find("a.f32")->value), 1e-5f);
    EXPECT_EQ(std::get<Bool>(document.find("a.bool")->value).byte, 1);
    EXPECT_EQ(std::get<std::string>(document.find("a.string")->value), "text");
    EXPECT_EQ(std::get<u64>(document.find("a.u64")->value), ~u64{0});
    EXPECT_EQ(std::get<i64>(document.find("a.i64")->value), -5);
    EXPECT_EQ(std::get<double>(document.find("a.f64")->value), 0.1);
    const auto& array = std::get<ArrayRef>(document.find("a.array")->value);
    EXPECT_EQ(array.element_type, ValueType::u16);
    EXPECT_EQ(array.count, 3u);
    EXPECT_EQ(array.bytes, 6u);
  }
}

TEST(Parse, SaysWhereEverythingStands) {
  GgufBuilder builder;
  builder.key_string("ab", "cde").key_array<u32>("xyz", {7}).f32_tensor("t", {4, 2}).f32_tensor("second", {1});
  const Document document = parsed(builder);
  ASSERT_TRUE(document.complete);
  EXPECT_TRUE(document.findings.empty());
  EXPECT_EQ(document.keys[0].offset, 24u);
  EXPECT_EQ(document.keys[0].value_offset, 24u + 8 + 2 + 4);
  EXPECT_EQ(document.keys[1].offset, 38u + 8 + 3);
  EXPECT_EQ(document.keys[1].value_offset, 49u + 8 + 3 + 4);
  EXPECT_EQ(std::get<ArrayRef>(document.keys[1].value).offset, 64u + 12);
  EXPECT_EQ(document.tensors[0].info_offset, 80u);
  EXPECT_EQ(document.tensors[0].ne, (std::vector<u64>{4, 2}));
  EXPECT_EQ(document.tensors[0].bytes(), 32u);
  EXPECT_EQ(document.tensors[0].elements(), 8u);
  EXPECT_EQ(document.tensors[0].offset, 0u);
  EXPECT_EQ(document.tensors[1].offset, 32u);
  EXPECT_EQ(document.header_end, builder.build_header().size());
  EXPECT_EQ(document.data_offset, (document.header_end + 31) / 32 * 32);
  EXPECT_EQ(document.file_size, builder.build().size());
  EXPECT_EQ(document.name, "built.gguf");
  EXPECT_EQ(document.find_tensor("second"), &document.tensors[1]);
  EXPECT_EQ(document.find_tensor("third"), nullptr);
  EXPECT_EQ(document.find("none"), nullptr);
}

TEST(Parse, UsesEveryAlignmentThatCanBeWorkedWith) {
  const auto alignment_of = [](const GgufBuilder& builder) { return parsed(builder).alignment; };
  EXPECT_EQ(alignment_of(GgufBuilder()), 32u);
  for (const u32 good : {1u, 4u, 16u, 24u, 64u, 1u << 31}) {
    EXPECT_EQ(alignment_of(GgufBuilder().key_u32("general.alignment", good)), good);
  }
  for (const u32 bad : {0u, 13u, 12u}) {
    EXPECT_EQ(alignment_of(GgufBuilder().key_u32("general.alignment", bad)), 32u);
  }
  EXPECT_EQ(alignment_of(GgufBuilder().key_u64("general.alignment", 64)), 32u);
  EXPECT_EQ(alignment_of(GgufBuilder().key_string("general.alignment", "64")), 32u);
  EXPECT_EQ(alignment_of(GgufBuilder().key_u32(std::string_view("general.alignment\0x", 19), 64)), 32u);
}

TEST(Parse, NamesFilesOfOtherKinds) {
  using namespace std::string_literals;
  EXPECT_NE(magic_error("").find("empty"), std::string::npos);
  EXPECT_NE(magic_error("G").find("only 1 byte;"), std::string::npos);
  EXPECT_NE(magic_error("GGU").find("3 bytes"), std::string::npos);
  EXPECT_NE(magic_error("<!DOCTYPE html><html>").find("HTML"), std::string::npos);
  EXPECT_NE(magic_error("version https://git-lfs.github.com/spec/v1\n").find("LFS"), std::string::npos);
  EXPECT_NE(magic_error("PK\x03\x04junk").find("ZIP"), std::string::npos);
  EXPECT_NE(magic_error("tjgg\x01").find("GGJT"), std::string::npos);
  EXPECT_NE(magic_error("\x1f\x8b\x08junk").find("gzip"), std::string::npos);
  EXPECT_NE(magic_error("\xef\xbb\xbfGGUF").find("byte order mark"), std::string::npos);
  EXPECT_NE(magic_error("\x10\0\0\0\0\0\0\0{\"a\":1}        "s).find("safetensors"), std::string::npos);
  EXPECT_NE(magic_error("FUGG\x03").find("46 55 47 47"), std::string::npos);
  EXPECT_NE(magic_error("\0\0\0\0"s).find("00 00 00 00"), std::string::npos);
}

TEST(Parse, KnowsVersionsAndByteOrders) {
  EXPECT_TRUE(parsed(GgufBuilder().version(2).key_u8("a", 1)).complete);
  const Finding big = only_finding(GgufBuilder().big_endian().key_u8("a", 1));
  EXPECT_EQ(big.code, "gguf-big-endian");
  EXPECT_EQ(big.severity, Severity::warning);

  const Finding old = only_finding(GgufBuilder().version(1).key_u8("a", 1));
  EXPECT_EQ(old.code, "gguf-version-1");
  EXPECT_EQ(old.offset, 4u);
  for (const u32 version : {0u, 4u, 0x30000u, 0x7fffffffu, 0x04000000u}) {
    const Finding finding = only_finding(GgufBuilder().version(version));
    EXPECT_EQ(finding.code, "gguf-version");
    EXPECT_EQ(finding.severity, Severity::error);
    EXPECT_NE(finding.message.find(std::to_string(version)), std::string::npos);
  }
  const Document big_2 = parsed(GgufBuilder().version(2).big_endian().key_u8("a", 1));
  EXPECT_TRUE(big_2.complete) << "read on, though the combination does not exist";
  EXPECT_NE(first_container_error(big_2.findings), nullptr);
}

TEST(Parse, RefusesCountsThatTheFileCannotHold) {
  const Finding keys = only_finding(GgufBuilder().kv_count(u64{1} << 61).key_u8("a", 1));
  EXPECT_EQ(keys.code, "gguf-kv-count");
  EXPECT_EQ(keys.offset, 16u);
  const Document document = parsed(GgufBuilder().tensor_count(~u64{0}).key_u8("a", 1));
  EXPECT_FALSE(document.complete);
  EXPECT_EQ(document.keys.size(), 1u) << "the keys are there all the same";
  ASSERT_EQ(document.findings.size(), 1u);
  EXPECT_EQ(document.findings[0].code, "gguf-tensor-count");
  EXPECT_EQ(document.findings[0].offset, 8u);
}

TEST(Parse, RefusesLengthsThatLeaveTheFile) {
  for (const u64 length : {u64{1} << 40, ~u64{0}, ~u64{0} - 60}) {
    GgufBuilder builder;
    std::string record;
    builder.put<u64>(record, length);
    const Finding key = only_finding(builder.raw_record(record + "short and some more bytes"));
    EXPECT_EQ(key.code, "gguf-length");
    EXPECT_EQ(key.offset, 24u);

    GgufBuilder with_string;
    const Finding value = only_finding(with_string.key_raw("k", 8, record + "text"));
    EXPECT_EQ(value.code, "gguf-length");
    EXPECT_EQ(value.offset, 24u + 8 + 1 + 4);
    EXPECT_EQ(value.where, "key 'k'");

    GgufBuilder with_tensor;
    const Finding name = only_finding(with_tensor.tensor({.name = "t", .ne = {1}, .name_length = length}));
    EXPECT_EQ(name.code, "gguf-length");
    EXPECT_EQ(name.where, "tensor 1 of 1");
  }
}

TEST(Parse, RefusesUnknownValueTypes) {
  for (const u32 type : {13u, 0x80000000u, ~0u}) {
    const Finding value = only_finding(GgufBuilder().key_raw("k", type, std::string(64, '\0')));
    EXPECT_EQ(value.code, "gguf-value-type");
    EXPECT_EQ(value.offset, 24u + 8 + 1);
    const Finding element = only_finding(GgufBuilder().key_raw_array("k", type, 1, std::string(64, '\0')));
    EXPECT_EQ(element.code, "gguf-value-type");
    EXPECT_EQ(element.where, "key 'k'");
  }
}

TEST(Parse, WarnsOfOddBools) {
  EXPECT_TRUE(parsed(GgufBuilder().key_bool("k", 0).key_bools("l", {0, 1, 1})).findings.empty());
  const Finding scalar = only_finding(GgufBuilder().key_bool("k", 2));
  EXPECT_EQ(scalar.code, "gguf-bool");
  EXPECT_EQ(scalar.severity, Severity::warning);
  const Document array = parsed(GgufBuilder().key_bools("k", {0, 1, 3, 255}).key_u8("next", 9));
  ASSERT_EQ(array.findings.size(), 1u) << "one for each key, however many bytes are wrong";
  EXPECT_EQ(array.findings[0].code, "gguf-bool");
  EXPECT_EQ(array.findings[0].offset, 24u + 8 + 1 + 4 + 12 + 2);
  EXPECT_NE(array.find("next"), nullptr);
}

TEST(Parse, RefusesArraysThatLeaveTheFile) {
  struct Case {
    u32 type;
    u64 count;
  };
  for (const Case& c : {Case{10, u64{1} << 61}, Case{4, u64{1} << 62}, Case{8, ~u64{0}}, Case{0, 1u << 30},
                        Case{7, 1000}, Case{12, 20}, Case{9, u64{1} << 40}}) {
    const Finding finding = only_finding(GgufBuilder().key_raw_array("k", c.type, c.count, std::string(64, '\0')));
    EXPECT_EQ(finding.code, "gguf-length") << c.type;
    EXPECT_EQ(finding.where, "key 'k'");
    EXPECT_EQ(finding.severity, Severity::error);
  }
}

TEST(Parse, FindsABrokenStringDeepInsideAVocabulary) {
  GgufBuilder builder;
  std::string strings;
  for (int i = 0; i < 50000; ++i) builder.put_text(strings, fmt::format("token {}", i));
  const u64 good = strings.size();
  builder.put<u64>(strings, u64{1} << 50);
  builder.put_text(strings, "last");
  const Finding finding = only_finding(builder.key_raw_array("tokens", 8, 50002, strings));
  EXPECT_EQ(finding.code, "gguf-length");
  EXPECT_EQ(finding.offset, 24u + 8 + 6 + 4 + 12 + good);
  EXPECT_NE(finding.message.find("50000"), std::string::npos);
}

// `depth` nested arrays, each with one element; the innermost one has u8.
GgufBuilder nested(std::size_t depth) {
  GgufBuilder builder;
  std::string bytes;
  for (std::size_t i = 1; i < depth; ++i) {
    builder.put<u32>(bytes, i + 1 < depth ? 9 : 0);
    builder.put<u64>(bytes, 1);
  }
  bytes += '\x05';
  builder.key_raw_array("k", depth > 1 ? 9 : 0, 1, bytes).key_u8("next", 1);
  return builder;
}

TEST(Parse, ReadsArraysInArraysToASmallDepth) {
  EXPECT_TRUE(parsed(nested(1)).findings.empty());
  for (const std::size_t depth : {2, 3, 8}) {
    const Document document = parsed(nested(depth));
    EXPECT_TRUE(document.complete) << depth;
    EXPECT_NE(document.find("next"), nullptr);
    ASSERT_EQ(document.findings.size(), 1u);
    EXPECT_EQ(document.findings[0].code, "gguf-nested-array");
    EXPECT_EQ(document.findings[0].severity, Severity::warning);
  }
  for (const std::size_t depth : {9, 100000}) {
    const Finding finding = only_finding(nested(depth));
    EXPECT_EQ(finding.code, "gguf-nesting-depth") << depth;
    EXPECT_EQ(finding.severity, Severity::error);
  }
}

TEST(Parse, ReadsOverTooManyDimensionsIfTheyCanBeThere) {
  const Document six = parsed(GgufBuilder().tensor({.name = "t", .ne = {1, 2, 3, 4, 5, 6}}).f32_tensor("u", {1}));
  EXPECT_TRUE(six.complete);
  ASSERT_EQ(six.findings.size(), 1u);
  EXPECT_EQ(six.findings[0].code, "gguf-n-dims");
  EXPECT_EQ(six.findings[0].where, "tensor 't'");
  EXPECT_EQ(six.findings[0].message, "n_dims is 6, at most 4 are allowed (5 in image and video models)");
  EXPECT_EQ(six.tensors[0].n_dims, 6u);
  EXPECT_EQ(six.tensors[0].ne, (std::vector<u64>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(six.tensors[0].bytes(), std::nullopt);
  EXPECT_EQ(six.tensors[0].elements(), std::nullopt);
  EXPECT_EQ(six.tensors[1].name, "u");
  const Document four = parsed(GgufBuilder().f32_tensor("v", {2, 3, 1, 2}));
  EXPECT_TRUE(four.findings.empty());
  EXPECT_EQ(four.tensors[0].bytes(), 48u);
  EXPECT_EQ(four.tensors[0].elements(), 12u);
  // Five dimensions are left to the rules, because the limit depends on the kind of model.
  const Document five = parsed(GgufBuilder().f32_tensor("v", {2, 3, 1, 2, 5}).f32_tensor("w", {1}));
  EXPECT_TRUE(five.findings.empty());
  EXPECT_EQ(five.tensors[0].bytes(), 240u);
  EXPECT_EQ(five.tensors[0].elements(), 60u);
  EXPECT_EQ(five.tensors[1].offset, 256u);
  const u64 two16 = u64{1} << 16;
  const Document large =
      parsed(GgufBuilder().tensor({.name = "v", .ne = {two16, two16, two16, two16, 1}}).f32_tensor("w", {1}));
  EXPECT_EQ(large.tensors[0].elements(), std::nullopt);
  EXPECT_EQ(large.tensors[0].bytes(), std::nullopt);
  for (const u32 n_dims : {0x20000000u, 0x7fffffffu, 0x80000000u, ~0u, 65u, 60u}) {
    const Document document = parsed(GgufBuilder().tensor({.name = "t", .ne = {1}, .n_dims = n_dims}));
    EXPECT_FALSE(document.complete);
    EXPECT_TRUE(document.tensors.empty());
    ASSERT_EQ(document.findings.size(), 1u);
    EXPECT_EQ(document.findings[0].code, "gguf-n-dims");
  }
}

TEST(Parse, LeavesJudgementToTheRules) {
  GgufBuilder builder;
  builder.key_u8("", 1).key_u8("", 1).tensor({.name = "", .ne = {}, .type = 999, .offset = ~u64{0}});
  builder.tensor({.name = "", .ne = {~u64{0}, ~u64{0}}, .type = 4});
  const Document document = parsed(builder);
  EXPECT_TRUE(document.complete);
  EXPECT_TRUE(document.findings.empty());
  EXPECT_EQ(document.tensors[0].type(), std::nullopt);
  EXPECT_EQ(document.tensors[0].bytes(), std::nullopt);
  EXPECT_EQ(document.tensors[1].elements(), std::nullopt);
}

// A source that fails from some offset on, like a bad disk.
class FailingSource : public ByteSource {
 public:
  FailingSource(std::shared_ptr<MemoryFile> file, u64 good) : file_(std::move(file)), good_(good) {}
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset >= good_) return input_error("io-read", "bad disk", {}, offset, name());
    return file_->read_some(offset,
                            out.first(std::min<std::size_t>(out.size(), static_cast<std::size_t>(good_ - offset))));
  }
  std::optional<u64> size() const override { return file_->size(); }
  const std::string& name() const override { return file_->name(); }

 private:
  std::shared_ptr<MemoryFile> file_;
  u64 good_;
};

TEST(Parse, PassesErrorsOfReadingOn) {
  GgufBuilder builder = every_type().key_strings("s", {"one", "two"}).key_bools("b", {1, 0}).f32_tensor("t", {1});
  const u64 size = builder.build_header().size();
  for (u64 good = 0; good < size; ++good) {
    const auto document = parse(FailingSource(builder.source(), good));
    ASSERT_FALSE(document.has_value()) << good;
    EXPECT_EQ(document.error().code, "io-read");
  }
}

// Like a pipe: the size is unknown.
class UnknownSize : public ByteSource {
 public:
  explicit UnknownSize(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t size = std::min<std::size_t>({out.size(), bytes_.size() - static_cast<std::size_t>(offset), 7});
    std::memcpy(out.data(), bytes_.data() + offset, size);
    return size;
  }
  std::optional<u64> size() const override { return std::nullopt; }
  const std::string& name() const override { return name_; }

 private:
  std::string bytes_;
  std::string name_ = "standard input";
};

TEST(Parse, ReadsPipesAndStopsWhereTheyEnd) {
  GgufBuilder builder = every_type().key_strings("s", {"one", "two"}).key_bools("b", {1, 0}).f32_tensor("t", {1});
  const std::string bytes = builder.build();
  const auto whole = parse(UnknownSize(bytes));
  ASSERT_TRUE(whole.has_value());
  EXPECT_TRUE(whole->complete);
  EXPECT_EQ(whole->file_size, std::nullopt);
  EXPECT_EQ(whole->keys.size(), 15u);
  for (std::size_t size = 4; size < builder.build_header().size(); ++size) {
    const auto cut = parse(UnknownSize(bytes.substr(0, size)));
    ASSERT_TRUE(cut.has_value());
    EXPECT_FALSE(cut->complete) << size;
    EXPECT_NE(first_container_error(cut->findings), nullptr) << size;
  }
  // Lengths and counts beyond the end of a pipe.
  for (const u32 type : {0u, 4u, 8u, 7u, 9u, 10u}) {
    const auto endless =
        parse(UnknownSize(GgufBuilder().key_raw_array("k", type, ~u64{0}, std::string(300, '\0')).build()));
    ASSERT_TRUE(endless.has_value());
    EXPECT_FALSE(endless->complete) << type;
    EXPECT_NE(first_container_error(endless->findings), nullptr) << type;
  }
}

TEST(Parse, NotesTokensThatEndTexts) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 50000; ++i) texts.push_back(std::string(i % 11, i % 5 == 0 ? '<' : '_'));
  const std::vector<u64> ids = {0, 17, 18, 20000, 49998, 49999};
  const std::vector<std::string> ends = {"<|eot_id|>", "_<EOT>", "[e~[", "</s>", "<eos>", "<｜end▁of▁sentence｜>"};
  for (std::size_t i = 0; i < ids.size(); ++i) texts[ids[i]] = ends[i];
  texts[1000] = "</s>x", texts[1001] = "</s", texts[1002] = "x</s>";
  texts[1003] = std::string("a\4\0\0\0\0\0\0\0</s>", 13);  // no string begins there
  texts[1004] = std::string(300000, '<');                  // longer than the window
  for (const bool big : {false, true}) {
    const auto make = [&] { return GgufBuilder().big_endian(big).key_strings("other", texts); };
    EXPECT_TRUE(parsed(make()).end_tokens.empty());
    EXPECT_EQ(parsed(make().key_strings(std::string(tokens_key), texts)).end_tokens, ids);
    EXPECT_EQ(parsed(make().key_strings(std::string(tokens_key), texts).key_strings(std::string(tokens_key), texts))
                  .end_tokens,
              ids)
        << "of the first key with this name";
    const auto pipe = parse(UnknownSize(make().key_strings(std::string(tokens_key), texts).build()));
    ASSERT_TRUE(pipe.has_value());
    EXPECT_EQ(pipe->end_tokens, ids);
  }
  for (const std::string_view text : end_texts()) {
    EXPECT_EQ(parsed(GgufBuilder().key_strings(std::string(tokens_key), {std::string(text)})).end_tokens,
              std::vector<u64>{0})
        << text;
  }
}

TEST(Parse, SurvivesEveryMalformedFile) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_dir() + "/corpus/malformed/gguf")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".gguf")) continue;
    ++seen;
    const auto source = RandomAccessFile::open(entry.path().string());
    ASSERT_TRUE(source.has_value()) << name;
    const auto document = parse(**source);
    const bool clean = document && document->complete && first_container_error(document->findings) == nullptr;
    // Invalid lengths, counts and value types are the parser's responsibility.
    for (const std::string_view broken :
         {"bad-size-", "bad-magic-", "bad-version-", "bad-nt-", "bad-nkv-", "bad-trunc-mid-kv", "bad-trunc-mid-n",
          "bad-trunc-mid-t", "bad-keylen-", "bad-strlen-", "bad-arr", "bad-kv", "bad-nest-", "bad-namelen-",
          "bad-ndims-", "bad-vocab-"}) {
      if (name.starts_with(broken)) {
        EXPECT_FALSE(clean) << name;
      }
    }
    if (name.starts_with("ok-")) {
      EXPECT_TRUE(clean) << name;
    }
  }
  EXPECT_GT(seen, 100u);
}

}  // namespace
}  // namespace modelutils::gguf
