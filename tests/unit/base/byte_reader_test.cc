#include "base/byte_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "io/random_access_file.h"

namespace modelutils {
namespace {

// Returns bytes in pieces of at most `piece`, with or without a known size. Fails from offset `bad` on.
class SlowSource : public ByteSource {
 public:
  explicit SlowSource(std::string bytes, std::size_t piece = 3, bool sized = true, u64 bad = ~u64{0})
      : bytes_(std::move(bytes)), piece_(piece), sized_(sized), bad_(bad) {}
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset >= bad_) return input_error("io-read", "bad disk", {}, offset);
    if (offset >= bytes_.size()) return std::size_t{0};
    const std::size_t size =
        std::min<std::size_t>({out.size(), piece_, bytes_.size() - static_cast<std::size_t>(offset)});
    std::memcpy(out.data(), bytes_.data() + offset, size);
    return size;
  }
  std::optional<u64> size() const override { return sized_ ? std::optional<u64>(bytes_.size()) : std::nullopt; }
  const std::string& name() const override { return name_; }

 private:
  std::string bytes_;
  std::size_t piece_;
  bool sized_;
  u64 bad_;
  std::string name_ = "slow";
};

Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string strings(const std::vector<std::string>& texts, bool big_endian = false) {
  std::string out;
  for (const std::string& text : texts) {
    for (int i = 0; i < 8; ++i) {
      const int shift = 8 * (big_endian ? 7 - i : i);
      out.push_back(static_cast<char>((u64{text.size()} >> shift) & 0xFF));
    }
    out += text;
  }
  return out;
}

TEST(ByteReader, NumbersInBothByteOrders) {
  const std::string_view bytes("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f", 15);
  ByteReader little(bytes_of(bytes));
  EXPECT_EQ(little.read<u8>(), 1);
  EXPECT_EQ(little.read<u16>(), 0x0302);
  EXPECT_EQ(little.read<u32>(), 0x07060504u);
  EXPECT_EQ(little.read<u64>(), 0x0f0e0d0c0b0a0908u);
  EXPECT_TRUE(little.ok());
  ByteReader big(bytes_of(bytes));
  big.set_big_endian(true);
  EXPECT_TRUE(big.big_endian());
  EXPECT_EQ(big.read<u8>(), 1);
  EXPECT_EQ(big.read<u16>(), 0x0203);
  EXPECT_EQ(big.read<u32>(), 0x04050607u);
  EXPECT_EQ(big.read<u64>(), 0x08090a0b0c0d0e0fu);
  const std::string_view one("\x3f\x80\x00\x00", 4);
  ByteReader floating(bytes_of(one));
  floating.set_big_endian(true);
  EXPECT_EQ(floating.read<float>(), 1.0f);
}

TEST(ByteReader, TheFirstFailureSticks) {
  ByteReader reader(bytes_of("abcde"), 100);
  EXPECT_EQ(reader.remaining(), 5u);
  EXPECT_EQ(reader.read_view(2), "ab");
  EXPECT_EQ(reader.offset(), 102u);
  EXPECT_EQ(reader.read<u64>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_TRUE(reader.ended());
  EXPECT_EQ(reader.offset(), 102u) << "the first byte of what could not be read";
  EXPECT_EQ(reader.read<u8>(), 0u) << "though there would be a byte";
  EXPECT_TRUE(reader.read_view(1).empty());
  EXPECT_TRUE(reader.read_available(1).empty());
  reader.skip(1);
  EXPECT_EQ(reader.skip_strings(1), 0u);
  EXPECT_EQ(reader.offset(), 102u);
}

TEST(ByteReader, ReadsThroughASmallWindow) {
  std::string bytes(1000, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  for (const bool sized : {true, false}) {
    const SlowSource source(bytes, 7, sized);
    ByteReader reader(source, 10, 64);
    std::string seen;
    while (reader.ok() && seen.size() < 990) {
      // also longer than the window
      seen += reader.read_string(std::min<u64>(seen.size() % 200 + 1, 990 - seen.size()));
    }
    EXPECT_EQ(seen, bytes.substr(10)) << sized;
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.offset(), 1000u);
    EXPECT_TRUE(reader.read_available(5).empty());
    EXPECT_EQ(reader.read<u8>(), 0);
    EXPECT_TRUE(reader.ended());
  }
}

// Reading a short header of a large file costs a short read. Further reads grow up to the size of the window.
TEST(ByteReader, ReadsBeginShort) {
  class Source : public SlowSource {
   public:
    Source() : SlowSource(std::string(1 << 20, 'x'), 1 << 20) {}
    Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
      asked.push_back(out.size() / 1024);
      return SlowSource::read_some(offset, out);
    }
    mutable std::vector<std::size_t> asked;  // KiB
  };
  const Source source;
  ByteReader reader(source);
  EXPECT_TRUE(source.asked.empty());
  for (int i = 0; i < 496; ++i) EXPECT_EQ(reader.read_view(1024).size(), 1024u);
  EXPECT_EQ(source.asked, (std::vector<std::size_t>{16, 32, 64, 128, 256}));
  for (int i = 0; i < 257; ++i) (void)reader.read_view(1024);
  EXPECT_EQ(source.asked.back(), 256u);
  EXPECT_EQ(source.asked.size(), 7u);
  source.asked.clear();
  ByteReader small(source, 5, 4096);
  (void)small.read<u8>();
  small.skip(100000);
  (void)small.read<u8>();
  EXPECT_EQ(source.asked, (std::vector<std::size_t>{4, 4}));
}

