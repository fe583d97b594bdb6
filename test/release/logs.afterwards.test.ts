import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { outputFolder, SHORTEST } from '../support/output.ts';

const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function linesOf(folder: string): string[] {
  return readdirSync(`${outputFolder}/${folder}`).flatMap((name) =>
    readFileSync(`${outputFolder}/${folder}/${name}`, 'utf8').split('\n').filter(Boolean),
  );
}

/**
 * All that log lines say, each thing once: without what differs from line to line by nature, after a look that it is
 * what it should be.
 */
function distinctContents(lines: string[]): string {
  const contents = new Set<string>();
  for (const line of lines) {
    const { time, ms, requestId, ...rest } = JSON.parse(line);
    if (typeof time !== 'number' || typeof (ms ?? 0) !== 'number') contents.add(`${time} ${ms}`);
    if (requestId !== undefined && !REQUEST_ID.test(requestId)) contents.add(requestId);
    contents.add(JSON.stringify(rest));
  }
  return [...contents].join('\n');
}

/** Whether a text is in another one: most are not, by their last characters, which is faster to see of many. */
function lookIn(text: string): (part: string) => boolean {
  const endings = new Set<string>();
  for (let at = 0; at + SHORTEST <= text.length; at += 1) endings.add(text.slice(at, at + SHORTEST));
  return (part) => endings.has(part.slice(-SHORTEST)) && text.includes(part);
}

test('nothing that the suite sent as PHI, as an id or as a rejected value is in what the services logged', () => {
  const lines = linesOf('logs');
  const isLogged = lookIn(distinctContents(lines));
  const values = new Set(linesOf('phi').map((line): string => JSON.parse(line)));
  expect(lines.length).toBeGreaterThan(100);
  expect(values.size).toBeGreaterThan(100);
  const forms = (value: string) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  const leaked = [...values].filter((value) => forms(value).some(isLogged));
  expect(leaked).toEqual([]);
});

test('no log line holds anything shaped like a full SSN or an API key', () => {
  const logged = linesOf('logs').join('\n');
  expect(logged).not.toMatch(/\b\d{3}-\d{2}-\d{4}\b/);
  expect(logged).not.toMatch(/clk_[0-9A-Za-z]{38}/);
});
