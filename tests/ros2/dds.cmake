glint_test(ros2_dds_test SOURCES dds_test.cc dds_graph_test.cc dds_warnings_test.cc
           LIBS glint_ros2_dds absl::synchronization absl::time fastrtps)
