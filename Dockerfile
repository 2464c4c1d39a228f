FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY scripts/exec scripts/exec
RUN npm ci --prefer-offline
COPY tsconfig.json tsconfig.build.json ormconfig.ts LICENSE ./
COPY scripts scripts
COPY src src
COPY client client
RUN npm run build
# dist/package.json names the packages that are not bundled: all others are removed.
RUN mv dist/package.json package.json && rm -r dist/client dist/modules && npm prune --omit=dev

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATABASE_URL=sqlite:/data/petstore.sqlite
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
RUN mkdir /data && chown 1000:1000 /data
VOLUME /data
# The user node of the base image, as numbers, by which Kubernetes can tell that it is not root.
USER 1000:1000
EXPOSE 3000
# Liveness only: another container cannot repair a database. Load balancers use /health/ready.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["serve"]
