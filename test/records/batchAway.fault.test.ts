import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordStream } from '../../src/domain/events/streams.ts';
import { answerOf, type BatchAnswer, linesOf, postLines } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { withOwnServers } from '../support/servers.ts';
import { appendedBy, readAll, startTestService, type TestService } from '../support/service.ts';

const LINES = 1_500;
/** The server goes away when the line behind so many is stored, the first of the second group. */
const STORED_BEFORE = 500;
const LONG_MS = 120_000;

withOwnServers('a batch whose event log is killed on the way', (servers) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await servers.start());
  }, LONG_MS);
  afterAll(async () => {
    await service.stop();
    await servers.remove();
  });

  const name = phi('Aetna');
  const payerLines = (prefix: string) =>
    Array.from({ length: LINES }, (_, n) => ({ kind: 'payer', record: { id: `${prefix}-${n}`, name } }));
  const eventOf = (id: unknown) => `clinic.payer-${id}: PayerUpserted`;
  const withKey = () => ({ 'idempotency-key': phi('key') });

  /** The answer to a batch during which the server is killed. */
  async function killedDuring(
    lines: ReturnType<typeof payerLines>,
    key: Record<string, string>,
  ): Promise<BatchAnswer> {
    const answer = postLines(service, linesOf(lines), key);
    const stream = recordStream(
      service.workspaceId('clinic'),
      'payer',
      lines[STORED_BEFORE]?.record.id ?? '',
    );
    const isStored = eventually(
      async () => expect(await service.eventLog.readStream(stream, { limit: 1 })).toHaveLength(1),
      LONG_MS,
    );
    // A server that is too slow for its clients counts as away, too.
    isStored.catch(() => undefined);
    await Promise.race([isStored, answer]);
    await servers.eventLog.kill();
    return answerOf(await answer);
  }

  /** Each line has one result, in order, that says stored or come back; resolves with the ids of those that are stored. */
  function expectAnswered(
    { results, summary }: BatchAnswer,
    lines: ReturnType<typeof payerLines>,
  ): unknown[] {
    expect(results.map(({ line, id }) => [line, id])).toEqual(
      lines.map(({ record }, index) => [index + 1, record.id]),
    );
    const stored = results.filter(({ status }) => status === 200);
    const away = { status: 503, code: 'unavailable', retryable: true };
    const others = results.filter(({ status }) => status !== 200);
    expect(others.map(({ status, code, retryable }) => ({ status, code, retryable }))).toEqual(
      others.map(() => away),
    );
    expect(summary).toMatchObject({
      accepted: stored.length,
      refused: others.length,
      retryable: others.length,
    });
    return stored.map(({ id }) => id);
  }

  /** Sends a batch again until nothing of it is refused. */
  const sendUntilStored = (lines: ReturnType<typeof payerLines>, key: Record<string, string>) =>
    eventually(async () => {
      const answer = answerOf(await postLines(service, linesOf(lines), key));
      expect(answer.summary).toMatchObject({ accepted: LINES, created: LINES, refused: 0 });
      return answer;
    }, LONG_MS);

  test(
    'while it stays away, what is left is answered with 503; the repeat stores it, and nothing twice',
    async () => {
      const lines = payerLines('away');
      const key = withKey();
      const appended = await appendedBy(service, async () => {
        const stored = expectAnswered(await killedDuring(lines, key), lines);
        expect(stored.length).toBeGreaterThan(0);
        expect(stored.length).toBeLessThan(LINES);
        await servers.eventLog.start();
        const events = await eventually(() => readAll(service.eventLog), LONG_MS);
        const durable = new Set(events.map(({ data }) => data.id));
        expect(stored.filter((id) => !durable.has(id))).toEqual([]);
        const { results, headers } = await sendUntilStored(lines, key);
        expect(headers['idempotent-replayed']).toBe('true');
        expect(results.filter(({ version }) => version !== 1)).toEqual([]);
      });
      expect(appended.toSorted()).toEqual(lines.map(({ record }) => eventOf(record.id)).toSorted());
    },
    LONG_MS * 2,
  );
});