TEST(ByteReader, NeverGrowsBeyondWhatIsThere) {
  const SlowSource sized("0123456789");
  ByteReader reader(sized);
  EXPECT_TRUE(reader.read_view(u64{1} << 62).empty());
  EXPECT_TRUE(reader.ended());
  const SlowSource unsized("0123456789", 3, false);
  ByteReader pipe(unsized);
  EXPECT_TRUE(pipe.read_view(u64{1} << 62).empty());
  EXPECT_TRUE(pipe.ended());
}

TEST(ByteReader, SaysWhatMayFit) {
  const SlowSource sized("0123456789");
  ByteReader reader(sized, 2);
  EXPECT_TRUE(reader.may_hold(8, 1));
  EXPECT_FALSE(reader.may_hold(9, 1));
  EXPECT_TRUE(reader.may_hold(2, 4));
  EXPECT_FALSE(reader.may_hold(3, 3));
  EXPECT_FALSE(reader.may_hold(~u64{0}, 8));
  EXPECT_FALSE(reader.may_hold(u64{1} << 61, 8)) << "a product that wraps to 0";
  EXPECT_TRUE(reader.may_hold(~u64{0}, 0));
  const SlowSource unsized("0123456789", 3, false);
  EXPECT_TRUE(ByteReader(unsized).may_hold(~u64{0}, 8));
  EXPECT_EQ(ByteReader(unsized).remaining(), std::nullopt);
  EXPECT_EQ(ByteReader(sized, 50).remaining(), 0u) << "beyond the end";
}

TEST(ByteReader, Skips) {
  const std::string bytes = std::string(300, 'x') + "end";
  for (const bool sized : {true, false}) {
    const SlowSource source(bytes, 50, sized);
    ByteReader reader(source, 0, 64);
    reader.skip(0);
    reader.skip(100);
    EXPECT_EQ(reader.offset(), 100u);
    reader.skip(200);
    EXPECT_EQ(reader.read_view(3), "end");
    reader.skip(0);
    EXPECT_TRUE(reader.ok());
    reader.skip(1);
    EXPECT_TRUE(reader.ended());
    ByteReader far(source, 0, 64);
    far.skip(~u64{0});
    EXPECT_FALSE(far.ok());
  }
  ByteReader memory(bytes_of("abc"));
  memory.skip(3);
  EXPECT_TRUE(memory.ok());
  memory.skip(1);
  EXPECT_FALSE(memory.ok());
}

TEST(ByteReader, PassesErrorsOfTheSourceOn) {
  const SlowSource source(std::string(100, 'x'), 10, true, 40);
  ByteReader reader(source, 0, 64);
  EXPECT_EQ(reader.read_view(40).size(), 40u);
  EXPECT_EQ(reader.read<u8>(), 0);
  EXPECT_FALSE(reader.ok());
  EXPECT_FALSE(reader.ended());
  ASSERT_TRUE(reader.source_error().has_value());
  EXPECT_EQ(reader.source_error()->code, "io-read");
}

TEST(ByteReader, SkipsStrings) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 500; ++i) texts.emplace_back(i * 7 % 150, 'x');
  texts[250] = std::string(1000, 'y');
  texts[499].clear();
  for (const bool big_endian : {false, true}) {
    const std::string bytes = strings(texts, big_endian) + "end";
    for (const bool sized : {true, false}) {
      for (const std::size_t window : {64, 65, 100, 128, 4096}) {
        const SlowSource source(bytes, 61, sized);
        ByteReader reader(source, 0, window);
        reader.set_big_endian(big_endian);
        EXPECT_EQ(reader.skip_strings(0), 0u);
        EXPECT_EQ(reader.skip_strings(100), 100u);
        EXPECT_EQ(reader.skip_strings(400), 400u);
        EXPECT_EQ(reader.offset(), bytes.size() - 3);
        EXPECT_EQ(reader.read_view(3), "end");
        EXPECT_TRUE(reader.ok());
      }
    }
    ByteReader memory(bytes_of(bytes));
    memory.set_big_endian(big_endian);
    EXPECT_EQ(memory.skip_strings(500), 500u);
    EXPECT_EQ(memory.read_view(3), "end");
  }
}

