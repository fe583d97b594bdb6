import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MetricName, metricDefinitions } from '../../src/platform/metrics/catalog.ts';
import { prometheusName } from '../../src/platform/metrics/metrics.ts';

import { sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { EventReader } from '../support/log.ts';
import { Metrics } from '../support/metrics.ts';
import { createEncounter, documentForm, documentsPath, pdf, samples } from '../support/samples.ts';
import { appendedBy, startTestService, type TestService } from '../support/service.ts';

const PATIENTS = '/integration/patients';
const REQUESTS = 'http_server_request_duration_count';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ METRICS_PORT: '0', REQUEST_THREADS: '2' });
});
afterAll(() => service.stop());

const read = () => Metrics.read(service.metricsUrl);

/** By how much metrics grow by what `work` does; `grown` is called until it no longer throws. */
async function growthBy(
  work: () => Promise<unknown>,
  grown: (growth: (name: string, labels?: Record<string, string>) => number) => void,
): Promise<void> {
  const before = await read();
  await work();
  await eventually(async () => {
    const after = await read();
    grown((name, labels) => (after.value(name, labels) ?? 0) - (before.value(name, labels) ?? 0));
  });
}

describe('what the process does is measured, whichever thread does it', () => {
  test('requests, by method, route and status; and appends and commits', async () => {
    const patients = Array.from({ length: 12 }, () => samples.patient());
    let appended: string[] = [];
    const send = async () => {
      // A connection each: the threads share them.
      appended = await appendedBy(service, () =>
        Promise.all(patients.map((patient) => service.post(PATIENTS, patient))),
      );
    };
    await growthBy(send, (growth) => {
      const labels = {
        http_request_method: 'POST',
        http_route: PATIENTS,
        http_response_status_code: '200',
      };
      expect(growth(REQUESTS, labels)).toBe(12);
      expect(growth('http_server_request_duration_bucket', { ...labels, le: '+Inf' })).toBe(12);
      expect(growth('chartledger_append_duration_count')).toBe(12);
      expect(growth('chartledger_commit_size_sum')).toBeGreaterThanOrEqual(12);
      expect(growth('chartledger_projector_events_total')).toBeGreaterThanOrEqual(12);
    });
    expect(appended).toHaveLength(12);
    // The service appends on its own, too.
    await eventually(async () => expect((await read()).value('chartledger_append_waiting')).toBe(0));
  });

  test('refusals, by the code of the error', async () => {
    const send = async () => {
      expect(await appendedBy(service, () => service.post(PATIENTS, {}))).toEqual([]);
      await service.as('clk_unknown').get(PATIENTS);
      await service.get('/nowhere');
    };
    await growthBy(send, (growth) => {
      expect(growth('chartledger_request_refusals_total', { error_type: 'validation_failed' })).toBe(1);
      expect(growth('chartledger_request_refusals_total', { error_type: 'unauthorized' })).toBe(1);
      expect(growth(REQUESTS, { http_route: 'unmatched', http_response_status_code: '404' })).toBe(1);
    });
  });

  test('bytes of documents, and lines of batches', async () => {
    const encounter = await createEncounter(service);
    const content = pdf('x'.repeat(5_000));
    const form = documentForm({ document_id: 'scan', content });
    const send = async () => {
      await service.upload(documentsPath(encounter), form);
      await service.get(documentsPath(encounter, 'scan'));
      const [payer] = [samples.payer()];
      await sendBatch(service, [
        { kind: 'payer', record: payer },
        { kind: 'payer', record: {} },
      ]);
    };
    await growthBy(send, (growth) => {
      expect(growth('chartledger_document_io_total', { network_io_direction: 'receive' })).toBe(
        content.length,
      );
      expect(growth('chartledger_document_io_total', { network_io_direction: 'transmit' })).toBe(
        content.length,
      );
      expect(growth('chartledger_batch_lines_total', { chartledger_outcome: 'created' })).toBe(1);
      expect(growth('chartledger_batch_lines_total', { chartledger_outcome: 'refused' })).toBe(1);
    });
  });

  test('event streams, while they are open', async () => {
    const { key } = await service.createKey('clinic', ['events']);
    const before = (await read()).value('chartledger_stream_open') ?? 0;
    const reader = await EventReader.open(service.as(key));
    await eventually(async () => expect((await read()).value('chartledger_stream_open')).toBe(before + 1));
    reader.kill();
    await eventually(async () => expect((await read()).value('chartledger_stream_open')).toBe(before));
  });

  test('every store, role and read model is told of, and the event loop of each thread', async () => {
    await eventually(async () => {
      const metrics = await read();
      expect(metrics.value('chartledger_store_available')).toBe(4);
      expect(metrics.value('chartledger_role_ready')).toBe(3);
      expect(metrics.value('chartledger_read_model_lag')).toBe(0);
      expect(metrics.value('chartledger_read_model_parked')).toBe(0);
      expect(metrics.value('chartledger_webhook_backlog')).toBe(0);
      expect(metrics.value('chartledger_readiness_encounters', { chartledger_state: 'not_completed' })).toBe(
        1,
      );
      expect(metrics.value('nodejs_eventloop_utilization', { chartledger_thread: '1' })).toBeGreaterThan(0);
      expect(metrics.value('process_memory_usage')).toBeGreaterThan(1e6);
    });
  });
});

test('nothing is exported that the reference does not have, and no label has a value of a caller', async () => {
  const metrics = await read();
  const exported = new Map(
    Object.entries(metricDefinitions).map(([name, definition]) => [
      prometheusName(name as MetricName),
      Object.keys('attributes' in definition ? definition.attributes : {}).map((one) =>
        one.replaceAll('.', '_'),
      ),
    ]),
  );
  expect([...metrics.names].filter((name) => name !== 'target_info' && !exported.has(name))).toEqual([]);
  const labels = new Set(['le', 'service_name', 'service_version', ...[...exported.values()].flat()]);
  const unknown = [...metrics.labels].filter((label) => !labels.has(label.split('=')[0] as string));
  expect(unknown).toEqual([]);
  expect(metrics.text).not.toContain(service.workspaceId('clinic'));
  const long = [...metrics.labels].filter((label) => /-[0-9a-f]{8}|clk_\w{16}|key_\w{16}/.test(label));
  expect(long).toEqual([]);
});

test('only /metrics is there, and it is read alone', async () => {
  const url = service.metricsUrl as string;
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
  expect((await fetch(url)).headers.get('content-type')).toContain('text/plain');
});
