import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/domain/events/canonicalJson.ts';
import type { EventMetadata } from '../../src/domain/events/event.ts';
import { MetadataTemplates } from '../../src/storage/engines/sqlite/eventRows.ts';

const ID = '01a20637-5d39-7737-9300-ebe23b39433c';
const SALT = '95d70b4b8cca11b675b0cf64b645bd24';

function metadata(more: Partial<EventMetadata> = {}): EventMetadata {
  return {
    workspace: 'clinic',
    principal: { type: 'api_key', id: 'key_1' },
    requestId: ID,
    $correlationId: ID,
    clientIp: '127.0.0.1',
    userAgent: 'EMR/1.0',
    schemaVersion: 1,
    salt: SALT,
    ...more,
  };
}

describe('metadata templates', () => {
  let db: DatabaseSync;
  let templates: MetadataTemplates;
  beforeEach(() => {
    db = new DatabaseSync(':memory:');
    db.exec('CREATE TABLE metadata_templates (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)');
    templates = new MetadataTemplates(db);
  });

  /** As `eventColumns` gives it. */
  const read = (packed: string | Uint8Array, eventId = ID) =>
    new MetadataTemplates(db).unpack(
      typeof packed === 'string' ? packed : Buffer.from(packed).toString('hex'),
      eventId,
    );
  const count = () => Number(db.prepare('SELECT count(*) AS count FROM metadata_templates').get()?.count);

  test('what the events of a key have in common is stored once', () => {
    for (let n = 0; n < 20; n += 1) {
      const requestId = randomUUID();
      const value = metadata({
        requestId,
        $correlationId: requestId,
        salt: randomUUID().replaceAll('-', ''),
      });
      const packed = templates.pack(canonicalJson(value), requestId);
      expect(packed).toHaveLength(20);
      expect(read(packed, requestId)).toEqual({ text: canonicalJson(value), metadata: value });
    }
    expect(count()).toBe(1);
  });

  test('an event with an id of its own has that of its request beside it', () => {
    const packed = templates.pack(canonicalJson(metadata()), randomUUID());
    expect(packed).toHaveLength(36);
    expect(read(packed, randomUUID())).toEqual({ text: canonicalJson(metadata()), metadata: metadata() });
  });

  test.each([
    ['quotes and braces', { userAgent: '{"salt":"00000000000000000000000000000000"}' }],
    ['control characters', { userAgent: 'a\u0001b\u0002' }],
    ['letters beyond ASCII', { userAgent: 'Æsculap – 医院' }],
    ['the salt', { userAgent: SALT }],
    ['replacement patterns', { userAgent: "$& $1 $' $$" }],
    ['a traced request', { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }],
    ["the client's id of the request", { clientRequestId: 'a-1' }],
    ["the request's id", { userAgent: ID }],
    ['no salt', { salt: undefined }],
    ['a salt of another form', { salt: 'SALT' }],
    ['two requests', { $correlationId: randomUUID() }],
    ['two requests, and one of them elsewhere', { requestId: randomUUID(), userAgent: ID }],
    ['the salt before it', { principal: { type: 'api_key', id: SALT } }],
    ['an id of another form', { requestId: 'r-1', $correlationId: 'r-1' }],
  ])('metadata with %s are read as they were written', (_, more: object) => {
    const value = JSON.parse(JSON.stringify(metadata(more)));
    const packed = templates.pack(canonicalJson(value), ID);
    expect(read(packed)).toEqual({ text: canonicalJson(value), metadata: value });
  });

  test('what each request has of its own makes no template', () => {
    templates.pack(canonicalJson(metadata({ clientRequestId: 'a-1' })), ID);
    templates.pack(canonicalJson(metadata({ traceparent: '00-a-b-01' })), ID);
    expect(count()).toBe(0);
  });

  test('a template of a transaction that failed is stored with the next', () => {
    db.exec('BEGIN');
    templates.pack(canonicalJson(metadata()), ID);
    db.exec('ROLLBACK');
    templates.forget();
    expect(read(templates.pack(canonicalJson(metadata()), ID)).metadata).toEqual(metadata());
  });

  test('beyond ten thousand templates metadata are stored whole', () => {
    const insert = db.prepare('INSERT INTO metadata_templates (text) VALUES (?)');
    db.exec('BEGIN');
    for (let n = 0; n < 10_000; n += 1) insert.run(String(n));
    db.exec('COMMIT');
    expect(templates.pack(canonicalJson(metadata()), ID)).toBe(canonicalJson(metadata()));
    expect(count()).toBe(10_000);
  });

  test.each(['', '00', '0000002a'.padEnd(40, '0'), 'zz'.repeat(20), '00000001'.padEnd(40, '0')])(
    'what is none of it is refused: %s',
    (stored) => {
      db.exec("INSERT INTO metadata_templates (id, text) VALUES (1, '{}')");
      expect(() => templates.unpack(stored, ID)).toThrow();
    },
  );
});
