# The worker as a sidecar, or the sandbox. The image has the bundle, as the package has it: a start reads some 60 files, not 700.

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# What the bundle is made of, and the bundler, as the lock file has them. No program of a dependency runs here.
RUN node -e "const p = require('./package.json'); p.devDependencies = { rolldown: p.devDependencies.rolldown }; \
    fs.writeFileSync('package.json', JSON.stringify(p))" \
  && npm install --ignore-scripts --no-audit --no-fund
COPY scripts ./scripts
COPY src ./src
COPY sandbox ./sandbox
RUN node scripts/build.ts
# better-sqlite3 brings its binaries along; its sources and those for other systems are left behind.
RUN cd node_modules/better-sqlite3 \
  && rm -rf build deps src \
  && find prebuilds -name '*.node' ! -name 'linux-*' -delete
COPY package.json LICENSE ./image/
COPY bin ./image/bin
COPY config ./image/config
COPY data/samples ./image/data/samples
# Whatever umask the checkout has: the worker may read it, and change nothing.
RUN cp -R dist image/ && mkdir image/node_modules && cp -R node_modules/better-sqlite3 image/node_modules/ \
  && chmod -R u=rwX,go=rX image

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="order-sync" \
      org.opencontainers.image.description="Buys what a reseller's shop sold from a Wholesale Ordering API, each order exactly once" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
COPY --from=build /app/image ./
# /data is for the database and belongs to the worker alone. /orders is for the folders that a shop shares: inbox and results,
# and those that files are renamed into. /progress is for the progress file, /backups for copies of the database. A named volume
# takes over this owner.
# Others may go through /orders, to the folders in it that are open for their group.
RUN install -d -o node -g node -m 0750 /progress /backups /data && install -d -o node -g node -m 0751 /orders
VOLUME /data /orders
ENV NODE_ENV=production
USER node
# The demo loads the worker and the sandbox: the image works.
RUN cd /tmp && node /app/bin/order-sync.js demo --once > demo.log && rm -rf demo.log data
ENV ORDER_SYNC_CONFIG=/etc/order-sync/order-sync.yaml \
    ORDER_SYNC__DATA_DIR=/data
EXPOSE 9090
STOPSIGNAL SIGTERM
# The worker asks itself: no curl in the image, and the port is found wherever it is.
HEALTHCHECK --interval=15s --timeout=5s --start-period=15s --retries=3 \
  CMD ["node", "/app/bin/health.js", "--live"]
# Exec form, so that SIGTERM reaches the worker and not a shell. In the 50 ms before Node runs the program, only an init passes
# it on: `docker run --init`, and both compose files.
ENTRYPOINT ["node", "--disable-sigusr1", "/app/bin/order-sync.js"]
CMD ["run"]
