"""Where runs and their results come from: folders, lists, names of files, manifests, tables."""
