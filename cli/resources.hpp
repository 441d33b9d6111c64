// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/server_options.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::cli {

/// Finds a file or folder that is shipped with the program, for example "models/tiny": below
/// `$TINKAF_SHARE_DIR` if that is set, else below `../share/tinkaf` as seen from the program, else
/// in the source folder that it was built from.
/// @returns `Errc::io_error` with the places that were searched
[[nodiscard]] Result<std::filesystem::path> find_resource(std::string_view name);

/// The base models that a local server offers, the default one first.
/// @param model_dir a folder with one model; if empty, the shipped ones
/// @returns `Errc::io_error` if there is none
[[nodiscard]] Result<std::vector<ServedModel>> local_models(const std::filesystem::path& model_dir);

/// Reads "NAME=DIR", a model and what clients call it.
/// @returns `Errc::invalid_argument`, or `Errc::io_error` if there is no model
[[nodiscard]] Result<ServedModel> named_model(std::string_view text);

/// How this program can be started again from the present folder.
[[nodiscard]] std::string program_path();

} // namespace tinkaf::cli
