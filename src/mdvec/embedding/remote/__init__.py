"""The common part of embedders that use a service over HTTP."""
