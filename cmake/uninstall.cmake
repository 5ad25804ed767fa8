# SPDX-License-Identifier: Apache-2.0
# Removes the files that the last installation wrote, and the directories of
# kbundle's own that are then empty.

if(NOT EXISTS ${MANIFEST})
	message(FATAL_ERROR "nothing was installed from this build: "
		"there is no ${MANIFEST}")
endif()

file(STRINGS ${MANIFEST} installed)
foreach(file IN LISTS installed)
	set(path $ENV{DESTDIR}${file})
	message(STATUS "Removing ${path}")
	file(REMOVE ${path})
	get_filename_component(dir ${path} DIRECTORY)
	if(dir MATCHES "/kbundle$")
		list(APPEND own_dirs ${dir})
	endif()
endforeach()

list(REMOVE_DUPLICATES own_dirs)
foreach(dir IN LISTS own_dirs)
	file(GLOB rest ${dir}/*)
	if(NOT rest)
		file(REMOVE_RECURSE ${dir})
	endif()
endforeach()
file(REMOVE ${MANIFEST})
