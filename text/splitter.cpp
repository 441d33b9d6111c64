// SPDX-License-Identifier: Apache-2.0
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/splitter.hpp"

#include <fmt/format.h>

#include <array>

#include <pcre2.h>

namespace tinkaf::text {

struct Splitter::Code {
  pcre2_code* handle = nullptr;

  explicit Code(pcre2_code* x) : handle(x) {}
  ~Code() {
    pcre2_code_free(handle);
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
};

namespace {

/// `\s` of PCRE2 also takes U+180E, which has not been white space since Unicode 6.3; the property
/// is what the expressions of tokenizers mean. It stands inside and outside brackets.
std::string with_white_space(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's')
      out += "\\p{White_Space}";
    else if (escaped == 'S')
      out += "\\P{White_Space}";
    else
      (out += '\\') += escaped;
  }
  return out;
}

} // namespace

Result<Splitter> Splitter::compile(std::string_view given) {
  const auto pattern = with_white_space(given);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto* handle
      = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &offset, nullptr);
  if (handle == nullptr) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return fail(Errc::invalid_argument,
                fmt::format("pattern \"{}\" is wrong at character {}: {}", given, offset,
                            reinterpret_cast<const char*>(text.data())));
  }
  // Without a compiler for this machine the interpreter gives the same matches.
  pcre2_jit_compile(handle, PCRE2_JIT_COMPLETE);
  Splitter result;
  result.pattern_ = std::string{given};
  result.code_ = std::make_shared<const Code>(handle);
  return result;
}

void Splitter::split(std::string_view text,
                     const std::function<void(std::string_view)>& piece) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match{
      pcre2_match_data_create_from_pattern(code_->handle, nullptr), &pcre2_match_data_free};
  std::size_t done = 0;
  std::size_t from = 0;
  while (from < text.size()) {
    const int found = pcre2_match(code_->handle, reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), from, 0, match.get(), nullptr);
    if (found < 0)
      break; // no further match, or limits reached: the rest is one gap
    const auto* bounds = pcre2_get_ovector_pointer(match.get());
    const auto begin = bounds[0];
    const auto end = bounds[1];
    if (end <= begin) {
      // An empty match separates nothing that we need; step over one byte.
      ++from;
      continue;
    }
    if (begin > done)
      piece(text.substr(done, begin - done));
    piece(text.substr(begin, end - begin));
    done = end;
    from = end;
  }
  if (done < text.size())
    piece(text.substr(done));
}

} // namespace tinkaf::text
