import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeyDirectory } from '../../src/modules/auth/keyDirectory.ts';
import { configureSource } from '../../src/modules/integrations/sourceCommands.ts';
import type { SourceInput } from '../../src/modules/integrations/sources.ts';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import type { Client, TestResponse } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { documentsPath } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  accessesBy,
  appendedBy,
  refusalsBy,
  sharedService,
  startFaultyApp,
  type TestService,
} from '../support/service.ts';

import { hl7Fixture, hl7Message, pid } from './hl7Messages.ts';
import { mutatedMessages } from './hl7Mutations.ts';

const HL7 = 'application/hl7-v2';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  function send(client: Client, body: string | Buffer, headers: Record<string, string> = {}) {
    return client.send('/hl7/v2', { method: 'POST', body, headers: { 'content-type': HL7, ...headers } });
  }

  /** The segments of acknowledgements, each as its fields, but for the header's. */
  function segmentsIn({ status, headers, text }: TestResponse): string[][] {
    expect([status, headers['content-type']]).toEqual([200, HL7]);
    const segments = text.split('\r').slice(0, -1);
    return segments.filter((one) => !one.startsWith('MSH')).map((one) => one.split('|'));
  }

  /** A message with ids and a name that no log may have. */
  function admission() {
    const [patient, visit, name] = [phi('patient'), phi('encounter'), phi('name')];
    const at = { patient: `/integration/patients/${patient}`, visit: `/integration/encounters/${visit}` };
    const person: [string, Record<number, string>] = ['PID', { 3: patient, 5: `${name}^Ada`, 7: '19840229' }];
    const stay = (fields: Record<number, string> = {}): [string, Record<number, string>] => [
      'PV1',
      { 2: 'I', 19: visit, ...fields },
    ];
    return { patient, visit, name, at, person, stay };
  }

  test('a patient is admitted, discharged, discharged too early and cancelled', async () => {
    const client = service.as((await service.createKey('stay')).key);
    const { patient, visit, name, at, person, stay } = admission();
    const read = async (path: string) => (await client.get(path)).body.record;
    const appended = await appendedBy(service, async () => {
      const message = hl7Message('ADT^A01', [
        person,
        stay({ 3: '4A^201^1^MAIN', 7: 'D-1^Nguyen^Ada', 44: '202603140930-0500' }),
        ['IN1', { 1: '1', 3: 'payer-1', 4: 'Aetna', 36: 'W1' }],
      ]);
      expect(segmentsIn(await send(client, message))).toContainEqual(['MSA', 'AA', 'C-1']);
    });
    expect(appended.toSorted()).toEqual([
      `stay.encounter-${visit}: EncounterUpserted`,
      'stay.facility-MAIN: FacilityUpserted',
      `stay.patient-${patient}: PatientUpserted`,
      'stay.payer-payer-1: PayerUpserted',
      'stay.provider-D-1: ProviderUpserted',
    ]);
    expect(await read(at.patient)).toMatchObject({
      last_name: name,
      primary_insurance: { payer_id: 'payer-1' },
    });
    expect(await read(at.visit)).toMatchObject({
      ...{ provider_id: 'D-1', facility_id: 'MAIN', date_of_service: '2026-03-14T09:30:00-05:00' },
      ...{ status: 'in-progress', is_completed: false },
    });

    const events = async (kind: string, fields: Record<number, string> = {}) => {
      const event: [string, Record<number, string>] = ['EVN', { 2: '20260315080000+0000', ...fields }];
      return appendedBy(service, () =>
        send(client, hl7Message(kind, [event, ['PID', { 3: patient }], stay()])),
      );
    };
    const one = [`stay.encounter-${visit}: EncounterUpserted`];
    expect(await events('ADT^A03')).toEqual(one);
    expect(await read(at.visit)).toMatchObject({ status: 'finished', is_completed: true });
    expect(await events('ADT^A03')).toEqual([]);
    expect(await events('ADT^A13')).toEqual(one);
    expect(await read(at.visit)).toMatchObject({ status: 'in-progress', is_completed: false });
    expect(await events('ADT^A11', { 4: 'Wrong person' })).toEqual(one);
    expect(await read(at.visit)).toMatchObject({
      ...{ voided_at: '2026-03-15T08:00:00Z', void_reason: 'Wrong person' },
    });
    await send(client, hl7Message('ADT^A01', [person, stay()]));
    expect(await read(at.visit)).not.toHaveProperty('voided_at');
  });

  test('what is named in passing replaces nothing', async () => {
    const client = service.as((await service.createKey('passing')).key);
    await client.post('/integration/payers', { id: 'payer-1', name: 'Aetna Life', payer_code: '60054' });
    const message = hl7Message('ADT^A28', [pid, ['IN1', { 1: '1', 3: 'payer-1', 4: 'AETNA' }]]);
    expect(await appendedBy(service, () => send(client, message))).toEqual([
      'passing.patient-4711: PatientUpserted',
    ]);
    expect((await client.get('/integration/payers/payer-1')).body.record).toMatchObject({
      name: 'Aetna Life',
    });
  });

  test('a document is stored with the encounter that it names', async () => {
    const client = service.as((await service.createKey('document')).key);
    await send(client, hl7Message('ADT^A28', [pid]));
    const appended = await appendedBy(service, async () => {
      const segments = segmentsIn(await send(client, hl7Fixture('mdm-t02-document')));
      expect(segments[0]).toEqual(['MSA', 'AA', 'MSG00016']);
      expect(segments[1]?.slice(2, 5)).toEqual(['OBX^1^5', '103^Table value not found^HL70357', 'W']);
    });
    expect(appended.toSorted()).toEqual([
      'document.document-V-1001%2FDOC-31: DocumentUploaded',
      'document.encounter-V-1001: EncounterUpserted',
      'document.facility-ELMST: FacilityUpserted',
      'document.provider-1234567893: ProviderUpserted',
    ]);
    const { text } = await client.get(documentsPath('V-1001', 'DOC-31'));
    expect(text).toMatch(/^%PDF-1\.4/);
    expect(await appendedBy(service, () => send(client, hl7Fixture('mdm-t02-document')))).toEqual([]);
  });

  test('a message of which anything is wrong leaves nothing, and those around it are taken', async () => {
    const client = service.as((await service.createKey('wrong')).key);
    const message = (id: string, ...insurances: [string, Record<number, string>][]) =>
      hl7Message(
        'ADT^A04',
        [
          ['PID', { 3: id, 5: 'Rivera^Bea', 7: '19840229' }],
          ['PV1', { 2: 'O', 19: `v-${id}` }],
          ...insurances,
        ],
        { 10: id },
      );
    const body = [message('a'), message('b', ['IN1', { 1: '1', 3: 'payer-9' }]), message('c')];
    let audited: unknown[] = [];
    const appended = await appendedBy(service, async () => {
      audited = await accessesBy(service, async () => {
        const answered = await send(client, gzipSync(body.join('\r')), { 'content-encoding': 'gzip' });
        expect(segmentsIn(answered)).toEqual([
          ['MSA', 'AA', 'a'],
          ['MSA', 'AE', 'b', 'patient.primary_insurance.payer_id refers to a payer that does not exist.'],
          [
            ...['ERR', '', 'IN1^1^3^1^1', '204^Unknown key identifier^HL70357', 'E', '', '', ''],
            'patient.primary_insurance.payer_id refers to a payer that does not exist.',
          ],
          [
            ...['ERR', '', 'PID^1^3^1^1', '204^Unknown key identifier^HL70357', 'E', '', '', ''],
            'encounter.patient_id refers to a patient that does not exist.',
          ],
          ['MSA', 'AA', 'c'],
        ]);
      });
    });
    expect(appended).toEqual([
      ...['wrong.patient-a: PatientUpserted', 'wrong.encounter-v-a: EncounterUpserted'],
      ...['wrong.patient-c: PatientUpserted', 'wrong.encounter-v-c: EncounterUpserted'],
    ]);
    expect(audited).toEqual([
      expect.objectContaining({ action: 'record.batch', code: 'reference_not_found', status: 200 }),
    ]);
  });

  test('a visit counts without a doctor who was not sent yet, and gets the doctor later', async () => {
    const client = service.as((await service.createKey('doctor')).key);
    const { visit, at, person, stay } = admission();
    const admit = (doctor: string) =>
      send(client, hl7Message('ADT^A01', [person, stay({ 7: doctor })], { 10: uuidv7() }));
    const providerNow = async () => (await client.get(at.visit)).body.record.provider_id;
    const appended = await appendedBy(service, async () => {
      const [first, remark] = segmentsIn(await admit('D-9'));
      expect(first?.slice(0, 2)).toEqual(['MSA', 'AA']);
      expect(remark).toEqual([
        ...['ERR', '', 'PV1^1^7^1^1', '204^Unknown key identifier^HL70357', 'W', '', '', ''],
        'No provider has this id, so encounter.provider_id is ignored. Send the provider, or its family and given name.',
      ]);
    });
    expect(appended).toContain(`doctor.encounter-${visit}: EncounterUpserted`);
    expect(await providerNow()).toBeUndefined();
    await client.post('/integration/providers', { id: 'D-9', first_name: 'Kofi', last_name: 'Osei' });
    await admit('D-9');
    expect(await providerNow()).toBe('D-9');
    // One that is known stays when the next one is not.
    await admit('D-10');
    expect(await providerNow()).toBe('D-9');
    await admit('D-10^Nguyen^Ada');
    expect(await providerNow()).toBe('D-10');
    await admit('""');
    expect(await providerNow()).toBeUndefined();
    const performed = hl7Message('DFT^P03', [person, stay(), ['FT1', { 6: 'CG', 7: 'X', 20: 'D-11' }]], {
      10: uuidv7(),
    });
    expect(segmentsIn(await send(client, performed))).toContainEqual(
      expect.arrayContaining(['FT1^1^20^1^1', '204^Unknown key identifier^HL70357', 'W']),
    );
  });

  test('what is remarked of a message that is taken is in its acknowledgement', async () => {
    const { person, stay } = admission();
    const message = hl7Message('ADT^A03', [person, stay({ 4: 'R', 7: '1234567890^Nguyen^Ada^^^^^^NPI' })]);
    const [first, ...remarks] = segmentsIn(await send(service, message));
    expect(first).toEqual(['MSA', 'AA', 'C-1']);
    expect(remarks.map((fields) => [fields[2], fields[3]?.slice(0, 3), fields[4], fields[8]])).toEqual([
      ['PV1^1^7^1^1', '102', 'W', 'provider.npi has a wrong check digit.'],
      ...[
        ['date_of_service', 'the date of service'],
        ['facility_id', 'the place of service'],
      ].map(([field, what]) => [
        ...['PV1^1', '101', 'W'],
        `encounter.${field}: A claim needs ${what}. This field is empty.`,
      ]),
    ]);
  });

  test('the source of the key says how messages are read', async () => {
    const { key, id, workspace } = await service.createKey('source');
    const directory = await KeyDirectory.open(service.eventLog);
    const caller = { workspace, principal: { type: 'operator', id: 'test' }, requestId: uuidv7() } as const;
    const source: SourceInput = {
      ...{ id: 'adt', format: 'hl7v2', key: id, time_zone: 'America/Chicago' },
      ...{ patient_authority: 'STATE', facility: { id: 'main', name: 'Main Campus' } },
    };
    await configureSource({ eventLog: service.eventLog, directory }, caller, source);
    directory.close();
    const client = service.as(key);
    await send(client, hl7Fixture('adt-a01-admission'));
    expect((await client.get('/integration/encounters/V-1001')).body.record).toMatchObject({
      ...{ patient_id: 'P-88', date_of_service: '2026-03-14T09:30:00-05:00', facility_id: 'ELMST' },
    });
    // The facility of the source is for encounters that have none: a message without one leaves it.
    const later = hl7Fixture('adt-a01-admission')
      .toString()
      .replace(/^PV1\|.*$/m, 'PV1|1|I|||||||||||||||||V-1001');
    for (const [visit, facility_id] of [
      ['V-1001', 'ELMST'],
      ['V-1002', 'main'],
    ]) {
      const control = `later-${visit}`;
      const text = later
        .replaceAll('V-1001', String(visit))
        .replace(/(\|ADT\^A01[^|]*\|)[^|]*/, `$1${control}`);
      await send(client, text);
      const { body } = await client.get(`/integration/encounters/${visit}`);
      expect(body.record).toMatchObject({ facility_id });
    }
  });

  test.each([
    ['something else', 400, 'malformed_body', 'Hello', HL7],
    ['JSON', 415, 'unsupported_media_type', '{}', 'application/json'],
    ['more than 8 MB', 413, 'payload_too_large', Buffer.alloc(8 * 1024 * 1024 + 1), HL7],
    ['more than 1,000 messages', 413, 'payload_too_large', 'MSH|^~\\&|\r'.repeat(1_001), HL7],
  ])('%s is refused', async (_, status, code, body, type) => {
    const appended = await appendedBy(service, async () => {
      expect(await send(service, body, { 'content-type': type })).toMatchObject({ status, body: { code } });
    });
    expect(appended).toEqual([]);
  });

  test('a key that may not write is refused', async () => {
    const { key } = await service.createKey('reader', ['read']);
    const refused = await refusalsBy(service, async () => {
      expect((await send(service.as(key), hl7Fixture('adt-a28-person'))).status).toBe(403);
    });
    expect(refused).toMatchObject([{ code: 'permission_denied', route: '/hl7/v2' }]);
  });

  test('messages that were tampered with are acknowledged or refused, and never fail', async () => {
    const client = service.as((await service.createKey('tampered')).key);
    const codes = new Set<string>();
    for (const message of fc.sample(mutatedMessages, 100)) {
      const { status, text } = await send(client, message);
      codes.add(status === 200 ? (/\rMSA.(A[AER])/.exec(text)?.[1] ?? 'none') : String(status));
    }
    expect([...codes].filter((code) => !['AA', 'AE', 'AR', '400'].includes(code))).toEqual([]);
    expect(codes.size).toBeGreaterThan(1);
  });

  test.each([
    ['known', ['encounter', 'patient']],
    ['new', ['patient', 'encounter']],
  ])(
    'a message about a %s patient whom somebody else changes in between is written after that',
    async (which, order) => {
      const { patient, visit, at, person, stay } = admission();
      const former: typeof person = ['PID', { ...person[1], 5: 'Gordon^Ada' }];
      if (which === 'known') await send(service, hl7Message('ADT^A28', [former]));
      const given = { id: patient, first_name: 'Ada', last_name: 'Byron', date_of_birth: '1984-02-29' };
      const appendEach: EventLog['appendEach'] = async (appends) => {
        await service.post('/integration/patients', { ...given, phone: '+1 402 555 0100' });
        return service.eventLog.appendEach(appends);
      };
      const app = await startFaultyApp(service, { eventLog: { appendEach } });
      try {
        const appended = await appendedBy(service, async () => {
          expect(segmentsIn(await send(app, hl7Message('ADT^A01', [person, stay()])))).toContainEqual([
            ...['MSA', 'AA', 'C-1'],
          ]);
        });
        const events = {
          patient: `clinic.patient-${patient}: PatientUpserted`,
          encounter: `clinic.encounter-${visit}: EncounterUpserted`,
        };
        expect(appended).toEqual([events.patient, ...order.map((one) => events[one as keyof typeof events])]);
      } finally {
        await app.stop();
      }
      const { record } = (await service.get(at.patient)).body;
      expect(record).toMatchObject({ last_name: person[1][5]?.split('^')[0], phone: '+1 402 555 0100' });
    },
  );

  test('a message that changes nothing since the last one changes what another process wrote in between', async () => {
    const { patient, at, person } = admission();
    const other: typeof person = ['PID', { ...person[1], 5: 'Gordon^Ada' }];
    const event = `clinic.patient-${patient}: PatientUpserted`;
    const app = await startFaultyApp(service, {});
    try {
      const sent = [
        { by: service, what: person, appended: [event] },
        { by: app, what: other, appended: [event] },
        { by: service, what: person, appended: [event] },
        { by: service, what: person, appended: [] },
        { by: app, what: other, appended: [event] },
      ];
      for (const { by, what, appended } of sent) {
        const message = hl7Message('ADT^A08', [what]).replace('C-1', phi('control'));
        expect(await appendedBy(service, () => send(by, message))).toEqual(appended);
      }
    } finally {
      await app.stop();
    }
    const { version, record } = (await service.get(at.patient)).body;
    expect([version, record.last_name]).toEqual([4, 'Gordon']);
  });

  test('a record counts once against the limit, also where its message is tried again', async () => {
    const [one, another] = [admission(), admission()];
    const other: typeof one.person = ['PID', { ...one.person[1], 5: 'Gordon^Ada' }];
    const limited = await service.another({ BATCH_LINES_PER_MINUTE: '3' });
    const codes: string[] = [];
    try {
      for (const [by, what] of [
        [limited, one.person],
        [service, other],
        [limited, one.person],
        [limited, another.person],
        [limited, admission().person],
      ] as const) {
        const { text } = await send(by, hl7Message('ADT^A08', [what]).replace('C-1', phi('control')));
        codes.push(/MSA\|(..)/.exec(text)?.[1] ?? JSON.parse(text).code);
      }
    } finally {
      await limited.stop();
    }
    expect(codes).toEqual(['AA', 'AA', 'AA', 'AA', 'rate_limited']);
  });

  test('while the event log is away nothing is acknowledged; the same messages are taken later', async () => {
    const { patient, visit, person, stay } = admission();
    let calls = 0;
    const appendEach: EventLog['appendEach'] = async (appends) => {
      calls += 1;
      return calls > 1 ? appends.map(() => unavailable('event log')) : service.eventLog.appendEach(appends);
    };
    const app = await startFaultyApp(service, { eventLog: { appendEach } });
    const discharge = hl7Message('ADT^A03', [['PID', { 3: patient }], stay()]);
    const body = [hl7Message('ADT^A28', [person]), discharge].join('\r');
    try {
      const appended = await appendedBy(service, async () => {
        const { status, headers, text } = await send(app, body);
        expect([status, headers['retry-after'], text.includes('MSA')]).toEqual([503, '2', false]);
      });
      expect(appended).toEqual([`clinic.patient-${patient}: PatientUpserted`]);
    } finally {
      await app.stop();
    }
    const appended = await appendedBy(service, async () => {
      const answered = segmentsIn(await send(service, body));
      expect(answered.filter(([name]) => name === 'MSA').map(([, code]) => code)).toEqual(['AA', 'AA']);
    });
    expect(appended).toEqual([`clinic.encounter-${visit}: EncounterUpserted`]);
  });
});
