import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pages } from '../../ops/reference/pages.ts';

test.each(Object.entries(pages))('%s is as `npm run docs` writes it', async (path, text) => {
  expect(readFileSync(path, 'utf8')).toBe(await text());
});
