import type { Caller } from '../../domain/events/newEvent.ts';
import type { AccessTally } from '../../modules/audit/AccessTally.ts';
import type { WriteOptions, WritePorts, Written } from '../../modules/records/commands/upsertRecord.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { idempotencyKey } from '../server/idempotencyKey.ts';
import { type IdempotencyPorts, once } from '../server/once.ts';

export interface RecordWritePorts extends WritePorts, IdempotencyPorts {
  tally: AccessTally;
}

/**
 * Writes a record, once for each `Idempotency-Key`; a dry run needs none. What leaves no event of its own is counted
 * for the audit trail. Rejects as `write` and `once` do.
 */
export async function writeOnce(
  ports: RecordWritePorts,
  exchange: Exchange,
  { dryRun }: WriteOptions,
  write: (caller: Caller) => Promise<Written>,
): Promise<Written> {
  const key = dryRun ? undefined : idempotencyKey(exchange.req);
  const caller = callerOf(exchange);
  const written = await (key === undefined
    ? write(caller)
    : once(ports, exchange, key, exchange.input, write));
  if (dryRun) ports.tally.add(caller, 'record.dry_run');
  else if (written.isSkipped) ports.tally.add(caller, 'record.unchanged');
  return written;
}
