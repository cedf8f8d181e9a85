EAPI=8
DESCRIPTION="A stand-in"
SLOT=0
LICENSE=MIT
KEYWORDS="~amd64"
IUSE="+hip llvm_slot_20"
DEPEND="hip? ( llvm_slot_20? ( >=dev-util/hip-5.7:=[llvm_slot_20(-)] ) !llvm_slot_20? ( >=dev-util/hip-5.7:= ) )"
RDEPEND="${DEPEND} x11-libs/libdrm"
