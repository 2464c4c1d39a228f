const core = '^src/(domain|application)/';

/** The arrows: main → app.module → adapters → application → domain. An import points right or stays; never left. */
export default {
  forbidden: [
    {
      name: 'domain-imports-only-domain',
      comment: 'The domain is plain TypeScript, and knows nothing but itself.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: '^src/domain/' },
    },
    {
      name: 'application-imports-only-core',
      comment: 'The application knows the domain and itself: no framework, no database, no Node.',
      severity: 'error',
      from: { path: '^src/application/' },
      to: { pathNot: core },
    },
    {
      name: 'adapters-do-not-import-the-root',
      comment: 'Adapters are put together by the root, which they do not know: settings are handed to them.',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: '^(src/[^/]+|ormconfig)\\.ts$' },
    },
    {
      name: 'config-stands-below-app-module',
      comment: 'The configuration is handed down from main.',
      severity: 'error',
      from: { path: '^src/config\\.ts$' },
      to: { path: '^src/(app\\.module|app|serve|stop|workers|main)\\.ts$' },
    },
    {
      name: 'app-module-stands-below-app',
      comment: 'The composition root is below what makes a server of it.',
      severity: 'error',
      from: { path: '^src/app\\.module\\.ts$' },
      to: { path: '^src/(app|serve|stop|workers|main)\\.ts$' },
    },
    {
      name: 'app-stands-below-main',
      comment: 'The application can be made without being run.',
      severity: 'error',
      from: { path: '^src/(app|serve|stop|workers)\\.ts$' },
      to: { path: '^(src/main|ormconfig)\\.ts$' },
    },
    {
      name: 'http-does-not-know-persistence',
      severity: 'error',
      from: { path: '^src/adapters/http/' },
      to: { path: '^src/adapters/persistence/' },
    },
    {
      name: 'persistence-does-not-know-http',
      severity: 'error',
      from: { path: '^src/adapters/persistence/' },
      to: { path: '^src/adapters/http/' },
    },
    {
      name: 'memory-and-typeorm-do-not-know-each-other',
      severity: 'error',
      from: { path: '^src/adapters/persistence/(memory|typeorm)/' },
      to: { path: '^src/adapters/persistence/(memory|typeorm)/', pathNot: '^src/adapters/persistence/$1/' },
    },
    {
      name: 'http-reaches-storage-through-a-service',
      comment: 'No controller, nor what serves it, imports a port.',
      severity: 'error',
      from: { path: '^src/adapters/http/' },
      to: { path: '\\.port\\.ts$' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'nothing-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Type-only imports count: they are arrows too.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
