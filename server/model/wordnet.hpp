// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::model {

/// One sense of the WordNet dictionary.
struct WordNetEntry {
  std::string part_of_speech;     ///< "noun", "verb", "adjective" or "adverb"
  std::vector<std::string> words; ///< that share this sense, spelled with blanks
  std::string gloss;              ///< meaning and examples as they stand in the file
  std::string meaning;            ///< the gloss up to the first example
  std::vector<std::string> examples;
  std::vector<std::string> classes; ///< offsets of what it is an instance of, for example a person
  std::string offset;               ///< of the entry in its file, which is its name
};

/// Reads the text of a WordNet data file (`data.noun`, …); lines that are no entries are skipped.
[[nodiscard]] std::vector<WordNetEntry> parse_wordnet(std::string_view data_file);

/// Writes consecutive entries as documents for training; see `read_corpus`.
[[nodiscard]] std::vector<std::string> wordnet_documents(const std::vector<WordNetEntry>& entries);

} // namespace tinkaf::model
