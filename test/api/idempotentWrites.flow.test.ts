import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NewEvent } from '../../src/domain/events/event.ts';
import { patient } from '../../src/domain/records/kinds/patient.ts';
import { permissions } from '../../src/modules/auth/permissions.ts';
import { eraseRecord } from '../../src/modules/erasure/erase.ts';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { type Client, retryWhileLagging } from '../support/client.ts';
import { signedIn } from '../support/dashboard.ts';
import { eraserIn, openErasurePorts } from '../support/erasure.ts';
import { expectReplay, isReplayed, keyed } from '../support/log.ts';
import { fetchDocument, operationsOf } from '../support/openapi.ts';
import { notePhi, phi } from '../support/output.ts';
import { billedPath, freshClaim, readinessPath, sendClaim, worklist } from '../support/readiness.ts';
import { createEncounter, documentForm, documentsPath, pathOf, paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { newEvents, startFaultyApp, type TestService } from '../support/service.ts';
import { createWebhook, hookUrl, memberOf, webhooksPath } from '../support/webhooks.ts';

/** A valid write. */
interface Write {
  path: string;
  body?: object;
  form?: FormData;
  type?: string;
  /** What another sender writes before the write is repeated: a second write would undo it. */
  between?: Omit<Write, 'between'> & { method?: string };
}

/** Whether an event is what a sender wrote, not what the service notes. */
const isOfSender = ({ data, metadata }: NewEvent) =>
  metadata.principal.type === 'api_key' && data.action !== 'request.refused';

/** Operations that are no GET, and no single write with an `Idempotency-Key`. */
const without: Record<string, string> = {
  search: 'writes nothing',
  reconcile: 'writes nothing',
  sendBatch: 'takes one for all of its lines: see records/batchRepeats.flow',
  receiveHl7Messages: 'the control id of a message says which one is repeated',
};

onEmbeddedEngines((start) => {
  let service: TestService;
  let faulty: Awaited<ReturnType<typeof startFaultyApp>>;
  /** Has every permission. */
  let client: Client;
  /** Whether the next append is done, and not acknowledged. */
  let isCut = false;
  beforeAll(async () => {
    service = await start({ ROLES: 'api,projector', RATE_LIMIT_PER_MINUTE: '0' });
    const { key } = await service.createKey('clinic', [...permissions]);
    service = Object.assign(service, { key });
    client = service;
    const append: EventLog['append'] = async (stream, event, expected) => {
      const appended = await service.eventLog.append(stream, event, expected);
      if (!isCut || !isOfSender(event)) return appended;
      isCut = false;
      throw unavailable('event log');
    };
    faulty = await startFaultyApp(service, { eventLog: { append } });
    // The first key has the log note that of the digests.
    await faulty.post(paths.payer, samples.payer(), keyed());
  });
  afterAll(async () => {
    await faulty.stop();
    await service.stop();
  });

  const send = async (to: Client, method: string, { path, body, form, type }: Write, headers = {}) => {
    if (form) return to.upload(path, form, headers);
    const sent = {
      ...{
        method: method.toUpperCase(),
        headers: { 'content-type': type ?? 'application/json', ...headers },
      },
      ...(body && { body: JSON.stringify(body) }),
    };
    const answer = await retryWhileLagging(
      () => to.send(path, sent),
      ({ status, body: said }) =>
        status === 503 && !isCut && said.error.includes('list') ? said.error : undefined,
    );
    if (answer.body?.secret) notePhi(answer.body.secret);
    return answer;
  };
  const write = async (method: string, one: Write) => {
    const answer = await send(client, method, one);
    expect([one.path, answer.status]).toEqual([one.path, 200]);
    return answer;
  };

  const patched = (kind: 'payer' | 'patient' | 'provider' | 'facility' | 'encounter', values: string[]) => {
    const field = kind === 'encounter' ? 'status' : 'city';
    return async () => {
      const sample = kind === 'encounter' ? samples.encounter((await newPatient()).id) : samples[kind]();
      await write('post', { path: paths[kind], body: sample });
      const patch = (value: string | undefined) => ({
        ...{ path: pathOf(kind, sample.id), body: { [field]: value }, type: 'application/merge-patch+json' },
      });
      return { ...patch(values[0]), between: patch(values[1]) };
    };
  };
  const cities = () => [phi('Omaha'), phi('Lincoln')];
  const newPatient = async () => {
    const patient = samples.patient();
    await write('post', { path: paths.patient, body: patient });
    return patient;
  };
  const newDocument = async () => {
    const [encounter, document_id] = [await createEncounter(client), phi('document')];
    await write('post', { path: documentsPath(encounter), form: documentForm({ document_id }) });
    return documentsPath(encounter, document_id);
  };
  const newWebhook = async (suffix: string, body?: object) => ({
    ...{ path: memberOf(await createWebhook(client)) + suffix, ...(body && { body }) },
  });
  const newClaim = async (changes = {}) => {
    const claim = freshClaim(changes);
    await sendClaim(client, claim);
    return claim;
  };
  const billedClaim = async () => {
    const [claim, claim_id] = [await newClaim(), phi('claim')];
    await write('post', { path: billedPath(claim), body: { claim_id } });
    return { claim, path: billedPath(claim), claim_id };
  };
  const rulesPath = '/integration/readiness/payer-rules';
  const rule = (text: string) => ({
    field: 'patient.city',
    must: { present: true },
    severity: 'warns',
    text,
  });
  const noted = () => ({ rule: 'facility_tax_id', answer: 'noted', note: phi('Applied for') });
  const disclosuresOf = ({ id }: { id: string }) => `/integration/patients/${id}/disclosures`;
  const disclosure = () => ({
    ...{ disclosed_at: '2026-03-14', means: 'fax', description: phi('Record'), recipient: phi('Registry') },
    ...{ recipient_address: phi('Capitol Ave'), purpose: 'other', purpose_statement: phi('By law') },
  });
  const vipPath = ({ id }: { id: string }) => `/integration/patients/${id}/vip`;

  /** A write of each operation. */
  const writes: Record<string, () => Promise<Write>> = {
    upsertPayer: async () => ({ path: paths.payer, body: samples.payer() }),
    upsertPatient: async () => ({ path: paths.patient, body: samples.patient() }),
    upsertProvider: async () => ({ path: paths.provider, body: samples.provider() }),
    upsertFacility: async () => ({ path: paths.facility, body: samples.facility() }),
    upsertEncounter: async () => ({
      path: paths.encounter,
      body: samples.encounter((await newPatient()).id),
    }),
    patchPayer: patched('payer', cities()),
    patchPatient: patched('patient', cities()),
    patchProvider: patched('provider', cities()),
    patchFacility: patched('facility', cities()),
    patchEncounter: patched('encounter', ['open', 'closed']),
    addPatientDisclosure: async () => ({ path: disclosuresOf(await newPatient()), body: disclosure() }),
    async stateDisclosurePurpose() {
      const patient = await newPatient();
      await client.get(pathOf('patient', patient.id));
      const { body } = await client.get(`${disclosuresOf(patient)}?limit=1000`);
      const [{ event_id: id }] = body.items;
      return { path: `${disclosuresOf(patient)}/${id}/purpose`, body: { purpose: 'treatment' } };
    },
    async answerReadinessCause() {
      const { facility } = await newClaim({ facility: { tax_id: undefined } });
      await worklist(client);
      const record = { kind: 'facility', id: facility.id };
      return { path: '/integration/readiness/causes/answers', body: { ...noted(), record } };
    },
    async answerReadinessFinding() {
      const path = `${readinessPath(await newClaim({ facility: { tax_id: undefined } }))}/answers`;
      return { path, body: noted(), between: { path, body: noted() } };
    },
    setPayerRules: async () => ({
      ...{ path: rulesPath, body: { rules: { city: rule(phi('Ask')) } } },
      between: { path: rulesPath, body: { rules: { city: rule(phi('Call')) } } },
    }),
    setPayerRule: async () => ({
      ...{ path: `${rulesPath}/city`, body: rule(phi('Ask')) },
      between: { path: `${rulesPath}/city`, body: rule(phi('Call')) },
    }),
    async removePayerRule() {
      const set = { path: `${rulesPath}/gone`, body: rule('Ask.') };
      await write('put', set);
      return { path: set.path, between: { ...set, method: 'put' } };
    },
    recordEncounterBilled: async () => ({
      ...{ path: billedPath(await newClaim()), body: { claim_id: phi('claim') } },
    }),
    async acknowledgeBillingChanges() {
      const { claim, path } = await billedClaim();
      const body = { date_of_service: '2026-03-13' };
      const encounter = pathOf('encounter', String(claim.encounter.id));
      await write('patch', { path: encounter, body, type: 'application/merge-patch+json' });
      return { path: `${path}/acknowledge`, body: { reason: phi('Known') } };
    },
    async reportClaimOutcome() {
      const { path, claim_id } = await billedClaim();
      return { path: `${path}/${claim_id}/outcome`, body: { source: '835', outcome: 'paid' } };
    },
    recordImport: async () => ({
      path: '/integration/imports',
      body: { sha256: 'a'.repeat(64), format: 'csv', origin: 'folder', accepted: 1, rejected: 0 },
    }),
    uploadDocument: async () => ({
      ...{ path: documentsPath(await createEncounter(client)), form: documentForm() },
    }),
    deleteDocument: async () => ({ path: await newDocument() }),
    createWebhook: async () => ({ path: webhooksPath, body: { url: hookUrl() } }),
    async updateWebhook() {
      const { path } = await newWebhook('');
      return { path, body: { description: 'ours' }, between: { path, body: { description: 'theirs' } } };
    },
    deleteWebhook: () => newWebhook(''),
    rotateWebhookSecret: () => newWebhook('/secret/rotate', { overlap_seconds: 60 }),
    pingWebhook: () => newWebhook('/ping', {}),
    retryWebhook: () => newWebhook('/retry', {}),
    replayWebhook: () => newWebhook('/replay', { failed: true }),
    async removeConsumer() {
      // Each instance notes its readers in the store only from time to time.
      for (const one of [client, faulty]) await one.get('/events?consumer=warehouse&limit=1');
      return { path: '/integration/consumers/warehouse' };
    },
    async setDeidentification() {
      const path = '/integration/deidentification';
      return { path, body: { zip_areas: ['681'] }, between: { path, body: { zip_areas: [] } } };
    },
    async setReturns() {
      const path = '/integration/returned';
      return { path, body: { choice: 'review' }, between: { path, body: { choice: 'allow' } } };
    },
    async decideReturn() {
      const { id } = await newPatient();
      const { ports, close } = await openErasurePorts(service);
      await eraseRecord(ports, eraserIn(service), patient, id, { reason: 'Asked' });
      await close();
      const path = '/integration/returned/decisions';
      const decision = (what: string) => ({ kind: 'patient', id, decision: what, reason: 'Asked' });
      return { path, body: decision('allow'), between: { path, body: decision('refuse') } };
    },
    async judgeAccess() {
      const { id } = await newPatient();
      await write('put', { path: vipPath({ id }), body: { vip: true } });
      const { visitor } = await signedIn(service, 'admin');
      await visitor.get(`/workspaces/${service.workspaceId('clinic')}/records/patients/${id}`);
      const month = new Date().toISOString().slice(0, 7);
      const report = await client.get(`/integration/audit/report?month=${month}`);
      const [row] = report.text.split('\n');
      const path = '/integration/audit/report/judgments';
      const judged = (note: string) => ({ month, id: JSON.parse(row as string).id, note });
      return { path, body: judged('In order'), between: { path, body: judged('Not in order') } };
    },
    async setPatientVip() {
      const path = vipPath(await newPatient());
      return { path, body: { vip: true }, between: { path, body: { vip: false } } };
    },
  };

  test('every write of the interface is tried here, but for those that are named with the reason', async () => {
    const operations = operationsOf(await fetchDocument(service)).filter(({ method }) => method !== 'get');
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(ids.toSorted()).toEqual([...Object.keys(writes), ...Object.keys(without)].toSorted());
  });

  test.each(Object.keys(writes))(
    '%s: a write that was cut off is made once, whatever came between',
    async (operationId) => {
      const operations = operationsOf(await fetchDocument(service));
      const { method } = operations.find(({ operation }) => operation.operationId === operationId) ?? {};
      const { between, ...one } = await (writes[operationId] as () => Promise<Write>)();
      const headers = keyed();
      const events = async (work: () => Promise<unknown>) =>
        (await newEvents(service, work)).filter(isOfSender);
      const first = await events(async () => {
        isCut = true;
        const { status, text } = await send(faulty, method as string, one, headers);
        expect([isCut, status === 503 || text]).toEqual([false, true]);
      });
      expect(first).toHaveLength(1);
      if (between) await write(between.method ?? (method as string), between);
      const repeated = await events(async () => {
        const repeat = await send(client, method as string, one, headers);
        expect([repeat.status, repeat.body?.error, isReplayed(repeat)]).toEqual([200, undefined, true]);
        expectReplay(await send(client, method as string, one, headers), repeat);
      });
      expect(repeated.map(({ type }) => type)).toEqual([]);
    },
  );
});
