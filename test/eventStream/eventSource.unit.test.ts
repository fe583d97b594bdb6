import { expect, test } from 'vitest';
import { canonicalJson } from '../../src/domain/events/canonicalJson.ts';
import type { EventSource } from '../../src/domain/events/event.ts';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { eventLeaf } from '../../src/domain/merkle.ts';

import '../../src/domain/records/catalog.ts';

const at = { stream: 'clinic.payer-1', revision: 0, recordedAt: '2026-03-14T00:00:00.000Z', position: 1 };

/** An event of a message, but for its salt. */
function sourced(source: EventSource) {
  const principal = { type: 'operator', id: 'test' } as const;
  const caller = {
    workspace: 'clinic',
    principal,
    requestId: '019cec3f-5f5b-7000-8000-000000000001',
    source,
  };
  const event = newEvent(caller, 'PayerUpserted', { id: '1', name: 'Elm' });
  return { ...event, ...at, metadata: { ...event.metadata, salt: '00' } };
}

test('the configuration by which a message was read again is of the event, and its leaf covers it', () => {
  const [plain, first, second] = [
    sourced({ id: 'lab', message: 'm' }),
    sourced({ message: 'm', id: 'lab', configuration: 1 }),
    sourced({ id: 'lab', message: 'm', configuration: 2 }),
  ];
  expect(plain.metadata.source).toEqual({ id: 'lab', message: 'm' });
  expect(first.metadata.source).toEqual({ configuration: 1, id: 'lab', message: 'm' });
  for (const { metadata } of [plain, first]) expect(JSON.stringify(metadata)).toBe(canonicalJson(metadata));
  expect(new Set([plain, first, second].map(eventLeaf)).size).toBe(3);
});
