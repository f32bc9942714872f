# Images of Nestor's programs, for those who build with Docker; `make images` needs no engine. For every platform that Go builds for:
#   docker buildx build --platform linux/amd64,linux/arm64 --target operator -t nestor-operator .
#   docker buildx build --platform linux/amd64,linux/arm64 --target gateway -t nestor-gateway .
#   docker buildx build --platform linux/amd64,linux/arm64 --target workspace -t nestor-workspace .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY api api
COPY cmd cmd
COPY config config
COPY internal internal
# The web page is part of the gateway if `make web` built it before; without it the gateway says how to build it.
COPY web/embed.go web/embed.go
COPY web/dist web/dist
ARG TARGETOS TARGETARCH VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/build-cache \
    GOCACHE=/build-cache CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags=grpcnotrace \
    -ldflags "-s -w -X github.com/nestor-dev/nestor/internal/version.version=$VERSION" -o /out/ ./cmd/...

# Distroless: nothing but the program, the certificates it trusts and a user that is not root.
FROM scratch AS operator
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/nestor-operator /usr/local/bin/nestor-operator
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/nestor-operator"]

FROM scratch AS gateway
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/nestor-gateway /usr/local/bin/nestor-gateway
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/nestor-gateway"]

# A workspace is where agents run commands, so it has a shell, git and the usual tools, but the same user.
FROM debian:13-slim AS workspace
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash ca-certificates git openssh-client patch procps \
    && rm -rf /var/lib/apt/lists/*
# On the PATH: workspace pods name the program alone.
COPY --from=build /out/nestor-workspace /usr/local/bin/nestor-workspace
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/nestor-workspace"]
