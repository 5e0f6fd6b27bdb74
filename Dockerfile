# syntax=docker/dockerfile:1
# The worker as a sidecar, or the sandbox. The image has the bundle, as the package has it: a start reads some 60 files, not 700.

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No program of a dependency runs here.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts ./scripts
COPY src ./src
RUN node scripts/build.ts
# better-sqlite3 brings its binaries along; its sources and those for other systems are left behind.
RUN cd node_modules/better-sqlite3 \
  && rm -rf build deps src \
  && find prebuilds -name '*.node' ! -name 'linux-*' -delete

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="order-sync" \
      org.opencontainers.image.description="Buys what a reseller's shop sold from a Wholesale Ordering API, each order exactly once" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY --from=build /app/node_modules/better-sqlite3 ./node_modules/better-sqlite3
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY bin ./bin
COPY config ./config
COPY data/samples ./data/samples
# /data is for the database and belongs to the worker alone. /orders is for the folders that a shop shares: inbox and results,
# and those that files are renamed into. /progress is for the progress file. A named volume takes over this owner.
RUN install -d -o node -g node -m 0750 /progress /data /orders
VOLUME /data /orders
# What a start compiles is kept here, by the user who starts it. The demo loads the worker and the sandbox, and shows at the same
# time that the image works.
RUN install -d -o node -g node node_modules/.cache
ENV NODE_ENV=production
USER node
RUN cd /tmp && node /app/bin/order-sync.js demo --once > demo.log && node /app/bin/order-sync.js --version && rm -rf demo.log data
# Whoever takes over the worker must not be able to change what the next start runs.
USER root
RUN chown -R root:root node_modules/.cache && chmod -R a-w node_modules/.cache
USER node
ENV ORDER_SYNC_CONFIG=/etc/order-sync/order-sync.yaml \
    ORDER_SYNC__DATA_DIR=/data
EXPOSE 9090
STOPSIGNAL SIGTERM
# The worker asks itself: no curl in the image, and the port is found wherever it is.
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s --retries=3 \
  CMD ["node", "/app/bin/health.js", "--live"]
# Exec form, so that SIGTERM reaches the worker and not a shell. It starts no processes of its own, so it needs no init;
# `docker run --init` does no harm.
# Young objects get little memory, all of it at once, which makes a start 5 to 10 % shorter. Old ones are collected early: twenty
# files of 50,000 lines take 175 MB instead of 255.
ENTRYPOINT ["node", "--min-semi-space-size=4", "--max-semi-space-size=4", "--heap-growing-percent=50", "/app/bin/order-sync.js"]
CMD ["run"]
