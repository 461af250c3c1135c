#pragma once
#include <functional>
#include <map>
#include <string>

#include "run/input_tree.h"
#include "run/request.h"
#include "run/scratch.h"

namespace podjail {

/// What lay_input has to know beside the input itself.
struct InputLayout {
  RunRequest::InputMode mode = RunRequest::InputMode::copy;
  std::string script_name;  ///< its place in task/ is the script's own
  std::map<std::string, std::string>
      validated;               ///< path -> bytes of the Python files that are checked: what is imported is what was checked
  std::function<bool()> stop;  ///< asked from time to time; true: give up with ECANCELED
};

/// Lays the input into work/ and task/, as real folders. work/, the script's current folder, gets copies that it may change, with their
/// times and modes (by reflink where the file system has it), or with InputMode::link links to the input's files. task/, the folder of
/// __file__, gets the Python files' bytes, and the same files of work/ for the rest, as hard links, so that both names mean one file; never
/// __pycache__, whose bytecode nobody has checked. Links of the input stay links, and what can't be copied becomes one. Left out of work/
/// is an entry called output. Errors: of the scratch folder; ECANCELED.
Expected<void> lay_input(const InputTree& tree, const Scratch& scratch, const InputLayout& layout);

}  // namespace podjail
