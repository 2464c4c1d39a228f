import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { load } from 'js-yaml';
import { breakingChanges } from './support/breaking-changes.js';
import { Service } from './support/service.js';

interface Document {
  info: { version: string };
}

/** openapi.yaml as it was committed last; undefined if there is no git, or no commit of it. */
function committed(): Document | undefined {
  try {
    const text = execFileSync('git', ['show', 'HEAD:openapi.yaml'], { encoding: 'utf8', stdio: 'pipe' });
    return load(text) as Document;
  } catch {
    return undefined;
  }
}

describe('openapi.yaml', () => {
  let yaml: string;
  let json: string;

  beforeAll(async () => {
    const service = await Service.start();
    yaml = (await service.send('/openapi.yaml', { key: false })).body;
    json = (await service.send('/openapi.json', { key: false })).body;
    await service.stop();
  });

  it('is what the service serves', () => {
    if (readFileSync('openapi.yaml', 'utf8') !== yaml) {
      throw new Error('openapi.yaml is not what the service serves: renew it with "npm run openapi", and commit it.');
    }
    expect(load(yaml)).toEqual(JSON.parse(json));
  });

  it('breaks no client of the last committed one, unless its version is raised', () => {
    const older = committed();
    const newer = JSON.parse(json) as Document;
    const breaks = older?.info.version === newer.info.version ? breakingChanges(older, newer) : [];
    if (breaks.length > 0) {
      const advice = 'Take it back, or raise the version in src/adapters/http/docs/document.ts.';
      throw new Error(`The interface changed in a way that breaks clients:\n- ${breaks.join('\n- ')}\n${advice}`);
    }
  });
});

describe('a change of the document', () => {
  let yaml: string;

  beforeAll(() => {
    yaml = readFileSync('openapi.yaml', 'utf8');
  });

  it.each([
    ['a path is gone', /^ {2}\/pets\/\{petId\}:\n/m, '  /animals/{petId}:\n', ['paths /pets/{petId} is gone']],
    ['an operation is gone', /^ {4}post:/m, '    put:', ['paths /pets post is gone']],
    ['a parameter is gone', /name: cursor/, 'name: after', ['paths /pets get parameters query cursor is gone']],
    [
      'a parameter is now required',
      /(name: limit\n\s+required:) false/,
      '$1 true',
      ['paths /pets get parameters query limit required is now true'],
    ],
    [
      'a limit is lower',
      /maximum: 100/,
      'maximum: 50',
      ['paths /pets get parameters query limit schema maximum is now 50'],
    ],
    ['a status is gone', /'201':/, "'200':", ['paths /pets post responses 201 is gone']],
    ['a value is gone', /\n\s+- sold\n/, '\n', ['components schemas PetStatus enum no longer has sold']],
    [
      'a field is now required',
      /(\s+)- categoryId\n/,
      '$1- categoryId$1- status\n',
      ['components schemas NewPet required now has status'],
    ],
    [
      'a field is gone',
      /^ {8}categoryId:/m,
      '        category:',
      ['components schemas NewPet properties categoryId is gone'],
    ],
    [
      'a type is another',
      /(^ {4}NewPet:\n[^]*?format:) int64/m,
      '$1 int32',
      ['components schemas NewPet properties categoryId format is now int32'],
    ],
    ['words are others', /description: (?![|>]).*/g, 'description: Else.', []],
    ['a value is added', /\n(\s+)- sold\n/, '\n$1- sold\n$1- lost\n', []],
    ['an optional parameter is added', /( +)- name: limit\n/, '$1- name: page\n$1  in: query\n$1- name: limit\n', []],
    [
      'a required parameter is added',
      /( +)- name: limit\n/,
      '$1- name: page\n$1  in: query\n$1  required: true\n$1- name: limit\n',
      ['paths /pets get parameters query page is now required'],
    ],
  ])('is told if %s', (_change, part, other, sentences) => {
    const changed = yaml.replace(part, other);
    expect(changed).not.toBe(yaml);
    expect(breakingChanges(load(yaml), load(changed))).toEqual(sentences);
  });
});
