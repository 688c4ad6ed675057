#include "tokenizer/read/build.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/tokenizer_builder.h"

namespace modelutils {
namespace {

using test::piece_message;
using test::ProtoBuilder;

std::string code_of(std::string_view bytes) {
  const auto model = tokenizer::parse_sentencepiece(bytes);
  return model ? "read" : model.error().code;
}

TEST(SentencePiece, ReadsPiecesInOrder) {
  const std::string bytes = test::sentencepiece_file({{"<unk>", 0, 2}, {"<s>", 0, 3}, {"\u2581a", -1.5F, 1}});
  const auto model = tokenizer::parse_sentencepiece(bytes);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->pieces.size(), 3U);
  EXPECT_EQ(model->pieces[0].type, 2);
  EXPECT_EQ(model->pieces[2].text, "\u2581a");
  EXPECT_EQ(model->pieces[2].score, -1.5F);
  EXPECT_EQ(model->pieces[2].type, 1);
  EXPECT_EQ(model->model_type, 2);
  EXPECT_TRUE(model->byte_fallback);
  EXPECT_EQ(model->pad_id, -1);
  EXPECT_FALSE(model->remove_extra_whitespaces);
}

TEST(SentencePiece, DefaultsAreTheFormats) {
  const std::string bytes = ProtoBuilder().bytes(1, piece_message("a", 0)).text();
  const auto model = tokenizer::parse_sentencepiece(bytes);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->model_type, 1);
  EXPECT_EQ(model->unk_id, 0);
  EXPECT_EQ(model->bos_id, 1);
  EXPECT_EQ(model->eos_id, 2);
  EXPECT_EQ(model->pad_id, -1);
  EXPECT_TRUE(model->add_dummy_prefix);
  EXPECT_TRUE(model->remove_extra_whitespaces);
  EXPECT_TRUE(model->escape_whitespaces);
  EXPECT_FALSE(model->byte_fallback);
}

TEST(SentencePiece, OrderAndUnknownFieldsDoNotMatter) {
  const std::string piece =
      ProtoBuilder().fixed64(9, 7).varint(3, 6).number(2, 2).varint(77, 5).bytes(1, "<0x00>").text();
  const std::string trainer = ProtoBuilder()
                                  .varint(40, 5)
                                  .varint(41, 6)
                                  .varint(42, 7)
                                  .varint(43, 8)
                                  .varint(24, 1)
                                  .varint(3, 1)
                                  .number(9, 0.5F)
                                  .bytes(45, "<unk>")
                                  .text();
  const std::string bytes = ProtoBuilder()
                                .bytes(2, trainer)
                                .fixed32(100, 1)
                                .bytes(1, piece)
                                .varint(1, 3)  // a known field number with the wrong wire type is unknown
                                .bytes(3, ProtoBuilder().varint(3, 0).varint(5, 0).text())
                                .text();
  const auto model = tokenizer::parse_sentencepiece(bytes);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->pieces.size(), 1U);
  EXPECT_EQ(model->pieces[0].text, "<0x00>");
  EXPECT_EQ(model->pieces[0].type, 6);
  EXPECT_EQ(model->unk_id, 5);
  EXPECT_EQ(model->bos_id, 6);
  EXPECT_EQ(model->eos_id, 7);
  EXPECT_EQ(model->pad_id, 8);
  EXPECT_TRUE(model->treat_whitespace_as_suffix);
  EXPECT_FALSE(model->add_dummy_prefix);
  EXPECT_FALSE(model->escape_whitespaces);
}

TEST(SentencePiece, RefusesWhatIsBroken) {
  const std::string code = "hf-tok-sentencepiece";
  const std::string good = test::sentencepiece_file({{"a", 0, 1}});
  EXPECT_EQ(code_of(good), "read");
  EXPECT_EQ(code_of(""), code);
  EXPECT_EQ(code_of("IQ== 0\nIg== 1\n"), code);
  EXPECT_EQ(code_of(ProtoBuilder().bytes(2, "").text()), code) << "no pieces";
  EXPECT_EQ(code_of(ProtoBuilder().bytes(1, piece_message("\xff", 0)).text()), code) << "not UTF-8";
  EXPECT_EQ(code_of(ProtoBuilder().bytes(1, piece_message("a", 0, 7)).text()), code) << "type 7";
  EXPECT_EQ(code_of(ProtoBuilder().bytes(1, piece_message("a", std::numeric_limits<float>::quiet_NaN())).text()), code);
  EXPECT_EQ(code_of(test::sentencepiece_file({{"a", 0, 1}}, 3)), code) << "model type WORD";
  EXPECT_EQ(code_of(ProtoBuilder().raw("\x0b").text()), code) << "a group";
  EXPECT_EQ(code_of(ProtoBuilder().raw("\x02\x01x").text()), code) << "field number 0";
  EXPECT_EQ(code_of(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)), code) << "a huge length";
  EXPECT_EQ(code_of(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11)), code) << "more than 64 bits";
  EXPECT_EQ(code_of(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13)), code) << "no end";
}

TEST(SentencePiece, EveryCutIsAnErrorOrFewerPieces) {
  const std::string good = test::sentencepiece_file({{"<unk>", 0, 2}, {"abc", -1, 1}, {"de", -2, 4}});
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto model = tokenizer::parse_sentencepiece(std::string_view(good).substr(0, size));
    if (model) {
      EXPECT_LE(model->pieces.size(), 3U);
    } else {
      EXPECT_EQ(model.error().code, "hf-tok-sentencepiece");
      EXPECT_TRUE(model.error().offset);
      EXPECT_LE(*model.error().offset, size);
    }
  }
}

}  // namespace
}  // namespace modelutils
