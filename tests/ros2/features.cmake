glint_test(ros2_features_test SOURCES features_test.cc
           LIBS glint::ros2_operations glint::scene glint::serverlib glint::test_support LABELS integration sanitize)
