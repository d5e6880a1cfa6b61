"""The files of mdvec's embedding model; mdvec reads them next to this module."""
