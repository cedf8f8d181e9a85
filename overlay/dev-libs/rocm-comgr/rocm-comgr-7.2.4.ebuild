# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LLVM_SLOT=22

DESCRIPTION="Compiler library of the ROCm stack"
HOMEPAGE="https://example.org/rocm/rocm-comgr"
SRC_URI="https://example.org/rocm/llvm-project/archive/rocm-${PV}.tar.gz -> llvm-project-rocm-${PV}.tar.gz"
S="${WORKDIR}/llvm-project-rocm-${PV}/amd/comgr"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"
IUSE="test"
RESTRICT="!test? ( test )"

RDEPEND="
	dev-libs/rocm-device-libs:${SLOT}
	dev-util/hipcc:${SLOT}
"
DEPEND="${RDEPEND}"
BDEPEND="test? ( dev-util/hip:${SLOT} )"

src_prepare() {
	sed -e "s:\${CLANG_CMAKE_DIR}/../../../\*:${EPREFIX}/usr/lib/clang/${LLVM_SLOT}/include:" \
		-i cmake/opencl_header.cmake || die

	# The compiler's headers of this slot are newer than the source.
	sed -e "s:Driver/Options.h:Options/Options.h:" \
		-e "s/clang::driver::options/clang::options/" \
		-e "s/Driver::GetResourcesPath/GetResourcesPath/" \
		-i src/comgr-compiler.cpp || die

	default
}
