// Formats numbers for people: sizes, counts, rates, floats.
#pragma once

#include <string>

#include "base/counted.h"
#include "base/types.h"

namespace modelutils {

/// "512 B", "4.7 kB", "1.24 GB": decimal units, three significant digits.
std::string byte_text(u64 bytes);
void append_byte_text(std::string& out, u64 bytes);

/// Appends plain decimal digits.
void append_number(std::string& out, u64 number);

/// "751", "12.3 K", "7.24 B": parameter and other counts, three significant digits.
std::string count_text(u64 number);
void append_count_text(std::string& out, u64 number);

/// "4.50": two decimals, the usual form of bits per weight.
std::string bits_text(double bits);

/// "8s", "2m05s", "1h12m".
std::string duration_text(double seconds);

/// Returns the shortest decimal that parses to the same value ("1e-05", "0.1", "nan", "-inf").
std::string float_text(float value);
std::string float_text(double value);

}  // namespace modelutils
