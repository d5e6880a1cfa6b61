"""The files of mdvec's embedding model; mdvec reads them beside this module."""
