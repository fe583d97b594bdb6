import { userInfo } from 'node:os';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { configureSource, MAX_SOURCES } from '../../src/modules/integrations/sourceCommands.ts';
import {
  readSources,
  SourceCache,
  type SourceInput,
  sourceOf,
} from '../../src/modules/integrations/sources.ts';
import { unavailable } from '../../src/platform/errors.ts';
import { eventually } from '../support/eventually.ts';
import { eventsOf } from '../support/log.ts';
import { inStores } from '../support/readiness.ts';
import { appendedBy, changesBy, sharedService, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

const CONFIGURED = ': SourceConfigured';
const REMOVED = ': SourceRemoved';

/** What JSON shows of a source that has nothing of its own. */
const plain = {
  key: null,
  mllp: null,
  time_zone: 'UTC',
  id_systems: {},
  bundles: null,
  patient_authority: null,
  visit_authority: null,
  visit_from: null,
  insurance_sets: null,
  others: null,
  facility: null,
  mapping: {},
  retention_days: 90,
};

let service: TestService;
let directory: KeyDirectory;
beforeAll(async () => {
  service = await sharedService();
  directory = await KeyDirectory.open(service.eventLog);
});
afterAll(async () => {
  directory.close();
  await service.stop();
});

/** A workspace with a key, and the command on it. */
async function workspaceOf(label: string) {
  const { id: key, workspace } = await service.createKey(label);
  const sources = (command: string, ...args: string[]) =>
    inStores(service, 'sources', command, ...args, '--workspace', workspace);
  const listed = async () => JSON.parse((await sources('list', '--json')).stdout);
  const caller = { workspace, principal: { type: 'operator', id: 'test' }, requestId: uuidv7() } as const;
  return { key, workspace, sources, listed, caller };
}

const ports = () => ({ eventLog: service.eventLog, directory });

test('options that are not given keep their values; a new source needs a format', async () => {
  const { key, sources, listed } = await workspaceOf('merged');
  const appended = await appendedBy(service, async () => {
    expect(await sources('set', 'lab', '--key', key)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('specify the format of the new source with --format'),
    });
    const zone = ['--time-zone', 'America/Chicago'] as const;
    expect(await sources('set', 'lab', '--format', 'hl7v2', '--key', key, ...zone)).toMatchObject({
      code: 0,
    });
    expect(await sources('set', 'lab', '--patient-authority', 'HOSP')).toMatchObject({ code: 0 });
  });
  expect(appended).toEqual([`merged.sources${CONFIGURED}`, `merged.sources${CONFIGURED}`]);
  expect(await listed()).toEqual([
    { ...plain, id: 'lab', format: 'hl7v2', key, time_zone: 'America/Chicago', patient_authority: 'HOSP' },
  ]);
});

test('messages that are not for this service are counted by event, and not kept, where the source says so', async () => {
  const { workspace, sources } = await workspaceOf('others');
  const { key } = await service.keys.createKey(workspace, 'Sender', ['write', 'read']);
  const client = service.as(key);
  const send = async (...kinds: string[]) => {
    const body = kinds.map((kind) => hl7Message(kind, [['PID', { 3: 'P-1' }]])).join('\r');
    const headers = { 'content-type': 'application/hl7-v2' };
    const { text } = await client.send('/hl7/v2', { method: 'POST', body, headers });
    return [...text.matchAll(/\rMSA\|(\w\w)/g)].map(([, code]) => code);
  };
  const kept = async () =>
    JSON.parse((await inStores(service, 'messages', 'list', '--workspace', workspace, '--json')).stdout)
      .length;
  expect([await send('ORU^R01'), await kept()]).toEqual([['AR'], 1]);
  const places = ['--visit-from', 'PID-18,PV1-19', '--insurance-sets', 'whole'];
  await sources('set', 'lab', '--format', 'hl7v2', '--others', 'accept', ...places);
  await eventually(async () => expect(await send('VXU^V04')).toEqual(['AA']));
  const before = await kept();
  const appended = await appendedBy(service, async () => {
    expect(await send('ORU^R01', 'ORU^R01', 'ADT^Z99', 'Lopez^Maria', 'ADT^A60')).toEqual([
      'AA',
      'AA',
      'AA',
      'AA',
      'AA',
    ]);
  });
  // Of an event that is supported but changes nothing, the message is kept.
  expect([appended, await kept()]).toEqual([[], before + 1]);
  const { stdout } = await sources('show', 'lab', '--json');
  const shown = JSON.parse(stdout) as { unused: { event: string; count: number; last_at: string }[] };
  expect(shown).toMatchObject({
    id: 'lab',
    others: 'accept',
    visit_from: ['PID-18', 'PV1-19'],
    insurance_sets: 'whole',
  });
  expect(shown.unused.map(({ event, count }) => `${event} ${count}`).toSorted()).toEqual([
    ...['ADT^Z99 1', 'ORU^R01 2', 'VXU^V04 1', 'others 1'],
  ]);
  expect((await sources('show', 'lab')).stdout).toMatch(/others=accept[\s\S]+ORU\^R01 +2 /);
  expect(await sources('show', 'none')).toMatchObject({ code: 1, stderr: expect.stringContaining('not') });
});

