import { expect, test } from 'vitest';
import { samples } from '../support/samples.ts';
import { startTestService } from '../support/service.ts';
import { Receiver } from '../support/webhooks.ts';

test('a service without these settings exports nothing, and one whose port is taken says so', async () => {
  const silent = await startTestService();
  expect(silent.metricsUrl).toBeUndefined();
  await silent.stop();
  const receiver = await Receiver.listen((_, res) => res.end());
  await expect(startTestService({ METRICS_PORT: String(receiver.port) })).rejects.toMatchObject({
    problem: expect.stringContaining('Set METRICS_PORT to another port.'),
  });
  await receiver.close();
});

test('a collector gets them by OTLP, the last ones when the service stops', async () => {
  const receiver = await Receiver.listen((_, res) => res.end());
  const sender = await startTestService({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.port}` });
  await sender.post('/integration/patients', samples.patient());
  await sender.stop();
  const sent = receiver.received.at(-1);
  expect(sent).toMatchObject({ method: 'POST', path: '/v1/metrics' });
  expect(sent?.headers['content-type']).toBe('application/x-protobuf');
  expect(sent?.body).toContain('http.server.request.duration');
  expect(sent?.body).toContain('chartledger.read_model.lag');
  await receiver.close();
});
