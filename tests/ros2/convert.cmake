glint_test(ros2_convert_test SOURCES pose_chain_test.cc pose_chain_velocity_test.cc messages_test.cc clouds_test.cc
           LIBS glint_ros2_convert glint::slam LABELS sanitize)
