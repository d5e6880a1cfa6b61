"""Workspaces as others publish them: versions in a folder or a bucket, searched from a copy on this machine."""
