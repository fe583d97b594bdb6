import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { storedFiles } from '../support/files.ts';
import { phi } from '../support/output.ts';
import { createEncounter, documentsPath, formBody, formType, part, pdf } from '../support/samples.ts';
import { changesBy, startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let encounter: string;
beforeAll(async () => {
  service = await startTestService();
  encounter = await createEncounter(service);
});
afterAll(() => service.stop());

test('damaged forms are taken or refused, never a failure, and only what was taken is kept', async () => {
  const whole = formBody([
    part.field('document_id', phi('document')),
    part.file(pdf()),
    part.field('category', 'referral'),
  ]);
  const place = fc.integer({ min: 0, max: whole.length });
  const byte = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(...Buffer.from('\r\n-";=:')));
  const edits = fc.array(fc.tuple(place, fc.integer({ min: 0, max: 4 }), fc.array(byte, { maxLength: 4 })), {
    minLength: 1,
    maxLength: 5,
  });
  let taken = 0;
  const events = await changesBy(service, () =>
    fc.assert(
      fc.asyncProperty(edits, async (changes) => {
        let body = whole;
        for (const [at, removed, added] of changes) {
          body = Buffer.concat([body.subarray(0, at), Buffer.from(added), body.subarray(at + removed)]);
        }
        const { status } = await service.send(documentsPath(encounter), {
          method: 'POST',
          body,
          headers: formType,
        });
        expect([200, 400]).toContain(status);
        if (status === 200) taken += 1;
      }),
      { numRuns: 400 },
    ),
  );
  expect(taken).toBeGreaterThan(0);
  expect(events).toHaveLength(taken);
  expect(storedFiles(service.config).objects.sort()).toEqual(events.map(({ data }) => data.object_id).sort());
  await eventually(() => expect(storedFiles(service.config).uploads).toEqual([]));
}, 60_000);
