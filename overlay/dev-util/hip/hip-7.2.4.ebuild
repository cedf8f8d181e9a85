# Copyright 2026 The ebaudit authors
# Distributed under the terms of the GNU General Public License v2 or later

EAPI=8

LLVM_SLOT=22

DESCRIPTION="HIP runtime of the ROCm stack"
HOMEPAGE="https://example.org/rocm/hip"
SRC_URI="
	https://example.org/rocm/rocm-systems/releases/rocm-${PV}/clr.tar.gz -> clr-${PV}.tar.gz
	https://example.org/rocm/rocm-systems/releases/rocm-${PV}/hip.tar.gz -> hip-${PV}.tar.gz
	https://example.org/rocm/rocm-systems/releases/rocm-${PV}/hip-tests.tar.gz -> hip-tests-${PV}.tar.gz
"
S="${WORKDIR}/clr"
HIP_S="${WORKDIR}/hip"
TEST_S="${WORKDIR}/hip-tests"

LICENSE="MIT"
SLOT="0/7.2"
KEYWORDS="~amd64"
IUSE="opencl +video_cards_amdgpu"

DEPEND="
	video_cards_amdgpu? (
		dev-libs/rocm-comgr:${SLOT}
		dev-libs/rocr-runtime:${SLOT}
		dev-util/rocminfo:${SLOT}
	)
"
RDEPEND="${DEPEND}
	~dev-libs/rocm-core-${PV}
	opencl? ( !dev-libs/rocm-opencl-runtime )
	video_cards_amdgpu? (
		dev-libs/rocm-device-libs:${SLOT}
		dev-libs/roct-thunk-interface:${SLOT}
		dev-util/hipcc:${SLOT}
	)
"
BDEPEND="video_cards_amdgpu? ( dev-util/hipcc:${SLOT} )"

src_prepare() {
	default

	sed -e "s:# Search for HIP installation:set(HIP_ROOT_DIR \"${EPREFIX}/usr\"):" \
		-e "s:#Set HIP_CLANG_PATH:set(HIP_CLANG_PATH \"${EPREFIX}/usr/lib/llvm/${LLVM_SLOT}/bin\"):" \
		-i "${HIP_S}"/cmake/FindHIP.cmake || die

	sed -e "s/ -Werror//g" -i hipamd/src/CMakeLists.txt || die
	sed -e "/asan COMPONENT asan/d" -i hipamd/packaging/CMakeLists.txt || die
	sed -e "s/@HIP_INSTALLS_HIPCC@/ON/g" -i hipamd/hip-config.cmake.in || die
	sed -e "s/NOT \${HIPCC_BIN_DIR}/INSTALL_HIPCC AND NOT \${HIPCC_BIN_DIR}/" \
		-i hipamd/CMakeLists.txt || die

	# CMake 4 knows nothing older than 3.5 and warns below 3.10.
	sed -e "/cmake_minimum_required/ s/3\.[35]/3.10/" -i \
		hipamd/src/hiprtc/cmake/hiprtc-config.cmake.in \
		opencl/khronos/icd/CMakeLists.txt \
		opencl/khronos/headers/opencl2.2/tests/CMakeLists.txt || die

	sed -e "s/-Werror //" \
		-e "s/-Wall -Wextra //" \
		-e "/cmake_policy(SET CMP0037 OLD)/d" \
		-i "${TEST_S}"/catch/CMakeLists.txt || die
	sed -e "s:/opt/rocm/bin:${EPREFIX}/usr/bin:" -i "${TEST_S}"/catch/hipTestMain/hip_test_context.cc || die
}
