# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

DESCRIPTION="Generator of the matrix kernels of rocBLAS"
HOMEPAGE="https://example.org/rocm/Tensile"
SRC_URI="https://example.org/rocm/rocm-libraries/releases/rocm-${PV}/tensile.tar.gz -> tensile-${PV}.tar.gz"
S="${WORKDIR}/tensile/Tensile"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"

RDEPEND="
	dev-util/hip:${SLOT}
	dev-util/rocm-smi:${SLOT}
"
DEPEND="${RDEPEND}"

src_prepare() {
	default

	sed -e "/ROCM_SMI_ROOT/s,lib,lib64," -i Source/cmake/FindROCmSMI.cmake || die
	sed -e "/TENSILE_USE_LLVM/s/ON/OFF/" -i Source/CMakeLists.txt || die
	sed -e "s,\${Tensile_ROOT}/bin/,,g" -i cmake/TensileConfig.cmake || die
	sed -e "/HipClangVersion/s/0.0.0/${PV}/" -i Common.py || die

	local script
	for script in ReplacementKernels.py Common.py Tensile.py; do
		sed -e "s,os.path.dirname(os.path.realpath(__file__)),\"${EPREFIX}/usr/share/Tensile\",g" \
			-i ${script} || die
	done
	sed -e "s|os\.path\.dirname.*$|\"${EPREFIX}/usr/share/Tensile/Source\", end='')|" -i __init__.py || die

	# The assembler refuses the modifiers.
	sed -e "s/ op_sel:\[0,0\] op_sel_hi:\[1,1\]//" -i Components/MAC_I8X4.py || die
	sed -e "s/amdclang/${CHOST}-clang/g" -i Utilities/Toolchain.py || die
}
