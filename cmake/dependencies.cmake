# SPDX-License-Identifier: Apache-2.0
# The libraries that libkbundle stands on, as one imported target. Installed
# beside the package files: who links libkbundle.a needs them too.

# Names and versions as pkg-config knows them; also in kbundle.pc.
set(KB_PKG_MODULES
	"libzstd >= 1.4.0"
	"libcrypto >= 3.0"
	"libcjson >= 1.7.14"
	"libelf >= 0.176"
	"libarchive >= 3.4.0"
	"uuid >= 2.30")

macro(kb_find_dependencies)
	pkg_check_modules(KB_DEPS REQUIRED QUIET IMPORTED_TARGET
		${KB_PKG_MODULES})
endmacro()
