"""Templates of HTML: every text in them is escaped, and a name that is not given is an error."""

from __future__ import annotations

import jinja2

Templates = jinja2.Environment
"""Templates by name."""


def html_templates(package: str) -> Templates:
    """Return the templates in the folder ``templates`` of a package."""
    return Templates(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
