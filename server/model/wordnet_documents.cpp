// SPDX-License-Identifier: Apache-2.0
#include "server/model/random.hpp"
#include "server/model/wordnet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace tinkaf::model {

namespace {

constexpr std::size_t entries_per_document = 14;

using Group = std::span<const WordNetEntry>;

std::string joined(const std::vector<std::string>& words, std::size_t from = 0) {
  std::string out;
  for (std::size_t i = from; i < words.size(); ++i)
    out += (i == from ? "" : ", ") + words[i];
  return out;
}

/// `dog, domestic dog (noun): a member of the genus Canis; "the dog barked"`
std::string as_dictionary(Group group) {
  std::string out;
  for (const auto& x : group)
    out += fmt::format("{} ({}): {}\n", joined(x.words), x.part_of_speech, x.gloss);
  return out;
}

std::string as_cards(Group group) {
  std::string out;
  for (const auto& x : group) {
    out += fmt::format("Word: {}\n", x.words[0]);
    if (x.words.size() > 1)
      out += fmt::format("Also: {}\n", joined(x.words, 1));
    out += fmt::format("Kind: {}\nMeaning: {}\n", x.part_of_speech, x.meaning);
    for (const auto& example : x.examples)
      out += fmt::format("Example: {}\n", example);
    out += "\n";
  }
  return out;
}

std::string turn(std::string_view role, std::string_view text) {
  return fmt::format("<|im_start|>{}\n{}<|im_end|>\n", role, text);
}

std::string as_conversation(Group group, Random& random) {
  std::string out;
  for (const auto& x : group) {
    const auto& word = x.words[random.below(x.words.size())];
    const auto kind = random.below(4);
    if (kind == 0 && x.words.size() > 1) {
      out += turn("user", fmt::format("What is another word for {}?", word));
      out += turn("assistant", x.words[0] == word ? x.words[1] : x.words[0]);
    } else if (kind == 1 && !x.examples.empty()) {
      out += turn("user", fmt::format("Use the word {} in a sentence.", word));
      out += turn("assistant", x.examples[0]);
    } else if (kind == 2) {
      out += turn("user", fmt::format("Which word means: {}?", x.meaning));
      out += turn("assistant", word);
    } else {
      out += turn("user", fmt::format("What does {} mean?", word));
      out += turn("assistant", x.meaning);
    }
  }
  return out;
}

std::string mapped(std::string text, int (*change)(int)) {
  for (auto& c : text)
    if (static_cast<unsigned char>(c) < 0x80)
      c = static_cast<char>(change(static_cast<unsigned char>(c)));
  return text;
}

std::string upper(const std::string& x) {
  return mapped(x, [](int c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
}

std::string lower(const std::string& x) {
  return mapped(x, [](int c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
}

std::string titled(const std::string& x) {
  auto out = lower(x);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (i == 0 || out[i - 1] == ' ')
      out[i] = upper(std::string(1, out[i]))[0];
  return out;
}

/// "domestic dog" becomes "dog domestic".
std::string swapped(const std::string& x) {
  const auto blank = x.find(' ');
  return blank == std::string::npos ? x : x.substr(blank + 1) + " " + x.substr(0, blank);
}

std::string first_word(const std::string& x) {
  return x.substr(0, x.find(' '));
}

std::string last_word(const std::string& x) {
  const auto blank = x.rfind(' ');
  return blank == std::string::npos ? x : x.substr(blank + 1);
}

std::string same(const std::string& x) {
  return x;
}

/// Pairs of a text and the same text rewritten; one rule and one form for a whole document.
std::string as_exercise(Group group, Random& random) {
  constexpr std::array rules{same, same, upper, lower, titled, swapped, first_word, last_word};
  constexpr std::array<std::array<const char*, 3>, 6> forms{{{"", " -> ", "\n"},
                                                             {"", " = ", "\n"},
                                                             {"Input: ", "\nOutput: ", "\n\n"},
                                                             {"From: ", "\nTo: ", "\n"},
                                                             {"Q: ", "\nA: ", "\n"},
                                                             {"", "\n", "\n\n"}}};
  const auto rule = rules[random.below(rules.size())];
  const auto& form = forms[random.below(forms.size())];
  const bool conversation = random.below(4) == 0;
  std::string out;
  for (const auto& x : group)
    for (const auto& word : x.words) {
      const auto answer = rule(word);
      if (conversation)
        out += turn("user", word) + turn("assistant", answer);
      else
        out += fmt::format("{}{}{}{}{}", form[0], word, form[1], answer, form[2]);
    }
  return out;
}

} // namespace

std::vector<std::string> wordnet_documents(const std::vector<WordNetEntry>& entries) {
  std::vector<std::string> documents;
  Random random{1};
  const auto add = [&](Group group, std::size_t dress) {
    if (dress < 11)
      documents.push_back(as_dictionary(group));
    else if (dress < 15)
      documents.push_back(as_cards(group));
    else
      documents.push_back(as_conversation(group, random));
  };
  for (std::size_t i = 0; i < entries.size(); i += entries_per_document) {
    const auto group
        = Group{entries}.subspan(i, std::min(entries_per_document, entries.size() - i));
    add(group, random.below(20));
    // Every second group also lends its words to an exercise.
    if (random.below(2) == 0)
      documents.push_back(as_exercise(group, random));
  }
  return documents;
}

} // namespace tinkaf::model
