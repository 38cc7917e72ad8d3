# The image of every sandbox: tools that agents expect, Node, the adapter, and the requested agents.
# The parts that change most often come last. The context has node.tgz and npm.tgz as npm packs them, certificates/, adapter.mjs, adapter, gateway.mjs and gateway.
ARG ROOT
FROM ${ROOT} AS downloads
ADD node.tgz /node/
ADD npm.tgz /npm/

FROM ${ROOT}
ENV LANG=C.UTF-8
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      ca-certificates curl git jq less openssh-client procps python3 python3-pip python3-venv ripgrep unzip xz-utils \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log

# The certificates that this machine trusts besides the public ones, for networks with a proxy that inspects TLS.
COPY certificates/ /usr/local/share/ca-certificates/
RUN update-ca-certificates >/dev/null 2>&1
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt

COPY --from=downloads /node/package/bin/node /opt/aimi/node
COPY --from=downloads /npm/package /usr/local/lib/node_modules/npm
RUN ln -s /opt/aimi/node /usr/local/bin/node \
 && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && chmod 0755 /usr/local/lib/node_modules/npm/bin/*.js \
 && echo prefix=/usr/local > /usr/local/lib/node_modules/npm/npmrc \
 && (getent passwd 1000 >/dev/null && userdel --remove "$(getent passwd 1000 | cut -d: -f1)" 2>/dev/null || true) \
 && groupadd --gid 1000 agent \
 && useradd --uid 1000 --gid 1000 --create-home --shell /bin/bash agent \
 && install -d -o 1000 -g 1000 /workspace /work /outputs /task \
 && install -d /inputs \
 && install -d -m 0700 /aimi \
 && install -d -m 0700 -o 1000 -g 1000 /gw \
 && install -d -m 0755 -o 1000 -g 1000 /door

ARG AGENTS=
RUN test -z "${AGENTS}" || npm install --global --no-audit --no-fund --loglevel=error ${AGENTS}

COPY adapter.mjs adapter gateway.mjs gateway /opt/aimi/
RUN chmod 0755 /opt/aimi/adapter /opt/aimi/gateway && /opt/aimi/adapter probe >/dev/null
WORKDIR /workspace
