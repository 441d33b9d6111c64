// SPDX-License-Identifier: Apache-2.0
#include "server/openai/events.hpp"

#include "server/openai/answer_json.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace tinkaf::server::openai {

namespace {

/// How much of a text ends between two characters.
std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(text.size(), 3); ++back) {
    const auto x = static_cast<unsigned char>(text[text.size() - back]);
    if ((x & 0xC0U) == 0x80U)
      continue;
    const std::size_t wanted = x >= 0xF0U ? 4 : x >= 0xE0U ? 3 : x >= 0xC0U ? 2 : 1;
    return wanted > back ? text.size() - back : text.size();
  }
  return text.size();
}

/// How much of a text can be told although one of the texts to stop at may begin at its end.
std::size_t without_beginning_of(const std::vector<std::string>& stop, std::string_view text) {
  std::size_t kept = 0;
  for (const auto& x : stop)
    for (auto size = std::min(x.size() - 1, text.size()); size > kept; --size)
      if (text.ends_with(std::string_view{x}.substr(0, size)))
        kept = size;
  return text.size() - kept;
}

} // namespace

Events::Open& Events::open(std::size_t choice) {
  const auto [found, fresh] = open_.try_emplace(choice);
  if (fresh && answer_.chat)
    write(part_json(answer_, {.choice = choice, .begins = true}));
  return found->second;
}

void Events::echo(std::size_t choice, Piece piece) {
  auto& x = open(choice);
  x.text += piece.text;
  x.held.push_back(std::move(piece));
  release(choice, x, x.text.size());
}

void Events::add(std::size_t choice, Piece piece) {
  auto& x = open(choice);
  if (x.cut)
    return;
  x.text += piece.text;
  x.held.push_back(std::move(piece));
  auto end = std::string::npos;
  for (const auto& stop : stop_)
    end = std::min(end, x.text.find(stop));
  if (end == std::string::npos) {
    release(choice, x, without_beginning_of(stop_, x.text));
    return;
  }
  x.cut = true;
  x.text.resize(end);
  std::size_t begin = 0;
  std::size_t kept = 0;
  for (; kept < x.held.size() && begin < end; ++kept) {
    auto& text = x.held[kept].text;
    text.resize(std::min(text.size(), end - begin));
    begin += text.size();
  }
  x.held.resize(kept);
}

void Events::finish(std::size_t choice, StopReason reason) {
  auto& x = open(choice);
  release(choice, x, x.text.size());
  if (!x.held.empty())
    tell(choice, x, x.held.size());
  write(part_json(answer_, {.choice = choice, .reason = reason}));
  open_.erase(choice);
}

void Events::close(bool with_usage) {
  if (with_usage)
    write(usage_json(answer_));
  write("[DONE]");
}

void Events::fail(std::string_view error) {
  write(error);
}

std::string Events::take() {
  return std::exchange(written_, {});
}

/// Tells what ends between two characters and within the limit, in bytes of what is held.
void Events::release(std::size_t choice, Open& open, std::size_t limit) {
  std::size_t end = 0;
  for (std::size_t count = 0; count < open.held.size();) {
    end += open.held[count++].text.size();
    if (end > limit)
      return;
    if (whole_characters(std::string_view{open.text}.substr(0, end)) < end)
      continue;
    tell(choice, open, count);
    limit -= end;
    end = 0;
    count = 0;
  }
}

/// Tells the first pieces of those that are held.
void Events::tell(std::size_t choice, Open& open, std::size_t count) {
  const std::span pieces{open.held.data(), count};
  write(part_json(answer_, {.choice = choice, .pieces = pieces, .offset = open.offset}));
  std::size_t size = 0;
  for (const auto& piece : pieces)
    size += piece.text.size();
  open.offset += size;
  open.text.erase(0, size);
  open.held.erase(open.held.begin(), open.held.begin() + static_cast<std::ptrdiff_t>(count));
}

void Events::write(std::string_view data) {
  written_ += "data: ";
  written_ += data;
  written_ += "\n\n";
}

} // namespace tinkaf::server::openai
