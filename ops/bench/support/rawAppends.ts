import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANY, EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { bodies } from './bodies.ts';
import { carryOutOrders, type Measurement, type Order } from './measuringProcess.ts';
import { Window } from './window.ts';

/** Appends events of 1 KB with the client library alone, so many at a time. The `key` of the order names the streams. */
async function measure(order: Order): Promise<Measurement> {
  const client = EventStoreDBClient.connectionString(order.url);
  const window = new Window(process.pid);
  let ended = false;
  const metadata = { workspace: order.key, requestId: randomUUID(), schemaVersion: 1 };
  const chain = async () => {
    while (!ended) {
      const index = Math.floor(Math.random() * order.among);
      const data = JSON.parse(bodies.patients(index));
      const event = jsonEvent({ id: randomUUID(), type: 'PatientUpserted', data, metadata });
      const startedAt = performance.now();
      await client.appendToStream(`${order.key}.patient-${index}`, event, { expectedRevision: ANY });
      window.add(performance.now() - startedAt);
    }
  };
  const appending = Promise.all(Array.from({ length: order.connections }, chain));
  await Promise.race([sleep(order.warmUpSeconds * 1000), appending]);
  window.open();
  await Promise.race([sleep(order.seconds * 1000), appending]);
  const measurement = window.close();
  ended = true;
  await appending;
  await client.dispose();
  return measurement;
}

carryOutOrders(measure);
