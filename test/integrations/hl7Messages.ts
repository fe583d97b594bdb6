import { readdirSync, readFileSync } from 'node:fs';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';
import type { Hl7Source } from '../../src/modules/integrations/hl7/context.ts';
import { type Hl7Refusal, parseMessage } from '../../src/modules/integrations/hl7/parser.ts';
import { type MappedMessage, mapMessage } from '../../src/modules/integrations/hl7/triggerEvents.ts';
import type { Origins } from '../../src/modules/integrations/operations.ts';

const folder = 'test/fixtures/hl7';

/** The names of all messages in `test/fixtures/hl7`. */
export const hl7Fixtures = readdirSync(folder)
  .filter((name) => name.endsWith('.hl7'))
  .map((name) => name.replace(/\.hl7$/, ''));

/** One of them. */
export function hl7Fixture(name: string): Buffer {
  return readFileSync(`${folder}/${name}.hl7`);
}

/** The sender that they come from. */
export const hl7Source: Hl7Source = { time_zone: 'America/Chicago', patient_authority: 'ELMST' };

/** What a message says. */
export function mapped(bytes: Buffer | string, source = hl7Source): MappedMessage | Hl7Refusal {
  const said = mapMessage(parseMessage(Buffer.from(bytes)), source);
  if ('refused' in said) return said;
  return { ...said, operations: said.operations.map(({ origins: _, ...operation }) => operation) };
}

/** Where what a message says of the first record of a kind comes from. */
export function originsOf(bytes: Buffer | string, kind: string, source = hl7Source): Origins {
  const said = mapMessage(parseMessage(Buffer.from(bytes)), source);
  const operations = 'refused' in said ? [] : said.operations;
  const found = operations.find((one) => (one.type === 'record' ? one.kind : one.type) === kind);
  return found?.origins ?? {};
}

/** A message of these segments behind its header, each with its fields by number. */
export function hl7Message(
  kind: string,
  segments: readonly [name: string, fields: Record<number, string>][],
  header: Record<number, string> = {},
): string {
  const msh = segmentText('MSH', {
    2: '^~\\&',
    7: '20260314093015',
    9: kind,
    10: 'C-1',
    11: 'P',
    12: '2.5.1',
    ...header,
  });
  const lines = segments.map(([name, fields]) => segmentText(name, fields));
  return [msh.replace('||', '|'), ...lines].join('\r');
}

function segmentText(name: string, fields: Record<number, string>): string {
  const last = Math.max(...Object.keys(fields).map(Number));
  const texts = Array.from({ length: last }, (_, place) => fields[place + 1] ?? '');
  return [name, ...texts].join('|');
}

/** The fields of the first record of a kind that a message says something of. */
export function fieldsOf(said: MappedMessage | Hl7Refusal, kind: string): RecordFields {
  const operations = 'operations' in said ? said.operations : [];
  const found = operations.find((one) => one.type === 'record' && one.kind === kind);
  if (found?.type !== 'record') throw new Error(`it says nothing of a ${kind}`);
  return found.fields;
}

/** A PID that names a patient. */
export const pid: [string, Record<number, string>] = [
  'PID',
  { 3: '4711^^^ELMST^MR', 5: 'Rivera^Beatriz', 7: '19840229' },
];
