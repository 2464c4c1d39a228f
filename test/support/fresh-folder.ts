import { afterEach, beforeAll, beforeEach } from '@jest/globals';
import { buildProgram } from './program.js';
import { WorkingFolder } from './working-folder.js';

/** Gives every case of the suite around it an empty folder to use the built program in; afterwards ends what still runs there, and removes it. */
export function freshFolder(): () => WorkingFolder {
  let program: string;
  let folder: WorkingFolder;

  beforeAll(() => {
    program = buildProgram();
  });

  beforeEach(() => {
    folder = new WorkingFolder(program);
  });

  afterEach(() => folder.remove());

  return () => folder;
}
