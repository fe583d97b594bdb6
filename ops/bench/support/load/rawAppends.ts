import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANY, EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { Answers } from './answers.ts';
import { bodyOf, turnText } from './bodies.ts';
import { carryOutOrders, type Load, type Order } from './measuringProcess.ts';
import { firstTurn } from './requests.ts';

/** Appends events of 1 KB with only the client library, several at a time. The order's `key` names the streams. */
async function append(order: Order): Promise<Load> {
  const client = EventStoreDBClient.connectionString(order.url);
  let ended = false;
  let turn = firstTurn();
  const metadata = { workspace: order.key, requestId: randomUUID(), schemaVersion: 1 };
  const chain = async () => {
    while (!ended) {
      const index = Math.floor(Math.random() * order.among);
      const data = JSON.parse(bodyOf('patients', index, turnText(turn++)));
      const event = jsonEvent({ id: randomUUID(), type: 'PatientUpserted', data, metadata });
      const startedAt = performance.now();
      await client.appendToStream(`${order.key}.patient-${index}`, event, { expectedRevision: ANY });
      answers.add(performance.now() - startedAt);
    }
  };
  const answers = new Answers();
  const appending = Promise.all(Array.from({ length: order.connections }, chain));
  await Promise.race([sleep(order.seconds * 1000), appending]);
  const load = answers.close();
  ended = true;
  await appending;
  await client.dispose();
  return load;
}

carryOutOrders(append);
