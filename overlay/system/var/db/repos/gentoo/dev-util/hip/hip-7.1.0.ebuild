EAPI=8
DESCRIPTION="A stand-in"
SLOT=0
LICENSE=MIT
KEYWORDS="~amd64"
SLOT="0/7.1"
IUSE="opencl +video_cards_amdgpu +llvm_slot_20"
REQUIRED_USE="^^ ( llvm_slot_20 )"
RDEPEND="llvm_slot_20? ( llvm-core/clang:20= )"
