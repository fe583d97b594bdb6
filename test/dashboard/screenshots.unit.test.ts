import { globSync, readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dashboardPages, screenshotFile } from '../support/dashboard.ts';

const MOST_BYTES_EACH = 40_000;
const files = dashboardPages.map(screenshotFile);

// Taken by `npm run screenshots`, described in docs/dashboard/pages.md.
test('every page of the dashboard has a screenshot in the documentation, and nothing else has', () => {
  expect(globSync('docs/dashboard/images/*').toSorted()).toEqual(files.toSorted());
});

test('the page that shows them shows each once', () => {
  const page = readFileSync('docs/dashboard/pages.md', 'utf8');
  const shown = [...page.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, file]) => `docs/dashboard/${file}`);
  expect(shown.toSorted()).toEqual(files.toSorted());
});

test('together they stay small', () => {
  const bytes = globSync('docs/dashboard/images/*').reduce((sum, file) => sum + statSync(file).size, 0);
  expect(bytes).toBeLessThan(MOST_BYTES_EACH * files.length);
});
