"""What embedders that ask a service over HTTP have in common."""
