# Read by CTest, not by the build: the cases of one doctest program, which the program itself has listed when it was built.
# checks/CMakeLists.txt sets case_prefix, case_program, case_list and case_properties.
macro(workbook_case name filter)
  add_test("${case_prefix}${name}" "${case_program}" "--test-case=${filter}")
  set_tests_properties("${case_prefix}${name}" PROPERTIES ${case_properties})
endmacro()
if(EXISTS "${case_list}")
  include("${case_list}")
else()
  add_test("${case_prefix}not built" "${case_program}")
endif()
