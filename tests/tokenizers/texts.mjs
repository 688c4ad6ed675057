// The texts that both tokenizers get: many scripts, code, numbers, emoji, runs of spaces, line ends, what normalizers change.
export const texts = {
  english: "The quick brown fox jumps over the lazy dog. Isn't it? She'll've gone; they'RE here, I'M not.",
  capitals: "HELLO WORLD! CamelCase snake_case kebab-case SCREAMING_CASE iPhone McDonald's DON'T it'S",
  empty_line: "\n",
  one_space: " ",
  spaces: "a  b   c    d     e      f       g        h                 i",
  leading_spaces: "   three spaces before",
  one_leading_space: " one space before",
  trailing_spaces: "three spaces after   ",
  only_spaces: "       ",
  tabs: "\ta\t\tb\t\t\tc \t d\t ",
  lines: "one\ntwo\n\nthree\n\n\nfour\n\n\n\n",
  windows_lines: "one\r\ntwo\r\n\r\nthree\r",
  blank_lines: "a \n b\n \n  \n\tc  \n\n  d",
  digits: "0 1 12 123 1234 12345 123456 1234567 12345678 3.14159 1,000,000 1e-05 0x1F 2024-06-30 1a2b3c",
  other_digits: "٠١٢٣٤٥٦٧٨٩ ०१२३४५ ²³¹ ½ Ⅷ ① 一二三 １２３",
  c_code: "int main(void) {\n\tfor (int i = 0; i < 10; ++i) {\n\t\tprintf(\"%d\\n\", a[i]->b);\n\t}\n\treturn 0;\n}\n",
  python_code: "def f(x: int) -> str:\n    \"\"\"Doc.\"\"\"\n    return f\"{x!r:>10}\"  # note\n\n\nclass A(B):\n    pass\n",
  json: "{\"a\": [1, 2.5, -3e10, null, true], \"b\": {\"c\": \"d\\u00e9\"}}",
  html: "<p class=\"x\">a &amp; b</p><!-- c --><br/></body>",
  url: "https://www.example.org/a/b?c=d&e=%20f#g user.name+tag@example.co.uk C:\\Users\\x",
  markdown: "# Title\n\n* one\n  - two\n\n```sh\n$ ls -la | grep '^d'\n```\n| a | b |\n|---|---|\n",
  latex: "\\frac{a}{b} = \\sum_{i=0}^{n} x_i^2 \\quad \\text{for } n \\ge 1",
  punctuation: "!!! ??? ... --- *** (((a))) [[b]] {{c}} <<d>> «e» „f“ ‘g’ “h” – — … • § ¶ © ® ™ ° ± × ÷ € £ ¥",
  symbols: "a+b=c; x<y>z; ~!@#$%^&*()_+`-={}|[]\\:\";'<>?,./ $100 50% #tag @user a/b c|d e^f",
  german: "Fußgängerübergänge, Größenmaßstäbe und Äpfel für 3,50 € – schön!",
  french: "L'été, c'est où qu'on va ? Aujourd'hui, j'ai mangé des œufs à la française.",
  vietnamese: "Tiếng Việt có nhiều dấu thanh: Nguyễn, Phở, đường, ưu điểm.",
  turkish: "İstanbul'da ışık ve şeker; ağaç, Iğdır, ÇĞİÖŞÜ çğıöşü.",
  polish: "Zażółć gęślą jaźń. W Szczebrzeszynie chrząszcz brzmi w trzcinie.",
  russian: "Съешь же ещё этих мягких французских булок, да выпей чаю. ЭТО ТЕСТ-2024.",
  ukrainian: "Щастям б'єш жук їх глицю в фон й ґедзь пріч.",
  greek: "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΑΘΗΝΑ ΐ ΰ",
  hebrew: "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם",
  arabic: "هذا نص عربي بسيط، مع أرقام ١٢٣ وتشكيل: مُحَمَّدٌ.",
  persian: "این یک متن فارسی است؛ می‌خواهم ۴۵۶ را ببینم.",
  hindi: "यह हिन्दी में एक वाक्य है। क्षत्रिय ज्ञान १२३ श्री",
  bengali: "আমি বাংলায় গান গাই। ক্ষুদ্র বিশ্ব",
  tamil: "தமிழ் ஒரு செம்மொழி. நன்றி ஸ்ரீ",
  thai: "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ ๑๒๓ สวัสดีครับ",
  lao_khmer_burmese: "ສະບາຍດີ សួស្តី မင်္ဂလာပါ",
  georgian_armenian: "ქართული ენა Հայերեն լեզու አማርኛ",
  chinese: "今天天气很好，我们去公园散步吧！2024年6月30日，价格是￥99.50元。",
  traditional: "臺灣的繁體中文：「龍飛鳳舞」，與簡體不同。",
  japanese: "吾輩は猫である。名前はまだ無い。カタカナとひらがな、ｶﾅ、ー々〆。",
  korean: "안녕하세요, 세계! 한국어는 띄어쓰기가 있습니다. ㄱㄴㄷ",
  mixed_scripts: "Hello世界Приветمرحبا123नमस्ते🙂end",
  inner_capitals: "helloЭто ПриветМир éÉté straßeÄ ΑθήναΑ camelCase HTTPServer İi iİ ñÑ",
  emoji: "🙂🙂 👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️ ☃️ 1️⃣ 🏳️‍🌈",
  rare_planes: "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠮷野家 𐍈 𓀀 🀄 𝟘𝟙𝟚",
  phonetic: "ˈfɔnɛtɪk ʃ ʒ θ ð ŋ ə ɹ̩ ʰ ʲ",
  math: "∀x∈ℝ: x² ≥ 0 ∧ ∑∞ → ∂f/∂x ≠ √2 ⊂ ℵ₀",
  box: "┌──┐\n│ab│\n└──┘ ████ ▓▒░ ■□▪",
  decomposed: "e\u0301 a\u0308 n\u0303 \u1112\u1161\u11ab A\u030a \u03b1\u0301",
  compatibility: "ﬁ ﬀ Å Ω ㎏ ㍿ ｆｕｌｌ ℌ ™ ⅓ ª º",
  odd_spaces: "a\u00a0b\u2003c\u200bd\u3000e\u202ff\u2028g\u0085h\ufeffi",
  controls: "a\u0001b\u007fc\u000bd\u000ce",
  space_mark: "a\u2581b \u2581 \u2581\u2581c",
  repeated: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ababababababababab ========================",
  long_word: "Donaudampfschifffahrtsgesellschaftskapitän antidisestablishmentarianism llanfairpwllgwyngyll",
  log: "2024-06-30T12:34:56.789Z [ERROR] foo.c:123: undefined reference to `bar' (errno=-22)\r\n\tat x.y.Z(Main.java:42)",
};

// Texts with some of a tokenizer's added tokens: alone, in a sentence, without spaces around them, twice.
export function textsWith(added) {
  const result = {};
  const step = Math.max(1, Math.floor(added.length / 24));
  added.filter((_, i) => i < 8 || i % step === 0).slice(0, 40).forEach((token) => {
    const text = token.content;
    result[`added ${text}`] = `${text}one ${text} two${text}${text}\n${text}\nthree ${text}`;
  });
  return result;
}
