import { describe, expect, test } from 'vitest';
import {
  type AuditEntry,
  type AuditTally,
  addTallies,
  addUses,
  auditEntry,
  auditFacets,
  emptyTally,
  hasFacets,
  MAX_KEYS,
  MAX_USES,
  signaturesOf,
  signatureTest,
  spanNames,
  spanNumber,
  spans,
  sumTallies,
  tallyMinutes,
} from '../../projections/auditAggregation.ts';
import {
  type AuditBody,
  addFirsts,
  audit,
  CHUNKS_AN_INDEX,
  ENTRIES_A_CHUNK,
} from '../../projections/auditTrail.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { readRequestLog } from '../../src/modules/audit/requestLog.ts';
import {
  type AuditFilter,
  readAuditTrail,
  readTallies,
  wholeAuditTrail,
} from '../../src/modules/audit/trail.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { PageQuery, ReadModels, Row } from '../../src/storage/readModels.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-11-21T12:00:00.000Z');

/** Event number n, recorded so many milliseconds after the start. */
function event(n: number, ms: number, more: Partial<RecordedEvent> = {}): RecordedEvent {
  return {
    id: `event-${n}`,
    type: 'PayerUpserted',
    data: { id: `payer-${n % 7}` },
    metadata: {
      workspace: 'clinic',
      principal: { type: 'api_key', id: `key_${n % 3}` },
      requestId: `event-${n}`,
      $correlationId: `event-${n}`,
      schemaVersion: 1,
    },
    stream: `clinic.payer-${n % 7}`,
    revision: n,
    position: n + 1,
    recordedAt: new Date(START + ms).toISOString(),
    ...more,
  };
}

/** The read model of these events, in memory. */
function folded(events: RecordedEvent[]) {
  const rows = new Map<string, Row<AuditBody>>();
  for (const one of events) {
    const changed = [audit.evolve(rows.get(audit.rowId(one)), one)].flat();
    for (const row of changed) rows.set(row.id, JSON.parse(JSON.stringify(row)));
  }
  return {
    load: async (_model: string, ids: string[]) => ids.flatMap((id) => rows.get(id) ?? []),
    page: async (_model: string, { partition, after = -1, limit }: PageQuery) =>
      [...rows.values()]
        .filter((row) => row.partition === partition && row.order > after)
        .sort((a, b) => a.order - b.order)
        .slice(0, limit),
    checkpoint: async () => events.length,
  };
}

const foldedOnce = new WeakMap<RecordedEvent[], ReturnType<typeof folded>>();

function portsOf(events: RecordedEvent[]) {
  const models = foldedOnce.get(events) ?? folded(events);
  foldedOnce.set(events, models);
  return {
    eventLog: { head: async () => events.length } as EventLog,
    readModels: models as Partial<ReadModels> as ReadModels,
  };
}

async function find(events: RecordedEvent[], filter: AuditFilter): Promise<string[]> {
  const found: AuditEntry[] = [];
  for await (const some of await wholeAuditTrail(portsOf(events), 'clinic', filter)) found.push(...some);
  return found.map(({ eventId }) => eventId);
}

async function findRefused(events: RecordedEvent[], range: { from: string; to: string }): Promise<string[]> {
  const found: string[] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await readRequestLog(portsOf(events), 'clinic', range, { limit: 50, pageToken });
    found.push(...page.items.map(({ eventId }) => eventId));
    if (page.next_page_token === null) return found;
    pageToken = page.next_page_token;
  }
}

const at = (ms: number) => new Date(START + ms).toISOString();
const idsOf = (events: RecordedEvent[]) => events.map(({ id }) => id).reverse();

const refusal = { type: 'AccessRecorded', data: { action: 'request.refused', code: 'not_found' } };

