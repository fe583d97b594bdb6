import { expect, test } from 'vitest';
import { type SenderPorts, Senders } from '../../src/api/mllp/answer.ts';
import { eventually } from '../support/eventually.ts';
import { ownAddress, RawSender, setSource } from '../support/messages.ts';
import { changesBy, startTestService } from '../support/service.ts';

import { hl7Message, pid } from './hl7Messages.ts';

test('while no source is bound this machine alone is heard, as the default source of the one workspace', async () => {
  const service = await startTestService({ ROLES: 'api,projector,mllp', MLLP_PORT: '0' });
  const [port = 0] = service.mllpPorts;
  const message = hl7Message('ADT^A28', [pid]);
  const changes = await changesBy(service, async () => {
    const sender = await RawSender.claimed(port);
    expect(await sender.send(message)).toEqual(['MSA', 'AA', 'C-1']);
    await sender.end();
  });
  expect(changes.map(({ type, metadata }) => [type, metadata.principal, metadata.source?.id])).toEqual([
    ['PatientUpserted', { type: 'source', id: 'default' }, 'default'],
  ]);
  const open = await RawSender.claimed(port);
  const none = await changesBy(service, async () => {
    await service.createKey('another');
    await eventually(async () => {
      const sender = await RawSender.connect(port);
      await expect(sender.send(message)).rejects.toThrow('closed');
    });
    await expect(open.send(message)).rejects.toThrow('closed');
    const from = ownAddress();
    await setSource(service, service.workspaceId('another'), { id: 'lab', mllp: { networks: [from] } });
    const bound = await RawSender.claimed(port, { from });
    await bound.end();
    const unbound = await RawSender.connect(port);
    await expect(unbound.send(message)).rejects.toThrow('closed');
  });
  expect(none.map(({ type }) => type)).toEqual(['WorkspaceCreated', 'ApiKeyCreated', 'SourceConfigured']);
  await service.stop();
});

test('a connection from outside is nobody’s while no source is bound', async () => {
  const workspace = { id: 'clinic', state: 'active', createdAt: '' } as const;
  const known = {
    workspaces: new Map([['clinic', workspace]]),
    keys: new Map(),
    keyIdByHash: new Map(),
    revision: 0,
  };
  const senders = new Senders({ directory: { known }, sources: { of: async () => [] } });
  const of = (address: string) => senders.of({ address, port: 2575 });
  expect(await of('127.0.0.1')).toMatchObject({ source: { id: 'default' } });
  expect(await of('::1')).toMatchObject({ source: { id: 'default' } });
  for (const address of ['192.0.2.1', '10.0.0.1', '2001:db8::1', ''])
    expect(await of(address)).toBe('no_source');
});

test('a workspace that becomes known after the bindings were read has no default source until they are read again', async () => {
  const workspace = { id: 'clinic', state: 'active', createdAt: '' } as const;
  const bound = { id: 'lab', format: 'hl7v2', mllp: { networks: ['192.0.2.0/24'] } } as const;
  const directory = {
    known: { workspaces: new Map(), keys: new Map(), keyIdByHash: new Map(), revision: 0 },
  };
  const senders = new Senders({ directory, sources: { of: async () => [bound] } } as unknown as SenderPorts);
  const stranger = { address: '127.0.0.1', port: 2575 };
  expect(await senders.of(stranger)).toBe('several_workspaces');
  directory.known.workspaces.set('clinic', workspace);
  expect(await senders.of(stranger)).toBe('several_workspaces');
  await eventually(async () => expect(await senders.of(stranger)).toBe('no_source'));
});
