// SPDX-License-Identifier: Apache-2.0
#include "examples/example_run.hpp"

#include <iostream>
#include <utility>
#include <vector>

#include "train/recipe_job.hpp"

namespace tinkaf::examples {

Result<train::StartPoint> run_and_tell(const ExampleService& service, const std::string& name,
                                       const std::string& headline, train::DurableRun run) {
  const auto folder = service.folder() / name;
  // A supervisor of jobs takes this function as it is, see `recipe_jobs.cpp`.
  const auto job = train::recipe_job({.options = service.options,
                                      .folder = folder,
                                      .identity = {{"name", name}},
                                      .job = std::move(run)});
  std::vector<double> values;
  const auto ended = job({.stop = {}, .report = [&](const JobProgress& progress) {
                            if (progress.loss)
                              values.push_back(*progress.loss);
                          }});
  if (!ended)
    return fail(ended.error());
  std::cout << name << ": " << headline << ' ' << values.front() << " -> " << values.back() << ", "
            << std::showpos << values.back() - values.front() << std::noshowpos << '\n';
  return train::find_start(folder.string());
}

} // namespace tinkaf::examples
