// SPDX-License-Identifier: Apache-2.0
#include "server/model/wordnet.hpp"

#include <algorithm>
#include <charconv>

namespace tinkaf::model {

namespace {

/// Words of one line, cut at blanks.
class Fields {
public:
  explicit Fields(std::string_view line) : rest_(line) {}

  std::string_view next() {
    const auto end = std::min(rest_.find(' '), rest_.size());
    const auto field = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return field;
  }

  int number(int base) {
    const auto field = next();
    int out = 0;
    std::from_chars(field.data(), field.data() + field.size(), out, base);
    return out;
  }

private:
  std::string_view rest_;
};

const char* part_of_speech(std::string_view type) {
  if (type == "n")
    return "noun";
  if (type == "v")
    return "verb";
  return type == "r" ? "adverb" : "adjective";
}

/// A word as people write it: blanks for underscores, no syntactic marker such as "(p)".
std::string spelled(std::string_view word) {
  std::string out{word.substr(0, word.find('('))};
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string_view trim(std::string_view x) {
  while (!x.empty() && (x.front() == ' ' || x.front() == ';'))
    x.remove_prefix(1);
  while (!x.empty() && (x.back() == ' ' || x.back() == ';'))
    x.remove_suffix(1);
  return x;
}

/// Splits `meaning; "example"; "example"`.
void split_gloss(WordNetEntry& entry) {
  const std::string_view gloss = entry.gloss;
  auto quote = gloss.find("; \"");
  entry.meaning = std::string{trim(gloss.substr(0, quote))};
  while (quote != std::string_view::npos) {
    const auto begin = quote + 3;
    const auto end = gloss.find('"', begin);
    if (end == std::string_view::npos)
      return;
    entry.examples.emplace_back(gloss.substr(begin, end - begin));
    quote = gloss.find("; \"", end);
  }
}

} // namespace

std::vector<WordNetEntry> parse_wordnet(std::string_view data_file) {
  std::vector<WordNetEntry> entries;
  while (!data_file.empty()) {
    const auto end = std::min(data_file.find('\n'), data_file.size());
    const auto line = data_file.substr(0, end);
    data_file.remove_prefix(std::min(end + 1, data_file.size()));
    const auto bar = line.find(" | ");
    if (line.starts_with(' ') || bar == std::string_view::npos)
      continue; // the licence at the top of each file
    Fields fields{line.substr(0, bar)};
    WordNetEntry entry;
    entry.offset = std::string{fields.next()};
    fields.next(); // lexicographer file
    entry.part_of_speech = part_of_speech(fields.next());
    for (int words = fields.number(16); words > 0; --words) {
      entry.words.push_back(spelled(fields.next()));
      fields.next(); // sense number
    }
    for (int pointers = fields.number(10); pointers > 0; --pointers) {
      const auto symbol = fields.next();
      const auto target = fields.next();
      fields.next(); // part of speech of the target
      fields.next(); // words that the pointer joins
      if (symbol == "@i")
        entry.classes.emplace_back(target);
    }
    entry.gloss = std::string{trim(line.substr(bar + 3))};
    split_gloss(entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace tinkaf::model
