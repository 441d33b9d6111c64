// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// The texts that the shipped base model was pretrained on: files of Debian packages whose
/// licences allow it. `models/tiny/README.md` lists packages, licences and notices.
namespace tinkaf::model {

/// One text and where it comes from.
struct Document {
  std::string source; ///< name of the Debian package
  std::string text;
};

/// Where the packages are installed; another root helps tests.
struct CorpusOptions {
  std::filesystem::path root = "/";
};

/// Reads all sources, in a fixed order. Same packages, same result.
/// WordNet's entries appear in several dresses: as a dictionary, as cards, as conversations
/// (`<|im_start|>user` …) and as small exercises that copy or rewrite its words.
/// @returns `Errc::io_error` naming the missing file and the package that holds it
[[nodiscard]] Result<std::vector<Document>> read_corpus(const CorpusOptions& options);

} // namespace tinkaf::model
