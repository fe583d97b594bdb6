import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  allowedValues,
  allRows,
  type FieldRow,
  type Fields,
  minimal,
  pathOf,
  paths,
  type Referred,
  refusedValues,
  type SpecKind,
  specKinds,
  upsertReferred,
  withField,
} from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, sharedService, type TestService } from '../support/service.ts';

/** What a reader sees of a record that was sent once. */
function readForm(kind: SpecKind, sent: Fields): Fields {
  const read: Fields = kind === 'encounter' ? { ...sent } : { country: 'US', ...sent };
  if (kind === 'encounter') read.rendering_provider_id ??= sent.provider_id;
  for (const [field, value] of Object.entries(read)) {
    if (value === null || value === undefined) delete read[field];
    else if (typeof value === 'object') {
      read[field] = Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null));
    }
  }
  if (kind !== 'encounter') read.country ??= 'US';
  return read;
}

onEmbeddedEngines(() => {
  let service: TestService;
  let referred: Referred;
  beforeAll(async () => {
    service = await sharedService();
    referred = await upsertReferred(service);
  });
  afterAll(() => service.stop());

  for (const kind of specKinds) {
    describe(`each row of the table of ${kind}`, () => {
      test.each(allRows(kind).map((row) => [row.field, row] as const))('%s', async (_name, row) => {
        await checkAllowed(kind, row);
        await checkRefused(kind, row);
      });
    });
  }

  async function checkAllowed(kind: SpecKind, row: FieldRow): Promise<void> {
    const values = [...allowedValues(row, referred), ...(row.required ? [] : [null])];
    const records = values.map((value) => withField(minimal(kind, referred), row.field, value, referred));
    const events = await changesBy(service, async () => {
      for (const record of records) {
        const { status, body } = await service.post(paths[kind], record);
        expect({ status, body }).toMatchObject({ status: 200, body: { success: true, version: 1 } });
      }
    });
    const title = kind[0]?.toUpperCase() + kind.slice(1);
    expect(events.map(({ stream, type, data }) => ({ stream, type, data }))).toEqual(
      records.map((record) => ({
        stream: `${service.workspaceId('clinic')}.${kind}-${encodeURIComponent(record.id)}`,
        type: `${title}Upserted`,
        data: record,
      })),
    );
    for (const record of records) {
      const { body } = await service.get(pathOf(kind, record.id));
      expect(body.record).toEqual(readForm(kind, record));
    }
  }

  async function checkRefused(kind: SpecKind, row: FieldRow): Promise<void> {
    const values = [...refusedValues(row), ...(row.required ? [undefined, null] : [])];
    const events = await changesBy(service, async () => {
      for (const value of values) {
        const record = withField(minimal(kind, referred), row.field, value, referred);
        const { status, body, text } = await service.post(paths[kind], record);
        expect({ value, status, body }).toMatchObject({
          status: 400,
          body: {
            code: 'validation_failed',
            error: expect.stringContaining(row.field),
            details: [{ field: row.field, message: expect.any(String) }],
          },
        });
        for (const part of parts(value)) expect(text).not.toContain(part);
      }
    });
    expect(events).toEqual([]);
  }
});

/** The texts and numbers of a value that are long enough to be told from the answer's own words. */
function parts(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(parts);
  return [String(value)].filter((part) => part.length > 5 && part !== 'undefined');
}
