# A camera on Debian's Cyclone DDS (cyclonedds-dev). It needs C for what idlc makes of the messages.
find_program(GLINT_IDLC idlc DOC "Cyclone DDS's compiler of IDL")
find_package(CycloneDDS QUIET)
# Beside Clang for C++, GCC for C makes CMake look for precompiled headers in GCC's form.
if(GLINT_IDLC AND CycloneDDS_FOUND AND NOT CMAKE_CROSSCOMPILING AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  enable_language(C)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/cyclone)
  file(MAKE_DIRECTORY ${made})
  add_custom_command(OUTPUT ${made}/robot.c ${made}/robot.h
    COMMAND ${GLINT_IDLC} -l c -x final -o ${made} ${CMAKE_CURRENT_SOURCE_DIR}/cyclone/robot.idl
    DEPENDS cyclone/robot.idl VERBATIM)
  add_library(ros2_cyclone_messages STATIC ${made}/robot.c)
  target_include_directories(ros2_cyclone_messages SYSTEM PUBLIC ${made})
  target_link_libraries(ros2_cyclone_messages PUBLIC CycloneDDS::ddsc)
  add_executable(ros2_cyclone_camera cyclone/camera.cc)
  target_link_libraries(ros2_cyclone_camera PRIVATE glint_compile ros2_cyclone_messages)
  glint_test(ros2_cyclone_test SOURCES cyclone_test.cc
             LIBS glint_ros2_node glint::serverlib glint::test_support LABELS integration)
  target_compile_definitions(ros2_cyclone_test PRIVATE GLINT_CYCLONE_CAMERA="$<TARGET_FILE:ros2_cyclone_camera>")
  add_dependencies(ros2_cyclone_test ros2_cyclone_camera)
else()
  add_test(NAME ros2_cyclone_test COMMAND ${CMAKE_COMMAND} -E echo "GLINT_SKIP_ALL: no GCC or no Cyclone DDS (scripts/setup.sh ci)")
  set_tests_properties(ros2_cyclone_test PROPERTIES SKIP_REGULAR_EXPRESSION "GLINT_SKIP_ALL")
endif()
