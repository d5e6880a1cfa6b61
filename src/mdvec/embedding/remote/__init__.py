"""The common parts of embedders that use a service over HTTP."""