test('visit numbers are configured in one place', async () => {
  const { caller } = await workspaceOf('places');
  const source: SourceInput = {
    id: 'lab',
    format: 'hl7v2',
    mapping: { visit_id: 'PID-18' },
    visit_from: ['PV1-19'],
  };
  const appended = await appendedBy(service, async () => {
    await expect(configureSource(ports(), caller, source)).rejects.toMatchObject({
      code: 'validation_failed',
      details: [{ field: 'mapping.visit_id', message: expect.stringContaining('visit_from') }],
    });
  });
  expect(appended).toEqual([]);
});

test('a source is configured whole, as an event; the same again is none', async () => {
  const { key, workspace, sources, listed } = await workspaceOf('whole');
  expect((await sources('list')).stdout).toBe(`There are no sources yet in workspace ${workspace}.\n`);
  const lab = [
    ...['set', 'lab', '--format', 'hl7v2', '--key', key, '--time-zone', 'America/Chicago'],
    ...['--patient-authority', 'HOSP', '--visit-authority', 'VISITS'],
    ...['--facility', 'main', '--facility-name', 'Main Campus', '--retention-days', '30'],
  ] as const;
  const source = {
    id: 'lab',
    format: 'hl7v2',
    key,
    time_zone: 'America/Chicago',
    patient_authority: 'HOSP',
    visit_authority: 'VISITS',
    facility: { id: 'main', name: 'Main Campus' },
    retention_days: 30,
  };
  const events = await changesBy(service, async () => {
    expect(await sources(...lab)).toEqual({
      code: 0,
      stdout: `Source lab in workspace ${workspace}: what is sent as hl7v2 with key ${key}.\n`,
      stderr: '',
    });
    expect(await sources(...lab)).toMatchObject({ code: 0 });
  });
  expect(events).toMatchObject([
    {
      stream: `${workspace}.sources`,
      type: 'SourceConfigured',
      data: { source },
      metadata: { workspace, principal: { type: 'operator', id: userInfo().username } },
    },
  ]);
  expect(await listed()).toEqual([{ ...plain, ...source }]);
  const systems = ['Patient=https://hospital.example/mrn?a=b', 'Encounter=urn:oid:2.16.840.1.113883.19.6'];
  const changed = await appendedBy(service, async () => {
    const idSystems = ['--id-system', systems[0], '--id-system', systems[1]];
    const set = ['set', 'lab', '--replace', '--format', 'fhir', ...idSystems];
    const { stdout } = await sources(...(set as [string]), '--json');
    const id_systems = {
      Patient: 'https://hospital.example/mrn?a=b',
      Encounter: 'urn:oid:2.16.840.1.113883.19.6',
    };
    expect(JSON.parse(stdout)).toEqual({ ...plain, id: 'lab', format: 'fhir', id_systems });
    expect(await listed()).toEqual([JSON.parse(stdout)]);
    expect((await sources('delete', 'lab')).stdout).toBe(`Deleted source lab of workspace ${workspace}.\n`);
  });
  expect(changed).toEqual([`whole.sources${CONFIGURED}`, `whole.sources${REMOVED}`]);
  expect(await listed()).toEqual([]);
  // Subscribers get records, not what a workspace has configured.
  const reader = await service.createKey('whole', ['events']);
  const sent = await service.as(reader.key).get('/events');
  expect([sent.status, eventsOf(sent)]).toEqual([200, []]);
});

