import { readFile } from 'node:fs/promises';
import { validationError } from '../../domain/records/schema/validate.ts';
import { ofFile } from './ofFile.ts';

/** Reads a JSON file. Rejects with `conflict` when it cannot be read, with `validation_failed` when it is not JSON. */
export async function readJsonFile(path: string): Promise<unknown> {
  const text = await ofFile(path, () => readFile(path, 'utf8'));
  try {
    return JSON.parse(text);
  } catch {
    throw validationError([{ field: '', message: 'The file must be JSON' }]);
  }
}
