import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/** What a container is started with. */
export interface Image {
  /** The folder that stands for the root of its file system. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

interface Stage {
  readonly root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
  entrypoint: string[];
  cmd: string[];
  healthcheck: string[];
}

/**
 * Carries out the instructions of the Dockerfile, each stage in an empty folder under `folder`, and returns what the last one
 * comes to. The base images are left out: their commands are those of this machine, and their user is nobody here.
 */
export function buildImage(folder: string): Image {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const [name, rest] of instructions()) {
    if (name === 'FROM') {
      const root = join(folder, `stage-${stages.size}`);
      mkdirSync(root);
      stage = { root, workdir: '/', env: {}, user: 'root', entrypoint: [], cmd: [], healthcheck: [] };
      stages.set(/ AS (\S+)$/.exec(rest)?.[1] ?? '', stage);
    } else if (stage) carryOut(stage, stages, name, rest);
  }
  if (!stage) throw new Error('The Dockerfile has no FROM.');
  return { ...stage, command: [...stage.entrypoint, ...stage.cmd] };
}

function carryOut(stage: Stage, stages: ReadonlyMap<string, Stage>, name: string, rest: string): void {
  const at = (path: string) => join(stage.root, resolve(stage.workdir, path));
  switch (name) {
    case 'WORKDIR':
      stage.workdir = resolve(stage.workdir, rest);
      mkdirSync(at('.'), { recursive: true });
      break;
    case 'ENV':
      for (const [, key, value] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[key as string] = value as string;
      break;
    case 'COPY': {
      const from = /^--from=(\S+) /.exec(rest)?.[1];
      const paths = rest.replace(/^--from=\S+ /, '').split(' ');
      const target = paths.pop() as string;
      const source = from === undefined ? context : (path: string) => join((stages.get(from) as Stage).root, path);
      for (const path of paths) {
        cpSync(source(path), at(target.endsWith('/') ? join(target, basename(path)) : target), { recursive: true });
      }
      break;
    }
    case 'RUN': {
      // A path from the root is one from the folder's; whose a file is cannot be said in the words of another machine.
      const script = rest.replace(/(?<= )\/(?=\w)/g, `${stage.root}/`);
      execFileSync('sh', ['-ec', `chown() { true; }\n${script}`], { cwd: at('.'), stdio: 'pipe' });
      break;
    }
    case 'USER':
      stage.user = rest;
      break;
    case 'HEALTHCHECK':
      stage.healthcheck = words(rest.slice(rest.indexOf('CMD ') + 'CMD '.length));
      break;
    case 'ENTRYPOINT':
      stage.entrypoint = words(rest);
      break;
    case 'CMD':
      stage.cmd = words(rest);
      break;
    case 'VOLUME':
    case 'EXPOSE':
      break;
    default:
      throw new Error(`The Dockerfile has ${name}, which nobody here knows how to carry out.`);
  }
}

/** The exec form, so that the program itself gets the signals; the shell form does not parse. */
function words(json: string): string[] {
  return JSON.parse(json) as string[];
}

/** A file of the build's context, of which .dockerignore lets only that through which it names. */
function context(path: string): string {
  const ignore = readFileSync('.dockerignore', 'utf8').split('\n');
  if (ignore[0] !== '*' || !ignore.includes(`!${path}`)) throw new Error(`.dockerignore leaves ${path} out.`);
  return path;
}

function instructions(): [name: string, rest: string][] {
  const text = readFileSync('Dockerfile', 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]);
}