// Enough strings that several walks share the work, whose texts look like lengths, long and empty ones among them.
TEST(ByteReader, SkipsManyStrings) {
  const auto common = [](std::size_t i) { return std::string(i * 7 % 20 + 1, 'x'); };
  const auto empty = [](std::size_t i) { return std::string(i % 3 == 0 ? 5 : 0, 'x'); };
  const auto long_ones = [](std::size_t i) {
    return std::string(i % 100 == 99 ? 600 : i % 1000 == 998 ? 5000 : 9, 'x');
  };
  const auto zeros = [](std::size_t i) { return std::string(i % 30, '\0'); };
  const auto lengths = [](std::size_t i) {
    return strings({"ab", std::string(i % 5, 'c')}) + std::string(i % 9, '\0');
  };
  const auto huge = [](std::size_t i) { return i % 2000 == 0 ? std::string(100000, 'x') : std::string(4, 'x'); };
  for (const auto& text :
       std::vector<std::function<std::string(std::size_t)>>{common, empty, long_ones, zeros, lengths, huge}) {
    for (const bool big_endian : {false, true}) {
      std::string bytes = "header";
      std::vector<u64> begins;
      for (std::size_t i = 0; i < 6000; ++i) {
        begins.push_back(bytes.size());
        bytes += strings({text(i)}, big_endian);
      }
      begins.push_back(bytes.size());
      for (const std::size_t window : {100, 20000, 70000, 1000000}) {
        for (const u64 part : {1999, 4500, 6000}) {
          const MemoryFile source({bytes_of(bytes).begin(), bytes_of(bytes).end()});
          ByteReader reader(source, 6, window);
          reader.set_big_endian(big_endian);
          for (u64 done = 0; done < 6000;) {
            const u64 count = std::min<u64>(part, 6000 - done);
            ASSERT_EQ(reader.skip_strings(count), count);
            done += count;
            ASSERT_EQ(reader.offset(), begins[done]) << "window " << window << ", part " << part;
          }
          EXPECT_EQ(reader.skip_strings(10000), 0u);
          EXPECT_EQ(reader.offset(), bytes.size());
          ByteReader all(source, 6, window);
          all.set_big_endian(big_endian);
          EXPECT_EQ(all.skip_strings(10000), 6000u);
          EXPECT_EQ(all.offset(), bytes.size());
          ByteReader some(source, 6, window);
          some.set_big_endian(big_endian);
          for (u64 done = 0; done < 6000;) {
            const ByteReader::PassedStrings passed = some.pass_strings(std::min<u64>(part, 6000 - done));
            ASSERT_GT(passed.count, 0u);
            ASSERT_LE(done + passed.count, 6000u);
            const u64 size = begins[done + passed.count] - begins[done];
            if (passed.bytes.empty()) {
              EXPECT_EQ(passed.count, 1u);
              EXPECT_GT(size, std::min<u64>(window, 16 * 1024)) << "windows begin small";
            } else {
              ASSERT_EQ(passed.bytes, bytes.substr(begins[done], size));
            }
            done += passed.count;
            ASSERT_EQ(some.offset(), begins[done]) << "window " << window << ", part " << part;
          }
          EXPECT_EQ(some.pass_strings(1).count, 0u);
        }
      }
    }
  }
}

TEST(ByteReader, StopsAtTheStringThatIsNotThere) {
  const std::string good = strings({"one", "two", std::string(200, 'z')});
  // A truncated length, one that is too large by one, and one that would overflow the cursor.
  const std::string over = strings({"three"}).substr(0, 12);
  const std::string wrap("\xf0\xff\xff\xff\xff\xff\xff\xff text", 13);
  for (const std::string& bad : {std::string("\x05\0\0", 3), over, wrap, std::string()}) {
    const std::string bytes = good + bad;
    for (const bool sized : {true, false}) {
      for (const std::size_t window : {64, 4096}) {
        const SlowSource source(bytes, 1000, sized);
        ByteReader reader(source, 0, window);
        EXPECT_EQ(reader.skip_strings(1000000), 3u);
        EXPECT_TRUE(reader.ended());
        EXPECT_EQ(reader.offset(), good.size());
      }
    }
    ByteReader memory(bytes_of(bytes));
    EXPECT_EQ(memory.skip_strings(4), 3u);
    EXPECT_EQ(memory.offset(), good.size());
  }
}

TEST(ByteSource, ReadExactNeedsEveryByte) {
  const SlowSource source("0123456789");
  std::array<std::byte, 6> bytes{};
  EXPECT_TRUE(source.read_exact(4, bytes).has_value());
  EXPECT_EQ(static_cast<char>(bytes[5]), '9');
  const Status short_read = source.read_exact(5, bytes);
  ASSERT_FALSE(short_read.has_value());
  EXPECT_EQ(short_read.error().code, "io-short");
  EXPECT_EQ(short_read.error().offset, 10u);
  EXPECT_EQ(SlowSource("0123456789", 3, true, 6).read_exact(4, bytes).error().code, "io-read");
}

}  // namespace
}  // namespace modelutils
