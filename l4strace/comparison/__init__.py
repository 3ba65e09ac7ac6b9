"""Two sets of runs: do they differ, in which cells, by how much, and could these runs show it."""
