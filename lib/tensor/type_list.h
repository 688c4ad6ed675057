// The single table of element types, as a macro from which all per-type code is generated. A new type needs a line
// here, a decoder (block_decoders.h), a check of its blocks (block_check.cc) and a number in the C API's header.
// Sources: ggml's type table (docs/formats/gguf.md) and the safetensors format (docs/formats/safetensors.md).
#pragma once

// Values below 0x100 are ggml's ids as in GGUF files; the others are dtypes that only safetensors has. Ordered by
// value. The decoder `none` means that the values do not fit a float.
// clang-format off
//    name         value  elements  bytes  GGUF safetensors quantized decoder
#define MU_TENSOR_TYPES(X) \
  X(F32,          0,     1,        4,     true,  true,   false,  f32) \
  X(F16,          1,     1,        2,     true,  true,   false,  f16) \
  X(Q4_0,         2,     32,       18,    true,  false,  true,   q4_0) \
  X(Q4_1,         3,     32,       20,    true,  false,  true,   q4_1) \
  X(Q5_0,         6,     32,       22,    true,  false,  true,   q5_0) \
  X(Q5_1,         7,     32,       24,    true,  false,  true,   q5_1) \
  X(Q8_0,         8,     32,       34,    true,  false,  true,   q8_0) \
  X(Q8_1,         9,     32,       36,    true,  false,  true,   q8_1) \
  X(Q2_K,         10,    256,      84,    true,  false,  true,   q2_k) \
  X(Q3_K,         11,    256,      110,   true,  false,  true,   q3_k) \
  X(Q4_K,         12,    256,      144,   true,  false,  true,   q4_k) \
  X(Q5_K,         13,    256,      176,   true,  false,  true,   q5_k) \
  X(Q6_K,         14,    256,      210,   true,  false,  true,   q6_k) \
  X(Q8_K,         15,    256,      292,   true,  false,  true,   q8_k) \
  X(IQ2_XXS,      16,    256,      66,    true,  false,  true,   iq2_xxs) \
  X(IQ2_XS,       17,    256,      74,    true,  false,  true,   iq2_xs) \
  X(IQ3_XXS,      18,    256,      98,    true,  false,  true,   iq3_xxs) \
  X(IQ1_S,        19,    256,      50,    true,  false,  true,   iq1_s) \
  X(IQ4_NL,       20,    32,       18,    true,  false,  true,   iq4_nl) \
  X(IQ3_S,        21,    256,      110,   true,  false,  true,   iq3_s) \
  X(IQ2_S,        22,    256,      82,    true,  false,  true,   iq2_s) \
  X(IQ4_XS,       23,    256,      136,   true,  false,  true,   iq4_xs) \
  X(I8,           24,    1,        1,     true,  true,   false,  i8_) \
  X(I16,          25,    1,        2,     true,  true,   false,  i16_) \
  X(I32,          26,    1,        4,     true,  true,   false,  i32_) \
  X(I64,          27,    1,        8,     true,  true,   false,  i64_) \
  X(F64,          28,    1,        8,     true,  true,   false,  f64) \
  X(IQ1_M,        29,    256,      56,    true,  false,  true,   iq1_m) \
  X(BF16,         30,    1,        2,     true,  true,   false,  bf16) \
  X(TQ1_0,        34,    256,      54,    true,  false,  true,   tq1_0) \
  X(TQ2_0,        35,    256,      66,    true,  false,  true,   tq2_0) \
  X(MXFP4,        39,    32,       17,    true,  false,  true,   mxfp4) \
  X(NVFP4,        40,    64,       36,    true,  false,  true,   nvfp4) \
  X(Q1_0,         41,    128,      18,    true,  false,  true,   q1_0) \
  X(Q2_0,         42,    64,       18,    true,  false,  true,   q2_0) \
  X(BOOL,         0x100, 1,        1,     false, true,   false,  u8_) \
  X(U8,           0x101, 1,        1,     false, true,   false,  u8_) \
  X(U16,          0x102, 1,        2,     false, true,   false,  u16_) \
  X(U32,          0x103, 1,        4,     false, true,   false,  u32_) \
  X(U64,          0x104, 1,        8,     false, true,   false,  u64_) \
  X(F8_E4M3,      0x105, 1,        1,     false, true,   false,  e4m3) \
  X(F8_E5M2,      0x106, 1,        1,     false, true,   false,  e5m2) \
  X(F8_E8M0,      0x107, 1,        1,     false, true,   false,  e8m0) \
  X(F8_E4M3FNUZ,  0x108, 1,        1,     false, true,   false,  e4m3fnuz) \
  X(F8_E5M2FNUZ,  0x109, 1,        1,     false, true,   false,  e5m2fnuz) \
  X(F4,           0x10a, 2,        1,     false, true,   false,  f4) \
  X(F6_E2M3,      0x10b, 4,        3,     false, true,   false,  f6_e2m3) \
  X(F6_E3M2,      0x10c, 4,        3,     false, true,   false,  f6_e3m2) \
  X(C64,          0x10d, 1,        8,     false, true,   false,  none)
// clang-format on
