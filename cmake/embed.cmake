# cmake -DOUTPUT=FILE.cpp -DASSETS="NAME=FILE NAME=FILE ..." -P embed.cmake
# Writes a source file that defines spex::assets::NAME, a string_view of the bytes of its FILEs one
# after the other. Bytes rather than string literals: compilers limit the length of a literal.
separate_arguments(ASSETS UNIX_COMMAND "${ASSETS}")
set(names)
foreach(asset ${ASSETS})
  string(REGEX MATCH "^([^=]+)=(.+)$" matched "${asset}")
  set(name ${CMAKE_MATCH_1})
  file(READ ${CMAKE_MATCH_2} hex HEX)
  list(APPEND names ${name})
  string(APPEND bytes_${name} "${hex}")
endforeach()
list(REMOVE_DUPLICATES names)

set(text "#include \"report/assets.h\"\n\nnamespace spex::assets {\n")
foreach(name ${names})
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes_${name}}")
  string(LENGTH "${bytes_${name}}" digits)
  math(EXPR size "${digits} / 2")
  string(APPEND text "static const unsigned char ${name}_bytes[] = {${bytes}};\n"
         "const std::string_view ${name}(reinterpret_cast<const char*>(${name}_bytes), ${size});\n")
endforeach()
file(WRITE ${OUTPUT} "${text}}  // namespace spex::assets\n")
