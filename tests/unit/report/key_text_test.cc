#include "report/key_text.h"

#include <gtest/gtest.h>

namespace modelutils {

// How GitHub renders texts, according to cmark-gfm and remark-gfm: neither finds a link in the expected results.

namespace {

TEST(MarkdownText, NoLinks) {
  EXPECT_EQ(markdown_text("www.evil.example"), "www<!-- -->.evil.example");
  EXPECT_EQ(markdown_text("see WWW.evil.example"), "see WWW<!-- -->.evil.example");
  EXPECT_EQ(markdown_text("http://a.example, HTTPS://a.example and ftp://a.example"),
            "http<!-- -->://a.example, HTTPS<!-- -->://a.example and ftp<!-- -->://a.example");
  EXPECT_EQ(markdown_text("@octocat me@evil.example"), "@<!-- -->octocat me@<!-- -->evil.example");
  EXPECT_EQ(markdown_text("org/repo#12"), "org/repo\\#<!-- -->12");
  EXPECT_EQ(markdown_text("[a](b) <http://a.example>"), "\\[a\\](b) &lt;http<!-- -->://a.example&gt;");
}

TEST(MarkdownText, OtherTextStays) {
  EXPECT_EQ(markdown_text("model-00001-of-00002.safetensors: byte 70: 1.5 of 3 (a/b)"),
            "model-00001-of-00002.safetensors: byte 70: 1.5 of 3 (a/b)");
  EXPECT_EQ(markdown_text("a @ b, c:d, # 1, ww.x, w.ww"), "a @ b, c:d, \\# 1, ww.x, w.ww");
}

TEST(MarkdownText, Marks) {
  EXPECT_EQ(markdown_text("a_b*c*`d`|e~f&g\\"), "a\\_b\\*c\\*\\`d\\`\\|e\\~f&amp;g\\\\");
  EXPECT_EQ(markdown_text("attn_norm|a", "|"), "attn_norm\\|a");
}

}  // namespace

}  // namespace modelutils
