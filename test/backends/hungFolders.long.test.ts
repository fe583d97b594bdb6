import { mkdirSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LocalHeadTarget } from '../../src/backends/localFiles/LocalHeadTarget.ts';
import { temporaryFolder } from '../support/cli.ts';
import { hangFile } from '../support/hungFile.ts';

/** All file operations of a process together have this many places. */
const PLACES = 4;
const LONG_MS = 60_000;

/** Works as long as a place is left. */
const readAnyFile = () => readFile(import.meta.filename, 'utf8');

test(
  'a folder for heads that does not answer takes one place for file operations, and is used again when it answers',
  async () => {
    const heads = join(temporaryFolder(), 'heads');
    mkdirSync(heads);
    const target = new LocalHeadTarget(heads);
    const names = Array.from({ length: PLACES }, (_, index) => `clinic-${index}.json`);
    const answers = names.map((name) => hangFile(join(heads, `${name}.part`)));
    const refused = names.map((name) =>
      expect(target.keep(name, '{}')).rejects.toMatchObject({ problem: `${heads} does not take a file.` }),
    );
    expect(await readAnyFile()).toContain('heads');
    await Promise.all(refused);
    for (const answer of answers) answer();
    await target.keep('clinic.json', '{}');
    expect(readdirSync(heads)).toContain('clinic.json');
  },
  LONG_MS,
);
