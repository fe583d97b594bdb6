import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of this package, from its package.json. */
export const version: string = JSON.parse(
  readFileSync(findPackageJSON('.', import.meta.url) as string, 'utf8'),
).version;
