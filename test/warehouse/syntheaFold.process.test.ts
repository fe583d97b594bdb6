import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalog, catalogEntry } from '../../src/domain/records/catalog.ts';
import { choices } from '../support/choices.ts';
import { runInWorkspace, spawnCli, temporaryFolder } from '../support/cli.ts';
import { linesOf } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { notePhi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';
import { exportOf, exportRows, isSyntheaThere } from '../support/synthea.ts';
import { filesIn, tableIn } from '../support/warehouse.ts';

const LONG_MS = 540_000;
/** With some thousand encounters: several files of a warehouse's table, and several groups of a reconciliation. */
const PATIENTS = 40;
const CHANGES = 400;
const ndjson = { 'content-type': 'application/x-ndjson' };

type Fields = Record<string, unknown>;

/** What a record became, by rules of the test: fields are replaced one by one, null removes one, and an insurance is replaced whole. */
interface Folded {
  version: number;
  /** Undefined once it was erased. */
  fields: Fields | undefined;
}

const sentIn: Record<string, string> = {
  PayerUpserted: 'payer',
  PatientUpserted: 'patient',
  ProviderUpserted: 'provider',
  FacilityUpserted: 'facility',
  EncounterUpserted: 'encounter',
};

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** As anybody reads it: with what the specification says of absent fields. */
function shown(kind: string, fields: Fields): Fields {
  if (kind !== 'encounter') return { country: 'US', ...fields };
  const { provider_id } = fields;
  return provider_id === undefined ? fields : { rendering_provider_id: provider_id, ...fields };
}

function flat(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([inner, one]) => [`${name}_${inner}`, one])
        : [[name, value]],
    ),
  );
}

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ BATCH_LINES_PER_MINUTE: '1000000000', RATE_LIMIT_PER_MINUTE: '0' });
  });
  afterAll(() => service.stop());

  /** Everything in the workspace's log, folded by the test, by kind and id. */
  async function folded(): Promise<Map<string, Map<string, Folded>>> {
    const kinds = new Map(Object.values(sentIn).map((kind) => [kind, new Map<string, Folded>()]));
    const stop = new AbortController();
    for await (const batch of service.eventLog.follow({ after: 0, signal: stop.signal })) {
      for (const { type, data, revision } of batch.events) {
        const version = revision + 1;
        if (type === 'RecordErased')
          kinds.get(String(data.kind))?.set(String(data.record_id), { version, fields: undefined });
        const records = kinds.get(sentIn[type] ?? '');
        const id = String(data.id);
        if (records)
          records.set(id, { version, fields: withoutNulls({ ...records.get(id)?.fields, ...data }) });
      }
      if (batch.caughtUp) break;
    }
    stop.abort();
    return kinds;
  }

  async function send(lines: object[]): Promise<void> {
    const { text } = await service.send('/integration/batch', {
      method: 'POST',
      headers: ndjson,
      body: linesOf(lines),
    });
    const { summary } = JSON.parse(String(text.trimEnd().split('\n').at(-1)));
    expect(summary).toMatchObject({ accepted: lines.length });
  }
  const sink = async (place: string) => {
    const { code, stdout, stderr } = await runInWorkspace(service, 'sink', 'parquet', place);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };

  test.skipIf(!isSyntheaThere)(
    'a warehouse and a reconciliation agree with a fold of all that was sent, after changes, merges and erasures',
    async () => {
      const people = exportRows('patients.csv');
      for (const { Id = '', SSN = '', FIRST = '', LAST = '' } of people) notePhi(Id, SSN, FIRST, LAST);
      const part = exportOf(people.slice(0, PATIENTS).map(({ Id = '' }) => Id));
      const importing = await spawnCli(['import', part, '--format', 'synthea', '--url', service.url], {
        cwd: temporaryFolder(),
        env: { CHARTLEDGER_API_KEY: String(service.key) },
      });
      expect(importing.code).toBe(0);
      const warehouse = temporaryFolder();
      await sink(warehouse);

      const choose = choices(47);
      const all = await folded();
      const idsOf = (kind: string) => [...(all.get(kind)?.keys() ?? [])];
      const pick = (ids: string[]) => ids[choose(ids.length)] as string;
      const [patients, encounters, payers] = ['patient', 'encounter', 'payer'].map(idsOf) as [
        string[],
        string[],
        string[],
      ];
      const [leavers, stayers] = [patients.slice(0, 5), patients.slice(5)];
      const required = (kind: string, id: string, names: string[]) => {
        const { fields = {} } = all.get(kind)?.get(id) ?? {};
        return Object.fromEntries(['id', ...names].map((name) => [name, fields[name]]));
      };
      const patient = (id: string, changes: Fields) => ({
        kind: 'patient',
        record: { ...required('patient', id, ['first_name', 'last_name', 'date_of_birth']), ...changes },
      });
      const changed = [
        () => patient(pick(stayers), { city: `City ${choose(9)}` }),
        () => patient(pick(stayers), { city: null, state: null }),
        () => {
          const primary_insurance = { payer_id: pick(payers), policy_number: `P-${choose(9)}` };
          return patient(pick(stayers), { primary_insurance });
        },
        () => patient(pick(stayers), { primary_insurance: null }),
        () => {
          const at = choose(stayers.length - 1);
          return patient(String(stayers[at]), { merged_into: stayers[at + 1] });
        },
        () => ({
          kind: 'encounter',
          record: { id: pick(encounters), is_completed: choose(2) === 0, patient_id: pick(stayers) },
        }),
      ];
      for (let sent = 0; sent < CHANGES; sent += CHANGES / 4) {
        await send(Array.from({ length: CHANGES / 4 }, () => changed[choose(changed.length)]?.() ?? {}));
        await sink(warehouse);
      }
      for (const id of leavers) {
        const erased = await runInWorkspace(
          service,
          ...['records', 'erase', 'patient', id, '--reason', 'It was asked for.', '--with-encounters'],
        );
        expect(erased).toMatchObject({ code: 0, stderr: '' });
      }
      const [returned = ''] = leavers;
      const record = { id: returned, first_name: 'Ann', last_name: 'Back', date_of_birth: '1984-02-29' };
      await send([{ kind: 'patient', record }]);
      const fresh = temporaryFolder();
      await eventually(async () => {
        await sink(warehouse);
        await sink(fresh);
        expect(await sink(warehouse)).toBe('Nothing has changed.\n');
      }, LONG_MS);
      expect(filesIn(warehouse)).toEqual(filesIn(fresh));

      const model = await folded();
      const lines: object[] = [];
      const expected: Fields[] = [];
      for (const [kind, records] of model) {
        const existing = [...records].flatMap(([id, { version, fields }]) =>
          fields === undefined ? [] : [{ id, version, fields }],
        );
        const rows = await tableIn(warehouse, catalogEntry(kind).plural);
        const bare = rows.map(({ created_at: _, updated_at: __, ...row }) => row);
        const wanted = existing.map(({ version, fields }) => ({ ...flat(shown(kind, fields)), version }));
        const byId = (a: Fields, b: Fields) => (String(a.id) < String(b.id) ? -1 : 1);
        expect(bare.sort(byId)).toEqual(wanted.sort(byId));
        for (const [id, { version, fields }] of records) {
          const place = { line: lines.length + 1, kind, id };
          const into = fields?.merged_into;
          lines.push(fields === undefined ? { kind, id } : { kind, record: fields });
          if (fields === undefined) expected.push({ ...place, outcome: 'erased' });
          else expected.push({ ...place, outcome: 'same', version, ...(into ? { merged_into: into } : {}) });
        }
      }
      expect(lines.length).toBeGreaterThan(2_000);
      const missing = patients.slice(20, 30);
      const sent = lines.filter(
        (line) => !missing.some((id) => JSON.stringify(line).includes(`"id":"${id}"`)),
      );
      expect(sent).toHaveLength(lines.length - missing.length);
      const answer = await service.send('/integration/reconcile?missing_there=patient', {
        ...{ method: 'POST', headers: ndjson, body: linesOf(sent) },
      });
      const results = answer.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      const { summary } = results.pop();
      const lacking = results.splice(sent.length);
      expect(lacking.map(({ id, outcome }) => [id, outcome]).sort()).toEqual(
        missing.map((id) => [id, 'missing_there']).sort(),
      );
      const placeless = (found: Fields[]) => found.map(({ line: _, erased_at: __, ...one }: Fields) => one);
      const wanted = placeless(expected).filter(({ id }) => !missing.includes(String(id)));
      expect(placeless(results)).toEqual(wanted);
      expect(summary).toMatchObject({ lines: sent.length, different: 0, missing_here: 0, refused: 0 });
      expect(catalog.map(({ kind }) => kind).sort()).toEqual([...model.keys()].sort());
    },
    LONG_MS,
  );
});
