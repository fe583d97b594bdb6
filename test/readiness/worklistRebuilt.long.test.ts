import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalogEntry } from '../../src/domain/records/catalog.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { Row } from '../../src/storage/readModels.ts';

import { choices } from '../support/choices.ts';
import { openErasurePorts } from '../support/erasure.ts';
import { allRows, rebuiltRows } from '../support/log.ts';
import { phi } from '../support/output.ts';
import {
  countsOf,
  freshClaim,
  inStores,
  inWorkspace,
  type WorklistItem,
  worklist,
} from '../support/readiness.ts';
import { documentForm, documentsPath, pathOf, paths } from '../support/samples.ts';
import { startTestService, type TestService } from '../support/service.ts';

const SEED = 7;
const STEPS = 80;
const LOOK_EVERY = 20;

let service: TestService;
let ports: ErasurePorts;
let close: () => Promise<unknown>;
beforeAll(async () => {
  service = await startTestService();
  ({ ports, close } = await openErasurePorts(service));
});
afterAll(async () => {
  await close();
  await service.stop();
});

const next = choices(SEED);
const pick = <One>(ones: readonly One[]): One => ones[next(ones.length)] as One;
const base = freshClaim();
const named = (one: object, count: number) =>
  Array.from({ length: count }, () => ({ ...one, id: phi('shared') }));
const payers = named(base.payer, 2);
const providers = named(base.provider, 2);
const facilities = named(base.facility, 2);
const patients = Array.from({ length: 4 }, () => phi('patient'));
const encounters = Array.from({ length: 7 }, () => phi('encounter'));
const days = ['2026-03-10', '2024-02-29', '2091-05-01'];

function sendPatient() {
  const insurance = { ...(base.patient.primary_insurance as object), policy_number: pick([null, 'W1']) };
  const primary_insurance = { ...insurance, payer_id: pick(payers).id };
  return service.post(paths.patient, { ...base.patient, id: pick(patients), primary_insurance });
}

function sendEncounter() {
  const none = { provider_id: null, facility_id: null };
  const some = { provider_id: pick(providers).id, facility_id: pick(facilities).id };
  return service.post(paths.encounter, {
    ...{ ...base.encounter, id: pick(encounters), patient_id: pick(patients) },
    ...pick([some, some, some, none]),
    rendering_provider_id: pick([null, pick(providers).id]),
    date_of_service: pick([...days, `${days[0]}T23:30:00-08:00`, null]),
    visit_type: pick(['office_visit', 'telehealth']),
    is_completed: pick([true, true, false]),
    voided_at: pick([null, null, null, '2026-03-20']),
  });
}

function erase(kind: string, ids: readonly string[]) {
  const workspace = service.workspaceId('clinic');
  const principal = { type: 'operator', id: 'test' } as const;
  const caller = { workspace, principal, requestId: crypto.randomUUID() };
  const options = { reason: 'asked for', withEncounters: kind === 'patient' };
  return eraseRecord(ports, caller, catalogEntry(kind), pick(ids), options).catch((error) => error);
}

/** Whatever may happen to what a worklist is based on; the more often, the more often it is listed. */
const steps: (() => Promise<unknown>)[] = [
  ...Array(5).fill(sendPatient),
  ...Array(9).fill(sendEncounter),
  ...Array(2).fill(() => erase('encounter', encounters)),
  ...Array(2).fill(() => erase('patient', patients)),
  ...Array(2).fill(() =>
    service.patch(pathOf('patient', pick(patients)), { merged_into: pick([null, ...patients]) }),
  ),
  ...Array(3).fill(() => service.post(`${pathOf('encounter', pick(encounters))}/billed`, { claim_id: 'c' })),
  () => service.post(paths.payer, { ...pick(payers), payer_code: pick([null, '60054']) }),
  () => service.post(paths.provider, { ...pick(providers), npi: pick(['0000000006', '1234567893']) }),
  () => service.upload(documentsPath(pick(encounters)), documentForm({ document_id: pick(['d1', 'd2']) })),
  () => service.delete(documentsPath(pick(encounters), pick(['d1', 'd2']))),
];

const byId = (items: WorklistItem[]) => items.toSorted((a, b) => (a.id < b.id ? -1 : 1));

/** The whole worklist, once it agrees with the readiness of each encounter, and with what its filters leave. */
async function looked(): Promise<WorklistItem[]> {
  const { items, counts } = await worklist(service);
  expect(counts).toEqual(countsOf(items));
  for (const id of encounters) {
    const { status, body } = await service.get(`${pathOf('encounter', id)}/readiness`);
    const item = items.find((one) => one.id === id);
    expect([id, item?.state]).toEqual([id, status === 200 ? body.state : undefined]);
    const found = status === 200 ? (body.findings as WorklistItem['findings']) : [];
    const rules = (findings: WorklistItem['findings'] = []) => findings.map(({ rule }) => rule).sort();
    expect([id, rules(item?.findings)]).toEqual([id, rules(found)]);
  }
  const narrowed = [
    ...payers.map(({ id }) => [`&payer_id=${id}`, (one: WorklistItem) => one.payer_id === id] as const),
    ...facilities.map(
      ({ id }) => [`&facility_id=${id}`, (one: WorklistItem) => one.facility_id === id] as const,
    ),
    ...days.map(
      (day) =>
        [`&from=${day}&to=${day}`, (one: WorklistItem) => one.date_of_service?.startsWith(day)] as const,
    ),
  ];
  for (const [query, isIn] of narrowed) {
    const some = await worklist(service, query);
    expect([query, byId(some.items)]).toEqual([query, byId(items.filter(isIn))]);
    expect([query, some.counts]).toEqual([query, countsOf(some.items)]);
  }
  return byId(items);
}

/** A row without its place, which another one may have whose id was used again after an erasure. */
const placeless = ({ order: _order, ...row }: Row) => JSON.parse(JSON.stringify(row));

test('the worklist and all read models are what a rebuild makes of them, after erasures, merges and ids used again', async () => {
  for (const payer of payers) await service.post(paths.payer, payer);
  for (const provider of providers) await service.post(paths.provider, provider);
  for (const facility of facilities) await service.post(paths.facility, facility);
  const required = ['require-document', 'office_visit', 'lab_results'];
  expect((await inWorkspace(service, 'readiness', ...required)).code).toBe(0);
  for (let step = 1; step <= STEPS; step += 1) {
    await pick(steps)();
    if (step % LOOK_EVERY === 0) await looked();
  }
  const before = await looked();
  expect(await inWorkspace(service, 'verify', '--records')).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/ rows of 7 read models compared with the log\n$/),
  });
  expect(before.length).toBeGreaterThan(1);
  expect((await inStores(service, 'projections', 'rebuild', 'readiness')).code).toBe(0);
  expect(await looked()).toEqual(before);

  const readModels = await openReadModels(service.config.readModelUrl);
  const live = await allRows(service.eventLog, readModels);
  await readModels.close();
  const anew = await rebuiltRows(service.eventLog);
  for (const [model, { rows, count }] of Object.entries(live)) {
    expect([model, count]).toEqual([model, anew[model]?.count]);
    for (const [id, row] of rows)
      expect([model, placeless(row)]).toEqual([model, placeless(anew[model]?.rows.get(id) as Row)]);
  }
});
