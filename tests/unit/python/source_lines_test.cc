#include "python/source_lines.h"

#include <gtest/gtest.h>

using podjail::python::SourceLines;

TEST(SourceLines, CountsAsPythonDoes) {
  SourceLines lines("a\r\nb\rc\n\fd\n");
  EXPECT_EQ(lines.line(1), "a");
  EXPECT_EQ(lines.line(2), "b");
  EXPECT_EQ(lines.line(3), "c");
  EXPECT_EQ(lines.line(4), "\fd");
  EXPECT_EQ(lines.line(5), "");
  EXPECT_EQ(lines.line(6), "");
  EXPECT_EQ(lines.line(0), "");
}

TEST(SourceLines, ColumnsAreCharacters) {
  SourceLines lines("x\nprint(\"größer als\", 1 +* 2)\n");
  EXPECT_EQ(lines.column(2, 0), 1);
  EXPECT_EQ(lines.column(2, 25), 24);
  EXPECT_EQ(lines.column(2, 1000), 28);
}

TEST(SourceLines, PlaceOfAByte) {
  SourceLines lines("ab\ncd\n");
  EXPECT_EQ(lines.place(0).line, 1);
  EXPECT_EQ(lines.place(3).line, 2);
  EXPECT_EQ(lines.place(4).byte_offset, 1);
}
