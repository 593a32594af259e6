glint_test(ros2_config_test SOURCES arguments_test.cc config_test.cc names_test.cc LIBS glint::ros2_config LABELS sanitize)
target_compile_definitions(ros2_config_test PRIVATE GLINT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
