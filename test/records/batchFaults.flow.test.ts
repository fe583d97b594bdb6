import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { sendBatch } from '../support/client.ts';
import { keyed } from '../support/log.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, sharedService, startFaultyApp, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service.stop());

const away = async () => {
  throw unavailable('event log');
};
const payerLines = (count: number) =>
  Array.from({ length: count }, () => ({ kind: 'payer', record: samples.payer() }));

/** A batch of 1,200 payers, and of patients who refer to the first and last of them. */
function linesOfTwoKinds() {
  const payers = payerLines(1_200);
  const patients = [payers[0], payers.at(-1)].map((payer) => ({
    kind: 'patient',
    record: { ...samples.patient(), primary_insurance: { payer_id: payer?.record.id } },
  }));
  return [...patients, ...payers];
}

test('when the event log goes away, the lines that are left are answered with 503, and the answer ends', async () => {
  let groups = 0;
  const appendEach: EventLog['appendEach'] = async (appends) => {
    groups += 1;
    return groups === 1 ? service.eventLog.appendEach(appends) : appends.map(() => unavailable('event log'));
  };
  const app = await startFaultyApp(service, { eventLog: { appendEach, append: away } });
  try {
    const lines = linesOfTwoKinds();
    const appended = await appendedBy(service, async () => {
      const { results, summary } = await sendBatch(app, lines);
      const stored = results.filter(({ status }) => status === 200);
      expect(stored.map(({ line }) => line)).toEqual(Array.from({ length: 500 }, (_, n) => n + 3));
      for (const result of results.filter(({ status }) => status !== 200)) {
        const { kind, record } = lines[result.line - 1] as (typeof lines)[0];
        expect(result).toMatchObject({
          ...{ kind, id: record.id, status: 503, code: 'unavailable', retryable: true, retryAfter: 2 },
        });
      }
      expect(summary).toMatchObject({ lines: 1_202, accepted: 500, refused: 702, retryable: 702 });
    });
    expect(appended).toHaveLength(500);
    expect(groups).toBe(4);
  } finally {
    await app.stop();
  }
});

test('an event log that is away for a moment is asked again, and nothing is written twice', async () => {
  let groups = 0;
  const appendEach: EventLog['appendEach'] = async (appends) => {
    groups += 1;
    const results = await service.eventLog.appendEach(appends);
    return groups === 1 ? results.map((result, n) => (n < 100 ? result : unavailable('event log'))) : results;
  };
  const app = await startFaultyApp(service, { eventLog: { appendEach } });
  try {
    const lines = payerLines(300);
    const appended = await appendedBy(service, async () => {
      const { results, summary } = await sendBatch(app, lines);
      expect(results.map(({ id, version }) => [id, version])).toEqual(
        lines.map(({ record }) => [record.id, 1]),
      );
      expect(summary).toMatchObject({ accepted: 300, created: 300 });
    });
    expect(appended).toHaveLength(300);
  } finally {
    await app.stop();
  }
});

test('where it cannot be told whether a record exists, nobody is told that it does not', async () => {
  const faults = { eventLog: { readStream: away }, readModels: { load: away } };
  const app = await startFaultyApp(service, faults);
  try {
    const patient = { ...samples.patient(), primary_insurance: { payer_id: samples.payer().id } };
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      const { results } = await sendBatch(app, [
        { kind: 'payer', record: payer },
        { kind: 'patient', record: patient },
      ]);
      expect(results).toMatchObject([{ status: 200 }, { status: 503, code: 'unavailable' }]);
    });
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  } finally {
    await app.stop();
  }
});

test('a failure of the service is the answer to the lines that it concerns, and says nothing of itself', async () => {
  const appendEach = () => Promise.reject(new TypeError('secret'));
  const app = await startFaultyApp(service, { eventLog: { appendEach } });
  try {
    const appended = await appendedBy(service, async () => {
      const { results, summary, text } = await sendBatch(app, payerLines(3));
      expect(results).toMatchObject(Array(3).fill({ status: 500, code: 'internal', retryable: false }));
      expect(summary).toMatchObject({ lines: 3, refused: 3, codes: { internal: 3 } });
      expect(text).not.toContain('secret');
    });
    expect(appended).toEqual([]);
  } finally {
    await app.stop();
  }
});

test('when the service stops, what is under way comes to an end that tells what was not stored', async () => {
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const appendEach: EventLog['appendEach'] = async (appends) => {
    begun.resolve();
    await goOn.promise;
    return service.eventLog.appendEach(appends);
  };
  const app = await startFaultyApp(service, { eventLog: { appendEach } });
  try {
    const appended = await appendedBy(service, async () => {
      const answering = sendBatch(app, payerLines(1_200));
      await begun.promise;
      const closing = app.batches.close();
      goOn.resolve();
      const { summary } = await answering;
      expect(summary).toMatchObject({ lines: 1_200, accepted: 500, codes: { unavailable: 700 } });
      await closing;
    });
    expect(appended).toHaveLength(500);
  } finally {
    await app.stop();
  }
});

test('what is stored does not count against the limit of a repeat, which comes through bit by bit', async () => {
  const lines = payerLines(5);
  const key = keyed();
  const settings = { BATCH_LINES_PER_MINUTE: '2' };
  const appended = await appendedBy(service, async () => {
    for (const accepted of [2, 4, 5]) {
      // Its count is its own: as if a minute had passed.
      const limited = await service.another(settings);
      const { summary } = await sendBatch(limited, lines, key);
      expect(summary).toMatchObject({ accepted, retryable: 5 - accepted });
      if (accepted === 4) expect((await sendBatch(limited, lines, key)).summary).toEqual(summary);
      await limited.stop();
    }
  });
  expect(appended).toHaveLength(5);
});