describe('times', () => {
  const events = Array.from({ length: (2 * CHUNKS_AN_INDEX + 3) * ENTRIES_A_CHUNK + 9 }, (_, n) =>
    event(n, 10 * Math.floor(n / 2)),
  );

  test.each([
    [0, 1_000],
    [0, 0],
    [300, 310],
    [310, 320],
    [311, 319],
    [640, 641],
    [1_000, 100_000],
    [-5, 100_000],
    [1_640, 1_650],
    [5_000, 5_120],
    [5_120, 5_130],
    [10_230, 10_250],
    [11_000, 11_240],
    [20_000, 30_000],
  ])('from %i to %i milliseconds hold all that was recorded then', async (from, to) => {
    const wanted = events.filter(({ recordedAt }) => recordedAt >= at(from) && recordedAt < at(to));
    expect(await find(events, { from: at(from), to: at(to) })).toEqual(idsOf(wanted));
  });

  describe.each([0, 2 * ENTRIES_A_CHUNK + 5, 21 * ENTRIES_A_CHUNK])(
    'where entries from %i on were recorded by a clock that is an hour ahead until it is set back',
    (first) => {
      const last = first + 10 * ENTRIES_A_CHUNK + 7;
      const jumped = events.map((one, n) => ({
        ...one,
        ...(n % 9 === 0 && refusal),
        ...(n >= first && n < last && { recordedAt: at(10 * Math.floor(n / 2) + HOUR_MS) }),
      }));

      test.each([
        [0, 1_000],
        [3_000, 5_000],
        [5_000, 10_000],
        [-5, 100_000],
        [HOUR_MS, HOUR_MS + 2_000],
        [HOUR_MS + 2_500, 2 * HOUR_MS],
        [10_000, HOUR_MS + 5_000],
      ])('from %i to %i milliseconds hold all that was recorded then', async (from, to) => {
        const range = { from: at(from), to: at(to) };
        const wanted = jumped.filter(({ recordedAt }) => recordedAt >= range.from && recordedAt < range.to);
        expect(await find(jumped, range)).toEqual(idsOf(wanted));
        expect(await find(jumped, {})).toEqual(idsOf(jumped));
        expect(await findRefused(jumped, range)).toEqual(
          idsOf(wanted.filter(({ type }) => type === refusal.type)),
        );
      });
    },
  );
});

describe('places', () => {
  const events = Array.from({ length: 3 * ENTRIES_A_CHUNK }, (_, n) => event(n, n));
  const page = (of: RecordedEvent[], pageToken?: string) =>
    readAuditTrail(portsOf(of), 'clinic', {}, { limit: 10, pageToken });

  test('one beyond the trail, of a log that was put back to an earlier state, is refused for good', async () => {
    const { next_page_token } = await page(events);
    expect((await page(events, next_page_token as string)).items).toHaveLength(10);
    const earlier = events.slice(0, 20);
    await expect(page(earlier, next_page_token as string)).rejects.toMatchObject({
      code: 'validation_failed',
      details: [{ field: 'page_token', message: 'is beyond the audit trail: begin with the first page' }],
    });
  });

  test('rows that are missing are named to operators', async () => {
    const { load, ...models } = folded(events);
    const without = async (model: string, ids: string[]) =>
      ids.length === 1 && ids[0] === 'clinic' ? load(model, ids) : [];
    const readModels = { ...models, load: without } as Partial<ReadModels> as ReadModels;
    await expect(
      readAuditTrail({ ...portsOf(events), readModels }, 'clinic', {}, { limit: 10, pageToken: undefined }),
    ).rejects.toMatchObject({
      code: 'unavailable',
      problem: expect.stringContaining('chartledger projections rebuild audit'),
    });
  });
});

describe('signatures', () => {
  const entries = Array.from({ length: 2_000 }, (_, n) =>
    auditEntry(
      event(n, n, {
        ...(n % 5 === 0 && {
          type: 'AccessRecorded',
          data: {
            action: 'record.read',
            kind: 'patient',
            ...(n % 2 && { record_id: `Zoë ${n}`, code: 'not_found' }),
          },
        }),
      }),
    ),
  );

  test('never deny what an entry has, alone or together', () => {
    for (const entry of entries) {
      const has = {
        principal: entry.principal.id,
        action: entry.action ?? entry.type,
        kind: entry.kind as string,
      };
      const outcome = entry.code ? 'refused' : 'accepted';
      const all = { ...has, outcome, ...(entry.id !== undefined && { id: entry.id }) };
      const signature = signaturesOf([entry]);
      expect(hasFacets(entry, all)).toBe(true);
      expect(signatureTest(all)(signature)).toBe(true);
      for (const facet of auditFacets) {
        const value = all[facet as keyof typeof all];
        if (value !== undefined) expect(signatureTest({ [facet]: value })(signature)).toBe(true);
      }
    }
  });

  test('seldom affirm what no entry has', () => {
    const mayHold = Array.from({ length: 1_000 }, (_, n) => signatureTest({ id: `absent-${n}` }));
    const chunks = [entries.slice(0, ENTRIES_A_CHUNK), entries.slice(-ENTRIES_A_CHUNK)].map(signaturesOf);
    const wrong = mayHold.filter((test) => chunks.some(test));
    expect(wrong.length).toBeLessThan(20);
  });

  test('tell values of different entries from those of one', () => {
    const [read, refused] = [
      auditEntry(event(0, 0, { type: 'AccessRecorded', data: { action: 'record.read' } })),
      auditEntry(
        event(1, 1, { type: 'AccessRecorded', data: { action: 'request.refused', code: 'not_found' } }),
      ),
    ];
    const together = signatureTest({ action: 'record.read', outcome: 'refused' });
    expect(together(signaturesOf([read, refused]))).toBe(false);
  });
});

