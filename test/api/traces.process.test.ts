import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { Client } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { ServiceProcess } from '../support/processes.ts';
import { samples } from '../support/samples.ts';
import { createWebhook, HookEndpoint, openLoopback } from '../support/webhooks.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const LONG_MS = 120_000;

interface Told {
  name: string;
  traceId: string;
  spanId: string;
  parent?: string;
  links: string[];
  attributes: Record<string, unknown>;
  isMainThread: boolean;
}

test(
  'with an SDK that --import loads, a request, its append, its projection and its message are one trace',
  async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'spans.jsonl');
    const service = new ServiceProcess({
      DATA_DIR: folder,
      NODE_OPTIONS: `--import ${pathToFileURL(resolve('test/support/processes/tracing.ts'))}`,
      TEST_SPANS: file,
      RATE_LIMIT_PER_MINUTE: '0',
      ...openLoopback,
    });
    const endpoint = await HookEndpoint.open();
    try {
      const url = await service.url();
      const key = /x-api-key: (clk_\w+)/.exec(service.stderr)?.[1];
      const client = new Client(url, key);
      await createWebhook(client, { url: endpoint.url, start: 'beginning' });
      const { status } = await client.post('/integration/payers', samples.payer(), {
        traceparent: `00-${TRACE}-${SPAN}-01`,
      });
      expect(status).toBe(200);
      const spans = await eventually(() => {
        const told = readFileSync(file, 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line): Told => JSON.parse(line));
        const request = told.find(({ name }) => name === 'POST /integration/payers');
        const ofTrace = (wanted: string) =>
          told.find(({ name, traceId }) => name === wanted && traceId === TRACE);
        const projected = told.find(
          ({ name, links }) => name === 'project' && request && links.includes(request.spanId),
        );
        const [appended, delivered] = [ofTrace('append'), ofTrace('deliver')];
        if (!request || !appended || !delivered || !projected)
          throw new Error(`not yet: ${told.length} spans`);
        return { request, appended, delivered, projected };
      }, LONG_MS / 2);
      const { request, appended, delivered, projected } = spans;
      expect(request).toMatchObject({ traceId: TRACE, parent: SPAN, isMainThread: true });
      expect(request.attributes).toEqual({
        'http.request.method': 'POST',
        'http.route': '/integration/payers',
        'http.response.status_code': 200,
      });
      expect(appended).toMatchObject({ parent: request.spanId, attributes: { 'chartledger.events': 1 } });
      expect(projected).toMatchObject({ isMainThread: false });
      expect(delivered).toMatchObject({ parent: request.spanId, isMainThread: false });
      expect(delivered.attributes).toEqual({ 'http.response.status_code': 200 });
      const [message] = endpoint.accepted;
      expect(message?.headers.traceparent).toBe(`00-${TRACE}-${delivered.spanId}-01`);
      expect(JSON.parse(message?.body ?? '{}').traceparent).toBe(`00-${TRACE}-${request.spanId}-01`);
      expect(readFileSync(file, 'utf8')).not.toContain('clk_');
    } finally {
      await endpoint.down();
      expect((await service.end()).code).toBe(0);
    }
  },
  LONG_MS,
);
