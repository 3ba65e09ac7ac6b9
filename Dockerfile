# docs/capture.md shows both uses: `diagnose` of a mounted folder, `capture` of the host.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python3 -m venv /venv && /venv/bin/pip wheel --no-deps --wheel-dir /wheel .

FROM python:3.13-slim-bookworm
# Programs of `capture`: packets, the queues and offloads of an interface.
RUN apt-get update && apt-get install --yes --no-install-recommends ethtool iproute2 tcpdump \
    && rm -rf /var/lib/apt/lists/*
RUN --mount=from=build,source=/wheel,target=/wheel pip install --no-cache-dir /wheel/*.whl
WORKDIR /data
ENTRYPOINT ["l4strace"]
CMD ["--help"]
