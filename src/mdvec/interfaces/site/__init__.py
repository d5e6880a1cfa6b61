"""The reading site: a VitePress project made of a collection."""
