import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { Emr } from '../../src/cli/commands/pull/emr.ts';
import { readAssertionKey } from '../../src/modules/auth/signAssertion.ts';
import { clientKeys } from '../support/emr.ts';

afterEach(() => vi.restoreAllMocks());

/** Until mocks are restored, a minute that something may take is over in 60 ms. */
function hurry(): void {
  const { timeout } = AbortSignal;
  const { setTimeout: later } = globalThis;
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout.call(AbortSignal, ms / 1_000));
  const sooner = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    later(work, ms === 60_000 ? 60 : ms, ...args);
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(sooner as typeof setTimeout);
}

test('a file of an EMR may take longer than its answer has to', async () => {
  const halves = ['{"resourceType":"Patient"', ',"id":"1"}\n'];
  const server = createServer((_req, res) => res.writeHead(200).write(halves[0]));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const answered = once(server, 'request');
  const fhir = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`);
  const key = await readAssertionKey(JSON.stringify((await clientKeys('RS384')).privateJwk));
  const client = { fhir, clientId: 'billing', key, scope: 'system/*.rs', tokenUrl: undefined };
  hurry();
  const response = await new Emr(client, new AbortController().signal).request(`${fhir}/files/1`, {
    withToken: false,
  });
  const [, res] = await answered;
  vi.restoreAllMocks();
  setTimeout(() => res.end(halves[1]), 120);
  expect(await response.text()).toBe(halves.join(''));
  server.close();
});
