# Builds the operator's image with a container engine. `make images` builds the same image without one.
FROM golang:1.26 AS build
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY config/crd config/crd
COPY internal internal
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o / ./cmd/nginx-operator ./cmd/nginx-instance ./cmd/nginx-backup

FROM scratch
ARG VERSION=dev
LABEL org.opencontainers.image.title=nginx-operator \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /nginx-operator /nginx-instance /nginx-backup /
USER 65532:65532
ENTRYPOINT ["/nginx-operator"]
