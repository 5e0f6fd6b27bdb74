# syntax=docker/dockerfile:1
# The worker as a sidecar. The TypeScript runs as it is: there is no build, and what is tested is what ships.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No program of a dependency runs here. better-sqlite3 brings its binaries along; its sources and those for other systems are
# left behind.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && cd node_modules/better-sqlite3 \
  && rm -rf deps src \
  && find prebuilds -name '*.node' ! -name 'linux-*' -delete

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="order-sync" \
      org.opencontainers.image.description="Buys what a reseller's shop sold from a Wholesale Ordering API, each order exactly once" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY bin ./bin
COPY src ./src
COPY config ./config
# /data is for the database and belongs to the worker alone. /orders is for the folders that a shop shares: inbox and results,
# and those that files are renamed into. /progress is for the progress file. A named volume takes over this owner.
RUN install -d -o node -g node -m 0750 /progress /data /orders
VOLUME /data /orders
# What a start reads is kept here, by the user who starts it: half a second for the worker.
RUN install -d -o node -g node node_modules/.cache
ENV NODE_ENV=production \
    ORDER_SYNC_CONFIG=/etc/order-sync/order-sync.yaml \
    ORDER_SYNC__DATA_DIR=/data
USER node
RUN node bin/order-sync.js version
# Whoever takes over the worker must not be able to change what the next start runs.
USER root
RUN chown -R root:root node_modules/.cache && chmod -R a-w node_modules/.cache
USER node
EXPOSE 9090
STOPSIGNAL SIGTERM
# The worker asks itself: no curl in the image, and the port is found wherever it is.
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s --retries=3 \
  CMD ["node", "/app/bin/health.js", "--live"]
# Exec form, so that SIGTERM reaches the worker and not a shell. It starts no processes of its own, so it needs no init;
# `docker run --init` does no harm.
# Young objects get little room: a file of 50,000 lines then takes 180 MB instead of 230, and no longer.
ENTRYPOINT ["node", "--max-semi-space-size=4", "/app/bin/order-sync.js"]
CMD ["run"]
