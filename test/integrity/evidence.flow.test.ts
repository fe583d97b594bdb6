import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LEAVES_A_ROW, type TreeHeadRow, treeModel } from '../../projections/tree.ts';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import {
  disclosuresStream,
  encounterReadinessStream,
  readinessCountsStream,
  readinessStream,
  returnStream,
  WEBHOOKS_STREAM,
} from '../../src/domain/events/streams.ts';
import { eventTypes } from '../../src/domain/events/upcasting.ts';
import { addLeaf, emptyTree, eventLeaf, treeRoot } from '../../src/domain/merkle.ts';
import { catalog } from '../../src/domain/records/catalog.ts';
import { judgeAccess, setVip } from '../../src/modules/audit/accessReview.ts';
import { noKeys } from '../../src/modules/auth/apiKeys.ts';
import { addHold, releaseHold } from '../../src/modules/erasure/holds.ts';
import { setDeidentification } from '../../src/modules/eventStream/deidentificationSettings.ts';
import { configureSource, removeSource } from '../../src/modules/integrations/sourceCommands.ts';
import { signStatement } from '../../src/modules/integrity/signing.ts';
import {
  setBillingEntity,
  setFilingLimit,
  setPayerRules,
  setRequiredDocument,
  setRule,
  setTimeZone,
} from '../../src/modules/readiness/settings.ts';
import { openReadModels } from '../../src/server/openStorage.ts';
import type { ReadModels, Row } from '../../src/storage/readModels.ts';

