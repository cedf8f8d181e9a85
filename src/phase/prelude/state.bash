# What the shell is but for its files: told, so that a later run need not come to it again (phase/state.rs)

eb_tell_state() {
	{
		builtin shopt -p
		builtin set +o
		builtin trap -p
		builtin alias -p
		builtin enable -a
		builtin declare -F
		builtin declare -f
		builtin printf '\0'
		# DIRSTACK would look otherwise once it was read
		builtin dirs -l -p
		builtin printf '\0%s\0' "${PWD}"
		builtin declare -p
	} >| "${EB_CTL}/$1"
}
