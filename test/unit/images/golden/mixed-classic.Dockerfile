# Made by swarm for one project: its tools, its dependencies, its tree at one commit. What changes most comes last.
FROM aimi-sandbox:base

USER 0:0
RUN set -eux; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update; \
    apt-get install -y --no-install-recommends golang-go ca-certificates; \
    npm install --global --no-audit --no-fund --prefix /opt/tools/pnpm-10.34.9 pnpm@10.34.9; \
    ln -sf /opt/tools/pnpm-10.34.9/bin/pnpm /usr/local/bin/pnpm; \
    install -d -o 1000 -g 1000 /opt/venvs; \
    install -d -o 1000 -g 1000 /workspace; \
    rm -rf /var/lib/apt/lists/* /root/.npm /root/.cache
ENV VIRTUAL_ENV="/opt/venvs/main"
ENV PATH="/opt/venvs/main/bin:$PATH"
WORKDIR /workspace
USER 1000:1000

# npm: the root
COPY --chown=1000:1000 ["deps/0/", "/workspace/"]
RUN set -eu; \
    export HOME=/home/agent; \
    cd '/workspace/'; \
    CI=true npm ci --no-audit --no-fund
# pip: api
COPY --chown=1000:1000 ["deps/1/", "/workspace/"]
RUN set -eu; \
    export HOME=/home/agent; \
    cd '/workspace/api'; \
    python3 -m venv /opt/venvs/main; \
    /opt/venvs/main/bin/pip install --no-cache-dir -r requirements.txt
# pnpm: web
COPY --chown=1000:1000 ["deps/2/", "/workspace/"]
RUN set -eu; \
    export HOME=/home/agent; \
    cd '/workspace/web'; \
    find . -name node_modules -prune -o -name package.json -exec node -e 'const fs = require("fs"), names = ["preinstall","install","postinstall","prepublish","preprepare","prepare","postprepare","pnpm:devPreinstall","dependencies"]; for (const file of process.argv.slice(1)) { const manifest = JSON.parse(fs.readFileSync(file, "utf8").replace(/^\uFEFF/, "")); for (const name of names) if (manifest.scripts && !/^patch-package( [\w.\/=-]+)*$/.test(manifest.scripts[name])) delete manifest.scripts[name]; fs.writeFileSync(file, JSON.stringify(manifest, null, 2)); }' '{}' +; \
    CI=true /opt/tools/pnpm-10.34.9/bin/pnpm install --frozen-lockfile
# go: tools/lint
COPY --chown=1000:1000 ["deps/3/", "/workspace/"]
RUN set -eu; \
    export HOME=/home/agent; \
    cd '/workspace/tools/lint'; \
    if go mod edit -json > /dev/null; then go mod download; else echo "AIMI""-LEFT-OUT: $(go version) is too old for this go.mod"; fi

ARG BASE_COMMIT
COPY --chown=1000:1000 ["workspace.bundle", "/tmp/workspace.bundle"]
RUN set -eu; \
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
    if [ -n "$dirty" ]; then echo "AIMI""-DIRTY: the working tree differs from the commit:"; printf '%s\n' "$dirty"; exit 1; fi; \
    rm -f /tmp/workspace.bundle
USER 1000:1000
