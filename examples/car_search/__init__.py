"""Two forms of a .ui file are all that an assistant needs: a search, and a booking that a person submits."""
