import { readFile } from 'node:fs/promises';
import { validationError } from '../records/validate.ts';
import { ofFile } from './ofFile.ts';

/** What a file holds as JSON. Rejects with `conflict` where it cannot be read, with `validation_failed` where it is no JSON. */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = await ofFile(path, () => readFile(path, 'utf8'));
  try {
    return JSON.parse(text);
  } catch {
    throw validationError([{ field: '', message: 'The file must be JSON' }]);
  }
}
