# mdvec as a server for agents, with its model. See docs/how-to/install.md.
FROM python:3.13-slim-trixie AS build
WORKDIR /src
COPY requirements/core.txt requirements/build.txt requirements/
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements/core.txt \
    && python -m venv /build && /build/bin/pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY . .
RUN MDVEC_RELEASE=1 /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels ./packages/mdvec-e5 . \
    && /venv/bin/pip install --no-cache-dir --no-deps /wheels/*.whl && rm -rf /wheels

FROM python:3.13-slim-trixie
RUN useradd --uid 1000 --create-home mdvec && mkdir /data /docs && chown mdvec:mdvec /data /docs
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 XDG_DATA_HOME=/data XDG_CACHE_HOME=/data/cache
USER 1000
VOLUME ["/data", "/docs"]
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/health', timeout=4)"]
ENTRYPOINT ["mdvec"]
CMD ["serve", "--docs-dir", "/docs", "--data-dir", "/data/index", "--http", "0.0.0.0:8765"]
