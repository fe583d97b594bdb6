import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { toCloudEvent } from '../../src/modules/eventStream/cloudEvents.ts';
import { safeHarbor } from '../../src/modules/eventStream/deidentificationSettings.ts';
import {
  buildMessage,
  buildPing,
  MAX_BODY_BYTES,
  messageId,
  messageOfCloudEvent,
} from '../../src/modules/webhooks/messages.ts';
import type { WebhookPayload } from '../../src/modules/webhooks/webhook.ts';

import { deidentify, type Fields, recordedEventOf } from '../support/log.ts';

const patient: Fields = { id: 'p/1', first_name: 'Maria', gender: 'female', date_of_birth: '1980-02-29' };
const event = recordedEventOf('patient', patient);
const changed = ['first_name', 'gender'];

const change = { changed, isFirst: false };
const oneTombstone = { part: 1, parts: 1 };

function bodyOf(payload: WebhookPayload, recorded = event, told = change) {
  const narrowing = payload === 'deidentified' ? { deidentify, settings: safeHarbor } : undefined;
  return JSON.parse(buildMessage({ id: 'wh_1', payload }, recorded, told, narrowing).body);
}

describe('the id of a message', () => {
  test('is the same for the same event and webhook, and no other', () => {
    const id = messageId('wh_1', event.id);
    expect(id).toMatch(/^msg_[\w-]{27}$/);
    for (const payload of ['reference', 'full', 'deidentified'] as const) {
      expect(buildMessage({ id: 'wh_1', payload }, event, change, undefined).id).toBe(id);
    }
    expect(new Set([id, messageId('wh_2', event.id), messageId('wh_1', 'other')]).size).toBe(3);
  });

  test('is made by a known construction: SHA-256 of both', () => {
    expect(messageId('wh_1', 'event-1')).toBe('msg_0lUpU-FzrLyxvZFkqnr93QlCfxA');
  });
});

describe('a message', () => {
  test('that holds all is the event of the stream', () => {
    expect(bodyOf('full')).toEqual(toCloudEvent(event, changed));
  });

  test('that is de-identified is the event of the de-identified view', () => {
    expect(bodyOf('deidentified')).toEqual(deidentify('clinic', toCloudEvent(event, changed)));
  });

  test('that refers to its event holds no value of the record', () => {
    expect(bodyOf('reference')).toEqual({
      specversion: '1.0',
      id: event.id,
      source: '/workspaces/clinic',
      type: 'chartledger.patient.upserted.v1',
      subject: 'patient/p%2F1',
      time: event.recordedAt,
      datacontenttype: 'application/json',
      sequence: '0000000000000042',
      data: { version: 3, outcome: 'updated', changed },
    });
  });

  test.each<[string, typeof change]>([
    ['created', { changed, isFirst: true }],
    ['updated', { changed, isFirst: false }],
    ['unchanged', { changed: [], isFirst: false }],
  ])('says that a record was %s', (outcome, told) => {
    const data = { version: 3, outcome, changed: told.changed };
    expect(bodyOf('reference', event, told).data).toEqual(data);
  });

  test('says that a document was removed', () => {
    const ids = { encounter_id: 'e1', document_id: 'd1' };
    const removed = { ...recordedEventOf('document', ids), type: 'DocumentRemoved' };
    expect(bodyOf('reference', removed, { changed: ['category'], isFirst: false })).toMatchObject({
      type: 'chartledger.document.removed.v1',
      subject: 'document/e1/d1',
      data: { version: 3, outcome: 'removed', changed: ['category'] },
    });
  });

  test.each([
    ['EncounterBilled', 'updated'],
    ['BillingChangeAcknowledged', 'updated'],
    ['FindingAnswered', 'updated'],
    ['ClaimOutcomeReported', 'updated'],
    ['EncounterReadinessChanged', 'updated'],
    ['ReadinessErased', 'erased'],
    ['ReadinessRulesApplied', 'updated'],
  ])('says of a %s that readiness is %s, also where it is made of the stream', (type, outcome) => {
    const recorded = recordedEventOf(type, {
      id: 'e1',
      encounter_id: 'e1',
      ...(outcome === 'erased' && oneTombstone),
    });
    const told = { changed: outcome === 'erased' ? [] : ['to'], isFirst: false };
    const message = bodyOf('reference', recorded, told);
    expect(message.data).toEqual({ version: 3, outcome, changed: told.changed });
    const webhook = { id: 'wh_1', payload: 'reference' } as const;
    const { body } = messageOfCloudEvent(webhook, toCloudEvent(recorded, told.changed));
    expect(JSON.parse(body)).toEqual(message);
  });

  describe('as large as a message may be', () => {
    /** A patient's event whose message holds so many bytes, with characters of several bytes among them. */
    const eventOf = (bytes: number) => {
      const withNotes = (notes: string) => recordedEventOf('patient', { ...patient, address_line_1: notes });
      const rest = bytes - Buffer.byteLength(JSON.stringify(toCloudEvent(withNotes(''), changed)));
      return withNotes('é'.repeat(1_000) + 'x'.repeat(rest - 2_000));
    };
    const full = (recorded: RecordedEvent) =>
      buildMessage({ id: 'wh_1', payload: 'full' }, recorded, change, undefined).body;

    test('is sent whole', () => {
      const body = full(eventOf(MAX_BODY_BYTES));
      expect(Buffer.byteLength(body)).toBe(256 * 1024);
      expect(JSON.parse(body).data.sent.first_name).toBe('Maria');
    });

    test('and a byte more refers to its event, and says so', () => {
      const body = full(eventOf(MAX_BODY_BYTES + 1));
      expect(JSON.parse(body).data).toEqual({ version: 3, outcome: 'updated', changed, truncated: true });
      expect(body).not.toContain('Maria');
    });
  });

  test('that is a ping says of which webhook', () => {
    const at = '2026-03-14T09:30:15.250Z';
    const ping = buildPing({ id: 'wh_1' }, { revision: 4, eventId: 'event-1', at, kind: 'ping' });
    expect(ping.id).toBe(messageId('wh_1', 'event-1'));
    expect(JSON.parse(ping.body)).toEqual({
      specversion: '1.0',
      id: 'event-1',
      source: '/webhooks/wh_1',
      type: 'chartledger.webhook.ping.v1',
      time: at,
      datacontenttype: 'application/json',
      data: { webhook_id: 'wh_1' },
    });
  });
});
