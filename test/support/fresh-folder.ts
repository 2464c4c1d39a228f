import { afterEach, beforeAll, beforeEach } from '@jest/globals';
import { buildProgram } from './program.js';
import { WorkingFolder } from './working-folder.js';

/** Gives each case of a suite an empty folder to run the built program in; ends what still runs, and removes it. */
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
