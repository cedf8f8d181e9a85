# The version out of the tags, and how many commits came since.
function(get_version_from_tag DEFAULT_VERSION VERSION_PREFIX GIT)
  set(VERSION_STRING ${DEFAULT_VERSION} PARENT_SCOPE)
  set(NUM_COMMITS 0)
  num_change_since_prev_pkg(${VERSION_PREFIX})
  set(VERSION_BUILD ${NUM_COMMITS} PARENT_SCOPE)
endfunction()
