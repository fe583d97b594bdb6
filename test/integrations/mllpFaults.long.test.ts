import { randomUUID, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { eventually } from '../support/eventually.ts';
import { END, ownAddress, RawSender, setSource, tlsFixture, VT } from '../support/messages.ts';
import { startFaultyMllp } from '../support/network.ts';
import { phi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, type Faults, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

const longTimes = { identify: 60_000, idle: 60_000, frame: 60_000 };
const secured = {
  tls: {
    certificate: 'test/fixtures/tls/mllp/server.crt',
    key: 'test/fixtures/tls/mllp/server.key',
    ca: 'test/fixtures/tls/mllp/ca.crt',
  },
};
const away = () => Promise.reject(unavailable('store'));

onEmbeddedEngines((start) => {
  let service: TestService;
  const from = ownAddress();
  beforeAll(async () => {
    service = await start();
    await setSource(service, service.workspaceId('clinic'), { id: 'lab', mllp: { networks: [from] } });
  });
  afterAll(() => service.stop());

  function registration(more: Parameters<typeof hl7Message>[1] = []) {
    const patient = phi('patient');
    const person = { 3: patient, 5: 'Lopez^Maria', 7: '19840229' };
    const text = hl7Message('ADT^A28', [['PID', person], ...more], { 10: randomUUID() });
    return { text, frame: `${VT}${text}${END}`, line: `clinic.patient-${patient}: PatientUpserted` };
  }

  /** Runs `work` with a sender on a listener with faults. */
  async function onListener(
    faults: Faults,
    work: (port: number, stop: () => Promise<void>) => Promise<void>,
    options: Parameters<typeof startFaultyMllp>[2] = {},
  ): Promise<void> {
    const listener = await startFaultyMllp(service, faults, { times: longTimes, ...options });
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

  /** A message of more than 16 KB is a file, not a row. */
  const large: Parameters<typeof hl7Message>[1] = [['ZZZ', { 1: 'x'.repeat(20_000) }]];
  const noneAppended: EventLog['appendEach'] = async (appends) => appends.map(() => unavailable('event log'));
  const outages: [string, Faults, typeof large?][] = [
    ['event log', { eventLog: { append: away, appendEach: noneAppended } }],
    ['event log that answers no question', { eventLog: { readStream: away } }],
    ['state store', { stateStore: { write: away } }],
    ['document store', { documentStore: { put: away } }, large],
  ];
  test.each(outages)(
    'while the %s is away nothing is acknowledged, and the connection closes',
    async (_store, faults, more) => {
      const { frame, text, line } = registration(more);
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
    const appendEach: EventLog['appendEach'] = async (appends) => {
      isHeld = true;
      await held.promise;
      return service.eventLog.appendEach(appends);
    };
    const appended = await appendedBy(service, () =>
      onListener({ eventLog: { appendEach } }, async (port, stop) => {
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
        { times: { ...longTimes, idle: 500, frame: 500 } },
      ),
    );
    expect(appended).toEqual([]);
  });

  test('connections of one sender are bounded, others have places left, and one that ends gives its place to another', async () => {
    const ward = ownAddress();
    await setSource(service, service.workspaceId('clinic'), { id: 'ward', mllp: { networks: [ward] } });
    const work = async (port: number) => {
      const first = await RawSender.claimed(port, { from });
      const second = await RawSender.connect(port, { from });
      await second.send('');
      const third = await RawSender.connect(port, { from });
      await expect(third.send('')).rejects.toThrow('closed');
      const other = await RawSender.claimed(port, { from: ward });
      await first.end();
      const next = await RawSender.claimed(port, { from });
      for (const open of [second, other, next]) await open.end();
    };
    await onListener({}, work, { connections: 4 });
  });

  test('one address does not hold all places, for however many sources it speaks', async () => {
    const sources = ['lab', 'renewed'] as const;
    for (const [at, name] of sources.entries()) {
      const certificate = new X509Certificate(tlsFixture(name).cert).fingerprint256;
      const mllp = { certificates: [certificate] };
      await setSource(service, service.workspaceId('clinic'), { id: `of-${at}`, mllp });
    }
    const work = async (port: number) => {
      const open = await Promise.all(
        sources.map((name) => RawSender.claimed(port, { from, tls: tlsFixture(name) })),
      );
      const third = await RawSender.connect(port, { from, tls: tlsFixture('lab') });
      await expect(third.send('')).rejects.toThrow('closed');
      const elsewhere = await RawSender.claimed(port, { from: ownAddress(), tls: tlsFixture('lab') });
      for (const one of [...open, elsewhere]) await one.end();
    };
    await onListener({}, work, { ...secured, connections: 4 });
  });

  test('a connection without a TLS handshake is closed in time, whatever it sends, and takes no place of a sender', async () => {
    const times = { ...longTimes, identify: 1_000 };
    const work = async (port: number) => {
      const silent = await Promise.all(
        [ownAddress(), ownAddress()].map((own) => RawSender.connect(port, { from: own })),
      );
      const slow = await RawSender.connect(port, { from: ownAddress() });
      const drip = setInterval(() => slow.write('\x16'), 50);
      const probe = await RawSender.connect(port, { from: ownAddress() });
      probe.socket.end();
      const babbling = await RawSender.connect(port, { from: ownAddress() });
      babbling.write('GET / HTTP/1.1\r\n\r\n');
      const sender = await RawSender.claimed(port, { from, tls: {} });
      for (const one of [...silent, slow, probe, babbling]) await one.closed();
      clearInterval(drip);
      await sender.end();
    };
    await onListener({}, work, { ...secured, connections: 8, times });
  });

  test('connections without a handshake are bounded for one address, and leave room for the handshakes of others', async () => {
    const work = async (port: number) => {
      const one = ownAddress();
      const silent = await Promise.all(
        Array.from({ length: 12 }, () => RawSender.connect(port, { from: one })),
      );
      await eventually(() => expect(silent.filter(({ socket }) => socket.closed)).toHaveLength(10));
      const sender = await RawSender.claimed(port, { from, tls: {} });
      await sender.end();
      for (const { socket } of silent) socket.destroy();
    };
    await onListener({}, work, { ...secured, connections: 8 });
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
