import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/errors.ts';
import { hl7Message } from '../ingest/hl7Messages.ts';
import type { Faults } from '../support/app.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { startFaultyMllp } from '../support/faultyMllp.ts';
import { END, ownAddress, RawSender, setSource, VT } from '../support/mllp.ts';
import { phi } from '../support/phi.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const away = () => Promise.reject(unavailable('store'));

onEveryEngine((start) => {
  let service: TestService;
  const from = ownAddress();
  beforeAll(async () => {
    service = await start();
    await setSource(service, service.workspaceId('clinic'), { id: 'lab', mllp: { networks: [from] } });
  });
  afterAll(() => service.stop());

  function registration() {
    const patient = phi('patient');
    const person = { 3: patient, 5: 'Lopez^Maria', 7: '19840229' };
    const text = hl7Message('ADT^A28', [['PID', person]], { 10: randomUUID() });
    return { text, frame: `${VT}${text}${END}`, line: `clinic.patient-${patient}: PatientUpserted` };
  }

  /** Runs `work` with a sender on a listener with faults. */
  async function onListener(
    faults: Faults,
    work: (port: number, stop: () => Promise<void>) => Promise<void>,
    times = { idle: 60_000, frame: 60_000 },
  ): Promise<void> {
    const listener = await startFaultyMllp(service, faults, times);
    let stopping: Promise<void> | undefined;
    const stop = () => {
      stopping ??= listener.stop();
      return stopping;
    };
    try {
      await work(listener.port, stop);
    } finally {
      await stop();
    }
  }

  const outages: [string, Faults][] = [
    ['event log', { eventLog: { append: away } }],
    ['event log that answers no question', { eventLog: { readStream: away } }],
    ['state store', { stateStore: { save: away } }],
    ['document store', { documentStore: { put: away } }],
  ];
  test.each(outages)(
    'while the %s is away nothing is acknowledged, and the connection closes',
    async (_store, faults) => {
      const { frame, text, line } = registration();
      const appended = await appendedBy(service, () =>
        onListener(faults, async (port) => {
          const sender = await RawSender.connect(port, { from });
          sender.write(frame);
          expect(await sender.closed()).toBe('');
        }),
      );
      expect(appended).toEqual([]);
      const taken = await appendedBy(service, () =>
        onListener({}, async (port) => {
          const sender = await RawSender.claimed(port, { from });
          expect(await sender.send(text)).toEqual(['MSA', 'AA', expect.any(String)]);
        }),
      );
      expect(taken).toEqual([line]);
    },
  );

  test('at the end the message under way is acknowledged, those behind it are not taken, and idle connections close', async () => {
    const [first, second] = [registration(), registration()];
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    const hold = async (...args: Parameters<TestService['eventLog']['readStream']>) => {
      if (!args[0].includes('.sources')) {
        isHeld = true;
        await held.promise;
      }
      return service.eventLog.readStream(...args);
    };
    const appended = await appendedBy(service, () =>
      onListener({ eventLog: { readStream: hold } }, async (port, stop) => {
        const idle = await RawSender.connect(port, { from });
        const sender = await RawSender.connect(port, { from });
        sender.write(first.frame + second.frame);
        await eventually(() => expect(isHeld).toBe(true));
        const stopping = stop();
        expect(await idle.closed()).toBe('');
        await expect(RawSender.connect(port, { from })).rejects.toThrow('ECONNREFUSED');
        held.resolve();
        expect(await sender.next()).toEqual(['MSA', 'AA', expect.any(String)]);
        expect(await sender.closed()).toBe('');
        await stopping;
      }),
    );
    expect(appended).toEqual([first.line]);
  });

  test('who sends nothing, or a frame that never ends, is closed in time', async () => {
    const { frame } = registration();
    const appended = await appendedBy(service, () =>
      onListener(
        {},
        async (port) => {
          const idle = await RawSender.claimed(port, { from });
          expect(await idle.closed()).toBe('');
          const slow = await RawSender.connect(port, { from });
          const drip = setInterval(() => slow.write('x'), 20);
          slow.write(frame.slice(0, 20));
          expect(await slow.closed()).toBe('');
          clearInterval(drip);
        },
        { idle: 500, frame: 500 },
      ),
    );
    expect(appended).toEqual([]);
  });

  test('connections are bounded, and one that ends gives its place to another', async () => {
    await onListener({}, async (port) => {
      const first = await RawSender.claimed(port, { from });
      const second = await RawSender.connect(port, { from });
      await second.send('');
      const third = await RawSender.connect(port, { from });
      await expect(third.send('')).rejects.toThrow('closed');
      await first.end();
      await eventually(async () => {
        const next = await RawSender.connect(port, { from });
        await next.send('');
        await next.end();
      });
      await second.end();
    });
  });

  test('a sender that goes while its message is taken leaves it stored', async () => {
    const { frame, line } = registration();
    const appended = await appendedBy(service, () =>
      onListener({}, async (port) => {
        const sender = await RawSender.claimed(port, { from });
        await new Promise<void>((resolve) => sender.socket.write(frame, () => resolve()));
        sender.socket.destroy();
        await once(sender.socket, 'close');
        await eventually(async () => {
          const other = await RawSender.connect(port, { from });
          await other.send('');
          await other.end();
        });
      }),
    );
    expect(appended.filter((one) => one !== line)).toEqual([]);
  });
});
