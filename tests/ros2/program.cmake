foreach(name localize localize_map connection)
  glint_test(ros2_${name}_test SOURCES ${name}_test.cc
             LIBS glint::ros2_operations glint::serverlib glint::slam glint::test_support LABELS integration)
endforeach()
glint_test(ros2_imu_queue_test SOURCES imu_queue_test.cc LIBS glint::ros2_operations LABELS sanitize)
glint_test(ros2_localize_view_test SOURCES localize_view_test.cc ../view/http_client.cc
           LIBS glint::ros2_operations glint::serverlib glint::slam glint::test_support glint::view glint::decode
           LABELS integration)