describe('tallies', () => {
  const entry = (n: number, ms: number, code?: string): AuditEntry => ({
    ...auditEntry(event(n, ms)),
    eventId: `event-${n}-${ms}`,
    principal: { type: 'api_key', id: `key_${n}` },
    ...(code && { code }),
  });

  test('forget who did nothing for longest', () => {
    const all = Array.from({ length: MAX_USES + 2 }, (_, n) => entry(n, n));
    const uses = addUses(addUses({}, all.slice(0, 10)), [...all.slice(10), entry(0, MAX_USES + 2)]);
    expect(Object.keys(uses)).toHaveLength(MAX_USES);
    expect(uses.key_0).toEqual({ at: at(MAX_USES + 2), count: 2 });
    expect(uses.key_1).toBeUndefined();
  });

  test('count each span, whatever the clock does', () => {
    const all = [entry(1, 0), entry(2, 59_999, 'not_found'), entry(3, 60_000), entry(1, 30_000, 'not_found')];
    const minutes = tallyMinutes(all);
    const first = START / 60_000;
    const of = (requests: number, refused: number) => ({ requests, writes: requests, refused });
    expect(minutes).toEqual([
      {
        ...emptyTally(first),
        requests: 2,
        writes: 2,
        refused: { not_found: 1 },
        kinds: { payer: 2 },
        keys: { key_1: of(1, 0), key_2: of(1, 1) },
      },
      {
        ...emptyTally(first + 1),
        requests: 2,
        writes: 2,
        refused: { not_found: 1 },
        kinds: { payer: 2 },
        keys: { key_3: of(1, 0), key_1: of(1, 1) },
      },
    ]);
    expect(addTallies('minute', minutes[1], tallyMinutes(all.slice(0, 1)))).toEqual([
      sumTallies(first + 1, [minutes[1] as AuditTally, ...tallyMinutes(all.slice(0, 1))]),
    ]);
    const later = Array.from({ length: spans.minute.kept + 1 }, (_, n) => entry(n, (n + 1) * 60_000));
    expect(addTallies('minute', minutes[1], tallyMinutes(later))).toHaveLength(spans.minute.kept);
    expect(addTallies('hour', undefined, tallyMinutes(all))).toEqual([
      sumTallies(START / 3_600_000, minutes),
    ]);
  });

  test('count a request once, however many entries it has, and whatever comes between them', () => {
    const ofBatch = (n: number): AuditEntry => ({ ...entry(1, n), requestId: 'of-the-batch' });
    const { version: _version, ...others } = entry(2, 0);
    const read: AuditEntry = { ...others, action: 'record.read' };
    const further = { ...read, eventId: 'another', requestId: read.eventId };
    const sent = { ...further, action: 'events.sent', requestId: 'of-the-stream' };
    const [minute] = tallyMinutes([ofBatch(0), further, ofBatch(1), read, sent, ofBatch(2), entry(3, 3)]);
    expect(minute).toMatchObject({ requests: 3, writes: 4 });
    expect(minute?.keys).toMatchObject({ key_1: { requests: 1, writes: 3 }, key_2: { requests: 1 } });

    const events = Array.from({ length: 4 * ENTRIES_A_CHUNK + 5 }, (_, n) => event(n, n, {}));
    for (const one of events) one.metadata.principal = { type: 'api_key', id: 'key_1' };
    for (const [n, { metadata }] of events.entries()) if (n % 2 === 0) metadata.requestId = 'of-the-batch';
    const readModels = folded(events) as Partial<ReadModels> as ReadModels;
    const span = { first: spanNumber('minute', START), count: 1 };
    return expect(readTallies({ readModels }, 'clinic', 'minute', span)).resolves.toMatchObject([
      { requests: 1 + Math.floor(events.length / 2), writes: events.length },
    ]);
  });

  test('leave out what the dashboard refused its users', () => {
    const refusal = { ...entry(1, 0, 'permission_denied'), action: 'request.refused' };
    const ofUser: AuditEntry = { ...refusal, principal: { type: 'user', id: 'usr_1' } };
    const [minute] = tallyMinutes([refusal, ofUser]);
    expect(minute?.refused).toEqual({ permission_denied: 1 });
  });

  test('count the keys that came first apart, and the others in the sums alone', () => {
    const all = Array.from({ length: MAX_KEYS + 1 }, (_, n) => entry(n, n));
    const [minute] = tallyMinutes(all);
    expect(Object.keys(minute?.keys ?? {})).toHaveLength(MAX_KEYS);
    expect(minute?.requests).toBe(MAX_KEYS + 1);
    const [after] = addTallies('minute', minute, tallyMinutes([entry(MAX_KEYS, MAX_KEYS)]));
    expect(Object.keys(after?.keys ?? {})).toHaveLength(MAX_KEYS);
  });

  test('tell how long a record took from the arrival that its id tells; a document and a line of a batch do not', () => {
    const id = (ms: number) => {
      const digits = (START + ms).toString(16).padStart(12, '0');
      return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`;
    };
    const arrived = (at: number, ms: number): AuditEntry => ({ ...entry(1, ms), eventId: id(at) });
    const [minute] = tallyMinutes([
      arrived(0, 0),
      arrived(0, 4),
      // By the clock of a log that is behind.
      arrived(9, 4),
      arrived(0, 50_000),
      { ...arrived(0, 4), kind: 'document' },
      { ...arrived(0, 4), requestId: 'of-the-batch' },
      entry(1, 4),
    ]);
    expect(minute?.times).toEqual({ 1: 2, 5: 1, 100000: 1 });
  });

  test.each(spanNames)('of each %s are found again, also of those that are over', async (span) => {
    const { ms, kept } = spans[span];
    const events = Array.from({ length: 3 * ENTRIES_A_CHUNK + 5 }, (_, n) => event(n, n * (ms / 2)));
    const readModels = folded(events) as Partial<ReadModels> as ReadModels;
    const counted = Map.groupBy(events, ({ recordedAt }) => spanNumber(span, Date.parse(recordedAt)));
    const numbers = [...counted.keys()].slice(-kept);
    const last = numbers.at(-1) as number;
    const read = async (first: number, count: number) => {
      const tallies = await readTallies({ readModels }, 'clinic', span, { first, count });
      return tallies.map(({ number, writes }) => [number - first, writes]);
    };
    const expected = numbers.map((number, n) => [n, counted.get(number)?.length]);
    expect(await read(numbers[0] as number, numbers.length)).toEqual(expected);
    expect(await read(last + 1, 2)).toEqual([
      [0, 0],
      [1, 0],
    ]);
    expect(await read(last - 3 * kept, 1)).toEqual([[0, 0]]);
  });

  test('are the same in the head, however the events came in chunks', () => {
    const events = Array.from({ length: 3 * ENTRIES_A_CHUNK }, (_, n) => event(n, n * 1_000));
    let row: Row<AuditBody> | undefined;
    for (const one of events) [row] = [audit.evolve(row, one)].flat();
    const head = row?.body;
    const all = events.map(auditEntry);
    expect(head).toMatchObject({
      size: events.length,
      entries: [],
      uses: addUses({}, all),
      tallies: {
        minute: addTallies('minute', undefined, tallyMinutes(all)).at(-1),
        hour: addTallies('hour', undefined, tallyMinutes(all)).at(-1),
        day: addTallies('day', undefined, tallyMinutes(all)).at(-1),
      },
      firsts: addFirsts({}, all),
    });
  });
});