import { type CliResult, runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { worklist } from '../support/readiness.ts';
import { documentForm, documentsPath, sampleOf, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { newEvents, readAll, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

onEveryEngine((start) => {
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  let service: TestService;
  let readModels: ReadModels;
  beforeAll(async () => {
    service = await start();
    readModels = await openReadModels(service.config.readModelUrl);
    await appendOneOfEverything();
  }, LONG_MS);
  afterAll(async () => {
    await readModels.close();
    await service.stop();
  });

  const clinic = () => service.workspaceId('clinic');
  const cli = (...args: string[]): Promise<CliResult> =>
    runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });
  const verify = (...args: string[]) => cli('verify', '--workspace', clinic(), ...args);

  /** The workspace's own events, in log order. */
  async function events() {
    const all = await readAll(service.eventLog);
    return all.filter(({ metadata }) => metadata.workspace === clinic());
  }

  async function appendOneOfEverything() {
    const made: Record<string, string> = {};
    for (const entry of catalog) {
      const record = sampleOf(entry, made);
      made[entry.kind] = record.id;
      await service.post(`/integration/${entry.plural}`, record);
      expect((await service.get(`/integration/${entry.plural}/${record.id}`)).status).toBe(200);
    }
    const form = documentForm();
    await service.upload(documentsPath(String(made.encounter)), form);
    await service.delete(documentsPath(String(made.encounter), form.get('document_id') as string));
    const { id } = await service.createKey('clinic');
    const rotated = await service.createKey('clinic');
    await service.keys.updateKey(rotated.id, { purpose: 'payment' });
    await service.keys.setLimits(rotated.id, { rate_limit: 600 });
    const publicKey = { kty: 'EC', kid: 'emr', crv: 'P-384', x: 'x', y: 'y' } as const;
    await service.keys.setPublicKeys(rotated.id, [publicKey]);
    await service.keys.rotateKey(rotated.id, 0);
    for (const state of ['deactivated', 'active', 'deleted'] as const)
      await service.keys.setKeyState(id, state);
    for (const state of ['deactivated', 'active'] as const)
      await service.keys.setWorkspaceState(clinic(), state);
    await service.keys.setRetention(clinic(), 7);
    await service.keys.setUnchanged(clinic(), 'skip');
    await service.keys.setBreakGlass(clinic(), 'allow');
    await service.keys.setOrganization(clinic(), 'North Clinic');
    await service.keys.setReturns(clinic(), 'review');
    for (const reason of ['required', 'optional'] as const) await service.keys.setReason(clinic(), reason);
    await service.keys.setOfficeHours(clinic(), { from: '07:00', to: '19:00', days: ['mon'] });
    const caller = {
      workspace: clinic(),
      principal: { type: 'operator', id: 'test' },
      requestId: uuidv7(),
    } as const;
    const patientId = String(made.patient);
    const another = () => ({ ...caller, requestId: uuidv7() });
    for (const isVip of [true, false])
      await setVip({ eventLog: service.eventLog, readModels }, another(), patientId, isVip);
    const row = { month: '2026-03', id: uuidv7() };
    await judgeAccess(service.eventLog, another(), row, 'In order', async () => undefined);
    await setDeidentification(service.eventLog, another(), { zip_areas: ['681'] });
    const hold = await addHold(service.eventLog, caller, undefined, 'Case 2031-17');
    await releaseHold(service.eventLog, caller, hold, 'closed');
    await setRule(service.eventLog, caller, 'taxonomy_code', 'warns');
    await setFilingLimit(service.eventLog, caller, { limit: 'P1Y' });
    await setBillingEntity(service.eventLog, caller, { entity: 'facility' });
    await setTimeZone(service.eventLog, caller, 'America/Chicago');
    const demand = { field: 'patient.city', must: { present: true } };
    const rules = { own: { ...demand, severity: 'warns', text: 'Ask for the city.' } } as const;
    await setPayerRules(service.eventLog, another(), rules, { isWhole: false });
    const required = { visit_type: 'inpatient', category: 'referral', required: true } as const;
    await setRequiredDocument(service.eventLog, caller, required);
    const { eventLog } = service;
    const ports = { eventLog, directory: { known: noKeys() } };
    await configureSource(ports, caller, { id: 'epic', format: 'fhir' });
    await removeSource(eventLog, caller, 'epic');
    const applied = newEvent(caller, 'ReadinessRulesApplied', {
      cause: caller.requestId,
      before: {},
      after: {},
    });
    await service.eventLog.append(readinessStream(clinic()), { ...applied, id: uuidv7() }, 'any');
    const counted = newEvent(caller, 'ReadinessCounted', { day: '2026-03-14', states: {}, rules: {} });
    await service.eventLog.append(readinessCountsStream(clinic()), { ...counted, id: uuidv7() }, 'any');
    const returned = { kind: 'patient', record_id: 'p-1', version: 2 };
    const decided = { ...returned, decision: 'allow', reason: 'By mistake' };
    for (const [type, data] of [
      ['RecordReturnRefused', returned],
      ['RecordReturnDecided', decided],
    ] as const) {
      const event = { ...newEvent(caller, type, data), id: uuidv7() };
      await service.eventLog.append(returnStream(clinic(), 'patient', 'p-1'), event, 'any');
    }
    const billed = encounterReadinessStream(clinic(), String(made.encounter));
    const data = { encounter_id: made.encounter, versions: [] };
    const events = [
      newEvent(caller, 'EncounterBilled', { ...data, claim_id: 'claim-7001' }),
      newEvent(caller, 'BillingChangeAcknowledged', { ...data, reason: 'Known' }),
      newEvent(caller, 'ClaimOutcomeReported', {
        ...{ encounter_id: made.encounter, claim_id: 'claim-7001', source: 'other', outcome: 'paid' },
      }),
      newEvent(caller, 'FindingAnswered', {
        ...{ encounter_id: made.encounter, rule: 'npi', answer: 'noted', note: 'Known' },
        record: { kind: 'encounter', id: String(made.encounter), version: 1 },
      }),
      newEvent(caller, 'EncounterReadinessChanged', { ...data, to: 'ready', rules: [], rules_version: '1' }),
    ];
    for (const event of events) await service.eventLog.append(billed, { ...event, id: uuidv7() }, 'any');
    const about = disclosuresStream(clinic(), String(made.patient));
    const added = { patient_id: made.patient, disclosed_at: '2026-03-13', means: 'fax' };
    for (const event of [
      newEvent(caller, 'DisclosureAdded', { ...added, description: 'Known', recipient: 'Registry' }),
      newEvent(caller, 'DisclosurePurposeStated', {
        patient_id: made.patient,
        event_id: uuidv7(),
        purpose: 'payment',
      }),
    ])
      await service.eventLog.append(about, { ...event, id: uuidv7() }, 'any');
    const pinged = newEvent(caller, 'WebhookPinged', { webhook_id: 'wh_none' });
    await service.eventLog.append(WEBHOOKS_STREAM, pinged, 'any');
    // The service tells by itself what became of readiness.
    await worklist(service);
  }

  async function projected() {
    const head = await service.eventLog.head();
    await eventually(
      async () => expect(await readModels.checkpoint(treeModel)).toBeGreaterThanOrEqual(head),
      LONG_MS,
    );
  }

  test('the projector keeps a tree over every event of the workspace, of every type, and of no other', async () => {
    await service.createKey('elsewhere');
    await projected();
    const own = await events();
    const written = new Set(own.map(({ type }) => type));
    const types = eventTypes().filter(
      (type) => !/^(?:Webhook|User|SetupLink|CodeSet|KeyRotated|WorkspaceDelet)|Erased$/.test(type),
    );
    expect(written).toEqual(new Set([...types, 'WebhookPinged']));
    const [row] = await readModels.load(treeModel, [clinic()]);
    const { leaves, last, ...head } = (row as Row).body as unknown as TreeHeadRow;
    expect(head).toEqual(own.reduce((tree, event) => addLeaf(tree, eventLeaf(event)), emptyTree));
    expect(last).toEqual({ id: own.at(-1)?.id, recordedAt: own.at(-1)?.recordedAt });
    // The head has those that do not fill a row yet.
    const inHead = own.slice(own.length - (own.length % LEAVES_A_ROW));
    expect(leaves.map(([position, id]) => [position, id])).toEqual(
      inHead.map(({ position, id }) => [position, id]),
    );
  });

  test('verify recomputes it, compares it, saves a signed head, and is in the audit trail', async () => {
    await projected();
    const known = (await events()).length;
    let result: CliResult | undefined;
    const added = await newEvents(service, async () => {
      result = await verify('--save-head', inFolder('head.json'));
    });
    const own = await events();
    const tree = own.reduce((tree, event) => addLeaf(tree, eventLeaf(event)), emptyTree);
    const [, compared] = /(\d+) of them/.exec(result?.stdout ?? '') ?? [];
    expect(result).toEqual({
      code: 0,
      stderr: '',
      stdout: `${known + 1} events verified, ${compared} of them against the read model; tree head ${treeRoot(tree)}\n`,
    });
    expect(Number(compared)).toBeGreaterThanOrEqual(known);
    expect(added.map(({ type, data, metadata }) => ({ type, data, principal: metadata.principal }))).toEqual([
      {
        type: 'AccessRecorded',
        data: { action: 'verify' },
        principal: { type: 'operator', id: userInfo().username },
      },
    ]);
    expect(JSON.parse(readFileSync(inFolder('head.json'), 'utf8'))).toEqual({
      type: 'chartledger.tree_head.v1',
      workspace: clinic(),
      size: known + 1,
      root: treeRoot(tree),
      chain: tree.chain,
      last_event_id: own.at(-1)?.id,
      last_event_recorded_at: own.at(-1)?.recordedAt,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      key_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      signature: expect.any(String),
    });
  });

  test('a signed head holds while the log grows', async () => {
    await verify('--save-head', inFolder('earlier.json'));
    await service.post('/integration/payers', samples.payer());
    const { code, stderr } = await verify('--head', inFolder('earlier.json'));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test(
    'a head that was changed, of another key, of another workspace or log is refused, and says so',
    async () => {
      await verify('--save-head', inFolder('good.json'));
      const good = JSON.parse(readFileSync(inFolder('good.json'), 'utf8'));
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const { signature, key_id, ...body } = good;
      const foreign = (changes: object) => signStatement({ ...body, ...changes }, privateKey);
      const pem = inFolder('foreign.pem');
      writeFileSync(pem, publicKey.export({ type: 'spki', format: 'pem' }));
      const withForeignKey = ['--public-key', pem];
      const cases: [object, string[], RegExp][] = [
        [{ ...good, size: good.size - 1 }, [], /is not valid: its signature does not match/],
        [{ hello: 1 }, [], /is not valid: it is neither a tree head nor the manifest/],
        [foreign({}), [], /is not valid: it was signed with the key [0-9a-f]{16}, not with [0-9a-f]{16}/],
        [foreign({ workspace: 'other' }), withForeignKey, /belongs to the workspace other\./],
        [
          foreign({ root: 'ab'.repeat(32) }),
          withForeignKey,
          /its first \d+ events are not those that were signed/,
        ],
        [
          foreign({ chain: 'ab'.repeat(32) }),
          withForeignKey,
          /its first \d+ events are not those that were signed/,
        ],
        [foreign({ size: 1e6 }), withForeignKey, /it contains \d+ events, but 1000000 were signed/],
      ];
      for (const [head, args, message] of cases) {
        writeFileSync(inFolder('bad.json'), JSON.stringify(head));
        const { code, stdout, stderr } = await verify('--head', inFolder('bad.json'), ...args);
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toMatch(message);
        expect(stderr.trimEnd().split('\n')).toHaveLength(1);
      }
    },
    LONG_MS,
  );

  test('the public key is printed, the same each time; another one can be configured', async () => {
    const printed = await cli('secrets', 'show', 'signing');
    expect(printed).toMatchObject({ code: 0, stderr: '' });
    expect(createPublicKey(printed.stdout).asymmetricKeyType).toBe('ed25519');
    expect((await cli('secrets', 'show', 'signing')).stdout).toBe(printed.stdout);
    const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const configured = { DATA_DIR: temporaryFolder(), SIGNING_KEY: privateKey.toString('base64') };
    expect((await runCli(['secrets', 'show', 'signing', '--init'], { env: configured })).stdout).toBe(
      publicKey,
    );
    const other = await runCli(['secrets', 'show', 'signing'], {
      env: { ...storesOf(service.config), ...configured },
    });
    expect(other).toMatchObject({ code: 1, stdout: '' });
    expect(other.stderr).toMatch(
      /^SIGNING_KEY: the key in SIGNING_KEY \(\w+\) is not the one that the event log knows/,
    );
    const rsa = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'der' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    }).privateKey;
    expect(
      await runCli(['secrets', 'show', 'signing', '--init'], {
        env: { DATA_DIR: temporaryFolder(), SIGNING_KEY: rsa.toString('base64') },
      }),
    ).toEqual({
      code: 1,
      stdout: '',
      stderr: 'SIGNING_KEY is not an Ed25519 private key (PKCS#8, DER). Restore it from a backup.\n',
    });
  });

  test('what cannot be verified is refused, and appends nothing', async () => {
    const refusals: [string[], number, string][] = [
      [['--workspace', 'not_there'], 1, 'Workspace not_there does not exist.'],
      [['--workspace', clinic(), '--head', inFolder('none.json')], 1, 'cannot be read or written (ENOENT)'],
      [[], 2, 'specify the file of an export or a proof, --workspace or --records'],
      [
        ['file', '--workspace', clinic()],
        2,
        'specify the file of an export or a proof, --workspace or --records',
      ],
      [['file'], 2, '--public-key is required'],
      [['file', '--public-key', 'x', '--save-head', 'y'], 2, 'require --workspace'],
    ];
    const added = await newEvents(service, async () => {
      for (const [args, code, message] of refusals) {
        const result = await cli('verify', ...args);
        expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code, stdout: '' });
        expect(result.stderr).toContain(message);
      }
    });
    expect(added).toEqual([]);
  });
});
