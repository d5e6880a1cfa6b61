"""Entering the token of a server once per browser."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mdvec.interfaces.http.rights import right_of_token, start_session
from mdvec.interfaces.web.frame import Site


class LoginPage:
    """The form for the token."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """Return the form, or compare what was entered and start a session."""
        if request.method != "POST":
            return self._form(request, _own_address(request.query_params.get("next", "")), HTTPStatus.OK)
        async with request.form() as form:
            entered, wanted = str(form.get("token", "")).strip(), _own_address(str(form.get("next", "")))
        right = right_of_token(self._site.options.rights, entered)
        if right is None:
            return self._form(request, wanted, HTTPStatus.FORBIDDEN)
        response = RedirectResponse(wanted, HTTPStatus.SEE_OTHER)
        start_session(response, right.session_key)
        return response

    async def leave(self, request: Request, _: FormData) -> Response:
        """End the session."""
        response = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
        options = self._site.options
        options.ended.end(request.headers.get("cookie", ""), options.rights, response)
        return response

    def _form(self, request: Request, wanted: str, status: HTTPStatus) -> Response:
        return self._site.page(request, "login.html", status, wanted=wanted, wrong=status != HTTPStatus.OK)


def _own_address(text: str) -> str:
    r"""Return an address of this server; the start page for any other (browsers read ``\`` as ``/``)."""
    is_own = text.startswith("/") and text[1:2] not in {"/", "\\"}
    return text if is_own else "/"
