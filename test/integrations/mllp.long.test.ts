import { randomUUID, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { END, ownAddress, RawSender, setSource, tlsFixture, tlsSettings, VT } from '../support/messages.ts';
import { phi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, newEvents, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

const ROLES = 'api,projector,webhooks,mllp';

/** A message of a patient of its own, with its control id. */
function registration(controlId: string = randomUUID(), header: Record<number, string> = {}) {
  const patient = phi('patient');
  const person: [string, Record<number, string>] = ['PID', { 3: patient, 5: 'Lopez^Maria', 7: '19840229' }];
  return { patient, text: hl7Message('ADT^A28', [person], { 10: controlId, ...header }) };
}

onEmbeddedEngines((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start({ ROLES, MLLP_PORT: '0,0' });
    // Where no source is bound, this machine is heard without.
    await setSource(service, service.workspaceId('clinic'), {
      id: 'bound',
      mllp: { networks: [ownAddress()] },
    });
    await eventually(async () => {
      const stranger = await RawSender.connect(service.mllpPorts[0] as number);
      await expect(stranger.send('')).rejects.toThrow('closed');
    });
  });
  afterAll(() => service.stop());

  /** A workspace with a source that sends from an address of its own. */
  async function boundSource(label: string) {
    const { workspace, key } = await service.createKey(label);
    const from = ownAddress();
    await setSource(service, workspace, { id: 'lab', mllp: { networks: [from] } });
    const [port = 0, otherPort = 0] = service.mllpPorts;
    await (await RawSender.claimed(port, { from })).end();
    return { workspace, client: service.as(key), from, port, otherPort };
  }

  test('a message is stored as its source, and acknowledged', async () => {
    const { workspace, client, from, port } = await boundSource('stored');
    const { patient, text } = registration('MSG-7');
    const changes = await changesBy(service, async () => {
      const sender = await RawSender.connect(port, { from });
      expect(await sender.send(text)).toEqual(['MSA', 'AA', 'MSG-7']);
      await sender.end();
    });
    const { source, ...metadata } = changes[0]?.metadata ?? {};
    expect(changes).toHaveLength(1);
    expect([changes[0]?.type, changes[0]?.data.id]).toEqual(['PatientUpserted', patient]);
    expect(metadata).toMatchObject({ workspace, principal: { type: 'source', id: 'lab' }, clientIp: from });
    expect(source).toMatchObject({ id: 'lab', message: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    const { body } = await client.get(`/integration/patients/${patient}/history`);
    expect(body.items[0].principal).toEqual({ type: 'source', id: 'lab', name: 'lab' });
  });

  test('storing is acknowledged before the result where the sender wants both, also if frames end without CR', async () => {
    const { from, port } = await boundSource('enhanced');
    const both = { 15: 'AL', 16: 'AL' };
    const stored = registration('M-1', both);
    const wrong = hl7Message('ADT^A28', [['PID', { 3: 'P-2' }]], { 10: 'M-2', ...both });
    const other = hl7Message('ORU^R01', [['PID', { 3: 'P-3' }]], { 10: 'M-3', ...both });
    const sender = await RawSender.connect(port, { from });
    const appended = await appendedBy(service, async () => {
      sender.write(`${VT}${stored.text}\x1c${VT}${wrong}\x1c${VT}${other}${END}`);
      const codes = [];
      for (let left = 5; left > 0; left -= 1) codes.push((await sender.next()).slice(1, 3).join(' '));
      expect(codes).toEqual(['CA M-1', 'AA M-1', 'CA M-2', 'AE M-2', 'CR M-3']);
    });
    expect(appended).toEqual([`enhanced.patient-${stored.patient}: PatientUpserted`]);
    await sender.end();
  });

  test('frames are found in whatever pieces they come, and answered one by one in their order', async () => {
    const { from, port } = await boundSource('pieces');
    const [first, second, third] = ['M-1', 'M-2', 'M-3'].map((id) => registration(id));
    const sender = await RawSender.connect(port, { from });
    const frames = [first, second, third].map((one) => `${VT}${one?.text}${END}`);
    const appended = await appendedBy(service, async () => {
      // Line ends between frames, two frames at once, and the last in small pieces, its end in two.
      sender.write(`\r\n${frames[0]}\r\n\r\n${frames[1]}${frames[2]?.slice(0, 10)}`);
      expect([await sender.next(), await sender.next()]).toEqual([
        ['MSA', 'AA', 'M-1'],
        ['MSA', 'AA', 'M-2'],
      ]);
      for (const sign of frames[2]?.slice(10) ?? '') {
        sender.write(sign);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await sender.next()).toEqual(['MSA', 'AA', 'M-3']);
    });
    expect(appended).toEqual(
      [first, second, third].map((one) => `pieces.patient-${one?.patient}: PatientUpserted`),
    );
    await sender.end();
  });

  test('a sender that closes its side at once is answered all the same', async () => {
    const { from, port } = await boundSource('halfclosed');
    const { patient, text } = registration();
    const sender = await RawSender.connect(port, { from });
    const appended = await appendedBy(service, async () => {
      sender.socket.end(`${VT}${text}${END}`);
      expect(await sender.next()).toEqual(['MSA', 'AA', expect.any(String)]);
      expect(await sender.closed()).toBe('');
    });
    expect(appended).toEqual([`halfclosed.patient-${patient}: PatientUpserted`]);
  });

  test('each message of a batch in a frame is acknowledged by itself', async () => {
    const { from, port } = await boundSource('batch');
    const texts = [registration('B-1').text, registration('B-2').text];
    const sender = await RawSender.connect(port, { from });
    const appended = await appendedBy(service, async () => {
      sender.write(`${VT}BHS|^~\\&|\r${texts.join('\r')}\rBTS|2\r${END}`);
      expect([await sender.next(), await sender.next()]).toEqual([
        ['MSA', 'AA', 'B-1'],
        ['MSA', 'AA', 'B-2'],
      ]);
    });
    expect(appended).toHaveLength(2);
    await sender.end();
  });

  test('what is wrong is AE, what is not for the service AR; nothing of it is stored, and the connection goes on', async () => {
    const { from, port } = await boundSource('refused');
    const sender = await RawSender.connect(port, { from });
    const events = await newEvents(service, async () => {
      const nameless = hl7Message('ADT^A28', [['PID', { 3: phi('patient'), 7: '19840229' }]]);
      expect((await sender.send(nameless)).slice(0, 3)).toEqual(['MSA', 'AE', 'C-1']);
      expect((await sender.send(hl7Message('ORU^R01', []))).slice(0, 3)).toEqual(['MSA', 'AR', 'C-1']);
      expect((await sender.send('no message')).slice(0, 2)).toEqual(['MSA', 'AR']);
      const cutOff = registration('C-1').text;
      expect((await sender.send(`${cutOff}${VT}${cutOff}`)).slice(0, 3)).toEqual(['MSA', 'AE', 'C-1']);
      const large = `${registration('LARGE').text}\rNTE|1||${'x'.repeat(1024 * 1024)}`;
      expect((await sender.send(large)).slice(0, 3)).toEqual(['MSA', 'AE', 'LARGE']);
      expect(await sender.send(registration('FINE').text)).toEqual(['MSA', 'AA', 'FINE']);
    });
    const refusals = events.filter(({ type }) => type === 'AccessRecorded');
    expect(events.filter(({ type }) => type !== 'AccessRecorded').map(({ type }) => type)).toEqual([
      'PatientUpserted',
    ]);
    expect(refusals.map(({ metadata }) => metadata.principal)).toEqual(
      refusals.map(() => ({ type: 'source', id: 'lab' })),
    );
    expect(refusals.map(({ data }) => [data.action, data.code, data.method, data.route])).toEqual([
      ['record.batch', 'validation_failed', 'MLLP', 'message'],
      ['record.batch', 'validation_failed', 'MLLP', 'message'],
      ['record.batch', 'validation_failed', 'MLLP', 'message'],
      ['request.refused', 'malformed_body', 'MLLP', 'message'],
      ['request.refused', 'payload_too_large', 'MLLP', 'message'],
    ]);
    await sender.end();
  });

  test('what is not framed ends the connection, and is not kept', async () => {
    const { from, port } = await boundSource('unframed');
    const appended = await appendedBy(service, async () => {
      const babbling = await RawSender.connect(port, { from });
      babbling.write('GET / HTTP/1.1\r\n'.repeat(100));
      expect(await babbling.closed()).toBe('');
      const endless = await RawSender.connect(port, { from });
      endless.write(`${VT}${'x'.repeat(9 * 1024 * 1024)}`);
      expect(await endless.closed()).toBe('');
    });
    expect(appended).toEqual([]);
  });

  test('a connection that no source claims is closed, unread', async () => {
    const { from, port, otherPort, workspace } = await boundSource('foreign');
    await setSource(service, workspace, { id: 'lab', mllp: { networks: [from], port: otherPort } });
    const { text } = registration();
    const appended = await appendedBy(service, async () => {
      for (const place of [
        { port, from: ownAddress() },
        { port: otherPort, from: ownAddress() },
      ]) {
        const stranger = await RawSender.connect(place.port, { from: place.from });
        await expect(stranger.send(text)).rejects.toThrow('closed');
      }
      await eventually(async () => {
        const elsewhere = await RawSender.connect(port, { from });
        await expect(elsewhere.send(text)).rejects.toThrow('closed');
      });
      const bound = await RawSender.connect(otherPort, { from });
      expect(await bound.send(text)).toEqual(['MSA', 'AA', expect.any(String)]);
      await bound.end();
    });
    expect(appended).toHaveLength(1);
  });

  test('a source that is removed or bound otherwise is heard no more, on the connections it has', async () => {
    const { from, port, workspace } = await boundSource('rebound');
    const sender = await RawSender.connect(port, { from });
    expect(await sender.send(registration().text)).toEqual(['MSA', 'AA', expect.any(String)]);
    await setSource(service, workspace, { id: 'lab', mllp: { networks: [ownAddress()] } });
    await eventually(async () => {
      await expect(sender.send(registration().text)).rejects.toThrow('closed');
    });
  });

  test('messages of a deactivated workspace are AR, and are taken again when it is active', async () => {
    const { from, port, workspace } = await boundSource('deactivated');
    const sender = await RawSender.connect(port, { from });
    const { patient, text } = registration();
    await service.keys.setWorkspaceState(workspace, 'deactivated');
    const appended = await appendedBy(service, async () => {
      const answer = await eventually(async () => {
        const came = await sender.send(hl7Message('ADT^A28', []));
        expect(came[1]).toBe('AR');
        return came;
      });
      expect(answer.join('|')).toContain('The workspace is deactivated');
      expect((await sender.send(text))[1]).toBe('AR');
    });
    expect(appended).toEqual([]);
    const events = await changesBy(service, async () => {
      await service.keys.setWorkspaceState(workspace, 'active');
      await eventually(async () => expect((await sender.send(text))[1]).toBe('AA'));
    });
    expect(events.map(({ type, data }) => [type, data.id])).toContainEqual(['PatientUpserted', patient]);
    await sender.end();
  });

  test('client certificates tell sources apart, by fingerprint before subject before network', async () => {
    const secured = await service.another({ ROLES: 'mllp', MLLP_PORT: '0', ...tlsSettings() });
    const [port = 0] = secured.mllpPorts;
    const { from, workspace } = await boundSource('certificates');
    const { fingerprint256 } = new X509Certificate(tlsFixture('renewed').cert);
    await setSource(service, workspace, {
      id: 'subject',
      mllp: { certificates: ['CN = lab, O = Hospital'] },
    });
    await setSource(service, workspace, {
      id: 'fingerprint',
      mllp: { certificates: [fingerprint256.toLowerCase().replaceAll(':', '')], networks: ['127.0.0.0/8'] },
    });
    const sentBy = async (tls: { cert?: Buffer; key?: Buffer }, at = from) => {
      const changes = await changesBy(service, async () => {
        const sender = await RawSender.connect(port, { from: at, tls });
        expect(await sender.send(registration().text)).toEqual(['MSA', 'AA', expect.any(String)]);
        await sender.end();
      });
      return changes.map(({ metadata }) => metadata.principal.id);
    };
    // Whoever knows the source configured last knows the others, too.
    const own = { from: ownAddress(), tls: tlsFixture('renewed') };
    await (await RawSender.claimed(port, own)).end();
    expect(await sentBy(own.tls, own.from)).toEqual(['fingerprint']);
    expect(await sentBy(tlsFixture('lab'))).toEqual(['subject']);
    expect(await sentBy({})).toEqual(['lab']);
    expect(await sentBy(tlsFixture('ward'))).toEqual(['lab']);
    const appended = await appendedBy(service, async () => {
      for (const { tls, at } of [
        { tls: tlsFixture('stranger'), at: from },
        { tls: tlsFixture('ward'), at: ownAddress() },
      ]) {
        const sender = await RawSender.connect(port, { from: at, tls });
        await expect(sender.send(registration().text)).rejects.toThrow('closed');
      }
      const plain = await RawSender.connect(port, { from });
      await expect(plain.send(registration().text)).rejects.toThrow('closed');
    });
    expect(appended).toEqual([]);
    await secured.stop();
  });

  test('a connection that a source of another workspace claims more surely is closed, and nothing more of it is stored', async () => {
    const secured = await service.another({ ROLES: 'mllp', MLLP_PORT: '0', ...tlsSettings() });
    const [port = 0] = secured.mllpPorts;
    const { from, workspace } = await boundSource('outbid');
    const { workspace: theirs } = await service.createKey('outbidding');
    const connecting = { from, tls: tlsFixture('ward') };
    const sender = await RawSender.claimed(port, connecting);
    const sent = async (by: RawSender) => {
      const changes = await changesBy(service, async () => {
        expect(await by.send(registration().text)).toEqual(['MSA', 'AA', expect.any(String)]);
      });
      return changes.map(({ metadata }) => metadata.workspace);
    };
    expect(await sent(sender)).toEqual([workspace]);
    await setSource(service, theirs, {
      id: 'ward',
      mllp: { certificates: ['CN=ward,O=Hospital'], networks: [from] },
    });
    await eventually(async () => {
      const later = await RawSender.claimed(port, connecting);
      expect(await sent(later)).toEqual([theirs]);
      await later.end();
    });
    const appended = await appendedBy(service, async () => {
      await expect(sender.send(registration().text)).rejects.toThrow('closed');
    });
    expect(appended).toEqual([]);
    await secured.stop();
  });
});
