import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { settingNames } from '../../src/settings.ts';

const text = readFileSync('.env.example', 'utf8');
const example = parseEnv(text);

/** Rows of the README's table of settings: the names of a row, and its default as it is written there. */
function readmeRows(): { names: string[]; shown: string }[] {
  const [, section = ''] = readFileSync('README.md', 'utf8').split(/^## Settings$/m);
  const rows = (section.split(/^## /m)[0] as string).match(/^\| `.*$/gm) ?? [];
  return rows.map((row) => {
    const [, name = '', shown = ''] = row.split('|');
    return { names: literals(name), shown: shown.trim() };
  });
}

function literals(text: string): string[] {
  return [...text.matchAll(/`([^`]*)`/g)].map(([, literal]) => literal as string);
}

describe('.env.example', () => {
  test('names every setting and nothing else', () => {
    expect(Object.keys(example).sort()).toEqual([...settingNames].sort());
  });

  test('gives every setting its default', () => {
    expect(loadConfig(example)).toEqual(loadConfig({}));
  });

  test('explains every setting in one line above it', () => {
    const lines = text.split('\n');
    const unexplained = settingNames.filter((name) => {
      const at = lines.findIndex((line) => line.startsWith(`${name}=`));
      return !/^# \S/.test(lines[at - 1] ?? '') || lines[at - 2] !== '';
    });
    expect(unexplained).toEqual([]);
  });
});

describe("README's table of settings", () => {
  test('names every setting and nothing else', () => {
    expect(
      readmeRows()
        .flatMap(({ names }) => names)
        .sort(),
    ).toEqual([...settingNames].sort());
  });

  test('shows the defaults of .env.example', () => {
    const plain = readmeRows().filter(({ shown }) => /^`[^`]*`(?:, `[^`]*`)*$/.test(shown));
    const shown = plain.flatMap(({ names, shown }) =>
      names.map((name, index) => [name, literals(shown)[index]]),
    );
    expect(shown.length).toBeGreaterThan(5);
    expect(shown).toEqual(shown.map(([name]) => [name, example[name as string]]));
  });
});
