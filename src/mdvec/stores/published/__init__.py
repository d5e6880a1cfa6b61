"""Published workspaces: versions in a folder or a bucket, searched from a copy on this machine."""
