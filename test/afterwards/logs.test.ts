import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { outputFolder } from '../support/output.ts';

function readFolder(folder: string): string {
  return readdirSync(`${outputFolder}/${folder}`)
    .map((name) => readFileSync(`${outputFolder}/${folder}/${name}`, 'utf8'))
    .join('');
}

test('nothing that the suite sent as PHI, as an id or as a rejected value is in what the services logged', () => {
  const logs = readFolder('logs');
  const values = new Set(
    readFolder('phi')
      .trim()
      .split('\n')
      .map((line): string => JSON.parse(line)),
  );
  expect(logs.split('\n').length).toBeGreaterThan(100);
  expect(values.size).toBeGreaterThan(100);
  const leaked = [...values].filter(
    (value) => logs.includes(value) || logs.includes(encodeURIComponent(value)),
  );
  expect(leaked).toEqual([]);
});

test('no log line holds anything shaped like a full SSN or an API key', () => {
  const logs = readFolder('logs');
  expect(logs).not.toMatch(/\b\d{3}-\d{2}-\d{4}\b/);
  expect(logs).not.toMatch(/clk_[0-9A-Za-z]{38}/);
});
