const core = '^src/(domain|application|messages)/';

/** The arrows: main → process → app → app.module → adapters → application → messages → domain. An import points right or stays; never left. */
export default {
  forbidden: [
    {
      name: 'domain-imports-only-domain',
      comment: 'The domain is plain TypeScript: it imports itself, and modules of Node.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: '^src/domain/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'application-imports-only-core',
      comment: 'The application imports the core, modules of Node and a cache: no framework and no database.',
      severity: 'error',
      from: { path: '^src/application/' },
      to: { pathNot: [core, '^node_modules/lru-cache/'], dependencyTypesNot: ['core'] },
    },
    {
      name: 'messages-stand-below-the-application',
      comment: 'What people are told is written with the domain, modules of Node and a measure of typos alone.',
      severity: 'error',
      from: { path: '^src/messages/' },
      to: {
        pathNot: ['^src/(domain|messages)/', '^node_modules/fastest-levenshtein/'],
        dependencyTypesNot: ['core'],
      },
    },
    {
      name: 'adapters-do-not-import-the-root',
      comment: 'Adapters are put together by the root, which they do not know: settings are handed to them.',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: '^(src/[^/]+|src/process/.+|ormconfig)\\.ts$', pathNot: '^src/settings/' },
    },
    {
      name: 'settings-are-a-type-to-adapters',
      comment: 'They may name the type of the settings that they are handed; a command reads those that it needs.',
      severity: 'error',
      from: { path: '^src/adapters/', pathNot: '^src/adapters/cli/' },
      to: { path: '^src/settings/settings\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-root-is-handed-down',
      comment: 'settings are handed down, and know nothing of who uses them.',
      severity: 'error',
      from: { path: '^src/settings/' },
      to: { path: '^src/(adapters/|process/|(app\\.module|app|main)\\.ts$)' },
    },
    {
      name: 'settings-load-no-framework',
      comment: 'Every command and the primary of the workers read them: Nest would take 15 MB of memory.',
      severity: 'error',
      from: { path: '^src/settings/' },
      to: { path: '^node_modules/@nestjs/', reachable: true },
    },
    {
      name: 'app-module-stands-below-app',
      comment: 'The composition root is below what makes a server of it.',
      severity: 'error',
      from: { path: '^src/app\\.module\\.ts$' },
      to: { path: '^src/(app|main|process/.+)\\.ts$' },
    },
    {
      name: 'app-stands-below-process',
      comment: 'The application can be made without being run.',
      severity: 'error',
      from: { path: '^src/app\\.ts$' },
      to: { path: '^(src/(main|process/.+)|ormconfig)\\.ts$' },
    },
    {
      name: 'process-stands-below-main',
      comment: 'The life of the process is that of any service: it does not know the command.',
      severity: 'error',
      from: { path: '^src/process/' },
      to: { path: '^(src/main|ormconfig)\\.ts$' },
    },
    {
      name: 'process-knows-no-http-and-no-pets',
      comment: 'A process starts, forks and stops alike, whatever it serves.',
      severity: 'error',
      from: { path: '^src/process/' },
      to: { path: '^src/(adapters/http|adapters/persistence|application/pets|domain/pets)/' },
    },
    {
      name: 'errors-and-bodies-do-not-know-the-server',
      comment: 'They may name the types of request and response; the server is above them.',
      severity: 'error',
      from: { path: '^src/adapters/http/(errors|body)/' },
      to: { path: '^src/adapters/http/server/', dependencyTypesNot: ['type-only'] },
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
      name: 'client-stands-alone',
      comment:
        'Users install the client in browsers too: it imports its one package, nothing of the service or of Node.',
      severity: 'error',
      from: { path: '^client/' },
      to: { pathNot: '^(client|node_modules/lossless-json)/' },
    },
    {
      name: 'service-does-not-know-the-client',
      comment: 'The service is built into images and packages without the client.',
      severity: 'error',
      from: { path: '^(src/|ormconfig\\.ts$)' },
      to: { path: '^client/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'packages-are-declared',
      comment: 'pnpm and Yarn install what package.json names; that npm also finds what those depend on is chance.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
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
