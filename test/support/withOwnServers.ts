import { readFileSync } from 'node:fs';
import { describe } from 'vitest';
import { OwnServers } from './OwnServers.ts';
import { outputFolder } from './output.ts';
import { mongoDbCommand, standInCommand } from './servers.ts';
import type { TestService } from './service.ts';

const eventStoreDb = standInCommand();
const mongoDb = mongoDbCommand();

/** Runs a suite that kills and freezes servers of its own, where TEST_ESDB_RESTART and TEST_MONGODB_RESTART start them. */
export function withOwnServers(name: string, suite: (servers: OwnServers) => void): void {
  if (eventStoreDb && mongoDb) {
    describe(name, () => suite(new OwnServers(eventStoreDb, mongoDb)));
    return;
  }
  const missing = 'TEST_ESDB_RESTART and TEST_MONGODB_RESTART do not start servers';
  process.stderr.write(`Skipped: ${name}: ${missing}.\n`);
  describe.skip(`${name} (${missing})`, () => suite(new OwnServers([], [])));
}

/**
 * The ids of the writes that a service answered, by status, as its log tells. A write's event bears the same id.
 */
export function answeredWrites(service: TestService): Map<number, string[]> {
  const text = readFileSync(`${outputFolder}/logs/${process.pid}.log`, 'utf8');
  const workspace = service.workspaceId('clinic');
  const answered = new Map<number, string[]>();
  for (const line of text.split('\n')) {
    if (!line.includes(workspace)) continue;
    const { msg, method, status, requestId } = JSON.parse(line);
    if (msg !== 'request' || method !== 'POST') continue;
    answered.set(status, [...(answered.get(status) ?? []), requestId]);
  }
  return answered;
}
