// Bundles the compiled modules with their packages: that halves the time of a start, and takes a fifth less memory and
// an eighth less time for a request than 1,400 files. The modules are in `modules` of the folder that the argument
// names. The folder becomes a package for `npm pack`, which depends only on the packages that are not bundled.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { argv } from 'node:process';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build } from 'esbuild';

const folder = argv[2] ?? 'dist';
const modules = join(folder, 'modules');

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** Not of JavaScript alone, loaded only where it is configured, or loaded before all else. */
const EXTERNAL = ['ioredis', 'libsql', 'mysql2', 'pg', 'rate-limiter-flexible', 'reflect-metadata', 'swagger-ui-dist'];

// A file that stayed the same would keep its old time, by which "npm start" decides whether to build.
for (const name of ['chunks', 'src']) rmSync(join(folder, name), { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { 'src/main': join(modules, 'src/entry.js'), ormconfig: join(modules, 'ormconfig.js') },
  outdir: folder,
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  metafile: true,
  sourcemap: true,
  sourcesContent: false,
  // Lists what is bundled, with versions and licenses, and fails if the list does not match the schema of CycloneDX.
  plugins: [
    cyclonedxEsbuildPlugin({
      outputFile: 'sbom.cdx.json',
      outputReproducible: true,
      validate: true,
      logLevel: 'silent',
    }),
  ],
  // And what Nest asks for that is not installed.
  external: [...EXTERNAL, '@fastify/static', '@nestjs/microservices', '@nestjs/websockets'],
  // For Node, RxJS offers its CommonJS only, all of which would be loaded.
  alias: {
    rxjs: './node_modules/rxjs/dist/esm/index.js',
    'rxjs/operators': './node_modules/rxjs/dist/esm/operators/index.js',
  },
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
});

// The log names files of the project only. Packages have maps of wrong names, and those of the others are most of all.
for (const path of Object.keys(metafile.outputs).filter((name) => name.endsWith('.map'))) {
  const map = readJson(path);
  map.sources = map.sources.map((source) => {
    const name = relative('.', resolve(dirname(path), source));
    return existsSync(name) && !name.includes('node_modules') ? name.replaceAll('\\', '/') : null;
  });
  if (map.sources.some(Boolean)) writeFileSync(path, JSON.stringify(map));
  else rmSync(path);
}

// The docs page's own files, which its module looks for beside itself.
cpSync('src/adapters/http/docs/assets', join(folder, 'chunks/assets'), { recursive: true });

const { name, version, description, type, license, engines, dependencies } = readJson('package.json');
const manifest = {
  ...{ name, version, description, private: true, type, license, engines },
  bin: { petstore: 'src/main.js' },
  files: ['src', 'chunks', 'licenses.txt', 'sbom.cdx.json'],
  dependencies: Object.fromEntries(EXTERNAL.map((each) => [each, dependencies[each]])),
};
writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));

// The licenses of the bundled packages ask to be passed on with their code.
const packages = Object.keys(metafile.inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
const notices = [...new Set(packages)].sort().map((path) => {
  const { name, version, license } = readJson(join(path, 'package.json'));
  const files = readdirSync(path, { recursive: true }).filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file));
  const texts = files.map((file) => join(path, file)).filter((file) => statSync(file).isFile());
  return [`${name} ${version} (${license})`, ...texts.map((file) => readFileSync(file, 'utf8'))].join('\n\n');
});
writeFileSync(join(folder, 'licenses.txt'), notices.join(`\n\n${'-'.repeat(80)}\n\n`));
cpSync('LICENSE', join(folder, 'LICENSE'));
