// Reading the JSON that the programs and the emulator write.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace check {

// The members of a flat JSON object (or of the object named `member` in it): numbers and strings as their text,
// strings unescaped; arrays and objects as JSON. Throws std::runtime_error with the place
// when the text is not JSON or has no such member.
std::map<std::string, std::string> json_object(const std::string& text, const std::string& member = "");

// The texts of the objects in the array named `member`, in order.
std::vector<std::string> json_array(const std::string& text, const std::string& member);

}  // namespace check
