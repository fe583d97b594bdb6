import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = 'clients/python/src/chartledger_client/_async';

const NOTICE = '# Written by `npm run docs` from `../_async`: change that.\n';

/** What the words of the asynchronous client are in the blocking one. */
const blocking: [asynchronous: RegExp, blocking: string][] = [
  [/\bAsyncGenerator\[(.+?), None\]/g, 'Generator[$1, None, None]'],
  [/\bAsync(?=[A-Z])/g, ''],
  [/\basync_/g, ''],
  [/\b(?:async|await) /g, ''],
  [/\b__a(?=enter__|exit__|iter__)/g, '__'],
  [/\ba(?=closing\b|close\b|read\b|iter_bytes\b)/g, ''],
  [/\banyio\b/g, 'time'],
];

/** The blocking client for Python, each file of which is the text of its asynchronous counterpart. */
export const pythonBlockingClient: Record<string, () => string> = Object.fromEntries(
  readdirSync(join(import.meta.dirname, '../..', SOURCES))
    .filter((name) => name.endsWith('.py') && name !== '__init__.py')
    .map((name) => [`${SOURCES.replace('_async', '_sync')}/${name}`, () => blockingText(name)]),
);

function blockingText(name: string): string {
  const text = readFileSync(join(import.meta.dirname, '../..', SOURCES, name), 'utf8');
  return NOTICE + blocking.reduce((changed, [pattern, word]) => changed.replaceAll(pattern, word), text);
}
