# Writes each C++ block of a page as PAGE_NUMBER.inc to the folder `out`, with the place that the
# compiler is to name.
FNR == 1 {
  page = FILENAME
  sub(/^.*\//, "", page)
  sub(/\.md$/, "", page)
  gsub(/-/, "_", page)
  number = 0
}
/^```cpp$/ {
  file = out "/" page "_" ++number ".inc"
  printf "#line %d \"%s\"\n", FNR + 1, FILENAME > file
  next
}
/^```$/ && file != "" {
  close(file)
  file = ""
}
file != "" { print > file }
