# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LLVM_COMMIT="8f497e0992fb7513f7f78a6f6b6f1056c375e961"
LLVM_SLOT=23

DESCRIPTION="Compiler driver of HIP"
HOMEPAGE="https://example.org/rocm/hipcc"
SRC_URI="https://example.org/rocm/llvm-project/archive/${LLVM_COMMIT}.tar.gz -> llvm-project-${PV}.tar.gz"
S="${WORKDIR}/llvm-project-${LLVM_COMMIT}/amd/hipcc"

LICENSE="MIT"
SLOT="0/10.0"
KEYWORDS="~amd64"

src_prepare() {
	sed -e "s:lib/llvm/bin:lib/llvm/${LLVM_SLOT}/bin:" \
		-e "s:/opt/rocm:${EPREFIX}/usr:g" \
		-i src/hipBin_base.h src/hipBin_amd.h || die
	sed -e "/hipClangPath \/= \"llvm\";/a \    hipClangPath /= \"${LLVM_SLOT}\";" \
		-i src/hipBin_amd.h || die
	sed -e "s:amdgcn/bitcode:lib/amdgcn/bitcode:g" -i src/hipBin_amd.h || die

	default
}
