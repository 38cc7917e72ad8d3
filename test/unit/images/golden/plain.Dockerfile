# Made by swarm for one project: its tools, its dependencies, its tree at one commit. What changes most comes last.
FROM aimi-sandbox:base

USER 0:0
RUN set -eux; \
    install -d -o 1000 -g 1000 /workspace

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
