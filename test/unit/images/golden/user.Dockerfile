# syntax=docker/dockerfile:1
ARG TAG=12
FROM debian:${TAG} AS aimi-user
RUN apt-get update \
  && apt-get install -y git

# swarm adds these lines to make a sandbox image.
FROM aimi-sandbox:base AS aimi-base

FROM aimi-user
SHELL ["/bin/sh", "-c"]
ENTRYPOINT []
USER 0:0
COPY --from=aimi-base ["/opt/aimi", "/opt/aimi"]
RUN absent=""; \
    for tool in git sh tar sleep; do command -v "$tool" > /dev/null 2>&1 || absent="${absent:+$absent, }$tool"; done; \
    if ! /opt/aimi/node --version > /dev/null 2>&1; then \
      if ls /lib*/ld-linux* > /dev/null 2>&1; then missing=libstdc++; else missing=glibc; fi; \
      absent="${absent:+$absent, }$missing"; \
    fi; \
    if [ -n "$absent" ]; then echo "AIMI""-UNSUITABLE: $absent"; exit 1; fi
RUN set -eu; \
    touch /etc/passwd /etc/group; \
    for file in /etc/passwd /etc/group; do [ -z "$(tail -c 1 $file)" ] || echo >> $file; done; \
    name=agent; \
    if grep -q '^agent:' /etc/passwd; then name=aimi-agent; fi; \
    if ! grep -q '^[^:]*:[^:]*:1000:' /etc/group; then echo "$name:x:1000:" >> /etc/group; fi; \
    if ! grep -q '^[^:]*:[^:]*:1000:' /etc/passwd; then echo "$name:x:1000:1000::/home/$name:/bin/sh" >> /etc/passwd; fi; \
    home="$(sed -n 's/^[^:]*:[^:]*:1000:[^:]*:[^:]*:\([^:]*\):.*/\1/p' /etc/passwd | sed -n 1p)"; \
    mkdir -p "$home" /workspace; \
    chown 1000:1000 "$home"; \
    chown -R 1000:1000 /workspace
WORKDIR /workspace
USER 1000:1000

ARG BASE_COMMIT
RUN --mount=type=bind,source=workspace.bundle,target=/tmp/workspace.bundle \
    set -eu; \
    export HOME=/tmp GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1; \
    cd /workspace; \
    rm -rf .git; \
    git init --quiet --template= $(if [ "${#BASE_COMMIT}" -eq 64 ]; then echo --object-format=sha256; fi); \
    git -c gc.auto=0 fetch --quiet --no-tags /tmp/workspace.bundle refs/heads/workspace; \
    if [ "$(git rev-parse FETCH_HEAD)" != "$BASE_COMMIT" ]; then echo "AIMI""-WRONG-BUNDLE: the bundle does not contain $BASE_COMMIT"; exit 1; fi; \
    git checkout --quiet --force -B workspace "$BASE_COMMIT"; \
    rm -f .git/FETCH_HEAD; \
    mkdir -p .git/info; \
    git ls-files --others --exclude-standard --directory | { grep -E '(^|/)(node_modules/|\.pnp\.(c?js|loader\.mjs)|\.yarn/((cache|unplugged)/|install-state\.gz|build-state\.yml)?)$' || true; } | sed 's/[][*?\]/\\&/g; s|^|/|; s|/\.yarn/$|&[bciu]*|' >> .git/info/exclude; \
    dirty="$(git status --porcelain)"; \
    if [ -n "$dirty" ]; then echo "AIMI""-DIRTY: the working tree differs from the commit:"; printf '%s\n' "$dirty"; exit 1; fi
USER 1000:1000
