import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pages } from './pages.ts';

const root = join(import.meta.dirname, '../..');
for (const [path, text] of Object.entries(pages)) {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, await text());
}
