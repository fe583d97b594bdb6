import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditEntry } from '../../projections/auditAggregation.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { eventually } from '../support/eventually.ts';
import { paths, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { logLines, newEvents, sharedService, type TestService } from '../support/service.ts';

const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  /** What the events of a write, a read and a refused request say of the request, which are the same. */
  async function told(headers: Record<string, string>) {
    const events = await newEvents(service, async () => {
      const written = await service.post(paths.payer, samples.payer(), headers);
      expect(written.status).toBe(200);
      expect(written.headers['request-id']).toMatch(/^[0-9a-f-]{36}$/);
      await service.get(paths.payer, headers);
      expect((await service.get(`${paths.payer}?limit=0`, headers)).status).toBe(400);
    });
    expect(events.map(({ type }) => type)).toEqual(['PayerUpserted', 'AccessRecorded', 'AccessRecorded']);
    const [first, ...others] = events.map(({ id, metadata }) => {
      expect(metadata.requestId).toBe(id);
      return { clientRequestId: metadata.clientRequestId, traceparent: metadata.traceparent };
    });
    for (const other of others) expect(other).toEqual(first);
    return first;
  }

  test.each([
    ['req-42', 'req-42'],
    ['  a b~ ', 'a b~'],
    ['x'.repeat(200), 'x'.repeat(128)],
    ['caf\u00e9\u0080-1', 'caf-1'],
    ['\u00fc', undefined],
  ])('X-Request-Id %j is kept beside ours', async (sent, kept) => {
    expect(await told({ 'x-request-id': sent })).toEqual({ clientRequestId: kept, traceparent: undefined });
  });

  test('traceparent is kept, and nothing that is none', async () => {
    expect(await told({ traceparent })).toEqual({ clientRequestId: undefined, traceparent });
    for (const bad of ['nonsense', traceparent.toUpperCase(), `${traceparent}<b>`, traceparent.slice(1)]) {
      expect(await told({ traceparent: bad, 'x-request-id': 'a' })).toEqual({
        clientRequestId: 'a',
        traceparent: undefined,
      });
    }
  });

  test('the log line and the audit trail have both', async () => {
    const headers = { 'x-request-id': 'req-43', traceparent };
    const kept = { clientRequestId: 'req-43', traceparent };
    const [event] = await newEvents(service, async () => {
      await service.post(paths.payer, samples.payer(), headers);
    });
    expect(auditEntry(event as RecordedEvent)).toMatchObject(kept);
    await eventually(async () =>
      expect(logLines(`"requestId":"${event?.id}"`)).toEqual([
        expect.objectContaining({ status: 200, ...kept }),
      ]),
    );
  });

  test('without them nothing is kept', async () => {
    expect(await told({})).toEqual({ clientRequestId: undefined, traceparent: undefined });
  });
});
