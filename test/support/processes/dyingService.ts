import { SqliteStateThread } from '../../../src/storage/engines/sqlite/stateThread.ts';

/**
 * The service as `npm start` runs it, but it dies once it has written what a request with an `Idempotency-Key` asks for, before it
 * keeps what came of that, or answers.
 */
const { swap } = SqliteStateThread.prototype;
SqliteStateThread.prototype.swap = function (table, row, expected) {
  if ('result' in row.body) process.kill(process.pid, 'SIGKILL');
  return swap.call(this, table, row, expected) as Promise<boolean>;
};
await import('../../../src/main.ts');
