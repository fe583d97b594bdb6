import { expect, test } from 'vitest';
import { presentForm } from '../../src/cli/formerForms.ts';

const GOES = 'The next release no longer accepts the former name.';

test.each([
  ['--init signing-key', '--init secrets show signing', 'secrets show signing'],
  ['hold add --workspace clinic', 'holds create --workspace clinic', 'holds create'],
  ['keys limit key_1 --expires 1d', 'keys set key_1 --expires 1d', 'keys set'],
  ['workspaces retention clinic 10', 'retention set 10 --workspace clinic', 'retention set'],
  ['retention --workspace clinic --apply', 'retention apply --workspace clinic', 'retention apply'],
  [
    'retention --workspace clinic --apply --format json',
    'retention apply --workspace clinic --format json',
    'retention apply',
  ],
  ['prove-consistency a.json b.json', 'heads prove a.json b.json', 'heads prove'],
])('%s is %s', (former, present, name) => {
  const { words, note } = presentForm(former.split(' '));
  expect(words).toEqual(present.split(' '));
  expect(note).toContain(`is now \`chartledger ${name}\``);
  expect(note).toContain(GOES);
});

test.each([
  [
    'export --workspace clinic --from 2026-01-01 --to=2026-02-01',
    'export --workspace clinic --since 2026-01-01 --until=2026-02-01',
  ],
  ['events tail --from start', 'events tail --after start'],
  ['webhooks secret wh_1 --overlap 60', 'webhooks rotate wh_1 --expires 60'],
  ['keys rotate key_1 --expires-in 7d', 'keys rotate key_1 --expires 7d'],
])('the options of %s are those of %s', (former, present) => {
  const { words, note } = presentForm(former.split(' '));
  expect(words).toEqual(present.split(' '));
  expect(note).toContain(GOES);
});

test.each([
  'audit --workspace clinic',
  'retention list --workspace clinic',
  'keys create --workspace clinic --name constructor',
  'constructor',
  '--version',
  '',
])('present forms stay as they are: %s', (words) => {
  expect(presentForm(words.split(' '))).toEqual({ words: words.split(' ') });
});
