#pragma once
#include <string>

// What a single word of a policy may be. Each check returns what is wrong with `value` ("" where nothing is), and may bring it into its one
// written form.
namespace podjail::check {

std::string policy_name(std::string& value);     ///< 1 to 63 of letters, digits, ".", "_", "-"; starts with a letter or digit
std::string module_name(std::string& value);     ///< dotted identifiers
std::string identifier(std::string& value);      ///< of a builtin
std::string rule_id(std::string& value);         ///< PJ101
std::string layer_name(std::string& value);      ///< one of kLayerNames
std::string syscall_name(std::string& value);    ///< [a-z0-9_]+; isolation/ knows which exist
std::string python_version(std::string& value);  ///< 3.11
std::string absolute_path(std::string& value);   ///< no "." or ".." parts; doubled and trailing slashes are dropped
std::string env_name(std::string& value);        ///< [A-Za-z_][A-Za-z0-9_]*, not PODJAIL_* (podjail's own) nor LD_* (the dynamic loader's)
std::string env_pattern(std::string& value);     ///< the same with a trailing *; one that would match PODJAIL_* or LD_* is refused too
std::string env_value(std::string& value);       ///< no NUL

}  // namespace podjail::check
