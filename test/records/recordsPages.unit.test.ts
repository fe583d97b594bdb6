import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordsModel } from '../../projections/records.ts';
import { encounter } from '../../src/domain/records/kinds/encounter.ts';
import { listsOf } from '../../src/domain/records/searchIndex.ts';
import { type RecordsSelection, readRecordsPage } from '../../src/modules/records/queries/lists.ts';
import { listedQueries } from '../../src/storage/engines/sqlite/queries.ts';
import { SqliteReadModels } from '../../src/storage/engines/sqlite/readModels.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';

const COUNT = 25_000;
const partition = 'clinic.encounter';
const folder = mkdtempSync(join(tmpdir(), 'chartledger-pages-'));
const path = join(folder, 'read-models.db');
const readModels = new SqliteReadModels(path);
const eventLog = { head: async () => 2 * COUNT } as unknown as EventLog;

/** Every third of the last 5,000 is dated in March; a thousandth is completed. The later half was changed in falling order. */
const rows = Array.from({ length: COUNT }, (_, index) => {
  const order = index + 1;
  const fields = {
    id: `e${order}`,
    patient_id: `p${order % 7_000}`,
    facility_id: 'f',
    is_completed: order % 1_000 === 0,
    date_of_service: order > 20_000 && order % 3 === 0 ? '2026-03-14' : '2025-01-01',
  };
  const position = order > COUNT / 2 ? 2 * COUNT - order : order;
  const updatedAt = new Date(position).toISOString();
  const body = { kind: 'encounter', fields, version: 1, createdAt: updatedAt, updatedAt };
  return {
    id: `${partition}-e${order}`,
    partition,
    order,
    position,
    body,
    lists: listsOf(encounter, fields),
  };
});
type StoredRow = (typeof rows)[number];

beforeAll(() => readModels.write({ model: recordsModel, rows, checkpoint: 2 * COUNT }));
afterAll(async () => {
  await readModels.close();
  rmSync(folder, { recursive: true });
});

async function walk(selection: RecordsSelection) {
  const ids: string[] = [];
  const sizes: number[] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await readRecordsPage({ eventLog, readModels }, partition, {
      ...selection,
      limit: 1_000,
      pageToken,
    });
    ids.push(...page.items.map(({ id }) => id));
    sizes.push(page.items.length);
    if (page.next_page_token === null) return { ids, sizes };
    pageToken = page.next_page_token;
  }
}

const march = { field: 'date_of_service', from: '2026-03-01' };
const cases: [string, RecordsSelection, (row: StoredRow) => boolean][] = [
  ['everything', {}, () => true],
  ['a date that few have', { filters: [march] }, ({ body }) => body.fields.date_of_service > '2026'],
  [
    'a short list',
    { filters: [{ field: 'is_completed', value: true }] },
    ({ body }) => body.fields.is_completed,
  ],
  [
    'a long list, within which few are wanted',
    { filters: [{ field: 'facility_id', value: 'f' }, march] },
    ({ body }) => body.fields.date_of_service > '2026',
  ],
  ['few changes', { since: { after: 2 * COUNT - 13_000 } }, ({ position }) => position > 2 * COUNT - 13_000],
  ['many changes', { since: { after: 3_000 } }, ({ position }) => position > 3_000],
  [
    'changes since a moment of one patient',
    { filters: [{ field: 'patient_id', value: 'p42' }], since: { after: 0, time: 9_000 } },
    ({ body, position }) => body.fields.patient_id === 'p42' && position >= 9_000,
  ],
];

test.each(cases)(
  'all pages together are the list, in either order: %s',
  async (_what, selection, isWanted) => {
    const wanted = rows.filter(isWanted);
    const created = await walk(selection);
    expect(created.ids).toEqual(wanted.map(({ id }) => id));
    const changed = await walk({ ...selection, sort: '-updated_at' });
    expect(changed.ids).toEqual(wanted.toSorted((a, b) => b.position - a.position).map(({ id }) => id));
  },
);

test('a page ends after 10,000 rows, however few are wanted', async () => {
  const { sizes } = await walk({ filters: [march] });
  expect(sizes.slice(0, 2)).toEqual([0, 0]);
  expect(sizes.length).toBeGreaterThan(3);
});

test('each way to a page goes by an index, without sorting', () => {
  const db = new DatabaseSync(path);
  const { changes, list } = listedQueries(`model_${recordsModel}`);
  const planOf = (sql: string) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail).replace(/ [\da-f-]{36}/, ''));
  expect(planOf(changes)).toEqual([
    `SEARCH model_${recordsModel} USING INDEX by change (partition=? AND position>? AND position<?)`,
  ]);
  expect(planOf(list)).toEqual([
    'SEARCH entry USING PRIMARY KEY (partition=? AND list=? AND sequence>?)',
    expect.stringMatching(/^SEARCH listed USING INDEX .*\(partition=\? AND sequence=\?\)$/),
  ]);
  db.close();
});
