import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestResponse } from './client.ts';

/** What a release left of a store besides its files: how to open it, what it served of it, and its signed heads. */
export interface FrozenStore {
  settings: Record<string, string>;
  key: string;
  /** The types of its events. */
  types: string[];
  /** Bodies of answers, by path. */
  answers: Record<string, unknown>;
  /** The event stream from the beginning. */
  events: unknown[];
  /** Signed heads by workspace. */
  heads: Record<string, unknown>;
}

const document = '/integration/encounters/encounter-1/documents';

/** What is read of a frozen store: answers that do not depend on the day. */
export const frozenPaths = [
  ...['payers/payer-1', 'patients/patient%2F1', 'providers/provider-1'].flatMap(withHistory),
  ...['facilities/facility-1', 'encounters/encounter-1'].flatMap(withHistory),
  ...['payers', 'patients', 'providers', 'facilities', 'encounters'].map((kind) => `/integration/${kind}`),
  ...[document, `${document}/document-1/history`, `${document}/document-2/history`],
];

function withHistory(place: string): string[] {
  return [`/integration/${place}`, `/integration/${place}/history`];
}

/** Copies a frozen store to a folder; with what is known of it. */
export function thawStore(release: string, to: string): FrozenStore {
  const from = join('test/fixtures/stores', release);
  cpSync(from, to, { recursive: true });
  return JSON.parse(readFileSync(join(from, 'frozen.json'), 'utf8'));
}

/** The events of an answer of the stream. */
export function streamLines({ text }: TestResponse): unknown[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