test('what cannot be is refused, says what to do, and appends nothing', async () => {
  const { key, sources } = await workspaceOf('refusals');
  const foreign = await service.createKey('elsewhere');
  const deleted = await service.createKey('refusals');
  await service.keys.setKeyState(deleted.id, 'deleted');
  await sources('set', 'main', '--format', 'fhir');
  await sources('set', 'keyed', '--format', 'fhir', '--key', key);
  const fhir = ['--format', 'fhir'];
  const hl7 = ['--format', 'hl7v2'];
  const cases: [string[], number, string][] = [
    [['set', 'Main', ...fhir], 1, 'id must be 1 to 64 characters: a to z, 0 to 9, _ or -'],
    [['set', 'x'.repeat(65), ...fhir], 1, 'id must be 1 to 64 characters'],
    [['set', 'default', ...fhir], 1, 'id must not be default'],
    [['set', 'emr'], 2, 'specify the format of the new source with --format'],
    [['set', 'emr', '--format', 'hl7v3'], 2, 'Allowed choices are fhir, hl7v2'],
    [['set', 'emr', ...fhir, '--time-zone', 'Mars/Base'], 2, '--time-zone must be a time zone from the IANA'],
    [['set', 'emr', ...fhir, '--time-zone', '+05:00'], 2, '--time-zone must be a time zone from the IANA'],
    [['set', 'emr', ...fhir, '--key', 'key_none'], 2, '--key must be the id of an API key of the workspace'],
    [['set', 'emr', ...fhir, '--key', foreign.id], 2, '--key must be the id of an API key of the workspace'],
    [['set', 'emr', ...fhir, '--key', deleted.id], 2, '--key must be the id of an API key of the workspace'],
    [['set', 'emr', ...fhir, '--id-system', 'Claim=urn:x'], 2, 'where TYPE is one of Patient, Coverage'],
    [['set', 'emr', ...fhir, '--id-system', 'Patient'], 2, 'Specify TYPE=URI'],
    [['set', 'emr', ...fhir, '--id-system', 'Patient=the MRN'], 1, 'id_systems.Patient must be a URI'],
    [
      ['set', 'emr', ...hl7, '--id-system', 'Patient=urn:x'],
      1,
      'id_systems is only for sources of the format',
    ],
    [['set', 'emr', ...fhir, '--visit-authority', 'A'], 2, '--visit-authority is only for sources of the'],
    [['set', 'emr', ...hl7, '--facility', 'main'], 2, '--facility-name is required'],
    [['set', 'emr', ...hl7, '--patient-authority', ''], 2, '--patient-authority must not be empty'],
    [['set', 'emr', ...fhir], 1, 'Source main, of the format fhir, is already the default for this format'],
    [['set', 'emr', ...fhir, '--key', key], 1, 'Source keyed, of the format fhir, already uses this key.'],
    [['set', 'main', ...fhir, '--key', key], 1, 'Source keyed, of the format fhir, already uses this key.'],
    [
      ['set', 'emr', ...fhir, '--mllp-network', '192.0.2.1'],
      1,
      'mllp is only for sources of the format hl7v2',
    ],
    [['set', 'emr', ...hl7, '--mllp-network', '192.0.2'], 1, 'mllp.networks.0 must be a network such as'],
    [
      ['set', 'emr', ...hl7, '--mllp-certificate', 'lab'],
      1,
      'mllp.certificates.0 must be the SHA-256 fingerprint or the full subject',
    ],
    [['set', 'emr', ...hl7, '--mllp-port', '2576'], 1, 'mllp requires networks or certificates'],
    [['set', 'emr', ...hl7, '--mllp-network', '192.0.2.1', '--mllp-port', 'x'], 2, '--mllp-port must be'],
    [['delete', 'emr'], 1, 'The workspace has no source with that id.'],
  ];
  const appended = await appendedBy(service, async () => {
    for (const [[command = '', ...args], code, message] of cases) {
      const result = await sources(command, ...args);
      expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code, stdout: '' });
      expect(result.stderr).toContain(message);
    }
    expect(await inStores(service, 'sources', 'list', '--workspace', 'not_there')).toMatchObject({
      code: 1,
      stderr: 'Workspace not_there does not exist.\n',
    });
  });
  expect(appended).toEqual([]);
});

