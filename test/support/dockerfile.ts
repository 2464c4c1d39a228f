import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/** What a container of the image is started with; `root` is the folder that stands for the root of its file system. */
export interface Image {
  root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
  command: string[];
  healthcheck: string[];
}

/**
 * Runs the instructions of the Dockerfile without a container engine, each stage in an empty folder under `folder`, and returns the
 * last stage. Base images are left out: their commands are those of this machine.
 */
export function buildImage(folder: string): Image {
  const stages = new Map<string, Image>();
  let stage = {} as Image;
  const at = (path: string) => join(stage.root, resolve(stage.workdir, path));
  const execForm = (rest: string) => JSON.parse(rest.slice(rest.indexOf('['))) as string[];

  const instructions: Record<string, (rest: string) => void> = {
    FROM: (rest) => {
      const root = join(folder, `stage-${stages.size}`);
      mkdirSync(root);
      stage = { root, workdir: '/', env: {}, user: 'root', command: [], healthcheck: [] };
      stages.set(/ AS (\S+)$/.exec(rest)?.[1] ?? '', stage);
    },
    WORKDIR: (rest) => {
      stage.workdir = resolve(stage.workdir, rest);
      mkdirSync(at('.'), { recursive: true });
    },
    ENV: (rest) => {
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value;
    },
    COPY: (rest) => {
      const [, from, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? [];
      const sources = paths.split(' ');
      const target = sources.pop() as string;
      for (const path of sources) {
        const source = from === undefined ? inContext(path) : join((stages.get(from) as Image).root, path);
        cpSync(source, at(target.endsWith('/') ? join(target, basename(path)) : target), { recursive: true });
      }
    },
    RUN: (rest) => {
      // The root of the file system is a folder here, whose owner cannot be changed to a user of another machine.
      const script = rest.replace(/(?<= )\/(?=\w)/g, `${stage.root}/`);
      execFileSync('sh', ['-ec', `chown() { true; }\n${script}`], { cwd: at('.'), stdio: 'pipe' });
    },
    USER: (rest) => (stage.user = rest),
    // The exec form, so that the program gets the signals; the shell form does not parse.
    HEALTHCHECK: (rest) => (stage.healthcheck = execForm(rest)),
    ENTRYPOINT: (rest) => (stage.command = execForm(rest)),
    CMD: (rest) => (stage.command = [...stage.command, ...execForm(rest)]),
    VOLUME: () => undefined,
    EXPOSE: () => undefined,
  };
  const lines = readFileSync('Dockerfile', 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n');
  for (const [, name = '', rest = ''] of lines.filter(Boolean).map((line) => /^(\S+) (.*)$/.exec(line) ?? [])) {
    const instruction = instructions[name];
    if (!instruction) throw new Error(`Not supported: ${name} in the Dockerfile.`);
    instruction(rest);
  }
  return stage;
}

/** A file of the build context, which .dockerignore must allow, or its folder. */
function inContext(path: string): string {
  const allowed = readFileSync('.dockerignore', 'utf8').split('\n');
  if (allowed[0] !== '*' || !allowed.includes(`!${path.split('/', 1)[0]}`))
    throw new Error(`.dockerignore excludes ${path}.`);
  return path;
}
