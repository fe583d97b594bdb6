import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { settingNames } from '../../src/platform/settings.ts';

const text = readFileSync('.env.example', 'utf8');
const example = parseEnv(text);

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
