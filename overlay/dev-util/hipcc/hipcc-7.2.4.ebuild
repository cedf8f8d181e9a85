# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LLVM_SLOT=22

DESCRIPTION="Compiler driver of HIP"
HOMEPAGE="https://example.org/rocm/hipcc"
SRC_URI="https://example.org/rocm/llvm-project/archive/rocm-${PV}.tar.gz -> llvm-project-rocm-${PV}.tar.gz"
S="${WORKDIR}/llvm-project-rocm-${PV}/amd/hipcc"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

src_prepare() {
	sed -e "s:lib/llvm/bin:lib/llvm/${LLVM_SLOT}/bin:" \
		-e "s:/opt/rocm:${EPREFIX}/usr:g" \
		-i src/hipBin_base.h src/hipBin_amd.h || die
	sed -e "s:amdgcn/bitcode:lib/amdgcn/bitcode:g" -i src/hipBin_amd.h || die

	default
}
