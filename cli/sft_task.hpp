// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/train_task.hpp"

#include <memory>
#include <string>
#include <vector>

#include "train/render.hpp"

namespace tinkaf::cli {

/// Supervised fine-tuning.
class SftTask final : public TrainTask {
public:
  /// @param renderer how chats look to the model; by the model's name if empty
  explicit SftTask(std::string renderer = {}) : renderer_(std::move(renderer)) {}

  [[nodiscard]] std::string name() const override {
    return "sft";
  }
  [[nodiscard]] std::vector<ToldColumn> told() const override {
    return {{"train_mean_nll", "loss"}};
  }
  [[nodiscard]] Result<void> read(const std::filesystem::path& data) override;
  [[nodiscard]] Result<JobIdentity> options(const std::string& base_model) const override;
  [[nodiscard]] Result<train::DurableRun> prepare(const TrainTarget& target) override;

  [[nodiscard]] const std::vector<train::DataRow>& rows() const noexcept {
    return rows_;
  }

private:
  std::string renderer_;
  std::string data_;
  std::vector<train::DataRow> rows_;
};

} // namespace tinkaf::cli
