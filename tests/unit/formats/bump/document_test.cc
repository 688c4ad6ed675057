#include "formats/bump/document.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "io/random_access_file.h"
#include "support/llama_model.h"
#include "support/reference_bump.h"

namespace modelutils::bump {

namespace {

TEST(BumpDtype, CodesOfBothNumberings) {
  // docs/formats/bump.md, "dtype codes".
  const auto original = [](TensorType type) { return code_of(dtype_of(type).value(), Numbering::original); };
  const auto renumbered = [](TensorType type) { return code_of(dtype_of(type).value(), Numbering::renumbered); };
  EXPECT_EQ(original(TensorType::Q4_K), 6);
  EXPECT_EQ(renumbered(TensorType::Q4_K), 7);
  EXPECT_EQ(original(TensorType::Q6_K), 7);
  EXPECT_EQ(renumbered(TensorType::Q6_K), 8);
  EXPECT_EQ(original(TensorType::Q8_0), 8);
  EXPECT_EQ(renumbered(TensorType::Q8_0), 9);
  EXPECT_FALSE(original(TensorType::Q4_1));
  EXPECT_EQ(renumbered(TensorType::Q5_K), 13);
  EXPECT_FALSE(dtype_of(TensorType::Q2_K));
  EXPECT_FALSE(dtype_from_code(9, Numbering::original));
  EXPECT_FALSE(dtype_from_code(14, Numbering::renumbered));
}

TEST(BumpDtype, EveryCodeNamesOneDtype) {
  for (Numbering numbering : all_numberings) {
    std::set<u8> codes;
    for (u8 i = 0; i <= static_cast<u8>(Dtype::q5_k); ++i) {
      const DtypeInfo& row = dtype_info(static_cast<Dtype>(i));
      EXPECT_EQ(row.dtype, static_cast<Dtype>(i));  // rows are in the order of the enumerators
      const auto code = code_of(row.dtype, numbering);
      if (!code) continue;
      EXPECT_TRUE(codes.insert(*code).second);
      EXPECT_EQ(dtype_from_code(*code, numbering), row.dtype);
    }
    EXPECT_EQ(codes.size(), numbering == Numbering::original ? 9u : 14u);
    EXPECT_EQ(numbering_from_name(numbering_name(numbering)), numbering);
  }
  EXPECT_FALSE(numbering_from_name("neither"));
}

TEST(BumpDtype, RowsAreWholeBlocks) {
  EXPECT_EQ(row_bytes(Dtype::q4_k, 512), 288u);
  EXPECT_FALSE(row_bytes(Dtype::q4_k, 128));
  EXPECT_EQ(row_bytes(Dtype::int4, 6), 3u);
  EXPECT_FALSE(row_bytes(Dtype::int4, 7));
}

TEST(BumpHeader, FieldsStandWhereThePageSays) {
  Header header;
  header.num_layers = 1;
  header.vocab_size = 2;
  header.embed_dim = 3;
  header.context_len = 4;
  header.num_heads = 5;
  header.head_dim = 6;
  header.aligned_embed = u64{1} << 40;
  header.aligned_head = 8;
  header.aligned_ctx = 16;
  header.sha256.fill(std::byte{0xAB});
  const auto bytes = encode(header);
  EXPECT_EQ(std::memcmp(bytes.data(), "BUMPWGT3\3\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0", 40),
            0);
  EXPECT_EQ(bytes[0x2D], std::byte{1});  // 2^40 in the u64 at 0x28
  EXPECT_EQ(bytes[0x30], std::byte{8});
  EXPECT_EQ(bytes[0x38], std::byte{16});
  EXPECT_EQ(bytes[0x40], std::byte{0xAB});
  EXPECT_EQ(bytes[0x5F], std::byte{0xAB});
  EXPECT_EQ(bytes[0x60], std::byte{0});
  const Header again = decode(bytes);
  for (const HeaderField& field : header_fields()) EXPECT_EQ(again.*field.value, header.*field.value) << field.name;
  EXPECT_EQ(again.sha256, header.sha256);
}

TEST(BumpHeader, ContextIsAlignedToSixteen) {
  EXPECT_EQ(aligned_context(1), 16u);
  EXPECT_EQ(aligned_context(64), 64u);
  EXPECT_EQ(aligned_context(65), 80u);
}

TEST(BumpLayout, NamesAndOrder) {
  EXPECT_EQ(entry_count(2), 32u);
  std::vector<std::string> names;
  for (u64 i = 0; i < entry_count(2); ++i) {
    const auto [role, layer] = entry_at(i, 2);
    names.push_back(entry_name(role, layer));
  }
  EXPECT_EQ(names[0], "token_emb");
  EXPECT_EQ(names[1], "pos_emb");
  EXPECT_EQ(names[2], "layer.0.ln1_gamma");
  EXPECT_EQ(names[4], "layer.0.wq");
  EXPECT_EQ(names[15], "layer.0.b2");
  EXPECT_EQ(names[16], "layer.1.ln1_gamma");
  EXPECT_EQ(names[30], "final_ln_weight");
  EXPECT_EQ(names[31], "final_ln_bias");
}

Dimensions small() {
  Dimensions d;
  d.layers = 1;
  d.vocab = 10;
  d.embed = d.aligned_embed = 256;
  d.context = 20;
  d.heads = 4;
  d.kv_heads = 2;
  d.head_dim = d.aligned_head = 64;
  d.intermediate = 512;
  return d;
}

std::vector<Dtype> dtypes_for(u64 layers, Dtype matrices) {
  std::vector<Dtype> dtypes;
  for (u64 i = 0; i < entry_count(layers); ++i) {
    dtypes.push_back(role_info(entry_at(i, layers).first).has_source_type ? matrices : Dtype::fp32);
  }
  return dtypes;
}

TEST(BumpLayout, EntriesFollowEachOtherWithoutGaps) {
  const auto dtypes = dtypes_for(1, Dtype::q4_k);
  const auto entries = lay_out(small(), dtypes);
  ASSERT_TRUE(entries);
  u64 offset = 0x84 + 18;
  for (const Entry& entry : *entries) {
    EXPECT_EQ(entry.offset, offset) << entry.name();
    offset += entry.size;
  }
  EXPECT_EQ(file_bytes(small(), census_of(dtypes, 1)), offset);
  EXPECT_EQ((*entries)[0].size, 10u * 144);        // token_emb
  EXPECT_EQ((*entries)[1].size, 20u * 256 * 4);    // pos_emb
  EXPECT_EQ((*entries)[4].size, 256u * 144);       // wq
  EXPECT_EQ((*entries)[6].size, 128u * 144);       // wk
  EXPECT_EQ((*entries)[10].size, 256u * 144);      // wo
  EXPECT_EQ((*entries)[12].size, 2 * 512u * 144);  // w1
  EXPECT_EQ((*entries)[13].size, 2 * 512u * 4);    // b1
  EXPECT_EQ((*entries)[14].size, 256u * 2 * 144);  // w2
}

TEST(BumpLayout, RefusesWhatHasNoSize) {
  Dimensions d = small();
  d.intermediate = 100;  // not a multiple of w2's block size
  EXPECT_FALSE(lay_out(d, dtypes_for(1, Dtype::q4_k)));
  d = small();
  EXPECT_FALSE(lay_out(d, dtypes_for(2, Dtype::q4_k)));  // number of entries
  d.aligned_head = ~u64{0};
  EXPECT_FALSE(lay_out(d, dtypes_for(1, Dtype::fp32)));  // overflow
  EXPECT_FALSE(file_bytes(d, census_of(dtypes_for(1, Dtype::fp32), 1)));
  d = small();
  d.context = d.aligned_embed = ~u32{0};
  d.vocab = ~u64{0};
  EXPECT_FALSE(file_bytes(d, census_of(dtypes_for(1, Dtype::fp32), 1)));
}

MemoryFile file_of(const std::string& bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  return MemoryFile({view.begin(), view.end()}, "m.bump");
}

std::string small_file(u32 weight_type = test::ggml_q8_0, bool renumbered = false) {
  test::LlamaShape shape;
  shape.embed = 256;
  shape.head_dim = 64;
  shape.intermediate = 512;
  shape.weight_type = shape.down_type = weight_type;
  return test::reference_bump(test::LlamaModel(shape), {1, 0, renumbered}).bytes;
}

TEST(BumpParse, ReadsHeaderAndTable) {
  const MemoryFile file = file_of(small_file());
  const auto document = parse(file);
  ASSERT_TRUE(document);
  EXPECT_TRUE(document->complete());
  EXPECT_TRUE(document->findings.empty());
  EXPECT_EQ(document->header.num_layers, 2u);
  EXPECT_EQ(document->header.vocab_size, 12u);
  EXPECT_EQ(document->header.aligned_ctx, 32u);
  EXPECT_EQ(document->codes.size(), 32u);
  EXPECT_EQ(document->codes[0], 8);
}

TEST(BumpParse, SolvesForWhatTheHeaderLacks) {
  for (const bool renumbered : {false, true}) {
    for (const u32 type : {test::ggml_q8_0, test::ggml_q4_k, test::ggml_q6_k, test::ggml_f16}) {
      const MemoryFile file = file_of(small_file(type, renumbered));
      const auto document = parse(file);
      ASSERT_TRUE(document);
      const auto told = readings_of(*document, Geometry{2, 512});
      ASSERT_FALSE(told.empty());
      bool found = false;
      for (const Reading& reading : readings_of(*document)) {
        found |= reading.geometry == Geometry{2, 512} && reading.numbering == told.front().numbering;
      }
      EXPECT_TRUE(found);
      // Exactly one numbering matches, unless no code differs between them.
      EXPECT_EQ(told.size(), type == test::ggml_f16 ? 2u : 1u);
      if (type != test::ggml_f16) {
        EXPECT_EQ(told.front().numbering, renumbered ? Numbering::renumbered : Numbering::original);
      }
      const auto entries = entries_of(*document, told.front());
      ASSERT_EQ(entries.size(), 32u);
      EXPECT_EQ(entries.back().offset + entries.back().size, document->file_size);
      EXPECT_TRUE(readings_of(*document, Geometry{4, 512}).empty());
      EXPECT_TRUE(readings_of(*document, Geometry{3, 0}).empty()) << "no divisor of the heads";
    }
  }
}

TEST(BumpParse, EveryLengthIsReadWithoutHarm) {
  const std::string whole = small_file();
  for (std::size_t size = 0; size < 200; ++size) {
    const MemoryFile file = file_of(whole.substr(0, size));
    const auto document = parse(file);
    if (size < 8) {
      ASSERT_FALSE(document);
      EXPECT_EQ(document.error().code, "bump-magic");
      continue;
    }
    ASSERT_TRUE(document) << size;
    EXPECT_EQ(document->complete(), size >= 0x84 + 32) << size;
    if (!document->complete()) {
      ASSERT_EQ(document->findings.size(), 1u);
      EXPECT_EQ(document->findings[0].code, "bump-short");
    }
    EXPECT_TRUE(readings_of(*document, Geometry{2, 512}).empty());
  }
}

std::string with_u32(std::string bytes, std::size_t offset, u32 value) {
  std::memcpy(bytes.data() + offset, &value, 4);
  return bytes;
}

TEST(BumpParse, HostileNumbers) {
  const auto code_for = [](const std::string& bytes) {
    const MemoryFile file = file_of(bytes);
    const auto document = parse(file);
    EXPECT_TRUE(document);
    EXPECT_TRUE(readings_of(*document).empty());
    return document->findings.empty() ? std::string() : document->findings[0].code;
  };
  const std::string good = small_file();
  EXPECT_EQ(code_for(with_u32(good, 0x10, 0xFFFFFFFF)), "bump-layers");
  EXPECT_EQ(code_for(with_u32(good, 0x10, 3)), "bump-entries");
  EXPECT_EQ(code_for(with_u32(with_u32(good.substr(0, 5000), 0x10, 4096), 0x80, 4 + 14 * 4096)), "bump-short");
  EXPECT_EQ(code_for(with_u32(good, 0x80, 0)), "bump-entries");
  // Heads with many divisors, and dimensions that overflow: nothing matches, and this is found quickly.
  EXPECT_EQ(code_for(with_u32(with_u32(good, 0x20, 0xFFFFFFFF), 0x34, 0xFFFFFFFF)), "");
  EXPECT_EQ(code_for(with_u32(good, 0x20, 3603600 * 1024u)), "");
  EXPECT_EQ(code_for(with_u32(good, 0x20, 0)), "");
}

TEST(BumpParse, AnyMagicIfAsked) {
  std::string bytes = small_file();
  bytes[3] = 'X';
  const MemoryFile file = file_of(bytes);
  EXPECT_FALSE(parse(file));
  const auto document = parse_ignoring_magic(file);
  ASSERT_TRUE(document);
  EXPECT_TRUE(document->complete());
}

}  // namespace

}  // namespace modelutils::bump
