// SPDX-License-Identifier: Apache-2.0
#include "text/normalizer.hpp"

#include <cstdlib>
#include <memory>

#include <utf8proc.h>

namespace tinkaf::text {

namespace {

/// Text is looked at in blocks of at least so many bytes; one in which nothing can change is
/// copied.
constexpr std::size_t block_size = 256;

const utf8proc_uint8_t* bytes_of(std::string_view x) {
  return reinterpret_cast<const utf8proc_uint8_t*>(x.data());
}

/// Whether a character stays what it is and does not join the one before it. Whatever joins is a
/// mark or a vowel or final consonant of Hangul.
bool is_settled(utf8proc_int32_t c) {
  if (c < 0x300)
    return true;
  if (c >= 0x1160 && c <= 0x11FF)
    return false;
  const auto* property = utf8proc_get_property(c);
  return property->decomp_seqindex == UINT16_MAX && property->combining_class == 0
         && property->category != UTF8PROC_CATEGORY_MN && property->category != UTF8PROC_CATEGORY_MC
         && property->category != UTF8PROC_CATEGORY_ME;
}

void append_composed(std::string_view text, std::string& out) {
  utf8proc_uint8_t* composed = nullptr;
  const auto size
      = utf8proc_map(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &composed,
                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner{composed, &std::free};
  if (size < 0)
    out += text;
  else
    out.append(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(size));
}

} // namespace

std::string to_nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t begin = 0;
  bool settled = true;
  const auto flush = [&](std::size_t end) {
    const auto block = text.substr(begin, end - begin);
    if (settled)
      out += block;
    else
      append_composed(block, out);
    begin = end;
    settled = true;
  };
  std::size_t at = 0;
  while (at < text.size()) {
    utf8proc_int32_t c = static_cast<unsigned char>(text[at]);
    utf8proc_ssize_t size = 1;
    if (c >= 0x80)
      size = utf8proc_iterate(bytes_of(text) + at, static_cast<utf8proc_ssize_t>(text.size() - at),
                              &c);
    if (size <= 0) {
      flush(at);
      out += text[at++];
      begin = at;
      continue;
    }
    // A block ends before a character that does not join what is before it.
    if (!is_settled(c))
      settled = false;
    else if (at - begin >= block_size)
      flush(at);
    at += static_cast<std::size_t>(size);
  }
  flush(at);
  return out;
}

} // namespace tinkaf::text