test('a workspace has a bounded number of sources; one that is there may still change', async () => {
  const { caller, workspace } = await workspaceOf('many');
  const keys: string[] = [];
  while (keys.length < MAX_SOURCES / 2) keys.push((await service.createKey('many')).id);
  await directory.refresh();
  for (const [index, key] of keys.entries()) {
    await configureSource(ports(), caller, { id: `emr-${index}`, format: 'fhir', key });
    await configureSource(ports(), caller, { id: `lab-${index}`, format: 'hl7v2', key });
  }
  const appended = await appendedBy(service, async () => {
    await expect(configureSource(ports(), caller, { id: 'more', format: 'fhir' })).rejects.toMatchObject({
      code: 'conflict',
      message: `A workspace can have at most ${MAX_SOURCES} sources.`,
    });
    await configureSource(ports(), caller, { id: 'lab-3', format: 'hl7v2' });
  });
  expect(appended).toEqual([`many.sources${CONFIGURED}`]);
  expect(await readSources(service.eventLog, workspace)).toHaveLength(MAX_SOURCES);
});

test('the key chooses the source, else it is the default of the format; a change is seen by those who remember', async () => {
  const { key, workspace, sources } = await workspaceOf('chosen');
  const remembered = new SourceCache(service.eventLog);
  const chosen = async (format: 'fhir' | 'hl7v2', keyId?: string) =>
    sourceOf(
      await remembered.of(workspace),
      format,
      keyId === undefined ? undefined : { keyId, known: directory.known },
    );
  const builtIn = { id: 'default', format: 'fhir', time_zone: 'UTC' };
  expect(await chosen('fhir', key)).toEqual(builtIn);
  await sources('set', 'emr', '--format', 'fhir', '--key', key);
  await eventually(async () => expect(await chosen('fhir', key)).toMatchObject({ id: 'emr' }));
  expect(await chosen('fhir')).toEqual(builtIn);
  expect(await chosen('fhir', 'key_of_another')).toEqual(builtIn);
  expect(await chosen('hl7v2', key)).toEqual({ ...builtIn, format: 'hl7v2' });
  await sources('set', 'others', '--format', 'fhir', '--time-zone', 'America/Denver');
  await eventually(async () =>
    expect(await chosen('fhir', 'key_of_another')).toEqual({
      ...builtIn,
      id: 'others',
      time_zone: 'America/Denver',
    }),
  );
  expect(await chosen('fhir', key)).toMatchObject({ id: 'emr' });
  await sources('delete', 'emr');
  await eventually(async () => expect(await chosen('fhir', key)).toMatchObject({ id: 'others' }));
});

test('while the log is away nobody is told of another source than the right one', async () => {
  const { caller, workspace } = await workspaceOf('away');
  await configureSource(ports(), caller, { id: 'emr', format: 'fhir' });
  const { eventLog } = service;
  const reading = vi.spyOn(eventLog, 'readStream').mockRejectedValueOnce(unavailable('event log'));
  const remembered = new SourceCache(eventLog);
  await expect(remembered.of(workspace)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await remembered.of(workspace)).toMatchObject([{ id: 'emr' }]);
  reading.mockRestore();
});
